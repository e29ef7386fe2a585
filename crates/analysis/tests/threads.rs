//! Threads that wait for each other, in small recordings drawn as text: locks, pools, exchanges.

use std::collections::BTreeSet;

use timesink_analysis::timeline::exchanges::Exchange;
use timesink_analysis::timeline::hand_overs::HandOvers;
use timesink_analysis::timeline::locks::Locks;
use timesink_analysis::timeline::pools::Pool;
use timesink_analysis::timeline::Timeline;
use timesink_recording::ids::ThreadId;
use timesink_recording::notation::{draft, recording, Draft};
use timesink_recording::words::{Detail, State};

fn timeline(text: &str) -> Timeline {
    Timeline::of(&recording(text)).expect("a drawn recording reads")
}

const THREE: &str = "
    process 1 p
    thread 1.1 tid 1 main
    thread 1.2 tid 2 worker parent 1.1
    thread 1.3 tid 3 worker parent 1.1
";

/// Who lets go of a lock has held it since somebody came to wait, or since it was let go of before: holds do not overlap.
#[test]
fn holds() {
    let timeline = timeline(&format!(
        "{THREE}
        1.1: cpu 0..10ms
        1.2: wait 2ms..10ms lock l by 1.1 | cpu +5ms
        1.3: wait 4ms..15ms lock l by 1.2 | cpu +1ms"
    ));
    let locks = Locks::of(&timeline);
    let [lock] = locks.0.as_slice() else {
        panic!("one lock: {locks:?}");
    };
    assert_eq!(lock.wait_ns, 19_000_000);
    let holds: Vec<(usize, u64)> = lock
        .holds
        .iter()
        .map(|hold| (hold.holder, hold.ns()))
        .collect();
    assert_eq!(holds, [(0, 8_000_000), (1, 5_000_000)]);
    assert_eq!(lock.held_ns(), 13_000_000);
}

/// What the holder does while it holds a lock is not what is taken from it, nor the time in which it is ready, nor that of
/// being switched in. What was taken from a run lies where it took longest.
#[test]
fn what_holders_do() {
    let timeline = timeline(&format!(
        "{THREE}
        1.1: cpu 0..20ms taken 12ms | ready +5ms preempted | cpu +1ms \"switching in\" | wait +3ms flush f by \"block device\" | cpu +1ms
        1.2: wait 2ms..12ms lock l by 1.1 | cpu +1ms | wait ..17ms lock l by 1.1 | cpu +1ms | wait ..30ms lock l by 1.1"
    ));
    let locks = Locks::of(&timeline);
    let own =
        |hold: &timesink_analysis::timeline::locks::Hold| (hold.ns() / 1_000_000, hold.own_ns);
    let holds: Vec<(u64, u64)> = locks.0[0].holds.iter().map(own).collect();
    assert_eq!(holds, [(10, 0), (4, 4_000_000), (12, 4_000_000)]);
}

/// A join is a wait that the end of a thread ended; that it was woken by it earlier is none.
#[test]
fn joins() {
    let timeline = timeline(&format!(
        "{THREE}
        1.1: cpu 0..1ms | wait ..20ms condition c by 1.2 | cpu +1ms | wait ..50ms join t by 1.3 | cpu +1ms
        1.2: cpu 1ms..45ms
        1.3: cpu 1ms..50ms"
    ));
    let pools = Pool::all(&timeline);
    assert_eq!(pools.len(), 1);
    assert_eq!(
        (pools[0].parent, pools[0].members.as_slice()),
        (0, &[1, 2][..])
    );
    let joins = pools[0].joins(&timeline);
    assert_eq!(joins[0], None);
    let join = joins[1].and_then(|at| timeline.span(at)).expect("a join");
    assert_eq!(join.t1.0, 50_000_000);
}

/// Two threads that wake each other in turn: each turn is counted once, with what is done in it.
#[test]
fn exchanges() {
    let text = format!(
        "{THREE}
        1.1: cpu 0..1ms | wait ..9ms join t
        1.2: cpu 0..1ms
        for n in 1..10
          | wait +300us \"pipe read\" a by 1.3 | cpu +200us
        end
        1.3: wait 0..1ms \"pipe read\" b by 1.2 | cpu +300us
        for n in 1..9
          | wait +200us \"pipe read\" b by 1.2 | cpu +300us
        end"
    );
    let timeline = timeline(&text);
    let exchanges = Exchange::all(&timeline, 10);
    assert_eq!(exchanges.len(), 1);
    assert_eq!(exchanges[0].pair, [1, 2]);
    assert_eq!(
        (exchanges[0].turns(), exchanges[0].bursts()),
        (10, [200_000, 300_000])
    );
    assert!(Exchange::all(&timeline, 11).is_empty());
}

/// Who was woken last and wakes the next has handed on what it was handed. Who wakes two one after the other had it twice.
#[test]
fn hand_overs() {
    let timeline = timeline(&format!(
        "{THREE}
        1.1: cpu 0..10us | wait ..60us condition l by 1.3 | cpu +10us
        1.2: wait 2us..20us condition l by 1.1 | cpu +10us | wait ..80us condition l by 1.1 | cpu +5us
        1.3: wait 3us..40us condition l by 1.2 | ready +3us woken | cpu +7us | wait ..90us condition l by 1.1"
    ));
    let all = HandOvers::all(&timeline, 1);
    let [known] = all.as_slice() else {
        panic!("one lock: {all:?}");
    };
    assert_eq!((known.waits.len(), known.in_turn), (5, 3));
    assert_eq!(known.threads.len(), 3);
    // Being ready is nothing that is done meanwhile.
    assert_eq!(known.held, [7_000, 10_000, 10_000]);
    assert_eq!(known.each_ns(), 88_000 / 5);
    assert!(HandOvers::all(&timeline, 6).is_empty());
}

/// A span without length stands before the one that begins with it, in whichever order the rows are.
#[test]
fn spans_without_length_have_their_place() {
    let mut drawn =
        draft("process 1 p\n thread 1.1 tid 1 p\n 1.1: cpu 1ms..1ms | wait +9ms lock l");
    let ends = |drawn: &Draft| -> Vec<i64> {
        let timeline = Timeline::of(&drawn.recording()).expect("a drawn recording reads");
        let spans = timeline.spans_of(0).iter();
        spans.map(|span| span.t1.0).collect()
    };
    assert_eq!(ends(&drawn), [1_000_000, 10_000_000]);
    drawn.spans.reverse();
    assert_eq!(ends(&drawn), [1_000_000, 10_000_000]);
}

/// Responses that their sender mostly slept for are taken as they came: not those that it computed for, nor a wait that goes on for several
/// sleeps, which are for others as well.
#[test]
fn responses_that_a_peer_slept_for() {
    let timeline = timeline(&format!(
        "{THREE}
        object s \"tcp socket\" remote 10.0.0.1:80
        1.1: wait 0..10ms network receive s by 1.2 | cpu +1ms | wait ..20ms network receive s by 1.2 | cpu +1ms | wait ..40ms network receive s by 1.2 | cpu +1ms
        1.2: wait 0..9ms sleep by timer | cpu +1ms | ready ..11ms preempted | cpu ..21ms | wait ..30ms sleep by timer | cpu +1ms | wait ..39ms sleep by timer | cpu +2ms
        1.3: wait 0..10ms lock l by 1.2 | cpu +1ms"
    ));
    let sleeper = timeline.threads[1].thread;
    let sleeps: BTreeSet<usize> = timeline
        .indexed(1)
        .filter(|(_, span)| span.detail == Detail::Sleep)
        .map(|(at, _)| at)
        .collect();
    assert_eq!(sleeps.len(), 3);
    let (given, count) = timeline.with_slept_responses_given(&sleeps);
    assert_eq!(count, 1);
    let wakers = |slot: usize| -> Vec<Option<ThreadId>> {
        let waits = given.spans_of(slot).iter();
        let waits = waits.filter(|span| span.state == State::Wait);
        waits.map(|span| span.waker()).collect()
    };
    assert_eq!(wakers(0), [None, Some(sleeper), Some(sleeper)]);
    assert_eq!(wakers(2), [Some(sleeper)]);
}
