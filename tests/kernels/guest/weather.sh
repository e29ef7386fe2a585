# Bad weather: guests that lack something, and things that happen at the same moment. Each scene restores what it took away.

# What timesink says and does here: a recording, and doctor. There is a recording or there is a refusal.
weather() {
	record $1 -- switches 1 0-1 pipe 200
	keep $1.doctor timesink doctor
}

scene_untraced() {
	umount /sys/kernel/tracing /sys/kernel/debug
	weather untraced
	mount -t debugfs debugfs /sys/kernel/debug
	mount -t tracefs tracefs /sys/kernel/tracing
}

# Control groups as they were before version 2.
scene_cgroup1() {
	umount /sys/fs/cgroup
	mount -t tmpfs cgroup /sys/fs/cgroup
	mkdir /sys/fs/cgroup/cpu
	mount -t cgroup -o cpu,cpuacct cpu /sys/fs/cgroup/cpu || echo "no cgroup v1"
	mkdir /sys/fs/cgroup/cpu/inner
	echo $$ >/sys/fs/cgroup/cpu/inner/cgroup.procs
	weather cgroup1
	echo $$ >/sys/fs/cgroup/cpu/cgroup.procs
	rmdir /sys/fs/cgroup/cpu/inner
	umount /sys/fs/cgroup/cpu
	umount /sys/fs/cgroup
	mount -t cgroup2 cgroup /sys/fs/cgroup
}

# Groups of runs, beside the one that timesink is in: their peak of memory, and that none is left, whatever ended a run or timesink.
scene_groups() {
	mkdir /sys/fs/cgroup/session
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	echo $$ >/sys/fs/cgroup/session/cgroup.procs
	keep memory timesink bench --rounds 3 --shell --json -- 'head -c 20000000 /dev/zero | tail -n 1 | wc -c'
	keep late timesink bench --rounds 2 --timeout 300ms -- 'sleep 100'
	keep behind timesink bench --rounds 2 --shell -- 'setsid sleep 90 >/dev/null 2>&1 &'
	ls -d /sys/fs/cgroup/timesink-run-* >$out/groups.ls 2>/dev/null
	timesink bench --rounds 2 -- 'sleep 3' >/dev/null 2>&1 &
	killed=$!
	for _ in $(seq 500); do [ -d /sys/fs/cgroup/timesink-run-$killed-1 ] && break; usleep 10000; done
	kill -9 $killed
	wait $killed
	sleep 4
	ls -d /sys/fs/cgroup/timesink-run-* >$out/killed.ls
	timesink bench --rounds 2 -- true >/dev/null 2>&1
	ls -d /sys/fs/cgroup/timesink-run-* >$out/after.ls 2>/dev/null
	echo 500000000 >/sys/fs/cgroup/session/memory.high
	keep limited timesink bench --rounds 3 --json -- true
	for pid in $(cat /sys/fs/cgroup/session/cgroup.procs); do echo $pid >/sys/fs/cgroup/cgroup.procs; done
	rmdir /sys/fs/cgroup/session
	echo -memory >/sys/fs/cgroup/cgroup.subtree_control
}

scene_guarded() {
	echo 4 >/proc/sys/kernel/perf_event_paranoid
	# Once it is 1 it stays, so it is 2, as distributions have it.
	echo 2 >/proc/sys/kernel/unprivileged_bpf_disabled
	weather guarded
}

# A kernel that does not tell its types: a file of nothing stands before them.
scene_untyped() {
	: >/tmp/nothing
	mount --bind /tmp/nothing /sys/kernel/btf/vmlinux
	weather untyped
	umount /sys/kernel/btf/vmlinux
	mkdir -p /tmp/empty
	mount --bind /tmp/empty /sys/kernel/btf
	weather typeless
	umount /sys/kernel/btf
}

scene_lockdown() {
	cat /sys/kernel/security/lockdown >$out/lockdown.mode
	weather lockdown
	ls /tmp >$out/lockdown.ls
}

# Two timesinks at once, each with a program of its own.
scene_two() {
	keep one timesink run -q -o /tmp/one.timesink -- switches 2 0-1 pipe 200 &
	one=$!
	keep other timesink run -q -o /tmp/other.timesink -- switches 2 0-1 pipe 200 &
	other=$!
	wait $one $other
	packed one
	packed other
}

# attach to a process that ends at that moment, which is at any time of the start or as the recording appears. $ends says how often.
scene_ending() {
	: >$out/ending.told
	for i in $(seq $ends); do
		case $((i % 2)) in
		0) usleep $((i * 2000000 / ends)) & ;;
		1) (until [ -e /tmp/ending.timesink ]; do :; done) & ;;
		esac
		ending=$!
		timesink attach -q --for 200ms -o /tmp/ending.timesink $ending >/tmp/ending.out 2>/tmp/ending.err
		code=$?
		report=none
		if [ -e /tmp/ending.timesink ]; then
			timesink report --json /tmp/ending.timesink >/dev/null 2>>/tmp/ending.err
			report=$?
		fi
		kill $ending 2>/dev/null
		wait $ending 2>/dev/null
		echo "code $code report $report $(head -c 300 /tmp/ending.err | tr '\n' ' ')" >>$out/ending.told
		rm -rf /tmp/ending.*
	done
}
