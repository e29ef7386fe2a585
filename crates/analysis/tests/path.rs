//! The critical path on small recordings drawn as text.

use timesink_analysis::path::{Path, Unknown};
use timesink_analysis::timeline::Timeline;
use timesink_recording::notation::recording;
use timesink_recording::words::{Detail, State};

/// The path of the first thread: who did what for how long, in microseconds.
fn path(text: &str) -> Vec<(u32, Detail, u64)> {
    let (timeline, path) = walked(text);
    let segments = path.segments.iter();
    segments
        .map(|s| (timeline.threads[s.slot].tid, s.detail, s.ns() / 1000))
        .collect()
}

fn walked(text: &str) -> (Timeline, Path) {
    let timeline = Timeline::of(&recording(text)).expect("a drawn recording reads");
    let path = Path::of_thread(&timeline, 0);
    let sum: u64 = path.segments.iter().map(|segment| segment.ns()).sum();
    assert_eq!(sum, path.wall_ns(), "the path tiles the wall time");
    let mut reached = path.from;
    for segment in &path.segments {
        assert_eq!(segment.t0, reached, "the segments follow each other");
        reached = segment.t1;
    }
    (timeline, path)
}

fn unknowns(text: &str) -> Vec<(Unknown, u64)> {
    let (_, path) = walked(text);
    let segments = path.segments.iter();
    segments
        .filter_map(|s| Some((s.unknown?, s.ns() / 1000)))
        .collect()
}

/// One thread is its own path: what it waited for outside is a leaf.
#[test]
fn one_thread() {
    let path = path(
        "process 1 p
         thread 1.1 tid 1 p
         1.1: cpu 0..4ms | wait ..10ms flush rows.db by block device | ready ..11ms | cpu ..15ms",
    );
    let expected = [
        (1, Detail::Running, 4000),
        (1, Detail::Flush, 6000),
        (1, Detail::Woken, 1000),
        (1, Detail::Running, 4000),
    ];
    assert_eq!(path, expected);
}

/// A wait leads to what the waker did before, and that to what it waited for itself.
#[test]
fn through_a_pipe() {
    let path = path(
        "process 1 reader
         process 2 writer
         thread 1.1 tid 1 reader
         thread 2.2 tid 2 writer
         1.1: cpu 0..1ms | wait ..9ms pipe read p by 2.2 | ready ..9100us | cpu ..10ms
         2.2: cpu 0..2ms | wait ..7ms disk read data by block device | cpu ..10ms",
    );
    let expected = [
        (2, Detail::Running, 2000),
        (2, Detail::DiskRead, 5000),
        (2, Detail::Running, 2000),
        (1, Detail::Woken, 100),
        (1, Detail::Running, 900),
    ];
    assert_eq!(path, expected);
}

/// A request and its answer: the client's part, the server's, the client's again.
#[test]
fn to_a_server_and_back() {
    let path = path(
        "process 1 client
         process 2 server
         thread 1.1 tid 1 client
         thread 2.2 tid 2 server
         1.1: cpu 0..2ms | wait ..8ms network receive s by 2.2 | cpu ..10ms
         2.2: wait 0..2ms network receive s by 1.1 | cpu ..8ms | wait ..10ms network receive s",
    );
    let expected = [
        (1, Detail::Running, 2000),
        (2, Detail::Running, 6000),
        (1, Detail::Running, 2000),
    ];
    assert_eq!(path, expected);
}

/// Waiting for a child leads into it, and its start back to its parent.
#[test]
fn into_a_child_and_out() {
    let path = path(
        "process 1 make
         process 2 gcc parent 1
         thread 1.1 tid 1 make
         thread 2.2 tid 2 gcc parent 1.1
         1.1: cpu 0..3ms | wait ..9ms child c by 2.2 | cpu ..10ms
         2.2: wait 2ms..2100us creation by 1.1 | cpu ..9ms",
    );
    let expected = [
        (1, Detail::Running, 2100),
        (2, Detail::Running, 6900),
        (1, Detail::Running, 1000),
    ];
    assert_eq!(path, expected);
}

/// The holder of a lock is on the path, not the wait for it.
#[test]
fn to_the_holder_of_a_lock() {
    let path = path(
        "process 1 p
         thread 1.1 tid 1 main
         thread 1.2 tid 2 holder
         1.1: cpu 0..2ms | wait ..7ms lock l by 1.2 | cpu ..8ms
         1.2: cpu 0..1ms | wait ..6ms sleep by timer | cpu ..8ms",
    );
    let expected = [
        (2, Detail::Running, 1000),
        (2, Detail::Sleep, 5000),
        (2, Detail::Running, 1000),
        (1, Detail::Running, 1000),
    ];
    assert_eq!(path, expected);
}

/// A waker that was asleep itself at that time did not do it: the wait is a leaf, and marked.
#[test]
fn a_waker_that_cannot_be() {
    let text = "process 1 p
         thread 1.1 tid 1 main
         thread 1.2 tid 2 other
         1.1: cpu 0..2ms | wait ..7ms lock l by 1.2 | cpu ..8ms
         1.2: cpu 0..1ms | wait ..8ms sleep by timer";
    assert_eq!(unknowns(text), [(Unknown::Impossible, 5000)]);
}

/// A processor that rests, on a busy machine or one whose host has given it to others, may come to late: who is woken there
/// is queued only then. What was written to a terminal is brought to its reader by the kernel. Who ended the wait may have
/// fallen asleep meanwhile.
#[test]
fn what_comes_late() {
    for (end_of_wait, began) in [
        ("lock l", "cpu 0..2ms"),
        ("terminal t", "cpu 0..2ms"),
        // Written before anybody waited for it.
        ("terminal t", "cpu 0..12ms"),
    ] {
        let text = format!(
            "process 1 p
             process 2 q
             thread 1.1 tid 1 main
             thread 2.2 tid 2 other
             1.1: {began} | wait ..17ms {end_of_wait} by 2.2 | cpu ..18ms
             2.2: cpu 0..10ms | wait ..18ms sleep by timer"
        );
        let expected = [
            (2, Detail::Running, 10_000),
            (1, Detail::Woken, 7000),
            (1, Detail::Running, 1000),
        ];
        assert_eq!(path(&text), expected, "{end_of_wait}");
    }
}

/// The clocks of two processors may differ by microseconds, so a waker that began to run a moment later is believed.
#[test]
fn a_waker_by_another_clock() {
    let text = "process 1 p
         thread 1.1 tid 1 main
         thread 1.2 tid 2 other
         1.1: cpu 0..2ms | wait ..7ms lock l by 1.2 | cpu ..8ms
         1.2: wait 0..7003us sleep by timer | cpu ..8ms";
    assert_eq!(unknowns(text), []);
}

/// Who ran shortly before ended the wait, not who runs a little later because the woken one woke it: the JVM's collector
/// threads woke each other within 20 us, the path was a circle, and the replay took three times as long as the run.
#[test]
fn a_waker_that_slept_again_before_the_woken_one_ran() {
    let text = "process 1 p
         thread 1.1 tid 1 main
         thread 1.2 tid 2 other
         1.1: cpu 0..2ms | wait ..5023us condition c by 1.2 | cpu ..8ms
         1.2: cpu 0..5ms | wait ..5041us condition d by 1.1 | cpu ..7ms";
    assert_eq!(unknowns(text), []);
}

/// Two that woke each other at the same moment do not send the walk in circles.
#[test]
fn a_circle() {
    let text = "process 1 p
         thread 1.1 tid 1 a
         thread 1.2 tid 2 b
         1.1: wait 0..5ms pipe read p by 1.2 | cpu ..6ms
         1.2: wait 0..5ms pipe read q by 1.1 | cpu ..6ms";
    assert_eq!(unknowns(text), [(Unknown::Circle, 5000)]);
}

/// What was lost, what nobody ended and what was before a thread was there are told as such.
#[test]
fn what_is_not_known() {
    let lost = "process 1 p
         thread 1.1 tid 1 p
         1.1: cpu 0..1ms | lost ..3ms | cpu ..4ms | cpu 5ms..6ms";
    assert_eq!(
        unknowns(lost),
        [(Unknown::Lost, 2000), (Unknown::Lost, 1000)]
    );
    let nobody = "process 1 p
         thread 1.1 tid 1 p
         1.1: cpu 0..1ms | wait ..3ms condition | cpu ..4ms";
    assert_eq!(unknowns(nobody), [(Unknown::NoWaker, 2000)]);
    let unborn = "process 1 p
         thread 1.1 tid 1 p
         thread 1.2 tid 2 q
         1.1: cpu 0..1ms | wait ..3ms join j by 1.2 | cpu ..4ms
         1.2: cpu 2ms..3ms";
    assert_eq!(unknowns(unborn), [(Unknown::Unborn, 2000)]);
}

/// A wait that was not over when the recording ended is what it is.
#[test]
fn still_waiting_at_the_end() {
    let text = "process 1 p
         thread 1.1 tid 1 p alive_at_end
         1.1: cpu 0..1ms | wait ..3ms network accept s";
    assert_eq!(unknowns(text), []);
    assert_eq!(walked(text).1.segments[1].state, State::Wait);
}

/// The causes add up to the wall time, and processes that run the same program can be told as one.
#[test]
fn causes_add_up() {
    let (timeline, path) = walked(
        "process 1 sh
         process 2 awk parent 1
         process 3 awk parent 1
         thread 1.1 tid 1 sh
         thread 2.2 tid 2 awk parent 1.1
         thread 3.3 tid 3 awk parent 1.1
         1.1: cpu 0..1ms | wait ..3ms child c by 2.2 | cpu ..4ms | wait ..8ms child d by 3.3 | cpu ..9ms
         2.2: cpu 1ms..3ms
         3.3: cpu 4ms..8ms",
    );
    let one = timeline.threads[1].process;
    let another = timeline.threads[2].process;
    let causes = path.causes(
        &timeline,
        |process| if process == another { one } else { process },
    );
    let sum: u64 = causes.iter().map(|cause| cause.ns).sum();
    assert_eq!(sum, path.wall_ns());
    assert_eq!((causes[0].key.process, causes[0].ns), (one, 6_000_000));
    assert_eq!(causes.len(), 2);
}

/// Five rounds of sleeping a millisecond, while another thread works until the middle of the last one.
const POLLED: &str = "
    process 1 main
    thread 1.1 tid 1 main
    thread 1.2 tid 2 worker parent 1.1
    1.1: cpu 0..1ms | wait ..2ms sleep by timer | cpu +10us | wait +1ms sleep by timer | cpu +10us
       | wait +1ms sleep by timer | cpu +10us | wait +1ms sleep by timer | cpu +10us
       | wait +1ms sleep by timer | cpu ..8ms
    1.2: cpu 1ms..5.5ms | wait ..8ms condition more";

/// A loop that looks now and then whether another thread is done leads to that thread. Only what it slept
/// longer than that took is its own.
#[test]
fn a_loop_that_looks() {
    let (timeline, path) = walked(POLLED);
    let polls = &timeline.polls().all;
    assert_eq!(polls.len(), 1);
    assert_eq!(
        (polls[0].slot, polls[0].awaited, polls[0].sleeps.len()),
        (0, 1, 5)
    );
    let segments: Vec<_> = path
        .segments
        .iter()
        .map(|s| (s.slot, s.state, s.ns()))
        .collect();
    assert_eq!(
        segments,
        [
            (0, State::Cpu, 1_000_000),
            (1, State::Cpu, 4_500_000),
            (0, State::Wait, 540_000),
            (0, State::Cpu, 1_960_000),
        ]
    );
}

/// A child is looked for until it is gone, whatever it did; shorter sleeps that follow are no part of that loop.
#[test]
fn a_loop_that_looks_for_a_child() {
    let text = "
        process 1 main
        process 2 child parent 1
        thread 1.1 tid 1 main
        thread 2.2 tid 2 child parent 1.1
        1.1: cpu 0..1ms | wait +2ms sleep by timer | wait +2ms sleep by timer | wait +2ms sleep by timer
           | wait +2ms sleep by timer | wait ..11ms sleep by timer | cpu ..12ms
           | wait +1ms sleep by timer | wait +1ms sleep by timer | wait ..15ms sleep by timer | cpu ..16ms
        2.2: cpu 1ms..2ms | wait ..10ms sleep by timer";
    let (timeline, path) = walked(text);
    let polls = &timeline.polls().all;
    assert_eq!(polls.len(), 1);
    assert_eq!((polls[0].awaited, polls[0].sleeps.len()), (1, 5));
    let late = path
        .segments
        .iter()
        .find(|s| s.slot == 0 && s.detail == Detail::Sleep);
    assert_eq!(late.map(|s| s.ns()), Some(1_000_000));
}

/// A sleeper whom the kernel counts as ready long before its timer ends the sleep looks only when it runs again: a child
/// that ended meanwhile is what it looked for.
#[test]
fn a_loop_whose_last_sleep_is_called_ready() {
    let sleeps = "| cpu +10us | wait +10ms sleep by timer ".repeat(8);
    let text = format!(
        "process 1 main
         process 2 child parent 1
         thread 1.1 tid 1 main
         thread 2.2 tid 2 child parent 1.1
         1.1: cpu 0..1ms {sleeps} | cpu +10us | wait +1ms sleep by timer | ready +9ms woken | cpu +1ms
         2.2: cpu 1ms..86ms"
    );
    let (timeline, path) = walked(&text);
    let polls = &timeline.polls().all;
    assert_eq!(polls.len(), 1);
    assert_eq!((polls[0].awaited, polls[0].sleeps.len()), (1, 9));
    let childs = path.segments.iter().filter(|s| s.slot == 1);
    assert!(childs.map(|s| s.ns()).sum::<u64>() > 80_000_000);
}

/// On a busy machine, or one whose host has given its processors to others, sleeps end late now and then: those after them
/// are not much shorter for that.
#[test]
fn a_loop_some_of_whose_sleeps_are_late() {
    let late = POLLED.replacen("cpu +10us | wait +1ms", "cpu +10us | wait +3ms", 2);
    let late = late.replace("cpu ..8ms", "cpu ..12ms");
    let late = late.replace("5.5ms | wait ..8ms", "9.5ms | wait ..12ms");
    let timeline = walked(&late).0;
    let loops = timeline.polls().all.iter();
    let loops: Vec<_> = loops
        .map(|poll| (poll.awaited, poll.sleeps.len()))
        .collect();
    assert_eq!(loops, [(1, 5)]);
}

/// One child after the other, each looked for in the same way: with the start of the next begins a loop of its own.
#[test]
fn loops_that_look_for_one_child_after_the_other() {
    let sleeps = "| cpu +10us | wait +1ms sleep by timer ".repeat(6);
    let text = format!(
        "process 1 main
         process 2 one parent 1
         process 3 two parent 1
         thread 1.1 tid 1 main
         thread 2.2 tid 2 one parent 1.1
         thread 3.3 tid 3 two parent 1.1
         1.1: cpu 0..1ms {sleeps} | cpu +100us {sleeps} | cpu +1ms
         2.2: cpu 1ms..6.5ms
         3.3: cpu 7.1ms..12.6ms"
    );
    let timeline = walked(&text).0;
    let loops = timeline.polls().all.iter();
    let loops: Vec<_> = loops
        .map(|poll| (poll.awaited, poll.sleeps.len()))
        .collect();
    assert_eq!(loops, [(1, 6), (2, 6)]);
}

/// Nobody is supposed to be waited for who had not been at work, who comes to no end in the last round, or
/// where there were few rounds.
#[test]
fn a_loop_that_looks_for_nobody() {
    let without = |from: &str, to: &str| {
        assert!(POLLED.contains(from), "{from}");
        walked(&POLLED.replace(from, to)).0.polls().all.len()
    };
    assert_eq!(without("cpu 1ms..5.5ms |", "cpu 1ms..4.5ms |"), 0);
    assert_eq!(without("cpu 1ms..5.5ms |", "cpu 1ms..8ms #"), 0);
    assert_eq!(
        without(
            "cpu 1ms..5.5ms |",
            "wait 1ms..3ms condition more | cpu ..5.5ms |"
        ),
        0
    );
    assert_eq!(
        without("| wait +1ms sleep by timer | cpu +10us | wait", "| wait"),
        0
    );
    assert_eq!(without("cpu +10us\n", "cpu +0.5ms\n"), 0);
    // Being late for want of a processor is no work.
    assert_eq!(without("cpu +10us\n", "cpu +10us | ready +0.2ms\n"), 1);
}

/// A server that comes in as it is sent its first request is gone through, and its client before that.
#[test]
fn to_a_server_that_came_in() {
    let text = "process 1 client
         process 2 server
         thread 1.1 tid 1 client
         thread 2.2 tid 2 server born_before start 2ms
         1.1: cpu 0..2100us | wait ..9ms pipe read p by 2.2 | cpu ..10ms
         2.2: wait 2ms..2100us pipe read q by 1.1 | cpu ..3ms | wait ..8ms sleep by timer | cpu ..10ms";
    let expected = [
        (1, Detail::Running, 2100),
        (2, Detail::Running, 900),
        (2, Detail::Sleep, 5000),
        (2, Detail::Running, 1000),
        (1, Detail::Running, 1000),
    ];
    assert_eq!(path(text), expected);
    assert_eq!(unknowns(text), []);
}

/// One that came in as it answered did something before that nobody recorded: until then its client waited for
/// somebody outside.
#[test]
fn to_a_server_that_came_in_late() {
    let text = "process 1 client
         process 2 server
         thread 1.1 tid 1 client
         thread 2.2 tid 2 server born_before start 4ms
         1.1: cpu 0..1ms | wait ..9ms pipe read p by 2.2 | cpu ..10ms
         2.2: cpu 4ms..5ms | wait ..8ms sleep by timer | cpu ..10ms";
    let expected = [
        (1, Detail::Running, 1000),
        (1, Detail::PipeRead, 3000),
        (2, Detail::Running, 1000),
        (2, Detail::Sleep, 3000),
        (2, Detail::Running, 1000),
        (1, Detail::Running, 1000),
    ];
    assert_eq!(path(text), expected);
    assert_eq!(unknowns(text), []);
}

/// The same, asked again: before it came in, its client was answered by somebody outside.
#[test]
fn back_to_before_a_server_came_in() {
    let text = "process 1 client
         process 2 server
         thread 1.1 tid 1 client
         thread 2.2 tid 2 server born_before start 4ms
         1.1: cpu 0..1ms | wait ..4100us pipe read p by 2.2 | cpu ..5ms | wait ..9ms pipe read p by 2.2 | cpu ..10ms
         2.2: cpu 4ms..10ms";
    let expected = [
        (1, Detail::Running, 1000),
        (1, Detail::PipeRead, 3000),
        (2, Detail::Running, 5000),
        (1, Detail::Running, 1000),
    ];
    assert_eq!(path(text), expected);
    assert_eq!(unknowns(text), []);
}

/// A thread of the runtime that came by its own timer interrupts: the path does not go into that timer. Without being told
/// what the thread is, it would.
#[test]
fn an_interruption_is_not_what_was_waited_for() {
    let text = "process 1 p
         thread 1.1 tid 1 main
         thread 1.2 tid 2 keeper
         1.1: cpu 0..10ms | wait ..12ms lock m by 1.2 | cpu ..20ms
         1.2: wait 0..10ms sleep by timer | cpu ..12ms | wait ..20ms sleep by timer";
    let mut timeline = Timeline::of(&recording(text)).expect("a drawn recording reads");
    let on_path = |timeline: &Timeline| -> Vec<(u32, Detail)> {
        let path = Path::of_thread(timeline, 0);
        let segments = path.segments.iter();
        segments
            .map(|segment| (timeline.threads[segment.slot].tid, segment.detail))
            .collect()
    };
    assert!(on_path(&timeline).contains(&(2, Detail::Sleep)));
    let keeper = timeline.threads[1].thread;
    timeline.set_housekeeping(&[keeper].into());
    let expected = [
        (1, Detail::Running),
        (1, Detail::Lock),
        (1, Detail::Running),
    ];
    assert_eq!(on_path(&timeline), expected);
}

/// A worker sleeps while there is something to do, because the others of its process have all processors; the runtime's own thread
/// sees that at last and wakes it. It waited for what the others did, not for nothing. Where they had nothing to do either, it did.
#[test]
fn who_waits_for_a_busy_process_waits_for_what_it_does() {
    let text = |others: &str| {
        format!(
            "process 1 p
             thread 1.1 tid 1 one
             thread 1.2 tid 2 keeper
             thread 1.3 tid 3 other
             1.1: cpu 0..1ms | wait ..20ms condition by 1.2 | cpu ..25ms
             1.2: wait 0..19900us sleep by timer | cpu ..20ms | wait ..25ms sleep by timer
             1.3: {others}"
        )
    };
    let beside = |others: &str| -> u64 {
        let mut timeline =
            Timeline::of(&recording(&text(others))).expect("a drawn recording reads");
        let keeper = timeline.threads[1].thread;
        timeline.set_housekeeping(&[keeper].into());
        let path = Path::of_thread(&timeline, 0);
        let other = path.segments.iter().filter(|segment| segment.slot == 2);
        other.map(|segment| segment.ns()).sum()
    };
    assert_eq!(beside("cpu 0..21ms | wait ..25ms condition"), 20_000_000);
    assert_eq!(beside("cpu 0..3ms | wait ..25ms condition"), 0);
    let resting = "cpu 0..12ms | wait ..19ms condition by 1.2 | cpu ..25ms";
    assert_eq!(beside(resting), 0);
}

/// A thread of the runtime ends the process, after a sleep of its own: the wait of the first thread for its end goes on where that
/// one was told to. A program in Java that ended by itself was 'thread join' for all of its time.
#[test]
fn a_runtimes_thread_that_ends_the_process_is_on_the_path() {
    let text = "process 1 p
         thread 1.1 tid 1 main
         thread 1.2 tid 2 worker
         thread 1.3 tid 3 keeper
         1.1: cpu 0..10ms | wait ..100ms join by 1.3 | cpu ..101ms exit tear-down
         1.2: cpu 5ms..90ms | wait ..100ms condition by 1.3 | cpu ..101ms exit tear-down
         1.3: wait 5ms..90ms condition by 1.2 | cpu ..91ms | wait ..99ms sleep by timer | cpu ..100.1ms exit tear-down";
    let mut timeline = Timeline::of(&recording(text)).expect("a drawn recording reads");
    let keeper = timeline.threads[2].thread;
    timeline.set_housekeeping(&[keeper].into());
    let path = Path::of_thread(&timeline, 0);
    let in_worker = path.segments.iter().filter(|segment| segment.slot == 1);
    let ns: u64 = in_worker.map(|segment| segment.t1.since(segment.t0)).sum();
    assert!(ns >= 80_000_000, "{ns}: {:?}", path.segments);
}

/// A thread of the kernel that ends a flush did its work for that flush: what it waited for before, which may be nothing at all, is no
/// part of it. 95 % of a service's path were a `kworker` that had nothing to do.
#[test]
fn what_the_kernel_does_is_the_waits_own_matter() {
    let text = "
        process 1 pid 700 service executable /srv/service
        process 2 pid 30 kworker/u8:0 parent_pid 2
        thread 1.1 tid 700 service
        thread 2.1 tid 30 kworker/u8:0 born_before
        object log file /srv/log
        1.1: cpu 0..10ms | wait ..14ms flush log call fsync by 2.1 | cpu ..20ms
        2.1: wait 0..13ms unknown | cpu ..14ms | wait ..20ms unknown";
    assert_eq!(
        path(text),
        [
            (700, Detail::Running, 10_000),
            (700, Detail::Flush, 4_000),
            (700, Detail::Running, 6_000)
        ]
    );
    assert_eq!(unknowns(text), []);
}
