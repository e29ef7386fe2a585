# Says of each file of a work tree when it was last changed: asking git for each, or once for all.
set -eu
cd tree
case $1 in
each)
	for file in *.txt; do
		git log -1 --format="%ad $file" --date=iso -- "$file"
	done > ../dates
	;;
once)
	git log --format='date %ad' --date=iso --name-only |
		awk '/^date / { date = substr($0, 6); next } NF && !seen[$0]++ { print date, $0 }' > ../dates
	;;
esac
