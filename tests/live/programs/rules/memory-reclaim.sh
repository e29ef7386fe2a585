#!/bin/sh
# A table of 64 MB that is written over again and again, in a cgroup that may have a quarter of that in memory (fires), or in
# one that has no limit (silent).
set -eu
name=timesink-memory-reclaim-$$
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	echo +memory > /sys/fs/cgroup/cgroup.subtree_control
	group=/sys/fs/cgroup/$name
	mkdir "$group"
	[ "$1" = silent ] || echo 16M > "$group/memory.high"
else
	group=/sys/fs/cgroup/memory/$name
	mkdir "$group"
	[ "$1" = silent ] || echo 16M > "$group/memory.limit_in_bytes"
fi
trap 'rmdir "$group"' EXIT
export group
sh -c 'echo $$ > "$group/cgroup.procs"
i=0
while [ $i -lt 12 ]; do
	dd if=/dev/zero of=table bs=64k count=1000 conv=notrunc 2> /dev/null
	i=$((i + 1))
done'
