//! The lock of an interpreter's own, which lets one thread run at a time: to be told from conditions of the program itself.
//!
//! Who wants that of Python waits for five milliseconds, asks that it be let go of, and waits again. So it is a condition that
//! Python code waits for with that time-out, or within the function that takes it. Ruby's threads wait for theirs on a condition of
//! their own each, and one of them with a time-out of a hundred milliseconds.

use std::collections::BTreeSet;

use timesink_analysis::timeline::Span;
use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::tables::Object;
use timesink_recording::words::{Detail, Language, ObjectKind, State};

use crate::inquiry::Inquiry;

/// What is left of these times when the call begins.
const PYTHONS_NS: std::ops::RangeInclusive<u64> = 4_500_000..=5_000_000;
const RUBYS_NS: std::ops::RangeInclusive<u64> = 99_000_000..=100_000_000;

/// Of one lock all futexes lie within so many bytes: conditions, and the mutex that belongs to them.
const LOCK_BYTES: u64 = 128;

/// Whose lock the threads of a process wait for, if they do.
pub fn language_in(inquiry: &Inquiry<'_>, process: ProcessId) -> Option<Language> {
    let mut groups = inquiry.waits().iter();
    groups.find_map(|group| language_of(inquiry, group).filter(|_| group.process == process))
}

/// The futexes of that lock in a process; it has more than one.
pub fn of_process(inquiry: &Inquiry<'_>, process: ProcessId) -> BTreeSet<ObjectId> {
    let address = |object: &Object| object.inode.filter(|_| object.kind == ObjectKind::Futex);
    let groups = inquiry
        .waits()
        .iter()
        .filter(|group| group.process == process);
    let locks = groups.filter(|group| is_one(inquiry, group));
    let mut all: BTreeSet<ObjectId> = locks.filter_map(|group| group.object).collect();
    let known: BTreeSet<u64> = all
        .iter()
        .filter_map(|&object| address(inquiry.facts.object(object)?))
        .collect();
    let near = |at: u64| {
        let range = at.saturating_sub(LOCK_BYTES)..=at.saturating_add(LOCK_BYTES);
        known.range(range).next().is_some()
    };
    let own = inquiry.facts.objects.iter();
    let own = own.filter(|object| object.process == Some(process));
    let beside = own.filter(|object| address(object).is_some_and(near));
    all.extend(beside.map(|object| object.object));
    all
}

/// Whether these waits are for it.
pub fn is_one(inquiry: &Inquiry<'_>, group: &WaitGroup) -> bool {
    language_of(inquiry, group).is_some()
}

/// Whose lock these waits are for, if they are for one.
fn language_of(inquiry: &Inquiry<'_>, group: &WaitGroup) -> Option<Language> {
    let (asked, _) = group
        .asked_ns
        .filter(|_| group.detail == Detail::Condition)?;
    let (pythons, rubys) = (PYTHONS_NS.contains(&asked), RUBYS_NS.contains(&asked));
    if !pythons && !rubys {
        return None;
    }
    let mut functions = inquiry.functions(group.stack);
    functions.find_map(|function| match function.language {
        Language::Python if pythons => Some(Language::Python),
        Language::Ruby if rubys => Some(Language::Ruby),
        _ => (pythons && function.name == "take_gil").then_some(Language::Python),
    })
}

/// The waits in which these threads wait shortly for each other, beside a lock that they wait for so long: for their interpreter's own lock,
/// or one in a server. None if much time goes there. Who gets the one wants the other at once.
pub fn turns_beside(
    inquiry: &Inquiry<'_>,
    slots: &BTreeSet<usize>,
    is_other: impl Fn(&Span) -> bool,
    lock_ns: u64,
) -> BTreeSet<usize> {
    let is_meant = |span: &Span| {
        let between_threads = matches!(span.detail, Detail::Condition | Detail::Lock);
        let ns = span.t1.since(span.t0);
        let is_short = between_threads && span.waker().is_some() && ns <= INTERPRETER_ASKS_NS;
        span.state == State::Wait && is_short && is_other(span)
    };
    let own = slots
        .iter()
        .flat_map(|&slot| inquiry.timeline.indexed(slot));
    let (mut found, mut ns) = (BTreeSet::new(), 0u64);
    for (at, span) in own.filter(|(_, span)| is_meant(span)) {
        found.insert(at);
        ns = ns.saturating_add(span.t1.since(span.t0));
    }
    if ns as f64 > lock_ns as f64 * HARDLY {
        found.clear();
    }
    found
}

/// Python asks for its own lock after so long.
const INTERPRETER_ASKS_NS: u64 = 5_000_000;

/// Of the waiting for a lock, the share that such waits may be beside it.
const HARDLY: f64 = 0.1;
