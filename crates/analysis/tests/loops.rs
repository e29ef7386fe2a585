//! Loops on small recordings drawn as text.

use rustc_hash::FxHashSet;
use timesink_analysis::facts::programs::Programs;
use timesink_analysis::facts::Facts;
use timesink_analysis::loops::{loops, Loop};
use timesink_analysis::operations::Recorded;
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::timeline::Timeline;
use timesink_analysis::waits::Waited;
use timesink_recording::notation::draft;
use timesink_recording::words::Detail;

fn found(text: &str) -> Vec<Loop> {
    let recording = draft(text).recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let timeline = Timeline::of(&recording).expect("its spans");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("its stacks");
    let waited = Waited::of(&recording, &timeline).expect("its waits");
    let recorded = Recorded {
        timeline: &timeline,
        facts: &facts,
        waited: &waited,
        programs: &Programs::of(&facts),
    };
    loops(&recorded, &stacks, &FxHashSet::default())
}

fn details(one: &Loop) -> Vec<Detail> {
    one.body.iter().map(|step| step.detail).collect()
}

const BEGIN: &str =
    "process 1 p\nthread 1.1 p\nframe nanosleep module /lib/libc.so.6\n1.1: cpu 0..1ms";

/// Rounds of the same waits are a loop, with the time of one.
#[test]
fn rounds_are_counted() {
    let round = "| cpu +100us | wait +200us disk read a | cpu +300us | wait +400us flush b";
    let loops = found(&(BEGIN.to_owned() + &round.repeat(50)));
    assert_eq!(loops.len(), 1, "{loops:?}");
    let one = &loops[0];
    assert_eq!((one.rounds, one.unlike, one.median_ns), (49, 0, 1_000_000));
    assert_eq!(one.ns, 49_000_000);
    assert_eq!(one.body.len(), 2);
    assert!(one
        .body
        .iter()
        .all(|step| step.object.is_some() && step.waits == 1.0));
}

/// An additional wait now and then does not hide a loop, nor does something else in its midst.
#[test]
fn rounds_need_not_be_all_alike() {
    let round = "| cpu +100us | wait +200us disk read a | cpu +300us | wait +400us flush b";
    let lock = "| cpu +100us | wait +200us disk read a | cpu +300us | wait +50us lock m | wait +400us flush b";
    let twice =
        "| cpu +100us | wait +200us disk read a | cpu +10us | wait +50us disk read a | cpu +300us
        | wait +400us flush b";
    let text = BEGIN.to_owned()
        + &(round.repeat(9) + lock).repeat(5)
        + "| cpu +1s | wait +1s sleep | wait +1s child c | wait +1s join j | wait +1s sleep"
        + &(round.repeat(4) + twice).repeat(5);
    let loops = found(&text);
    let one = loops
        .iter()
        .find(|one| one.body.len() == 2)
        .expect("a loop of two waits");
    assert_eq!((one.rounds, one.unlike), (73, 1), "{one:?}");
    assert_eq!(one.median_ns, 1_000_000);
}

/// A loop whose rounds have a single wait, at two places in the code: they are two loops in a round.
#[test]
fn places_in_the_code_are_told_apart() {
    let one = "| cpu +100us | wait +900us sleep stack \"main;one;nanosleep\"";
    let both = one.to_owned() + "| cpu +100us | wait +400us sleep stack \"main;two;nanosleep\"";
    let loops_of_one = found(&(BEGIN.to_owned() + &one.repeat(30)));
    assert_eq!(loops_of_one[0].body.len(), 1);
    assert_eq!(
        (loops_of_one[0].rounds, loops_of_one[0].median_ns),
        (29, 1_000_000)
    );
    let loops_of_both = found(&(BEGIN.to_owned() + &both.repeat(30)));
    assert_eq!(loops_of_both[0].body.len(), 2);
    assert_eq!(
        (loops_of_both[0].rounds, loops_of_both[0].median_ns),
        (29, 1_500_000)
    );
    assert!(loops_of_both[0].body[0].function != loops_of_both[0].body[1].function);
}

/// A call that waits several times is one round, where calls were counted.
#[test]
fn waits_of_one_call_are_one_round() {
    let round = "| cpu +700us | wait +100us flush f call fsync | cpu +20us | wait +180us flush f call fsync";
    let text = BEGIN.to_owned() + &round.repeat(40) + "\ncall 1.1 fsync f count 40";
    let loops = found(&text);
    assert_eq!((loops[0].rounds, loops[0].median_ns), (39, 1_000_000));
}

/// An inner loop and the outer one that it is part of are both told.
#[test]
fn a_loop_in_a_loop() {
    let inner = "| cpu +10us | wait +90us flush f".repeat(20);
    let text = BEGIN.to_owned() + &(inner + "| cpu +1ms | wait +1ms child c").repeat(15);
    let loops = found(&text);
    let bodies: Vec<_> = loops.iter().map(details).collect();
    assert!(bodies.contains(&vec![Detail::Flush]), "{bodies:?}");
    let outer = loops
        .iter()
        .find(|one| one.body.len() == 2)
        .expect("the outer one");
    assert_eq!((outer.rounds, outer.median_ns), (14, 4_000_000));
    let flush = outer.body.iter().find(|step| step.detail == Detail::Flush);
    assert_eq!(flush.map(|step| step.waits), Some(20.0));
}

/// What never comes again, and what comes in no order, is no loop.
#[test]
fn what_is_no_loop() {
    let mut text = BEGIN.to_owned();
    let kinds = [
        "sleep",
        "flush f",
        "disk read a",
        "lock m",
        "pipe read p",
        "child c",
    ];
    let mut dice = fastrand::Rng::with_seed(7);
    for _ in 0..400 {
        text += &format!(
            "| cpu +10us | wait +90us {}",
            dice.choice(kinds).unwrap_or_default()
        );
    }
    let loops = found(&text);
    assert!(loops.is_empty(), "{loops:?}");
    assert!(found(&(BEGIN.to_owned() + "| wait +1s sleep | cpu +1s")).is_empty());
}
