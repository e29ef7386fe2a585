# Known lines that start children which are waited for.
one() {
	sleep 0.05   # waits in one
}

two() {
	one
	sleep 0.03   # waits in two
}

for _ in 1 2 3 4 5 6; do
	two
done
