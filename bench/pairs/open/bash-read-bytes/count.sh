total=0
if [ $# -gt 1 ]; then
	mapfile -t lines < "$1"
	for line in "${lines[@]}"; do
		total=$((total + ${#line}))
	done
else
	while read -r line; do
		total=$((total + ${#line}))
	done < <(cat "$1")
fi
echo "$total"
