# What a guest records. Each scene keeps what came of it in a folder of its own, $out, for the host to judge: NAME.out, NAME.err and
# NAME.code of a command, NAME.tar of a recording. Nothing hangs on how quick the emulator is: what is waited for is seen, not timed.

now() { cut -d' ' -f1 /proc/uptime; }

# Plays scenes by name. What stands on the serial port shows how far it came.
play() {
	for scene; do
		begun=$(now)
		out=/disk/out/$scene
		mkdir -p $out
		cd /tmp
		"scene_$scene" </dev/null
		echo "SCENE $scene $begun $(now)"
		sync
	done
}

# keep NAME COMMAND...
keep() {
	kept=$1
	shift
	"$@" >$out/$kept.out 2>$out/$kept.err
	echo $? >$out/$kept.code
}

# Packs a recording of /tmp and forgets it.
packed() {
	timesink pack /tmp/$1.timesink -o $out/$1.tar >/dev/null 2>$out/$1.pack && rm -rf /tmp/$1.timesink
}

# Waits until timesink records into /tmp/NAME.timesink, or has ended: recording NAME PID
recording() {
	until [ -s /tmp/$1.timesink/spool.bin ] || ! kill -0 $2 2>/dev/null; do usleep 20000; done
}

# record NAME [OPTION...] -- COMMAND...
record() {
	name=$1
	shift
	keep $name timesink run -q -o /tmp/$name.timesink "$@"
	packed $name
}

scene_doctor() {
	keep doctor timesink doctor
	keep verbose timesink doctor --verbose
	# How far the scheduler's clock is from the one that programs see.
	grep -E '^(ktime|sched_clk)' /sys/kernel/debug/sched/debug >$out/clocks.out 2>/dev/null ||
		grep -E '^(ktime|sched_clk)' /proc/sched_debug >$out/clocks.out
}

# A kernel that is too old: nothing is started.
scene_refusal() {
	keep refusal timesink run -o /tmp/refusal.timesink -- touch /tmp/started
	ls /tmp >$out/refusal.ls
}

scene_truth() {
	record truth --exact -- truth $out/truth.json /disk/rows.data
}

scene_flush() {
	cd /disk
	record flush -- flush-per-record fires
	rm -f rows.db
}

scene_children() {
	record children -- forks 30
}

scene_pingpong() {
	record pingpong -- switches 1 0-1 pipe 500
	record about-to-block -- about-to-block 300
}

scene_coldread() {
	echo 3 >/proc/sys/vm/drop_caches
	record coldread -- dd if=/disk/cold of=/dev/null bs=64k
}

scene_stacks() {
	record stacks -- stacks /disk
	record static-pie -- stacks-static-pie /disk
	record static -- stacks-static /disk
	record musl -- stacks-musl-static /disk
	record busybox -- busybox sh -c 'for i in 1 2 3; do busybox sha256sum /disk/cold >/dev/null; busybox usleep 30000; done'
}

scene_python() {
	record python -- python3 /naps.py
}

scene_bash() {
	record bash -- bash /naps.sh
}

# Whoever serves until `unserve`.
serve() {
	serving server unix "$1" here >/tmp/serving.out &
	server=$!
	until grep -q ready /tmp/serving.out; do usleep 50000; done
	echo $server >$out/$2.server
}

unserve() {
	kill -9 $server
	wait $server 2>/dev/null
}

scene_follow() {
	serve /tmp/follow.socket follow
	record follow --follow -- serving client unix /tmp/follow.socket
	unserve
}

scene_with() {
	serve /tmp/with.socket with
	record with --with $server -- serving client unix /tmp/with.socket
	unserve
}

scene_attach() {
	serve /tmp/attach.socket attach
	keep attach timesink attach -q --for 4s -o /tmp/attach.timesink $server &
	attached=$!
	recording attach $attached
	while kill -0 $attached 2>/dev/null; do serving client unix /tmp/attach.socket; done
	wait $attached
	packed attach
	unserve
}

# More than there is room for while timesink stands still: a hundred waits that each bring 90 kB of stack. Something is lost, and told.
scene_losses() {
	rm -f /tmp/begun /tmp/flood /tmp/flooded
	keep losses timesink run -q -o /tmp/losses.timesink -- sh -c '
		touch /tmp/begun
		until [ -e /tmp/flood ]; do sleep 0.05; done
		for i in $(seq 100); do deep 1200 & done
		wait
		touch /tmp/flooded' &
	losing=$!
	until [ -e /tmp/begun ] || ! kill -0 $losing; do usleep 50000; done
	recorder=$(pidof timesink | tr ' ' '\n' | sort -n | head -1)
	kill -STOP $recorder
	touch /tmp/flood
	until [ -e /tmp/flooded ] || ! kill -0 $losing; do usleep 50000; done
	kill -CONT $recorder
	wait $losing
	packed losses
}

# A file that is opened while calls are not timed, which makes too many of them.
scene_opens() {
	echo pace >/tmp/pace.conf
	many='busybox dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null'
	keep opens timesink run -q --budget 0.1 -o /tmp/opens.timesink -- \
		busybox sh -c "$many; busybox cat /tmp/pace.conf; $many"
	keep env timesink env --json /tmp/opens.timesink
	packed opens
}

scene_codes() {
	keep code timesink run -q -o /tmp/code.timesink -- sh -c 'exit 3'
	keep signal timesink run -q -o /tmp/signal.timesink -- sh -c 'kill -9 $$'
	keep missing timesink run -q -o /tmp/missing.timesink -- no-such-program
	rm -rf /tmp/*.timesink
}

# kill -9 of timesink at all moments: while it loads, as the recording begins, and while it records. $kills says how often.
scene_killed() {
	: >$out/killed.told
	for i in $(seq $kills); do
		# Who says nothing for long is taken to stand still.
		echo "KILL $i"
		timesink run -q -o /tmp/killed.timesink -- switches 1 0-1 pipe 200 2>/tmp/switches.err &
		victim=$!
		case $((i % 3)) in
		0) usleep $((i * 2000000 / kills)) ;;
		1) recording killed $victim ;;
		2)
			until pidof switches >/dev/null || ! kill -0 $victim; do usleep 20000; done
			usleep $((i * 800000 / kills))
			;;
		esac
		kill -9 $victim 2>/dev/null
		wait $victim 2>/dev/null
		# The program goes on to its own end, if it was begun.
		while pidof switches >/dev/null; do usleep 50000; done
		report=none
		if [ -e /tmp/killed.timesink ]; then
			timesink report --json /tmp/killed.timesink >/tmp/killed.json 2>/tmp/killed.err
			report=$?
		fi
		left=$(grep -l prog_id /proc/[0-9]*/fdinfo/* 2>/dev/null | wc -l)
		echo "kill $i report $report left $left $(head -c 400 /tmp/killed.err 2>/dev/null | tr '\n' ' ')" >>$out/killed.told
		rm -rf /tmp/killed.*
	done
	record afterwards -- switches 1 0-1 pipe 200
}
