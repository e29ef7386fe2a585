//! The path and the replay follow a task that comes back from a call to the thread that goes on with it, on small recordings drawn as text.

use timesink_analysis::facts::Facts;
use timesink_analysis::path::Path;
use timesink_analysis::replay::{CallsOfWaits, Change, Gains, How, Recorded, Replay, What};
use timesink_analysis::stacks::goroutines::OfGoroutines;
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::timeline::carried::{Place, Resumes};
use timesink_analysis::timeline::Timeline;
use timesink_recording::notation::recording;
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

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
    let carried = timeline.read_carried(&recording, &OfGoroutines::new(&stacks));
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
    Gains::new(&replay, recorded, &replay.recorded_path())
        .of(&[change], None)
        .ns as f64
        / 1e6
}

/// The goroutine's path goes through its own flush, and through what had the runtime's processor after that: not through the
/// monitor's sleep.
#[test]
fn a_call_that_another_thread_takes_over_is_one_wait() {
    let expected = [
        (1, State::Cpu, Detail::Running, 10_000),
        (1, State::Wait, Detail::Flush, 20_000),
        (2, State::Cpu, Detail::Running, 30_000),
        (2, State::Cpu, Detail::Running, 100_000),
    ];
    assert_eq!(path(TAKEN_OVER), expected);
    let drawn = drawn(TAKEN_OVER);
    let flush = drawn.timeline.wait_at(0, Nanos(10_000_000));
    let left = Place {
        slot: 0,
        at: Nanos(20_000_000),
    };
    let called = drawn.timeline.carried().turns(1)[2];
    assert_eq!(
        Some(called.resumes),
        flush.map(|call| Resumes::Called { left, call })
    );
    assert_eq!(called.queued_ns(), 10_000_000);
}

/// Without the flush it is done as much sooner, and sooner by the time for which another one had its processor of the runtime's.
#[test]
fn without_a_call_that_is_taken_over_the_task_is_done_sooner() {
    // The monitor has a processor for a moment.
    let saved = saved(TAKEN_OVER, Detail::Flush);
    assert!((19.9..=20.0).contains(&saved), "{saved}");
}

/// When a thread found nothing to do in between, the goroutine did run, and was not seen: what it waited for since then is not known.
#[test]
fn who_could_go_on_ran_where_a_thread_found_nothing_to_do() {
    let idle = "
    thread 1.4 tid 4 idle parent 1.1
    1.4: wait 0..15ms condition e by 1.1 | cpu ..25ms | wait ..100ms condition e stack \"runtime.mcall;runtime.schedule;runtime.findRunnable;runtime.futex\"
    turn 1.4 0..100ms";
    let text = format!("{TAKEN_OVER}{idle}");
    let drawn = drawn(&text);
    assert_eq!(
        drawn.timeline.carried().turns(1)[2].resumes,
        Resumes::Thread
    );
}

/// A goroutine flushes, computes, and is given back to the queue: the runtime gives its processor to another one. It goes on on a second
/// thread, once the one there has had its turn.
const PREEMPTED: &str = "
    process 1 p
    thread 1.1 tid 1 first
    thread 1.2 tid 2 second parent 1.1
    task 1 1 stack \"runtime.main\"
    task 2 1 parent 1 stack \"main.main;main.background\"
    task 3 1 parent 1 stack \"main.main;main.background\"
    1.1: cpu 0..10ms | wait ..20ms flush log call fsync | cpu ..32ms | wait ..60ms sleep by timer | wait ..100ms condition c by 1.2
    1.2: cpu 0..100ms
    turn 1.1 0..30ms task 1 left ready at \"main.main;main.work\"
    turn 1.1 30ms..60ms task 3
    turn 1.1 60ms..100ms
    turn 1.2 0..50ms task 2 left ready at \"runtime.asyncPreempt2\"
    turn 1.2 50ms..100ms task 1";

/// It is followed to where it was left, through what others did meanwhile: that is no wait.
#[test]
fn a_task_that_is_preempted_is_followed() {
    let expected = [
        (1, State::Cpu, Detail::Running, 10_000),
        (1, State::Wait, Detail::Flush, 20_000),
        (1, State::Cpu, Detail::Running, 30_000),
        (2, State::Cpu, Detail::Running, 50_000),
        (2, State::Cpu, Detail::Running, 100_000),
    ];
    assert_eq!(path(PREEMPTED), expected);
    let left = Place {
        slot: 0,
        at: Nanos(30_000_000),
    };
    let turn = drawn(PREEMPTED).timeline.carried().turns(1)[1];
    assert_eq!(turn.resumes, Resumes::Preempted { left });
    assert_eq!(turn.queued_ns(), 20_000_000);
}

/// Without its flush it is done as much sooner. It was thought to come after all that the other one had done on that thread, and nothing
/// was saved.
#[test]
fn a_task_that_is_preempted_saves_what_it_did_before() {
    let saved = saved(PREEMPTED, Detail::Flush);
    assert!((9.9..=10.0).contains(&saved), "{saved}");
}

/// One that was left waiting, or where a call of the runtime's was, is not known to have been in the midst of its work.
#[test]
fn who_waits_was_not_preempted() {
    for left in [
        "waiting at \"main.main;runtime.chanrecv;runtime.gopark\"",
        "ready at \"main.main;runtime.chanrecv;runtime.gopark\"",
    ] {
        let text = PREEMPTED.replace("ready at \"main.main;main.work\"", left);
        let turn = drawn(&text).timeline.carried().turns(1)[1];
        assert_eq!(turn.resumes, Resumes::Thread, "{left}");
    }
}

/// A goroutine that computes and goes on on another thread waited for nothing: it is seen there at the next sample only, and had been there
/// since that thread came to a processor. Until then it was where it was.
#[test]
fn who_is_taken_over_while_it_computes_does_not_wait() {
    let text = "
        process 1 p
        thread 1.1 tid 1 first
        thread 1.2 tid 2 second parent 1.1
        task 1 1 stack \"runtime.main\"
        1.1: cpu 0..10ms | wait ..40ms condition c by 1.2
        1.2: wait 0..9ms condition d by 1.1 | cpu ..40ms
        turn 1.1 0..7ms task 1 left ready at \"main.main;runtime.asyncPreempt2\"
        turn 1.1 10ms..40ms
        turn 1.2 0..9ms
        turn 1.2 13ms..40ms task 1";
    let drawn = drawn(text);
    let carried = drawn.timeline.carried();
    let ms = |slot: usize| {
        let turns = carried.turns(slot).iter();
        turns.map(|turn| turn.t0.0 / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!((ms(0), ms(1)), (vec![0, 9], vec![0, 9]));
    let expected = [
        (1, State::Cpu, Detail::Running, 9_000),
        (2, State::Cpu, Detail::Running, 40_000),
    ];
    assert_eq!(path(text), expected);
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

/// How long tasks have the thread of an event loop, in microseconds a round. Each is 10 ms: the loop waits for 9 ms and is seen until
/// `last_us` after that, then its task from `first_us` to 800 us, then the loop as it waits again. `sampled_us`: when a sample comes.
fn of_tasks(last_us: u32, first_us: u32, sampled_us: Option<u32>) -> f64 {
    of_tasks_beside(last_us, first_us, sampled_us, "")
}

/// The same, with more turns in each round between when the loop is seen as it begins and as it goes on.
fn of_tasks_beside(last_us: u32, first_us: u32, sampled_us: Option<u32>, more: &str) -> f64 {
    let (last, first) = (9000 + last_us, 9000 + first_us);
    let sample = sampled_us.map_or(String::new(), |at| {
        format!("sample 1.1 {{10000n+{}}}us weight 1ms", 9000 + at)
    });
    let text = format!(
        "
        process 1 p
        thread 1.1 tid 1 loop
        task 1 1 coroutine stack \"handler\"
        task 2 1 coroutine stack \"unseen\"
        1.1: cpu 0..0us
        for n in 0..49
        | wait ..{{10000n+9000}}us condition c | cpu ..{{10000n+10000}}us
        end
        for n in 0..49
        {more}
        turn 1.1 {{10000n}}us..{{10000n+{last}}}us
        turn 1.1 {{10000n+{first}}}us..{{10000n+9800}}us task 1 left waiting at \"handler;sleep\"
        {sample}
        end"
    );
    let drawn = drawn(&text);
    let turns = drawn.timeline.carried().turns(0);
    let tasks = turns.iter().filter(|turn| turn.task.is_some());
    let ns: u64 = tasks.map(|turn| turn.t1.since(turn.t0)).sum();
    ns as f64 / 1000.0 / 50.0
}

/// Without samples nothing is known of who had the time between two sights: a loop and its task are taken to have half of it each.
#[test]
fn what_lies_between_a_loop_and_its_task_is_halved_where_no_sample_tells() {
    let told = of_tasks(0, 600, None);
    assert!((told - 600.0).abs() < 3.0, "{told}");
}

/// Samples that show the task, and never the loop, before it makes a call: the time is the task's. The other way round it is the loop's.
#[test]
fn samples_tell_who_had_the_time_before_the_first_call_of_a_task() {
    let tasks = of_tasks(0, 100, Some(100));
    assert!(tasks > 850.0, "{tasks}");
    let loops = of_tasks(500, 600, Some(500));
    assert!(loops < 400.0, "{loops}");
}

/// A task of asyncio that went on unseen is told as a moment's work in the midst of the loop's: what the loop takes until a task goes on is
/// learned from those that are seen at work.
#[test]
fn a_moments_work_tells_nothing_of_the_loop() {
    let moment = "turn 1.1 {10000n}us..{10000n}us
        turn 1.1 {10000n}us..{10000n}us task 2 left waiting at \"unseen;lock\"";
    let (without, with) = (
        of_tasks(0, 600, None),
        of_tasks_beside(0, 600, None, moment),
    );
    assert!((without - with).abs() < 3.0, "{without} {with}");
}

/// Replays what was drawn with nothing changed: nobody waits for what can never come.
fn comes_true(text: &str) {
    let drawn = drawn(text);
    let replay = Replay::new(&drawn.timeline, &[], 0, 2);
    assert_eq!(replay.run(|_| 1.0).forced, 0);
    assert_eq!(replay.unchanged_ns, replay.recorded_ns);
}

/// A task was seen at a thread until after that had begun to sleep, and went on elsewhere while it slept: who wakes the thread is not
/// waited for by the task. Replays of Go under load were off by up to 227 %, because both of them waited for it, and one for ever.
#[test]
fn the_sleep_of_a_thread_is_not_waited_for_by_the_task_that_left_it() {
    comes_true(
        "
        process 1 p
        thread 1.1 tid 1 first
        thread 1.2 tid 2 second parent 1.1
        task 1 1 stack \"runtime.main\"
        task 2 1 parent 1 stack \"main.main;main.other\"
        1.1: cpu 0..40ms
        1.2: cpu 0..10ms | wait ..30ms condition c by 1.1 | cpu ..40ms
        turn 1.1 0..20ms task 2 left waiting at \"main.main;runtime.chanrecv;runtime.gopark\"
        turn 1.1 20ms..40ms task 1
        turn 1.2 0..15ms task 1 left waiting at \"main.main;runtime.chanrecv;runtime.gopark\"
        turn 1.2 15ms..40ms",
    );
}

/// A task was seen at a thread for longer than until it went on elsewhere: what its old thread waits for then, for what the task does
/// elsewhere too, is the thread's own.
#[test]
fn a_task_is_not_in_two_places_at_once() {
    comes_true(
        "
        process 1 p
        thread 1.1 tid 1 first
        thread 1.2 tid 2 second parent 1.1
        task 1 1 stack \"runtime.main\"
        task 2 1 parent 1 stack \"main.main;main.other\"
        1.1: cpu 0..40ms
        1.2: cpu 0..10ms | wait ..21ms condition c by 1.1 | cpu ..40ms
        turn 1.1 0..20ms task 2 left waiting at \"main.main;runtime.chanrecv;runtime.gopark\"
        turn 1.1 20ms..40ms task 1
        turn 1.2 0..22ms task 1 left waiting at \"main.main;runtime.chanrecv;runtime.gopark\"
        turn 1.2 22ms..40ms",
    );
}

/// What a thread does after it was seen at a task for the last time takes its time, and what it wakes then is not woken sooner.
#[test]
fn what_a_thread_does_after_its_last_task_is_replayed() {
    comes_true(
        "
        process 1 p
        thread 1.1 tid 1 first
        thread 1.2 tid 2 second parent 1.1
        task 1 1 stack \"runtime.main\"
        1.1: cpu 0..5ms | wait ..30ms condition c by 1.2 | cpu ..40ms
        1.2: cpu 0..40ms
        turn 1.1 30ms..40ms task 1
        turn 1.2 0..10ms task 1 left waiting at \"main.main;runtime.chanrecv;runtime.gopark\"",
    );
}
