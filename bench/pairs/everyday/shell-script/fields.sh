# The size of each file, as its text tells it.
for file in *.txt; do
	size=$(grep '^size=' "$file" | cut -d= -f2 | tr -d ' ')
	echo "$file $size"
done
