//! From events to tables, on drawn streams: see `drawn`.

mod drawn;
mod told;

use timesink_recording::tables::{Frame, Span, Stack, Thread};
use timesink_recording::words::State;

use drawn::converted;
use told::Told;

/// What drawn events become, compared as a whole: line by line, where one that begins with `|` goes on with the one before.
#[track_caller]
fn becomes(events: &str, expected: &str) {
    let told = Told::of(&converted(events)).lines().join("\n");
    let lines = expected.lines().map(str::trim);
    let expected: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let expected = expected.join("\n").replace("\n|", " |");
    assert_eq!(told, expected, "\n{told}\n{expected}\n");
}

/// Spans tile a thread's life: each begins where the one before ended, from its start to its end.
#[test]
fn spans_tile() {
    becomes(
        "until 10ms
         thread main
         main: run 0..1ms wait ..3ms ready ..3.1ms call fsync object file 7 by block
         main: run 3.1ms..4ms ready ..4.01ms preempted
         main: end 4.01ms..10ms alive",
        r#"main: cpu 0..1ms | wait ..3ms flush "file 7" by block device | ready ..3.1ms
                | cpu ..4ms | ready ..4.01ms preempted | cpu ..10ms"#,
    );
}

/// Events of a thread that moved come from two processors, in any order: they are told in that of time.
#[test]
fn events_come_in_any_order() {
    becomes(
        "until 10ms
         thread main
         main: run 4ms..5ms wait ..6ms on 1 by timer
         main: end 6ms..10ms alive
         main: run 0..1ms wait ..4ms by timer",
        "main: cpu 0..1ms | wait ..4ms other by timer | cpu ..5ms on 1 | wait ..6ms other on 1 by timer
            | cpu ..10ms",
    );
}

/// A wait has who ended it: a thread that is recorded, one that is not, or an interrupt. The thread that an interrupt came
/// upon ended nothing, unless it was sending itself.
#[test]
fn wakers() {
    becomes(
        "until 12ms
         thread main
         thread worker of main at 0
         worker: run 0..0 wait ..0 first
         worker: end 0..12ms alive
         main: run 0..1ms wait ..2ms by worker
         main: run 2ms..3ms wait ..4ms by outsider 4242
         main: run 4ms..5ms wait ..6ms by network
         main: run 6ms..7ms wait ..8ms by worker by network sends
         main: run 8ms..9ms wait ..10ms by worker by interrupt
         main: end 10ms..12ms alive",
        "main: cpu 0..1ms | wait ..2ms other by worker | cpu ..3ms | wait ..4ms other by outsider 4242
            | cpu ..5ms | wait ..6ms other by network | cpu ..7ms | wait ..8ms other by worker by network
            | cpu ..9ms | wait ..10ms other by interrupt | cpu ..12ms
         worker: cpu 0..12ms",
    );
}

/// A sleep that nobody is known to have ended was ended by its timer if it lasted as long as was asked for, or if that is
/// not known; another wait only if it lasted as long.
#[test]
fn waits_that_nobody_told_the_end_of() {
    becomes(
        "until 70ms
         thread main
         main: run 0..1ms wait ..11ms call nanosleep
         main: run 11ms..12ms wait ..22ms call nanosleep long
         main: run 22ms..23ms wait ..33ms call nanosleep asked 10.05ms
         main: run 33ms..34ms wait ..44ms call nanosleep asked 10.2ms
         main: run 44ms..45ms wait ..55ms call read object pipe 3
         main: run 55ms..56ms wait ..66ms call read object pipe 3 asked 10ms
         main: end 66ms..70ms alive",
        r#"main: cpu 0..1ms | wait ..11ms sleep by timer
                | cpu ..12ms | wait ..22ms sleep call nanosleep
                | cpu ..23ms | wait ..33ms sleep by timer call nanosleep asked 10.05ms expired
                | cpu ..34ms | wait ..44ms sleep call nanosleep asked 10.2ms not_expired
                | cpu ..45ms | wait ..55ms pipe read "pipe 3"
                | cpu ..56ms | wait ..66ms pipe read "pipe 3" by timer call read asked 10ms expired bytes 0
                | cpu ..70ms"#,
    );
}

/// A long wait has its call, what was asked for, its result and both stacks; a kernel function that is the scheduler's own is
/// not where it waited.
#[test]
fn a_long_wait_has_particulars() {
    becomes(
        r#"until 10ms
         thread main
         thread worker of main at 0
         worker: run 0..0 wait ..0 first
         main: stack wait 1ms user "main;run;take"
         main: stack waker 1ms user "loop;give" kernel "do_syscall_64;futex_wake"
         main: run 0..1ms wait ..3ms call futex object futex 64 contended owner worker by worker kernel "do_syscall_64;futex_wait;schedule"
         main: result 1ms 0
         main: run 3ms..4ms wait ..6ms call poll asked 2ms args "0 1 2" by timer
         main: result 4ms 0 fd 5
         main: run 6ms..7ms wait ..8ms call read object pipe 3 args "0 0 512" by worker
         main: result 7ms 512
         main: end 8ms..10ms alive
         worker: end 0..10ms alive"#,
        r#"main: cpu 0..1ms
             | wait ..3ms lock "futex 0x40" by worker call futex function futex_wait result 0 owner worker stack "main;run;take;do_syscall_64;futex_wait;schedule" waker_stack "loop;give;do_syscall_64;futex_wake"
             | cpu ..4ms | wait ..6ms poll by timer call poll asked 2ms expired result 0 woken_fd 5
             | cpu ..7ms | wait ..8ms pipe read "pipe 3" by worker call read bytes 512 result 512 | cpu ..10ms
           worker: cpu 0..10ms"#,
    );
}

/// A result belongs to the wait of its own call: one that comes for another is nobody's.
#[test]
fn a_result_of_another_wait_is_left_out() {
    becomes(
        "until 5ms
         thread main
         main: run 0..1ms wait ..2ms call read object pipe 3 by timer long
         main: result 0.5ms 42
         main: run 2ms..3ms wait ..4ms call read object pipe 3 by timer long
         main: result 1ms 43
         main: end 4ms..5ms alive",
        r#"main: cpu 0..1ms | wait ..2ms pipe read "pipe 3" by timer call read bytes 0
                | cpu ..3ms | wait ..4ms pipe read "pipe 3" by timer call read bytes 0 | cpu ..5ms"#,
    );
}

/// A call during which a thread is preempted is several turns: each wait is one of its own, and only the last has the result.
#[test]
fn a_call_of_several_turns() {
    becomes(
        "until 10ms
         thread main
         main: run 0..1ms wait ..2ms call fsync object file 7 by block long
         main: run 2ms..3ms ready ..3.01ms call fsync object file 7 preempted
         main: run 3.01ms..4ms wait ..6ms call fsync object file 7 by block long
         main: result 4ms 0
         main: end 6ms..10ms alive",
        r#"main: cpu 0..1ms | wait ..2ms flush "file 7" by block device call fsync
                | cpu ..3ms | ready ..3.01ms preempted
                | cpu ..4ms | wait ..6ms flush "file 7" by block device call fsync result 0 | cpu ..10ms"#,
    );
}

/// A thread that loses the processor on its way out of a call still brings the result of its wait; what it is ready for then is not the wait's.
#[test]
fn a_result_after_a_preemption() {
    becomes(
        r#"until 10ms
         thread main
         main: stack wait 1ms user "main;nap"
         main: run 0..1ms wait ..3ms call poll asked 2ms by timer
         main: run 3ms..4ms ready ..5ms call poll preempted
         main: result 1ms 0
         main: end 5ms..10ms alive"#,
        r#"main: cpu 0..1ms | wait ..3ms sleep by timer call poll asked 2ms expired result 0 stack "main;nap"
                | cpu ..4ms | ready ..5ms preempted | cpu ..10ms"#,
    );
}

/// Turns that were lost leave a gap, which is filled with a span that says so; the count of losses is the kernel's.
#[test]
fn lost_turns_leave_a_span() {
    becomes(
        "until 10ms
         lost turns 7
         thread main
         main: run 0..1ms wait ..2ms by timer
         main: run 5ms..6ms wait ..7ms by timer
         main: end 9ms..10ms alive",
        "main: cpu 0..1ms | wait ..2ms other by timer | lost ..5ms | cpu ..6ms | wait ..7ms other by timer
            | lost ..9ms | cpu ..10ms
         lost turns 7",
    );
}

/// A gap that no lost event explains is a fault of ours, and counts as a loss all the same.
#[test]
fn gaps_without_losses_are_told() {
    becomes(
        "until 10ms
         thread main
         main: run 0..1ms wait ..2ms by timer
         main: run 5ms..6ms wait ..7ms by timer
         main: end 7ms..10ms alive",
        "main: cpu 0..1ms | wait ..2ms other by timer | lost ..5ms | cpu ..6ms | wait ..7ms other by timer
            | cpu ..10ms
         lost turns 1",
    );
}

/// Whatever turn is lost, what is left tiles, and what is missing is as long as the turn was.
#[test]
fn any_turn_may_be_lost() {
    let turn = |n: u64| {
        let (run, out, back) = (3 * n, 3 * n + 1, 3 * n + 3);
        format!("main: run {run}ms..{out}ms wait ..{back}ms by timer\n")
    };
    for lost in 0..5 {
        let turns: String = (0..5).filter(|n| *n != lost).map(turn).collect();
        let recording = converted(&format!(
            "until 20ms\nlost turns 1\nthread main\n{turns}main: end 15ms..20ms alive"
        ));
        let (mut at, mut missing) = (0, 0);
        for span in recording.rows::<Span>().expect("spans") {
            assert_eq!(span.t0.0, at, "turn {lost} is lost");
            at = span.t1.0;
            if span.state == State::Lost {
                missing += span.t1.0 - span.t0.0;
            }
        }
        assert_eq!((at, missing), (20_000_000, 3_000_000), "turn {lost}");
    }
}

/// Of a thread whose end was never told, nothing is known from its last turn on; sums are those of its spans.
#[test]
fn an_end_that_is_lost() {
    let recording = converted(
        "killed
         thread main
         thread worker of main at 1ms
         worker: run 1ms..1ms wait ..1.1ms ready ..1.3ms first
         main: run 0..2ms tracer 10us wait ..5ms by timer
         worker: run 1.3ms..2.3ms ready ..6ms preempted",
    );
    let expected = [
        "main: cpu 0..2ms tracer 10us | wait ..5ms other by timer | lost ..6ms",
        "worker: wait 1ms..1.1ms creation | ready ..1.3ms started | cpu ..2.3ms | ready ..6ms preempted",
        "lost cut short 1",
        "lost turns 1",
    ];
    let mut told = Told::of(&recording).lines();
    told[2..].sort();
    assert_eq!(told, expected);
    let threads = recording.rows::<Thread>().expect("threads");
    let sums = threads.iter().map(|thread| {
        assert!(thread.end_lost);
        [
            thread.cpu_ns,
            thread.ready_ns,
            thread.wait_ns,
            thread.tracer_ns,
        ]
    });
    let expected = [
        [1_990_000, 0, 3_000_000, 10_000],
        [1_000_000, 3_900_000, 100_000, 0],
    ];
    assert!(sums.eq(expected));
}

/// On a machine whose processors are taken away for a moment a child may be born milliseconds before it is seen: that is of
/// its life, and a wait.
#[test]
fn a_birth_that_is_seen_late() {
    becomes(
        "until 10ms
         thread main
         thread worker of main at 4ms born 1ms
         worker: run 4ms..4ms wait ..4.1ms ready ..4.3ms first
         worker: end 4.3ms..9ms
         main: end 0..10ms alive",
        "main: cpu 0..10ms
         worker: wait 1ms..4.1ms creation | ready ..4.3ms started | cpu ..9ms",
    );
}

/// A thread that is killed while it waits has its wait to the last, and so has one that still waits when all is over. The
/// child that a parent waited for is what it waited for.
#[test]
fn an_end_inside_a_wait() {
    becomes(
        r#"until 10ms
         thread main
         process child of main at 1ms
         child: run 1ms..1ms wait ..1ms ready ..1.2ms first by main
         child: run 1.2ms..2ms wait ..6ms call read object pipe 3 by main
         child: exit 6.01ms
         child: end 6ms..6.5ms
         main: run 0..3ms wait ..6.4ms call wait4 by child
         main: run 6.4ms..7ms wait ..10ms call wait4 open kernel "do_wait;schedule"
         main: end 10ms..10ms alive"#,
        r#"main: cpu 0..3ms | wait ..6.4ms child "child(101)" by child
                | cpu ..7ms | wait ..10ms child call wait4 function do_wait stack "...;do_wait;schedule"
           child: ready 1ms..1.2ms started | cpu ..2ms | wait ..6ms pipe read "pipe 3" by main
                | cpu ..6.01ms | cpu ..6.5ms exit tear-down"#,
    );
}

/// What a thread does after its exit is tear-down, on a processor as in a wait.
#[test]
fn after_the_exit() {
    becomes(
        "until 5ms
         thread main
         main: exit 1ms
         main: run 0..2ms wait ..3ms exiting by block
         main: end 3ms..4ms",
        "main: cpu 0..1ms | cpu ..2ms exit tear-down | wait ..3ms exit tear-down by block device
            | cpu ..4ms exit tear-down",
    );
}

/// What our programs took of a run, and what the host took, stand at the first span that has room for it.
#[test]
fn parts_of_a_run_that_are_not_its_own() {
    becomes(
        "until 5ms
         thread main
         main: exit 1ms
         main: run 0..2ms tracer 3us taken 100 wait ..3ms by timer
         main: end 3ms..4ms tracer 5us",
        "main: cpu 0..1ms tracer 3us taken 997us | cpu ..2ms exit tear-down taken 641.4us
            | wait ..3ms other by timer | cpu ..4ms exit tear-down tracer 5us",
    );
}

/// Who loses the processor stays ready; who had it meanwhile is told, and from the threshold on where the thread was.
#[test]
fn preemption() {
    becomes(
        r#"until 10ms
         thread main
         thread worker of main at 0
         worker: run 0..0 wait ..0 first
         worker: end 0..10ms alive
         main: stack delay 1ms user "main;crunch"
         main: run 0..1ms ready ..3ms preempted occupant worker 1.5ms
         main: queue 1ms..3ms worker 300us
         main: run 3ms..4ms ready ..4.02ms preempted
         main: run 4.02ms..5ms ready ..8ms throttled
         main: end 8ms..10ms alive"#,
        r#"main: cpu 0..1ms | ready ..3ms preempted occupant worker 1.5ms occupant worker 300us stack "main;crunch"
                | cpu ..4ms | ready ..4.02ms preempted | cpu ..5ms | ready ..8ms throttled | cpu ..10ms
           worker: cpu 0..10ms"#,
    );
}

/// A time ready after a wait is that of the wait: it has its stack.
#[test]
fn ready_after_a_wait_has_the_stack_of_the_wait() {
    becomes(
        r#"until 10ms
         thread main
         main: stack wait 1ms user "main;nap"
         main: run 0..1ms wait ..3ms ready ..4ms call nanosleep asked 2ms by timer
         main: end 4ms..10ms alive"#,
        r#"main: cpu 0..1ms | wait ..3ms sleep by timer call nanosleep asked 2ms expired stack "main;nap"
                | ready ..4ms stack "main;nap" | cpu ..10ms"#,
    );
}

/// What the kernel counts as running while it switches to a thread is not time ready, however long.
#[test]
fn switching_in_is_no_time_ready() {
    becomes(
        "until 5ms
         thread main
         main: run 0..1ms wait ..2ms switching ..2.2ms by timer
         main: end 2.2ms..5ms alive",
        "main: cpu 0..1ms | wait ..2ms other by timer | cpu ..2.2ms switching in | cpu ..5ms",
    );
}

/// Clocks of processors may be apart: a wake before the thread was off its processor, a run that begins before the wait
/// ended, or one that ends before it begins, is cut, and no span has a negative length. What was before the recording is not in it.
#[test]
fn clocks_that_are_apart() {
    becomes(
        "until 10ms
         thread main
         main: run -2ms..1ms wait ..0.9ms ready ..1.1ms by timer
         main: run 1.05ms..2ms wait ..3ms by timer
         main: run 3ms..2.9ms ready ..3.3ms preempted
         main: end 3.3ms..10ms alive",
        "main: cpu 0..1ms | ready ..1.1ms | cpu ..2ms | wait ..3ms other by timer | ready ..3.3ms preempted
            | cpu ..10ms",
    );
}

/// A sample stands for the thread's time on a processor since the one before, the last also for what comes after it: together
/// they are all of it. What the kernel did in an interrupt is not where the thread was.
#[test]
fn weights_of_samples() {
    becomes(
        r#"until 10ms
         thread main
         main: sample 2ms user "main;crunch"
         main: run 0..3ms wait ..5ms by timer
         main: sample 6ms user "main;crunch" kernel "do_syscall_64;vfs_read"
         main: sample 7ms user "...;lost" kernel "asm_sysvec_apic_timer_interrupt;handle_irq"
         main: end 5ms..10ms alive"#,
        r#"main: cpu 0..3ms | wait ..5ms other by timer | cpu ..10ms
           sample main 2ms weight 2ms stack "main;crunch"
           sample main 6ms weight 2ms stack "main;crunch;do_syscall_64;vfs_read" kernel
           sample main 7ms weight 4ms stack "...;lost" kernel"#,
    );
}

/// Our own programs stand above the real functions where a thread takes its own stack: they are taken off.
#[test]
fn our_own_frames_are_taken_off() {
    becomes(
        r#"until 5ms
         thread main
         main: sample 1ms user "main" kernel "do_syscall_64;vfs_read;__traceiter_sched_switch;bpf_trace_run4;bpf_prog_ab_on_switch"
         main: end 0..5ms alive"#,
        r#"main: cpu 0..5ms
           sample main 1ms weight 5ms stack "main;do_syscall_64;vfs_read" kernel"#,
    );
}

/// Code that a runtime made has the names of its map. An address to return to is looked up one before it, which is the call;
/// a place that nothing is known of is a frame without a name.
#[test]
fn names_of_made_code() {
    becomes(
        r#"until 5ms
         module 1 jit /memory
         made 1 0x10 caller
         made 1 0x20 callee
         thread main
         main: sample 1ms user "1+0x11;1@0x20"
         main: sample 2ms user "1+0x11;1+0x20"
         main: end 0..5ms alive"#,
        r#"main: cpu 0..5ms
           sample main 1ms weight 1ms stack "caller;callee"
           sample main 2ms weight 4ms stack "caller;0x20""#,
    );
}

/// The same function under the same caller is one stack, however often it is seen, and under another caller it is the same frame.
#[test]
fn stacks_are_shared() {
    let recording = converted(
        r#"until 5ms
         thread main
         main: sample 1ms user "main;run"
         main: sample 2ms user "main;run"
         main: sample 3ms user "main;test;run"
         main: end 0..5ms alive"#,
    );
    let frames = recording.rows::<Frame>().expect("frames");
    let functions: Vec<&str> = frames.iter().map(|f| f.function.as_str()).collect();
    assert_eq!(functions, ["main", "run", "test"]);
    assert_eq!(recording.rows::<Stack>().expect("stacks").len(), 4);
}

/// In `execve` the old program's stack may be gone and the new one has none yet: that it has no user side is no fault.
#[test]
fn between_two_programs_there_is_no_stack() {
    becomes(
        r#"until 5ms
         thread main
         main: run 0..1ms wait ..2ms call execve by block kernel "do_syscall_64;read_pages"
         main: run 2ms..3ms wait ..4ms call openat by block kernel "do_syscall_64;read_pages"
         main: end 4ms..5ms alive"#,
        r#"main: cpu 0..1ms | wait ..2ms exec by block device call execve function read_pages stack "do_syscall_64;read_pages"
                | cpu ..3ms | wait ..4ms other by block device call openat function read_pages stack "...;do_syscall_64;read_pages"
                | cpu ..5ms"#,
    );
}

/// A thread is at work for a task from when it is first seen so until it is last seen before another, or until its end.
#[test]
fn turns_with_tasks() {
    becomes(
        "until 10ms
         thread main
         main: task 1 1ms
         main: task 0 3ms seen 2.5ms
         main: task 18 4ms seen 3.5ms
         main: task 1 6ms seen 5ms
         main: run 0..8ms wait ..9ms
         main: end 9ms..10ms alive",
        "main: cpu 0..8ms | wait ..9ms other | cpu ..10ms
         turn main 1ms..2.5ms task 1
         turn main 3ms..3.5ms
         turn main 4ms..5ms task 18
         turn main 6ms..10ms task 1",
    );
}

/// Goroutines that were looked at are tasks also if no thread was ever at work for them.
#[test]
fn goroutines_that_were_looked_at() {
    becomes(
        "until 10ms
         thread main
         main: task 1 1ms
         main: sight 18 2ms state 4
         main: sight 1 4ms after 2ms state 1
         main: sight 18 4ms after 2ms state 6
         main: sight 19 4ms after 2ms state 77
         main: run 0..8ms wait ..9ms
         main: end 9ms..10ms alive",
        "main: cpu 0..8ms | wait ..9ms other | cpu ..10ms
         turn main 1ms..10ms task 1
         sight 18 2ms waiting
         sight 1 4ms after 2ms ready
         sight 18 4ms after 2ms ended",
    );
}

/// A thread has a tag from when it is first seen to have it; the text is told once; one whose text was lost is no other's.
#[test]
fn turns_with_tags() {
    becomes(
        "until 10ms
         thread main
         main: text 77 storage/scrub
         main: tag 77 1ms
         main: tag 0 3ms seen 2.5ms
         main: tag 77 4ms seen 3.5ms
         main: tag 99 6ms seen 5ms
         main: exec 7ms
         main: run 0..8ms wait ..9ms
         main: end 9ms..10ms alive",
        "main: cpu 0..8ms | wait ..9ms other | cpu ..10ms
         tagged main 1ms..2.5ms storage/scrub
         tagged main 3ms..3.5ms
         tagged main 4ms..5ms storage/scrub
         tagged main 6ms..7ms ?
         tagged main 7ms..10ms",
    );
}

/// How a task was left is told of the turn before; the runtime itself is in no such state.
#[test]
fn turns_tell_how_tasks_were_left() {
    becomes(
        "until 10ms
         thread main
         main: task 1 1ms
         main: task 0 3ms seen 2.5ms left 4
         main: task 18 4ms seen 3.5ms left 4
         main: task 1 6ms seen 5ms left 1
         main: task 20 8ms seen 7ms left 6
         main: run 0..8ms wait ..9ms
         main: end 9ms..10ms alive",
        "main: cpu 0..8ms | wait ..9ms other | cpu ..10ms
         turn main 1ms..2.5ms task 1 left waiting
         turn main 3ms..3.5ms
         turn main 4ms..5ms task 18 left ready
         turn main 6ms..7ms task 1 left ended
         turn main 8ms..10ms task 20",
    );
}

/// One that executes another program has left the tasks of the old one.
#[test]
fn turns_end_with_the_program() {
    becomes(
        "until 10ms
         thread main
         main: task 1 1ms
         main: exec 4ms
         main: run 0..8ms wait ..9ms
         main: end 9ms..10ms alive",
        "main: cpu 0..8ms | wait ..9ms other | cpu ..10ms
         turn main 1ms..4ms task 1",
    );
}

/// A lock in the memory of a file is told by the file and the place in it, where no table knows the variable. One elsewhere has its
/// address, and so has one where a process had two files, one after the other.
#[test]
fn locks_of_files() {
    becomes(
        r#"until 10ms
         module 1 file /lib/libx.so.6
         module 2 file /bin/a
         module 3 file /bin/b
         thread main
         loaded 1 by main 0x1000..0x9000 moved 0x1000
         loaded 2 by main 0x20000..0x24000 moved 0x20000
         loaded 3 by main 0x22000..0x26000 moved 0x22000
         main: run 0..1ms wait ..2ms call futex object futex 4160 contended
         main: run 2ms..3ms wait ..4ms call futex object futex 64 contended
         main: run 4ms..5ms wait ..6ms call futex object futex 143360 contended
         main: end 6ms..10ms alive"#,
        r#"main: cpu 0..1ms | wait ..2ms lock "libx.so.6+0x40" | cpu ..3ms | wait ..4ms lock "futex 0x40"
                | cpu ..5ms | wait ..6ms lock "futex 0x23000" | cpu ..10ms"#,
    );
}
