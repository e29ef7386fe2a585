//! A program that has done its work, and waits for a time to be over before it ends.

use timesink_analysis::timeline::Span;
use timesink_recording::words::{State, WakeSource};

use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "linger-at-exit",
    looks_for: "a program that waits for a timeout just before it exits",
    why: "Nothing follows the wait: whatever it was added for, the program exits when the time is over, and not before.",
    advice: "exit at once; if something must finish first (a thread, a queue, a last message), wait for a signal of its completion",
    wrong_if: "others need the program to exist for that long",
    limits: &[&limits::LEAST, &limits::AFTER, &limits::BEFORE],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static LEAST: Limit = Limit {
        name: "least",
        value: 1e8,
        unit: Unit::Nanoseconds,
        means: "minimum length of the wait",
    };
    pub static AFTER: Limit = Limit {
        name: "after",
        value: 2e6,
        unit: Unit::Nanoseconds,
        means: "maximum time on CPU after it, exit included, if a 200th of the wait is not more",
    };
    pub static BEFORE: Limit = Limit {
        name: "before",
        value: 1e7,
        unit: Unit::Nanoseconds,
        means: "minimum time on CPU before it; with less, the wait is all that the program does",
    };
}

/// Threads that wait for each other's end, at most so many in a row.
const DEEP: usize = 4;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let main = inquiry
        .facts
        .ledger
        .main
        .map(|main| inquiry.facts.ledger.threads[main].row.thread);
    let slot = main.and_then(|thread| inquiry.timeline.slot(thread));
    slot.and_then(|slot| suspect(inquiry, slot, DEEP))
        .into_iter()
        .collect()
}

fn on_processor<'a>(spans: impl Iterator<Item = &'a Span>) -> u64 {
    let cpu = spans.filter(|span| span.state == State::Cpu);
    cpu.map(|span| span.t1.since(span.t0)).sum()
}

/// Whether another recorded thread did something during a wait: it may be what was waited for.
fn others_work(inquiry: &Inquiry<'_>, slot: usize, wait: &Span) -> bool {
    let threads = &inquiry.timeline.threads;
    let mut others = (0..threads.len()).filter(|&other| other != slot);
    others.any(|other| {
        let lives_on =
            threads[other].process == threads[slot].process && threads[other].end > wait.t1;
        let spans = inquiry.timeline.spans_of(other);
        let from = spans.partition_point(|span| span.t1 <= wait.t0);
        let during = spans[from..].iter().take_while(|span| span.t0 < wait.t1);
        let during = during.filter(|span| span.state == State::Cpu);
        let ran = during.map(|span| span.t1.min(wait.t1).since(span.t0.max(wait.t0)));
        ran.sum::<u64>() > if lives_on { ASIDE } else { 0 }
    })
}

/// A runtime needs this for its own end: measured 4.4 to 8.9 ms for Node.js after 5.0 s; what is more is work, as 40 ms are in a
/// near-miss.
const PART_AFTER: u64 = 200;

/// A loop of events that only looks after its timers runs no longer between two waits: measured 0.4 to 1.0 ms for Node.js,
/// and 50 ms in a near-miss.
const LOOKS_AFTER: u64 = 2_000_000;

/// Another thread of the process that lives on and runs no longer during a wait was not waited for: measured 0.03 ms of one of
/// Node.js's own.
const ASIDE: u64 = 1_000_000;

/// The last wait of the thread at a place that is long, with those just before and after it that a timer ended, if hardly
/// anything comes after. Who is sent something after it was not done.
fn last(inquiry: &Inquiry<'_>, slot: usize) -> Option<Vec<usize>> {
    let least = RULE.limit(inquiry, &limits::LEAST);
    let spans = inquiry.timeline.spans_of(slot);
    let at = spans
        .iter()
        .rposition(|span| span.state == State::Wait && span.t1.since(span.t0) as f64 >= least)?;
    let timed = |span: &&Span| span.wake_source == Some(WakeSource::Timer);
    let (mut from, mut until) = (at, at);
    if timed(&&spans[at]) {
        let waits = |range: std::ops::Range<usize>| {
            let waits = spans[range.clone()].iter().zip(range);
            waits.filter(|(span, _)| span.state == State::Wait)
        };
        let follows_at_once =
            |one: usize, next: usize| on_processor(spans[one..next].iter()) <= LOOKS_AFTER;
        let earlier: Vec<_> = waits(0..at).collect();
        for (span, before) in earlier.into_iter().rev() {
            if !timed(&span) || !follows_at_once(before, from) {
                break;
            }
            from = before;
        }
        for (span, after) in waits(at + 1..spans.len()) {
            if !timed(&span) || !follows_at_once(until, after) {
                break;
            }
            until = after;
        }
    }
    let waited: u64 = spans[from..=until]
        .iter()
        .filter(|span| span.state == State::Wait)
        .map(|span| span.t1.since(span.t0))
        .sum();
    let later = &spans[until + 1..];
    let is_sent = later
        .iter()
        .any(|span| span.wake_source == Some(WakeSource::Network));
    let most = RULE
        .limit(inquiry, &limits::AFTER)
        .max((waited / PART_AFTER) as f64);
    if on_processor(later.iter()) as f64 > most || is_sent {
        return None;
    }
    let own = inquiry.timeline.indexed(slot).skip(from);
    let own = own.take(until + 1 - from);
    Some(
        own.filter(|(_, span)| span.state == State::Wait)
            .map(|(index, _)| index)
            .collect(),
    )
}

fn suspect(inquiry: &Inquiry<'_>, slot: usize, deep: usize) -> Option<Suspect> {
    let waits = last(inquiry, slot)?;
    let longest = waits.iter().filter_map(|&at| inquiry.timeline.span(at));
    let wait = longest.max_by_key(|span| span.t1.since(span.t0))?;
    let thread = &inquiry.timeline.threads[slot];
    if thread.alive_at_end || thread.end_lost {
        return None;
    }
    // Joined: what the other one did last.
    let other = wait.waker().and_then(|waker| inquiry.timeline.slot(waker));
    if let Some(other) =
        other.filter(|&other| inquiry.timeline.threads[other].process == thread.process)
    {
        return suspect(inquiry, other, deep.checked_sub(1)?);
    }
    let before = inquiry.timeline.spans_of(slot).iter();
    let worked = on_processor(before.take_while(|span| span.t0 < wait.t0));
    if wait.wake_source != Some(WakeSource::Timer)
        || (worked as f64) < RULE.limit(inquiry, &limits::BEFORE)
        || waits
            .iter()
            .filter_map(|&at| inquiry.timeline.span(at))
            .any(|wait| others_work(inquiry, slot, wait))
    {
        return None;
    }
    let picked = Picked::of(inquiry, thread.process, waits);
    let title = say![
        thread.thread,
        " waits ",
        Piece::Time(picked.ns()),
        " before it exits, with nothing left to do"
    ];
    let suspect = picked
        .suspect(inquiry, title, 0.0)
        .held(inquiry, &RULE, "waits", picked.ns() as f64, &limits::LEAST)
        .told(say!["only its timeout ended the wait"]);
    Some(suspect)
}
