//! A program that has done its work, and waits for a time to be over before it ends.

use std::ops::RangeInclusive;

use timesink_analysis::facts::sockets::{Role, Sockets};
use timesink_analysis::timeline::Span;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, LossKind, State, WakeSource};

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
        name: "length",
        value: 1e8,
        unit: Unit::Nanoseconds,
        means: "minimum length of the wait",
    };
    pub static AFTER: Limit = Limit {
        name: "after",
        value: 2e6,
        unit: Unit::Nanoseconds,
        means:
            "maximum time on CPU after it, exit included (or 1/200 of the wait, if that is longer)",
    };
    pub static BEFORE: Limit = Limit {
        name: "cpu before",
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
        let during = inquiry.timeline.between(other, wait.t0, wait.t1);
        let ran = during.filter(|(span, _)| span.state == State::Cpu);
        ran.map(|(_, ns)| ns).sum::<u64>() > if lives_on { ASIDE } else { 0 }
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

/// The last long wait of a thread and, if it is a loop of events that a timer ended, those just before and after it that a timer ended,
/// too: from the first to the last of them. Nothing of several sleeps in a row: they are what the program does.
fn rest(
    spans: &[Span],
    least_ns: f64,
    sent: impl Fn(usize) -> bool,
) -> Option<RangeInclusive<usize>> {
    let long = |span: &Span| span.state == State::Wait && span.t1.since(span.t0) as f64 >= least_ns;
    let at = spans.iter().rposition(long)?;
    if !is_timed(&spans[at]) {
        return Some(at..=at);
    }
    // Before what comes after something was sent, something was left to do.
    let since = (0..=at).rev().find(|&at| sent(at)).unwrap_or(0);
    let until = (at + 1..spans.len()).find(|&at| sent(at));
    let (before, after) = (
        spans[since..at].iter().rev(),
        spans[at + 1..until.unwrap_or(spans.len())].iter(),
    );
    let all = at - timed(before)..=at + timed(after);
    let is_sleep = |span: &&Span| {
        span.state == State::Wait && matches!(span.detail, Detail::Sleep | Detail::Condition)
    };
    let sleeps = spans[all.clone()].iter().filter(is_sleep).count();
    (sleeps < 2).then_some(all)
}

fn is_timed(span: &Span) -> bool {
    span.wake_source == Some(WakeSource::Timer)
}

/// How many of these spans it is to the last wait that a timer ended, with nothing but short looks between such waits.
fn timed<'a>(spans: impl Iterator<Item = &'a Span>) -> usize {
    let (mut ran, mut last) = (0, 0);
    for (number, span) in (1..).zip(spans) {
        match span.state {
            State::Cpu => ran += span.t1.since(span.t0),
            State::Wait if ran > LOOKS_AFTER || !is_timed(span) => break,
            State::Wait => (ran, last) = (0, number),
            _ => {}
        }
    }
    last
}

/// Whether another thread of the process does something for a loop of events while it waits: a lock that is taken at last, and files
/// that are removed, for example.
fn is_served(inquiry: &Inquiry<'_>, slot: usize, span: &Span) -> bool {
    let threads = &inquiry.timeline.threads;
    let by = span.waker().and_then(|waker| inquiry.timeline.slot(waker));
    span.detail == Detail::Poll
        && by.is_some_and(|by| by != slot && threads[by].process == threads[slot].process)
}

/// Whether the process waited as long for a timer before: then it is what the program does all along, as each batch of a writer
/// that flushes once a second is.
fn waited_alike(inquiry: &Inquiry<'_>, process: ProcessId, picked: &Picked, last: &Span) -> bool {
    const ALIKE: RangeInclusive<f64> = 0.9..=1.1;
    let from = picked.waits(inquiry).map(|wait| wait.t0).min();
    let from = from.unwrap_or(last.t0);
    let ns = |span: &Span| span.t1.since(span.t0) as f64;
    let threads = inquiry.timeline.threads.iter().enumerate();
    let own = threads.filter(|(_, thread)| thread.process == process);
    let mut spans = own.flat_map(|(slot, _)| inquiry.timeline.spans_of(slot));
    spans.any(|span| {
        span.t1 <= from
            && span.state == State::Wait
            && is_timed(span)
            && ALIKE.contains(&(ns(span) / ns(last)))
    })
}

/// The waits that a thread ends with, if hardly anything comes after. Who is sent something after them, or served, was not done.
fn last(inquiry: &Inquiry<'_>, slot: usize) -> Option<Vec<usize>> {
    let spans = inquiry.timeline.spans_of(slot);
    let first = inquiry
        .timeline
        .indexed(slot)
        .next()
        .map_or(0, |(at, _)| at);
    // A response is not answered.
    let sockets = Sockets::of(&inquiry.facts.objects, &inquiry.waited.calls);
    let asks = |object: ObjectId| sockets.role(object) != Some(Role::Served);
    let sent = |at: usize| {
        let known = inquiry.waited.known(first + at);
        known.is_some_and(|known| known.sent.is_some_and(asks))
    };
    let rest = rest(spans, RULE.limit(inquiry, &limits::LEAST), sent)?;
    // Something was sent just before it, and may be answered. Where waits were lost that is not known of a loop of events.
    let is_poll =
        |at: usize| spans[at].detail == Detail::Poll || inquiry.timeline.was_poll(first + at);
    let is_lost = inquiry.has_lost(LossKind::Waits) && rest.clone().any(is_poll);
    if is_lost || rest.clone().any(sent) {
        return None;
    }
    let waits = |span: &Span| span.state == State::Wait;
    let waited = spans[rest.clone()].iter().filter(|span| waits(span));
    let waited: u64 = waited.map(|span| span.t1.since(span.t0)).sum();
    let later = &spans[rest.end() + 1..];
    let is_sent = |span: &Span| {
        span.wake_source == Some(WakeSource::Network) || is_served(inquiry, slot, span)
    };
    let most = RULE
        .limit(inquiry, &limits::AFTER)
        .max((waited / PART_AFTER) as f64);
    if on_processor(later.iter()) as f64 > most || later.iter().any(is_sent) {
        return None;
    }
    let indexed = inquiry.timeline.indexed(slot).zip(0..);
    let within = indexed.filter(|((_, span), at)| rest.contains(at) && waits(span));
    Some(within.map(|((index, _), _)| index).collect())
}

fn suspect(inquiry: &Inquiry<'_>, slot: usize, deep: usize) -> Option<Suspect> {
    let thread = &inquiry.timeline.threads[slot];
    let picked = Picked::of(inquiry, thread.process, last(inquiry, slot)?);
    let waits = picked.waits(inquiry);
    let wait = waits.max_by_key(|span| span.t1.since(span.t0))?;
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
        || picked
            .waits(inquiry)
            .any(|wait| others_work(inquiry, slot, wait))
        || waited_alike(inquiry, thread.process, &picked, wait)
    {
        return None;
    }
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
