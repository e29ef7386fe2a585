//! The path and the replay follow tasks from thread to thread, on small recordings drawn as text.

use timesink_analysis::facts::Facts;
use timesink_analysis::path::Path;
use timesink_analysis::replay::{CallsOfWaits, Change, Gains, How, Recorded, Replay, What};
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::timeline::carried::Resumes;
use timesink_analysis::timeline::Timeline;
use timesink_recording::notation::recording;
use timesink_recording::words::{Detail, State};

/// A goroutine flushes on one thread; meanwhile the monitor gives its processor to another one, that computes. When the flush is over
/// the first thread has no processor of the runtime's and sleeps; the goroutine goes on on the second, and ends the program.
const TAKEN_OVER: &str = "
    process 1 p
    thread 1.1 tid 1 first
    thread 1.2 tid 2 second parent 1.1
    thread 1.3 tid 3 monitor parent 1.1
    task 1 1 stack \"runtime.main\"
    task 2 1 parent 1 stack \"main.main;main.background\"
    1.1: cpu 0..10ms | wait ..20ms flush log call fsync | wait ..100ms condition c by 1.2
    1.2: wait 0..12ms condition d by 1.3 | cpu ..100ms
    1.3: wait 0..12ms sleep by timer | cpu ..12100us | wait ..100ms sleep by timer
    sample 1.3 12050us weight 100us stack \"runtime.mstart;runtime.sysmon\"
    turn 1.1 0..20ms task 1 left ready at \"main.main;runtime.exitsyscall\"
    turn 1.1 20ms..100ms
    turn 1.2 0..12ms
    turn 1.2 12ms..30ms task 2 left ready at \"runtime.asyncPreempt2\"
    turn 1.2 30ms..100ms task 1";

struct Drawn {
    recording: timesink_recording::Recording,
    timeline: Timeline,
    facts: Facts,
    stacks: Stacks,
}

fn drawn(text: &str) -> Drawn {
    let recording = recording(text);
    let facts = Facts::of(&recording).expect("its facts");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("its stacks");
    let mut timeline = Timeline::of(&recording).expect("a drawn recording reads");
    timeline.set_housekeeping(&stacks.housekeeping());
    let carried = timeline.read_carried(&recording, |stack| stacks.parks(stack));
    carried.expect("its tasks");
    Drawn {
        recording,
        timeline,
        facts,
        stacks,
    }
}

/// The path: thread, what it was in, until when in microseconds.
fn path(text: &str) -> Vec<(u32, State, Detail, i64)> {
    let drawn = drawn(text);
    let path = Path::of_thread(&drawn.timeline, 0);
    let unknown = path.segments.iter().find(|s| s.unknown.is_some());
    assert_eq!(unknown, None);
    let segments = path.segments.iter().map(|segment| {
        let tid = drawn.timeline.threads[segment.slot].tid;
        (tid, segment.state, segment.detail, segment.t1.0 / 1000)
    });
    segments.collect()
}

/// Milliseconds saved without waits of a kind, on two processors.
fn saved(text: &str, detail: Detail) -> f64 {
    let drawn = drawn(text);
    let calls = CallsOfWaits::of(&drawn.recording, &drawn.timeline).expect("its calls");
    let replay = Replay::new(&drawn.timeline, &[], 0, 2);
    assert_eq!(replay.unchanged_ns, replay.recorded_ns);
    let recorded = Recorded {
        timeline: &drawn.timeline,
        facts: &drawn.facts,
        stacks: &drawn.stacks,
        calls: &calls,
    };
    let what = What::Waits {
        detail: Some(detail),
        objects: None,
    };
    let change = Change {
        what,
        processes: None,
        how: How::Scale(0.0),
    };
    Gains::new(&replay, recorded).of(&[change], None).ns as f64 / 1e6
}

/// The goroutine's path goes through its own flush, and through the time in which it had no processor of the runtime's: not
/// through what computed meanwhile, nor through the monitor's sleep.
#[test]
fn a_call_that_another_thread_takes_over_is_one_wait() {
    let expected = [
        (1, State::Cpu, Detail::Running, 10_000),
        (1, State::Wait, Detail::Flush, 20_000),
        (2, State::Ready, Detail::Woken, 30_000),
        (2, State::Cpu, Detail::Running, 100_000),
    ];
    assert_eq!(path(TAKEN_OVER), expected);
}

/// Without the flush it is done as much sooner: what computes meanwhile is nothing that it waits for.
#[test]
fn without_a_call_that_is_taken_over_the_task_is_done_sooner() {
    assert_eq!(saved(TAKEN_OVER, Detail::Flush), 10.0);
}

/// Two goroutines hand on to each other on one thread, without any system call: what gives is on the path, and its wait.
#[test]
fn a_message_on_one_thread_leads_to_who_sent_it() {
    let text = "
        process 1 p
        thread 1.1 tid 1 only
        task 1 1 stack \"runtime.main\"
        task 2 1 parent 1 stack \"main.main;main.sender\"
        1.1: cpu 0..10ms | wait ..30ms flush log call fsync | cpu ..40ms
        turn 1.1 0..5ms task 1 left waiting at \"main.main;runtime.chanrecv;runtime.gopark\"
        turn 1.1 5ms..35ms task 2 left ended
        turn 1.1 35ms..40ms task 1";
    let drawn = drawn(text);
    let turns = drawn.timeline.carried().turns(0);
    assert!(turns.iter().all(|turn| turn.resumes == Resumes::Thread));
    let expected = [
        (1, State::Cpu, Detail::Running, 10_000),
        (1, State::Wait, Detail::Flush, 30_000),
        (1, State::Cpu, Detail::Running, 40_000),
    ];
    assert_eq!(path(text), expected);
    assert_eq!(saved(text, Detail::Flush), 20.0);
}

/// One hands on to another, which an idle thread is woken for: the path goes to who sent, at the moment of the waking, even where
/// the thread of the receiver did something else since then.
#[test]
fn a_message_to_another_thread_leads_to_who_sent_it() {
    let text = "
        process 1 p
        thread 1.1 tid 1 first
        thread 1.2 tid 2 second parent 1.1
        task 1 1 stack \"runtime.main\"
        task 2 1 parent 1 stack \"main.main;main.sender\"
        1.1: cpu 0..5ms | wait ..30ms condition c by 1.2 | cpu ..40ms
        1.2: cpu 0..10ms | wait ..20ms flush log call fsync | cpu ..35ms | wait ..40ms condition d
        turn 1.1 0..5ms task 1 left waiting at \"main.main;runtime.chanrecv;runtime.gopark\"
        turn 1.1 5ms..30ms
        turn 1.1 30ms..40ms task 1
        turn 1.2 0..35ms task 2 left ended
        turn 1.2 35ms..40ms";
    let expected = [
        (2, State::Cpu, Detail::Running, 10_000),
        (2, State::Wait, Detail::Flush, 20_000),
        (2, State::Cpu, Detail::Running, 30_000),
        (1, State::Cpu, Detail::Running, 40_000),
    ];
    assert_eq!(path(text), expected);
    assert_eq!(saved(text, Detail::Flush), 10.0);
}

/// The monitor has a thread look for something to do, and that goes on with a goroutine which waited: nobody tells who let it go
/// on, so the path stays with the goroutine, in its wait.
#[test]
fn who_the_monitor_woke_a_thread_for_waited_itself() {
    let text = "
        process 1 p
        thread 1.1 tid 1 first
        thread 1.2 tid 2 second parent 1.1
        thread 1.3 tid 3 monitor parent 1.1
        task 1 1 stack \"runtime.main\"
        1.1: cpu 0..10ms | wait ..40ms condition c by 1.2
        1.2: wait 0..20ms condition d by 1.3 | cpu ..40ms
        1.3: wait 0..20ms sleep by timer | cpu ..20100us | wait ..40ms sleep by timer
        sample 1.3 20050us weight 100us stack \"runtime.mstart;runtime.sysmon\"
        turn 1.1 0..10ms task 1 left waiting at \"main.main;runtime.netpollblock;runtime.gopark\"
        turn 1.1 10ms..40ms
        turn 1.2 0..20ms
        turn 1.2 20ms..40ms task 1";
    let expected = [
        (1, State::Cpu, Detail::Running, 10_000),
        (2, State::Wait, Detail::Condition, 20_000),
        (2, State::Cpu, Detail::Running, 40_000),
    ];
    assert_eq!(path(text), expected);
}

/// A recording that does not tell how tasks were left is followed by threads, as it was.
#[test]
fn tasks_of_older_recordings_are_not_followed() {
    let text = "
        process 1 p
        thread 1.1 tid 1 only
        task 1 1
        1.1: cpu 0..10ms
        turn 1.1 0..5ms task 1
        turn 1.1 5ms..10ms";
    assert!(drawn(text).timeline.carried().is_empty());
}
