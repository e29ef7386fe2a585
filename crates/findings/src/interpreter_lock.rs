//! Python's own lock, which lets one thread run at a time: to be told from conditions of the program itself.
//!
//! Who wants it waits for five milliseconds, asks that it be let go of, and waits again. So it is a condition that
//! Python code waits for with that time-out, or within the function that takes it.

use std::collections::BTreeSet;

use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::tables::Object;
use timesink_recording::words::{Detail, Language, ObjectKind};

use crate::inquiry::Inquiry;

/// What is left of the five milliseconds when the call begins.
const ASKED_NS: std::ops::RangeInclusive<u64> = 4_500_000..=5_000_000;

/// Of one lock all futexes lie within so many bytes: conditions, and the mutex that belongs to them.
const LOCK_BYTES: u64 = 128;

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
    let times_out = group
        .asked_ns
        .is_some_and(|(asked, _)| ASKED_NS.contains(&asked));
    if group.detail != Detail::Condition || !times_out {
        return false;
    }
    let mut functions = inquiry.functions(group.stack);
    functions.any(|function| function.language == Language::Python || function.name == "take_gil")
}
