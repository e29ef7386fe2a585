//! Replays of small recordings drawn as text.

use std::cell::Cell;
use std::collections::BTreeSet;

use timesink_analysis::facts::Facts;
use timesink_analysis::replay::{
    CallsOfWaits, Change, Gain, Gains, How, Processors, Recorded, Replay, What,
};
use timesink_analysis::stacks::goroutines::OfGoroutines;
use timesink_analysis::stacks::{Filter, FunctionIx, Stacks};
use timesink_analysis::timeline::Timeline;
use timesink_recording::notation::recording;
use timesink_recording::words::{Detail, State};
use timesink_recording::{ProcessId, ThreadId};

const MANY: u32 = 64;

/// What a change would buy, with so many processors.
fn gain_on(text: &str, processors: u32, what: What, how: How) -> Gain {
    let change = Change {
        what,
        processes: None,
        how,
    };
    gain_of(text, processors, change)
}

fn gain_of(text: &str, processors: u32, change: Change) -> Gain {
    let recording = recording(text);
    let mut timeline = Timeline::of(&recording).expect("a drawn recording reads");
    let facts = Facts::of(&recording).expect("its facts");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("its stacks");
    timeline.set_housekeeping(&stacks.housekeeping());
    timeline
        .read_carried(&recording, &OfGoroutines::new(&stacks))
        .expect("its tasks");
    let calls = CallsOfWaits::of(&recording, &timeline).expect("its calls");
    let replay = Replay::new(&timeline, &[], 0, processors);
    let recorded = Recorded {
        timeline: &timeline,
        facts: &facts,
        stacks: &stacks,
        calls: &calls,
    };
    Gains::new(&replay, recorded, &replay.recorded_path())
        .doubted(processors)
        .of(&[change], None)
}

/// However many threads run side by side, a replay looks at the spans of one for a while before it looks at those of another.
/// A look at another one may bring 2 MB of a file into memory; a report of 30 million spans by 200 threads took 1,051 MB so, and 886 MB then.
#[test]
fn a_replay_goes_from_thread_to_thread_seldom() {
    let mut text = String::from("process 1 p\nthread 1.1 tid 1 t\n");
    for thread in 2..=8 {
        text += &format!("thread 1.{thread} tid {thread} t parent 1.1\n");
    }
    for thread in 1..=8 {
        text += &format!("1.{thread}: cpu 0..{thread}us\n");
        text += "for n in 1..2000\n| wait +3us flush f | cpu +2us\nend\n";
    }
    let recording = recording(&text);
    let timeline = Timeline::of(&recording).expect("a drawn recording reads");
    let replay = Replay::new(&timeline, &[], 0, MANY);
    let (looks, turns, last) = (Cell::new(0usize), Cell::new(0usize), Cell::new(None));
    replay.run(|span| {
        let thread = timeline.span(span).map(|span| span.thread);
        looks.set(looks.get() + 1);
        turns.set(turns.get() + usize::from(last.replace(thread) != thread));
        1.0
    });
    let (looks, turns) = (looks.get(), turns.get());
    assert!(looks > 20_000, "{looks} looks");
    assert!(turns * 200 < looks, "{turns} turns in {looks} looks");
}

/// Milliseconds saved.
fn saved(text: &str, what: What, how: How) -> f64 {
    gain_on(text, MANY, what, how).ns as f64 / 1e6
}

fn waits(detail: Detail) -> What {
    What::Waits {
        detail: Some(detail),
        objects: None,
    }
}

fn function(name: &str) -> What {
    What::Function(name.to_owned())
}

const CUT: How = How::Scale(0.0);

const PIPE: &str = "
    process 1 reader
    process 2 writer
    thread 1.1 tid 1 reader
    thread 2.2 tid 2 writer
    1.1: cpu 0..1ms | wait ..9ms pipe read p by 2.2 | cpu ..10ms
    2.2: cpu 0..2ms | wait ..7ms disk read data by block device | cpu ..10ms";

/// What is not changed comes out as it was.
#[test]
fn unchanged() {
    let recording = recording(PIPE);
    let timeline = Timeline::of(&recording).expect("it reads");
    for processors in [MANY, 2] {
        let replay = Replay::new(&timeline, &[], 0, processors);
        assert_eq!(replay.unchanged_ns, replay.recorded_ns);
        assert_eq!(replay.run(|_| 1.0).wall_ns, replay.recorded_ns);
    }
}

/// Who waits for a thread that waits for the disk gains what that one gains, and no more than what is its own.
#[test]
fn through_a_pipe() {
    assert_eq!(saved(PIPE, waits(Detail::DiskRead), CUT), 5.0);
    assert_eq!(saved(PIPE, waits(Detail::DiskRead), How::Scale(0.5)), 2.5);
    // All work gone: what the disk takes is left.
    assert_eq!(saved(PIPE, What::Cpu, CUT), 5.0);
}

/// What is not on the path buys nothing, however long it is.
#[test]
fn off_the_path() {
    let text = "
        process 1 p
        thread 1.1 tid 1 main
        thread 1.2 tid 2 other parent 1.1
        1.1: cpu 0..10ms
        1.2: cpu 1ms..2ms | wait ..8ms flush f by block device | cpu ..9ms";
    let gain = gain_on(text, MANY, waits(Detail::Flush), CUT);
    assert_eq!((gain.ns, gain.lo_ns, gain.hi_ns), (0, 0, 0));
    assert_eq!(gain.meant_ns, 6_000_000);
}

/// Two threads that are joined: without the longer one the other is what is waited for, though nothing was recorded
/// of that wait.
#[test]
fn the_next_longest() {
    let text = r#"
        process 1 p
        thread 1.1 tid 1 main
        thread 1.2 tid 2 a parent 1.1
        thread 1.3 tid 3 b parent 1.1
        1.1: cpu 0..1ms | wait ..10ms join j by 1.2 | cpu ..11ms
        1.2: cpu 1ms..10ms
        1.3: cpu 1ms..9ms
        sample 1.2 5ms weight 9ms stack "start;a"
        sample 1.3 5ms weight 8ms stack "start;b""#;
    assert_eq!(saved(text, function("a"), CUT), 1.0);
    assert_eq!(saved(text, function("b"), CUT), 0.0);
}

/// Where threads want more processors than there are, fewer of them buy something.
#[test]
fn processors() {
    let text = "
        process 1 p
        thread 1.1 tid 1 main
        thread 1.2 tid 2 a parent 1.1
        1.1: cpu 0..4ms on 0 | ready ..8ms preempted on 0 occupant 1.2 4ms | cpu ..10ms on 0 | wait ..12ms join j by 1.2
        1.2: ready 0..4ms started on 0 occupant 1.1 4ms | cpu ..8ms on 0 | ready ..10ms preempted on 0 occupant 1.1 2ms
           | cpu ..12ms on 0";
    let recording = recording(text);
    let timeline = Timeline::of(&recording).expect("it reads");
    let occupants = recording.rows().expect("they read");
    let one = Replay::new(&timeline, &occupants, 0, 1);
    assert_eq!(one.unchanged_ns, 12_000_000);
    let two = one.on(Processors::Any(2));
    assert_eq!(two.run(|_| 1.0).wall_ns, 6_000_000);
}

/// A lock can be done without; what another thread says cannot.
#[test]
fn locks_and_answers() {
    let lock = "
        process 1 p
        thread 1.1 tid 1 main
        thread 1.2 tid 2 holder
        1.1: cpu 0..2ms | wait ..7ms lock l by 1.2 | cpu ..8ms
        1.2: cpu 0..8ms";
    assert_eq!(saved(lock, waits(Detail::Lock), CUT), 5.0);
    assert_eq!(saved(PIPE, waits(Detail::PipeRead), CUT), 0.0);
}

/// Many become one, all at once, or only the first.
#[test]
fn together() {
    let text = "
        process 1 p
        thread 1.1 tid 1 p
        1.1: cpu 0..1ms | wait ..5ms sleep by timer | cpu ..6ms | wait ..8ms sleep by timer | cpu ..9ms
           | wait ..13ms sleep by timer | cpu ..14ms";
    assert_eq!(saved(text, waits(Detail::Sleep), How::Batch(2)), 5.0);
    assert_eq!(saved(text, waits(Detail::Sleep), How::Overlap), 6.0);
    assert_eq!(saved(text, waits(Detail::Sleep), How::KeepFirst), 6.0);
}

/// Threads that meet wait for the last of them, whoever that is then.
#[test]
fn meetings() {
    let text = r#"
        process 1 p
        thread 1.1 tid 1 a
        thread 1.2 tid 2 b
        1.1: cpu 0..10ms | cpu ..14ms | wait ..20ms condition c by 1.2 | cpu ..30ms
        1.2: cpu 0..8ms | wait ..10ms condition c by 1.1 | cpu ..20ms | cpu ..30ms
        sample 1.1 5ms weight 10ms stack "start;first"
        sample 1.1 12ms weight 4ms stack "start;second"
        sample 1.1 25ms weight 10ms stack "start;third""#;
    // The first meeting is at 8 ms then, not at once: the other one has not come before.
    let gain = saved(text, function("first"), CUT);
    assert!(gain > 0.0 && gain <= 2.0, "{gain}");
}

/// Two that hand a lock of conditions to and fro meet at each turn; without those waits nobody waits for the other to come
/// there, either, and both run side by side.
#[test]
fn without_meetings_nobody_comes_to_them() {
    let text = "
        process 1 p
        thread 1.1 tid 1 a
        thread 1.2 tid 2 b
        1.1: cpu 0..10ms | wait ..11ms condition c by 1.2 | cpu ..21ms | wait ..22ms condition c by 1.2
           | cpu ..23ms | wait ..33ms condition c by 1.2 | cpu ..34ms | wait ..44ms condition c by 1.2
        1.2: wait 0..10ms condition c by 1.1 | cpu ..11ms | wait ..21ms condition c by 1.1 | cpu ..22ms
           | wait ..23ms condition c by 1.1 | cpu ..33ms | wait ..34ms condition c by 1.1 | cpu ..44ms";
    let gain = saved(text, waits(Detail::Condition), How::Never);
    assert_eq!(gain.round(), 22.0, "{gain}");
}

/// A program that is being executed stands at its `_start`, in the kernel: that was taken for what makes the call, and all
/// that goes through any `_start` for the call.
#[test]
fn a_program_that_is_executed_has_made_no_call() {
    let mut text = String::from(
        r#"process 1 p
        thread 1.1 tid 1 p
        frame _start module /lib64/ld-linux-x86-64.so.2
        frame __x64_sys_execve kind kernel language kernel
        1.1: cpu 0..100ms
        "#,
    );
    for ms in 1..=30 {
        text += &format!("sample 1.1 {ms}ms weight 1ms stack \"_start;__x64_sys_execve\"\n");
    }
    text += "sample 1.1 65ms weight 70ms stack \"_start;main;work\"\n";
    let gain = saved(&text, What::Calls(BTreeSet::from(["execve"])), CUT);
    assert!((gain - 30.0).abs() < 1.0, "{gain}");
}

/// Who waits for Python's lock asks for it every 5 ms, all the while. It is at the meeting from the first of these waits on:
/// counted from the last alone, each of the two waited for the other, and all turns came one after the other twice.
#[test]
fn who_asks_again_and_again_is_there_all_the_time() {
    let asks = "wait +5ms condition gil by timer expired | cpu +10us | ".repeat(3);
    let waits_for = |other: &str| format!("{asks}wait +4.97ms condition gil by {other}");
    let (of_a, of_b) = (waits_for("1.2"), waits_for("1.1"));
    let text = format!(
        "process 1 p
         thread 1.1 tid 1 a
         thread 1.2 tid 2 b
         1.1: cpu 0..20ms | {of_a} | cpu +20ms | {of_a} | cpu +1ms | wait ..84ms join more by 1.2
         1.2: {of_b} | cpu +20ms | {of_b} | cpu +20ms | cpu ..83ms exit tear-down"
    );
    let recording = recording(&text);
    let timeline = Timeline::of(&recording).expect("a drawn recording reads");
    let error = Replay::new(&timeline, &[], 0, MANY).error_pct();
    assert!(error.abs() < 3.0, "{error}");
    let gain = saved(&text, waits(Detail::Condition), How::Never);
    assert!((gain - 40.0).abs() < 3.0, "{gain}");
}

/// The share of a function is told by the samples in each stretch, not by those of the whole thread.
#[test]
fn samples_tell_when() {
    let mut text = String::from(
        "process 1 p
         thread 1.1 tid 1 p
         1.1: cpu 0..100ms | wait ..110ms sleep by timer | cpu ..210ms\n",
    );
    for ms in 1..=100 {
        text += &format!("sample 1.1 {ms}ms weight 1ms stack \"main;load\"\n");
        text += &format!("sample 1.1 {}ms weight 1ms stack \"main;work\"\n", ms + 110);
    }
    let gain = saved(&text, function("load"), CUT);
    assert!((gain - 100.0).abs() < 0.01, "{gain}");
}

/// A call goes with its wait: what it took on a processor too.
#[test]
fn a_call_goes_with_its_wait() {
    let text = r#"
        process 1 p
        thread 1.1 tid 1 p
        1.1: cpu 0..4ms | wait ..10ms flush f by block device call fsync | cpu ..14ms
        sample 1.1 2ms weight 4ms kernel stack "main;__x64_sys_fsync"
        sample 1.1 13ms weight 4ms kernel stack "main;__x64_sys_fsync"
        call 1.1 fsync f count 1 ns 13ms"#;
    assert_eq!(saved(text, waits(Detail::Flush), CUT), 14.0);
}

/// One call waits for a peer and for other things in turn. Each wait goes with what it returned for, and the call by the
/// share of such waits: without polls the answers of the peer are still to be waited for.
#[test]
fn a_poll_is_divided_among_what_it_returned_for() {
    let text = r#"
        process 1 p
        thread 1.1 tid 1 p
        object e epoll
        object s tcp socket remote 10.0.0.1:80
        object p pipe
        1.1: cpu 0..4ms | wait ..24ms poll e by network call epoll_wait result 1 woken_object s stack "main;__x64_sys_epoll_wait"
           | cpu ..28ms | wait ..31ms poll e by outsider 9 call epoll_wait result 1 woken_object p stack "main;__x64_sys_epoll_wait" | cpu ..35ms
        sample 1.1 2ms weight 4ms kernel stack "main;__x64_sys_epoll_wait"
        sample 1.1 26ms weight 4ms kernel stack "main;__x64_sys_epoll_wait"
        sample 1.1 33ms weight 4ms kernel stack "main;__x64_sys_epoll_wait"
        call 1.1 connect s
        call 1.1 write s count 1
        call 1.1 read s count 1
        call 1.1 read p count 1
        call 1.1 epoll_wait e count 2 ns 35ms"#;
    // Half of the call's 12 ms goes with either wait.
    assert_eq!(saved(text, waits(Detail::Poll), CUT), 3.0 + 6.0);
    assert_eq!(saved(text, waits(Detail::NetworkReceive), CUT), 20.0 + 6.0);
}

/// And so it is not gained a second time with what is done on a processor: a disk that was done before the thread was off
/// its processor made that the first of all causes.
#[test]
fn a_call_counts_with_its_wait_only() {
    let text = r#"
        process 1 p
        thread 1.1 tid 1 p
        1.1: cpu 0..4ms | wait ..10ms flush f by block device call fsync | cpu ..18ms
        sample 1.1 2ms weight 4ms kernel stack "main;__x64_sys_fsync"
        sample 1.1 16ms weight 8ms stack "main;work"
        call 1.1 fsync f count 1 ns 10ms"#;
    let on_processor = What::Cause {
        state: State::Cpu,
        detail: None,
        object: None,
    };
    let [flushing, working] =
        [waits(Detail::Flush), on_processor].map(|what| saved(text, what, CUT));
    assert!(
        (flushing + working - 18.0).abs() < 0.01,
        "{flushing} + {working}"
    );
    assert!(flushing > working, "{flushing}, {working}");
    assert_eq!(saved(text, What::Cpu, CUT), 12.0);
}

/// Who waits for memory in a call has to do the work of the call all the same: writing was taken to go with the wait.
#[test]
fn a_wait_for_memory_goes_without_its_call() {
    let text = r#"
        process 1 p
        thread 1.1 tid 1 p
        1.1: cpu 0..4ms | wait ..10ms "memory reclaim" f by timer call write | cpu ..14ms
        sample 1.1 2ms weight 4ms kernel stack "main;__x64_sys_write"
        sample 1.1 13ms weight 4ms kernel stack "main;__x64_sys_write"
        call 1.1 write f count 1 ns 13ms"#;
    assert_eq!(saved(text, waits(Detail::Reclaim), CUT), 6.0);
}

/// Only the processes that are meant, and with all of a process's children its work for them.
#[test]
fn only_these_processes() {
    let text = "
        process 1 sh
        process 2 awk parent 1
        thread 1.1 tid 1 sh
        thread 2.2 tid 2 awk parent 1.1
        1.1: cpu 0..1ms | wait ..9ms child c by 2.2 | cpu ..10ms
        2.2: cpu 1ms..3ms | wait ..5ms sleep by timer | cpu ..9ms";
    let change = Change {
        what: What::All,
        processes: Some(BTreeSet::from([ProcessId(2)])),
        how: CUT,
    };
    assert_eq!(gain_of(text, MANY, change).ns, 8_000_000);
}

/// What the path turns into: a replayed path tiles the replayed wall time.
#[test]
fn the_path_that_is_left() {
    let recording = recording(PIPE);
    let timeline = Timeline::of(&recording).expect("it reads");
    let replay = Replay::new(&timeline, &[], 0, MANY);
    let disk = |index: usize| {
        let is_disk = timeline
            .span(index)
            .is_some_and(|span| span.detail == Detail::DiskRead);
        f64::from(u8::from(!is_disk))
    };
    let (_, path) = replay.path(disk);
    assert_eq!(path.wall_ns(), 5_000_000);
    let sum: u64 = path.segments.iter().map(|segment| segment.ns()).sum();
    assert_eq!(sum, path.wall_ns());
    assert_eq!(path.unknown_ns(), 0);
}

/// Who looks every millisecond whether a thread is done sees it sooner when that is done sooner, and sleeping
/// less saves only what it slept too long.
#[test]
fn a_loop_that_looks() {
    let text = "
        process 1 main
        thread 1.1 tid 1 main
        thread 1.2 tid 2 worker parent 1.1
        1.1: cpu 0..1ms | wait ..2ms sleep by timer | wait +1ms sleep by timer
           | wait +1ms sleep by timer | wait +1ms sleep by timer
           | wait ..6ms sleep by timer | cpu ..7ms
        1.2: cpu 1ms..5.5ms | wait ..7ms condition more";
    let recording = recording(text);
    let timeline = Timeline::of(&recording).expect("it reads");
    assert_eq!(timeline.polls().all.len(), 1);
    let replay = Replay::new(&timeline, &[], 0, MANY);
    assert_eq!(replay.unchanged_ns, 7_000_000);
    // The worker needs 4.5 ms: at half of that it is done in the third round, at a ninth in the first.
    let faster = |by: f64| {
        let worker = timeline.indexed(1).next().map(|(index, _)| index);
        let factor = |index| if Some(index) == worker { by } else { 1.0 };
        replay.run(factor).wall_ns
    };
    assert_eq!(faster(0.5), 5_000_000);
    assert_eq!(faster(0.1), 3_000_000);
    assert_eq!(saved(text, waits(Detail::Sleep), CUT), 0.5);
    assert_eq!(saved(text, waits(Detail::Sleep), How::Scale(0.1)), 0.5);
}

/// What a loop that is left sooner would have done in its last rounds is done all the same: somebody waits for it.
#[test]
fn a_loop_that_is_left_sooner_wakes_all() {
    let text = "
        process 1 main
        thread 1.1 tid 1 main
        thread 1.2 tid 2 worker parent 1.1
        thread 1.3 tid 3 other parent 1.1
        1.1: cpu 0..1ms | wait ..2ms sleep by timer | cpu +10us | wait ..3ms sleep by timer | cpu +10us
           | wait ..4ms sleep by timer | cpu +10us | wait ..5ms sleep by timer | cpu +10us
           | wait ..6ms sleep by timer | cpu ..7ms | wait ..9ms join by 1.3 | cpu ..10ms
        1.2: cpu 1ms..5.5ms | wait ..10ms condition more
        1.3: cpu 1ms..1.5ms | wait ..5.005ms lock l by 1.1 | cpu ..9ms exit tear-down";
    let recording = recording(text);
    let timeline = Timeline::of(&recording).expect("it reads");
    let replay = Replay::new(&timeline, &[], 0, MANY);
    let outcome = replay.run(|index| {
        let worker = timeline.indexed(1).next().map(|(index, _)| index);
        if Some(index) == worker {
            0.1
        } else {
            1.0
        }
    });
    assert_eq!(outcome.forced, 0);
    assert!(
        outcome.wall_ns < replay.recorded_ns - 2_000_000,
        "{}",
        outcome.wall_ns
    );
}

/// A server came in as it was sent a request. Were its client quicker, it would have been sent that sooner.
#[test]
fn a_server_that_came_in_would_have_come_in_sooner() {
    let text = "process 1 client
         process 2 server
         thread 1.1 tid 1 client
         thread 2.2 tid 2 server born_before start 6ms
         1.1: cpu 0..1ms | wait ..6ms flush f by block device | cpu ..6100us | wait ..9ms pipe read p by 2.2 | cpu ..10ms
         2.2: wait 6ms..6100us pipe read q by 1.1 | cpu ..9ms";
    let saved = saved(text, waits(Detail::Flush), CUT);
    assert!((4.9..5.1).contains(&saved), "{saved} ms");
}

/// Who waits for a server with time-outs gets its answer sooner if the server is quicker, however many of them passed
/// in the recording.
#[test]
fn time_outs_while_a_server_works() {
    let text = "
        process 1 client
        process 2 server
        thread 1.1 tid 1 client
        thread 2.2 tid 2 server
        1.1: cpu 0..1ms | wait ..201ms poll s by timer | cpu +0.1ms | wait ..401ms poll s by timer
           | cpu +0.1ms | wait ..501ms poll s by 2.2 | cpu ..502ms
        2.2: wait 0..1ms network receive s by 1.1 | wait ..500ms sleep by timer | cpu ..502ms";
    let gain = saved(text, waits(Detail::Sleep), CUT);
    assert!((gain - 499.0).abs() < 1.0, "{gain}");
    let half = saved(text, waits(Detail::Sleep), How::Scale(0.5));
    assert!((half - 249.5).abs() < 1.0, "{half}");
}

/// Who sleeps and looks until a signal ends the sleep, as Apache's first process does, waited for the signal: were whoever sends it
/// quicker, it would end sooner. Its sleeps were left as they were, and nothing was gained by what the sender did not do.
#[test]
fn sleeps_until_a_signal() {
    let text = "
        process 1 sh
        process 2 apache2 parent 1
        thread 1.1 tid 1 sh
        thread 2.2 tid 2 apache2 parent 1.1
        1.1: cpu 0..1ms | wait ..2500ms flush f by block device | cpu ..2501ms | wait ..2503ms child by 2.2 | cpu ..2504ms
        2.2: cpu 1ms..2ms | wait +1s sleep by timer | cpu +0.1ms | wait +1s sleep by timer
           | cpu +0.1ms | wait ..2501ms sleep by 1.1 | cpu ..2503ms";
    let gain = saved(text, waits(Detail::Flush), CUT);
    assert!((gain - 2499.0).abs() < 2.0, "{gain}");
}

/// A condition that is not waited for at all, whoever would have ended it; the other way of taking waits away leaves it.
#[test]
fn never_waited_for() {
    let text = "
        process 1 p
        thread 1.1 tid 1 main
        thread 1.2 tid 2 worker parent 1.1
        1.1: cpu 0..1ms | wait ..10ms condition c by 1.2 | cpu +5ms
        1.2: cpu 1ms..10ms";
    let condition = || waits(Detail::Condition);
    assert_eq!(saved(text, condition(), How::Scale(0.0)), 0.0);
    assert_eq!(saved(text, condition(), How::Never), 9.0);
}

/// Threads that share their work evenly do as much together as before, and end together.
#[test]
fn shared_evenly() {
    let text = "
        process 1 p
        thread 1.1 tid 1 main
        thread 1.2 tid 2 worker parent 1.1
        thread 1.3 tid 3 worker parent 1.1
        1.1: cpu 0..1ms | wait ..91ms join t by 1.2 | cpu +1ms
        1.2: cpu 1ms..91ms
        1.3: cpu 1ms..11ms";
    let threads = What::Threads(BTreeSet::from([ThreadId(2), ThreadId(3)]));
    let gain = saved(text, threads.clone(), How::Even);
    assert!((gain - 40.0).abs() < 0.001, "{gain}");
    // With one processor nothing is gained by that.
    let gain = gain_on(text, 1, threads, How::Even).ns;
    assert!(gain.abs() < 1000, "{gain}");
}

/// Waits for threads that all take place where the last of them did: the threads run side by side.
#[test]
fn waited_for_at_the_end() {
    let text = "
        process 1 p
        thread 1.1 tid 1 main
        thread 1.2 tid 2 worker parent 1.1
        thread 1.3 tid 3 worker parent 1.1
        thread 1.4 tid 4 worker parent 1.1
        1.1: cpu 0..1ms | wait ..31ms join a by 1.2 | cpu +1ms | wait ..52ms join b by 1.3 | cpu +1ms
           | wait ..63ms join c by 1.4 | cpu +1ms
        1.2: cpu 1ms..31ms
        1.3: cpu 32ms..52ms
        1.4: cpu 53ms..63ms";
    let joins = || What::Spans(BTreeSet::from([1, 3, 5]));
    // The first is the longest: 1 ms, and its 30 ms; 1 ms at the end.
    assert_eq!(saved(text, joins(), How::Last), 32.0);
    assert_eq!(gain_on(text, 1, joins(), How::Last).ns, 0);
}

/// Handing over takes no time, but who waits for whom stays: only the ways to a processor are saved.
#[test]
fn handed_over_at_once() {
    let text = "
        process 1 p
        thread 1.1 tid 1 main
        thread 1.2 tid 2 worker parent 1.1
        1.1: cpu 0..1ms | wait ..8ms \"pipe read\" a by 1.2 | ready +2ms woken | cpu +1ms
        1.2: wait 0..1ms \"pipe read\" b by 1.1 | ready +3ms woken | cpu +4ms";
    let pipes = What::Waits {
        detail: Some(Detail::PipeRead),
        objects: None,
    };
    assert_eq!(saved(text, pipes, How::HandOver), 5.0);
}

/// Of two functions of the same name in different modules only the one that is meant is made faster.
#[test]
fn functions_of_one_module() {
    let text = r#"
        process 1 p
        thread 1.1 tid 1 main
        frame deflate module /usr/lib/libz.so.1
        frame another function deflate module /usr/bin/p
        1.1: cpu 0..10ms
        sample 1.1 4ms weight 4ms stack "main;deflate"
        sample 1.1 10ms weight 6ms stack "main;another""#;
    let recording = recording(text);
    let facts = Facts::of(&recording).expect("its facts");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("its stacks");
    let code = &stacks.code;
    let functions = (0..code.functions.len()).map(|at| FunctionIx(at as u32));
    let meant = functions.filter(|&function| {
        let module = code.module_of(function);
        module.is_some_and(|module| module.path.ends_with("libz.so.1"))
    });
    let meant = What::Functions(meant.collect());
    assert_eq!(saved(text, meant.clone(), How::Scale(0.5)), 2.0);
    assert_eq!(saved(text, meant, CUT), 4.0);
}

/// What may turn out in two ways is the middle of both, and at least and at most what either of them is.
#[test]
fn between_two_gains() {
    let of = |factor| gain_on(PIPE, MANY, waits(Detail::DiskRead), How::Scale(factor));
    let (little, much) = (of(0.8), of(0.2));
    let gain = Gain::between(much, little);
    assert_eq!(gain.ns, (little.ns + much.ns) / 2);
    assert_eq!((gain.lo_ns, gain.hi_ns), (little.lo_ns, much.hi_ns));
    assert_eq!(
        (gain.wall_lo_ns, gain.wall_hi_ns),
        (much.wall_lo_ns, little.wall_hi_ns)
    );
}

/// A thread that ticks until it is told to stop is told sooner if the work is done sooner, however many of its ticks passed
/// in the recording: a Java program cannot end before its periodic thread has.
#[test]
fn a_periodic_thread_is_stopped_sooner() {
    let text = "
        process 1 java
        thread 1.1 tid 1 main
        thread 1.2 tid 2 periodic
        1.1: cpu 0..450ms | wait ..452ms condition b by 1.2 | cpu ..453ms
        1.2: wait 0..100ms condition a by timer
           | cpu +0.1ms | wait +100ms condition a by timer
           | cpu +0.1ms | wait +100ms condition a by timer
           | cpu +0.1ms | wait +100ms condition a by timer
           | cpu +0.1ms | wait ..450ms condition a by 1.1 | cpu ..452ms";
    let gain = saved(text, What::Cpu, CUT);
    assert!(gain > 440.0, "{gain}");
}

/// Whoever wakes another at each tick is its clock: without the work of a third thread the ticks come as they did.
#[test]
fn a_periodic_thread_that_wakes_others_is_a_clock() {
    let text = "
        process 1 paced
        thread 1.1 tid 1 main
        thread 1.2 tid 2 clock
        thread 1.3 tid 3 paced
        1.1: cpu 0..120ms | wait ..160ms join c by 1.3 | cpu ..161ms
        1.2: wait 0..50ms condition a by timer | cpu ..50.1ms | wait ..100ms condition a by timer | cpu ..100.1ms
           | wait ..150ms condition a by timer | cpu ..150.1ms | wait ..160.1ms condition a by 1.3 | cpu ..160.2ms
        1.3: wait 0..50.05ms condition b by 1.2 | cpu ..51ms | wait ..100.05ms condition b by 1.2 | cpu ..101ms
           | wait ..150.05ms condition b by 1.2 | cpu ..160.2ms";
    let gain = saved(text, What::Cpu, CUT);
    assert!(gain < 20.0, "{gain}");
}

/// Go's monitor hands the processor of a thread that flushes to another one: that one's wait goes with the flush. A wait that
/// another thread ends does not.
#[test]
fn an_interruption_goes_with_what_it_was_for() {
    let text = "process 1 p
         thread 1.1 tid 1 main
         thread 1.2 tid 2 flusher
         thread 1.3 tid 3 keeper
         1.1: cpu 0..1ms | wait ..11ms condition by 1.3 | cpu ..12ms
         1.2: cpu 0..1ms | wait ..11ms flush rows.db by block device call fsync | cpu ..12ms
         1.3: wait 0..10ms sleep by timer | cpu ..11ms | wait ..12ms sleep by timer
         sample 1.3 11ms weight 1ms stack \"runtime.mstart;MONITOR\"";
    let ms = |monitor: &str| {
        let text = text.replace("MONITOR", monitor);
        saved(&text, waits(Detail::Flush), How::Scale(0.0)).round()
    };
    assert_eq!(ms("runtime.sysmon"), 10.0);
    assert_eq!(ms("main.other"), 0.0);
}

/// Go's monitor sleeps and looks, again and again, while others work, and is woken where there was nothing to look after. Without
/// what the others do it would have slept less; its sleeps were kept, and who it woke then waited for all of them: bbolt, whose
/// path was 67 % flushes, was predicted to save 27 % without them.
#[test]
fn a_runtimes_monitor_sleeps_as_long_as_others_do_something() {
    let text = "process 1 p
         thread 1.1 tid 1 main
         thread 1.2 tid 2 flusher
         thread 1.3 tid 3 keeper
         1.1: cpu 0..1ms | wait ..13ms condition by 1.3 | cpu ..14ms
         1.2: cpu 0..1ms | DOES | cpu ..12ms
         1.3: wait 0..10ms sleep by timer | cpu ..10.1ms | wait ..12ms condition by 1.2 | cpu ..13ms
            | wait ..14ms sleep by timer
         sample 1.3 13ms weight 1ms stack \"runtime.mstart;runtime.sysmon\"
         sample 1.2 6ms weight 10ms stack \"main;flush\"";
    let flushes = text.replace(
        "DOES",
        "wait ..11ms flush rows.db by block device call fsync",
    );
    let saves = saved(&flushes, waits(Detail::Flush), How::Scale(0.0));
    assert_eq!(saves.round(), 10.0);
    let works = text.replace("DOES", "cpu ..11ms");
    let saves = saved(&works, What::Function("flush".to_owned()), CUT);
    assert!(saves > 9.0, "{saves}");
}

/// A thread of Go's that has no goroutine to run sleeps until the next timer, 10 ms away, and is woken later to run one: had there been
/// one before, it would have been woken before. Programs of more than a second with a timer of a second saved only what came
/// after that second.
#[test]
fn a_thread_without_a_goroutine_is_woken_as_soon_as_there_is_one() {
    let text = "process 1 p
         thread 1.1 tid 1 main
         thread 1.2 tid 2 idle
         thread 1.3 tid 3 keeper
         1.1: cpu 0..1ms | wait ..11ms flush rows.db by block device call fsync | cpu ..11.5ms
            | wait ..12.5ms condition by 1.2 | cpu ..13ms
         1.2: wait 0..10ms poll by timer stack \"runtime.mcall;runtime.schedule;LOOK;runtime.netpoll\"
            | cpu ..10.1ms | wait ..11.2ms condition by 1.1 | cpu ..13ms
         1.3: wait 0..5ms sleep by timer | cpu ..5.1ms | wait ..13ms sleep by timer
         sample 1.3 5.05ms weight 1ms stack \"runtime.mstart;runtime.sysmon\"";
    let ms = |look: &str| {
        let text = text.replace("LOOK", look);
        saved(&text, waits(Detail::Flush), How::Scale(0.0))
    };
    assert!(
        ms("runtime.findRunnable") > 9.5,
        "{}",
        ms("runtime.findRunnable")
    );
    assert!(ms("main.other") < 2.0, "{}", ms("main.other"));
}

/// Java's periodic thread was awake by its own timer as the program ended, and nobody woke it: the program would not have waited
/// for its 500 ms of rounds had it been quicker. It was predicted to save 2 ms by having nothing to do.
#[test]
fn a_runtimes_own_rounds_bound_no_program() {
    let text = "process 1 p
         thread 1.1 tid 1 main
         thread 1.2 tid 2 keeper parent 1.1 exit 100.3ms
         1.1: cpu 0..100.1ms | wait ..100.25ms condition by 1.2 | cpu ..101ms
         1.2: wait 1ms..51ms condition by timer | cpu ..51.1ms | wait ..100ms condition by timer | cpu ..100.3ms
         sample 1.2 100.2ms weight 100us stack \"thread_native_entry(Thread*);WatcherThread::run()\"";
    let gain = saved(text, What::Cpu, CUT);
    assert!(gain > 90.0, "{gain}");
}

/// Beside programs outside of the recording, who was runnable behind a recorded thread does not run at once in a replay,
/// as there seemed to be a free processor: Java programs on a loaded machine were replayed up to 19 % too short.
#[test]
fn processors_that_programs_outside_had() {
    // The other of two processors belongs to somebody else all the time.
    let text = "
        process 1 p
        thread 1.1 tid 1 main
        thread 1.2 tid 2 a parent 1.1
        1.1: cpu 0..4ms on 0 | ready ..8ms preempted on 0 occupant 1.2 4ms | cpu ..10ms on 0 | wait ..12ms join j by 1.2
        1.2: ready 0..4ms started on 1 occupant 1.1 4ms | cpu ..8ms on 1 | ready ..10ms preempted on 1 occupant 1.1 2ms
           | cpu ..12ms on 1";
    let recording = recording(text);
    let timeline = Timeline::of(&recording).expect("it reads");
    let occupants = recording.rows().expect("they read");
    let replay = Replay::new(&timeline, &occupants, 0, 2);
    assert_eq!(replay.unchanged_ns, 12_000_000);
    assert_eq!(replay.processors, Processors::Any(2));
}

/// A timer of 500 ms that nobody waits for took half of the gain of a Java service: its compiler thread does its next job, for
/// the work, only after the timer's.
#[test]
fn a_timer_beside_the_work_comes_at_the_same_place_in_it() {
    let mut text = String::from(
        "run wall 1s
        process 1 client
        process 2 server
        thread 1.1 tid 1 client
        thread 2.1 tid 2 server born_before alive_at_end
        thread 2.2 tid 3 compiler parent 2.1 born_before alive_at_end
        thread 2.3 tid 4 timer parent 2.1 born_before alive_at_end
        object s \"tcp socket\" remote 10.0.0.1:80
        1.1: ",
    );
    let rounds =
        |count| vec!["wait +40ms network receive s by network | cpu +10ms"; count].join(" | ");
    text += &rounds(11);
    text += " | wait ..591ms pipe read p by 2.1 | cpu +9ms | ";
    text += &rounds(8);
    text += "
        2.1: wait 0..590ms lock a by 2.2 | cpu +1ms | wait ..1s condition c
        2.2: wait 0..500ms condition b by 2.3 | cpu +20ms | wait ..580ms condition b by 1.1 | cpu +10ms | wait ..1s condition b
        2.3: wait 0..500ms condition t by timer | cpu +1ms | wait ..1s condition t";
    assert!(saved(&text, waits(Detail::NetworkReceive), CUT) > 700.0);
}

/// A web server that others preempted was predicted to save 31 %, and saved 99 %. The way back after a wait stays.
#[test]
fn who_has_less_to_do_is_preempted_for_less_long() {
    let text = "process 1 p\nthread 1.1 tid 1 main
        1.1: cpu 0..10ms | ready ..30ms preempted | cpu ..40ms | wait ..50ms sleep by timer | ready ..55ms woken | cpu ..60ms";
    assert_eq!(saved(text, What::Cpu, How::Scale(0.5)), 22.5);
    assert_eq!(saved(text, What::Cpu, CUT), 45.0);
    assert_eq!(saved(text, waits(Detail::Sleep), How::Scale(0.5)), 7.5);
}
