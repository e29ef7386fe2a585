#!/bin/bash
# Sums up a log of requests by customer. `report.sh slow LOG` does it as it grew, `report.sh fixed LOG` in one shell.

declare -A total

count_slowly() {
	local line customer bytes
	while read -r line; do
		customer=$(echo "$line" | awk '{ print $1 }')
		bytes=$(echo "$line" | awk '{ print $3 }')
		( flock 9; echo "$customer" >> seen.txt ) 9> lock
		total[$customer]=$(( ${total[$customer]:-0} + bytes ))
	done < "$1"
}

count() {
	local fields
	exec 9> lock
	while read -r -a fields; do
		flock_once
		echo "${fields[0]}" >> seen.txt
		total[${fields[0]}]=$(( ${total[${fields[0]}]:-0} + fields[2] ))
	done < "$1"
}

# The lock is taken once, for as long as the descriptor is open.
flock_once() {
	[ -n "$locked" ] || { flock 9; locked=yes; }
}

: > seen.txt
case $1 in
slow) count_slowly "$2" ;;
fixed) count "$2" ;;
*) echo "usage: report.sh slow|fixed LOG" >&2; exit 2 ;;
esac
for customer in "${!total[@]}"; do
	echo "$customer ${total[$customer]}"
done
