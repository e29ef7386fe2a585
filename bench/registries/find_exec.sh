# find starts a program for each file, unless it may name many to one.
set -eu
if [ "$1" = before ]; then
	find files -type f -exec md5sum {} \; >sums
else
	find files -type f -exec md5sum {} + >sums
fi
