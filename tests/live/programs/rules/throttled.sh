#!/bin/sh
# A calculation in a cgroup that has a quarter of a processor (fires), or in one that has no limit (silent).
set -eu
name=timesink-throttled-$$
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	echo +cpu > /sys/fs/cgroup/cgroup.subtree_control
	group=/sys/fs/cgroup/$name
	mkdir "$group"
	[ "$1" = silent ] || echo 25000 100000 > "$group/cpu.max"
else
	group=/sys/fs/cgroup/cpu/$name
	mkdir "$group"
	echo 100000 > "$group/cpu.cfs_period_us"
	[ "$1" = silent ] || echo 25000 > "$group/cpu.cfs_quota_us"
fi
trap 'rmdir "$group"' EXIT
export group
sh -c 'echo $$ > "$group/cgroup.procs"; i=0; while [ $i -lt 250000 ]; do i=$((i + 1)); done'
