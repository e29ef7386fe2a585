//! A thread that sleeps, looks, sleeps, looks, until another one is done.
//!
//! The time it sleeps is not lost: the other one works meanwhile. What is lost is what it sleeps on after that one
//! was done, and that is what the replay says: sleeping not at all it would go on at that moment.

use std::collections::BTreeSet;

use timesink_analysis::replay::What;
use timesink_recording::words::Detail;

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "sleep-polling",
    looks_for: "a loop that sleeps and checks until another thread or process has finished",
    why: "A program that checks at intervals notices the end late: by half an interval on average.",
    advice: "wait for the end itself: join, waitpid, a condition variable, a pipe or an eventfd",
    wrong_if: "the sleeps are intended, and ended with the other's work by chance",
    limits: &[&limits::ROUNDS],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static ROUNDS: Limit = Limit {
        name: "rounds",
        value: 5.0,
        unit: Unit::Count,
        means: "minimum number of sleeps in a loop",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let polls = inquiry.timeline.polls().supposed();
    let slots: BTreeSet<usize> = polls.map(|poll| poll.slot).collect();
    slots
        .into_iter()
        .filter_map(|slot| suspect(inquiry, slot))
        .collect()
}

/// All loops of one thread.
fn suspect(inquiry: &Inquiry<'_>, slot: usize) -> Option<Suspect> {
    let polls = inquiry.timeline.polls().supposed();
    let polls = polls.filter(|poll| poll.slot == slot);
    let polls: Vec<_> = polls.collect();
    let first = polls.first()?;
    let thread = &inquiry.timeline.threads[slot];
    let awaited = inquiry.timeline.threads[first.awaited].thread;
    let sleeps = polls
        .iter()
        .flat_map(|poll| &poll.sleeps)
        .filter_map(|&at| inquiry.timeline.span(at));
    let (count, ns) = sleeps.fold((0u64, 0u64), |(count, ns), span| {
        (count + 1, ns.saturating_add(span.t1.since(span.t0)))
    });
    let late = polls.iter().filter_map(|poll| {
        let last = inquiry.timeline.span(*poll.sleeps.last()?)?;
        Some(last.t1.since(poll.done))
    });
    let late: u64 = late.sum();
    let group = inquiry
        .waits()
        .iter()
        .find(|group| group.process == thread.process && group.detail == Detail::Sleep);
    let title = say![
        thread.thread,
        " checks every ",
        Piece::Time(ns / count.max(1)),
        " whether ",
        awaited,
        " has finished"
    ];
    let what = What::Spans(
        polls
            .iter()
            .flat_map(|poll| &poll.sleeps)
            .copied()
            .collect(),
    );
    let causes = inquiry.waits_on_path(|key| {
        key.detail == Some(Detail::Sleep) && inquiry.same_program(key.process, thread.process)
    });
    let fix = Fix::without(what, BTreeSet::from([thread.process]));
    let mut suspect = Suspect::new(title, fix, Weight::within(causes, late))
        .of(thread.process)
        .seen_in(inquiry, group)
        .held(inquiry, &RULE, "sleeps", count as f64, &limits::ROUNDS)
        .figure("slept too long", late as f64, "ns")
        .told(say![
            Piece::Count(count),
            " sleeps in ",
            Piece::Count(polls.len() as u64),
            if polls.len() == 1 { " loop" } else { " loops" }
        ])
        .told(say![
            "it kept sleeping for ",
            Piece::Time(late),
            " after that had finished"
        ]);
    let ends = polls.iter().take(3).map(|poll| Example {
        thread: thread.thread,
        at: poll.done,
    });
    suspect.examples = ends.collect();
    Some(suspect)
}
