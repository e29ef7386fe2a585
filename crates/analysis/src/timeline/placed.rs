//! When threads went from one task to the next. They were only seen now and then: as they left a processor, returned from a call, or were
//! sampled. Between the last sight of one task and the first of the next lies time that is given to the one or the other.
//!
//! A runtime's scheduler takes microseconds, what lies between two sights can be milliseconds: so time on a processor goes to tasks. A thread
//! that came to a processor with nothing to do has done what it is next seen at, unless that was seen on another thread
//! meanwhile; and what a thread was seen at it did until it is seen without anything to do, unless another thread had taken that over.
//!
//! The thread of an event loop is never taken over, and its loop takes a good part of such a time: `between.rs` says when it changed.

use rustc_hash::FxHashMap;
use timesink_recording::ids::TaskId;
use timesink_recording::tables::TaskTurn;
use timesink_recording::words::State;
use timesink_recording::{Nanos, Recording};

use super::between::{Between, Change, Coroutines};
use super::Spans;

/// The turns of threads as they were seen, by their slots, each in the order of time.
pub(super) type Seen = FxHashMap<usize, Vec<TaskTurn>>;

/// The kernel's clock of switches and the probes' differ by so much at most.
const SKEW_NS: i64 = 5_000;

/// A turn by where it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
struct At {
    slot: usize,
    index: usize,
}

/// The moments of turns, by the slots of their threads.
type Moments = FxHashMap<usize, Vec<Nanos>>;

/// For each turn of each thread, when it began.
pub(super) fn starts(
    recording: &Recording,
    spans: &Spans,
    seen: &Seen,
    coroutines: &Coroutines,
) -> timesink_recording::Result<Moments> {
    let (before, after) = neighbours(seen);
    let row = |at: At| seen.get(&at.slot).and_then(|rows| rows.get(at.index));
    // The earliest that each can have begun.
    let earliest: Moments = seen
        .iter()
        .map(|(&slot, rows)| {
            let of_row = (0..rows.len()).map(|index| {
                let elsewhere = before.get(&(slot, index)).filter(|at| at.slot != slot);
                let elsewhere = elsewhere.and_then(|at| row(*at)).map(|row| row.t1);
                earliest(spans, slot, rows, index, elsewhere)
            });
            (slot, of_row.collect())
        })
        .collect();
    let between = Between::of(recording, spans, seen, coroutines, &earliest)?;
    let of_thread = seen.iter().map(|(&slot, rows)| {
        let starts = rows.iter().enumerate().map(|(index, now)| {
            let from = earliest[&slot][index];
            let Some(last) = index.checked_sub(1).map(|last| &rows[last]) else {
                return from;
            };
            let change = Change {
                slot,
                before: last,
                after: now,
            };
            if let Some(moment) = between.moment(change, from) {
                return moment;
            }
            if last.task.is_none() {
                return from;
            }
            // From then on the last one was at work elsewhere.
            let moved = after.get(&(slot, index - 1));
            let moved = moved.filter(|at| at.slot != slot);
            let moved = moved.map(|at| earliest[&at.slot][at.index].max(from));
            let until = moved.filter(|moved| *moved < now.t0);
            match (now.task, until) {
                (_, Some(until)) => until,
                (None, None) => now.t0.max(from),
                (Some(_), None) => half_way(from, now.t0),
            }
        });
        (slot, in_order(starts))
    });
    Ok(of_thread.collect())
}

/// None before the one before it.
fn in_order(starts: impl Iterator<Item = Nanos>) -> Vec<Nanos> {
    let mut reached = Nanos(i64::MIN);
    let sorted = starts.map(|start| {
        reached = reached.max(start);
        reached
    });
    sorted.collect()
}

fn half_way(from: Nanos, until: Nanos) -> Nanos {
    Nanos(from.0 + until.since(from) as i64 / 2)
}

/// The earliest that a turn can have begun; `elsewhere`: when its task was last seen on another thread before.
fn earliest(
    spans: &Spans,
    slot: usize,
    rows: &[TaskTurn],
    index: usize,
    elsewhere: Option<Nanos>,
) -> Nanos {
    let now = &rows[index];
    let last = index.checked_sub(1).map(|last| rows[last].t1);
    // What a thread did before it was seen at all is not known, unless somebody else had that task.
    let last = last.or(elsewhere.map(|_| spans.threads[slot].start));
    let Some(last) = last else {
        return now.t0;
    };
    let all = spans.spans_of(slot);
    let over = Nanos(last.0.saturating_add(SKEW_NS));
    let next = all.partition_point(|span| span.t1 <= over);
    let ran = all[next..].iter().find(|span| span.state == State::Cpu);
    let ran = ran.map_or(now.t0, |span| span.t0.max(last));
    ran.max(elsewhere.unwrap_or(ran)).min(now.t0)
}

type Neighbours = FxHashMap<(usize, usize), At>;

/// For each turn of a task, by slot and index, that task's turn before and the one after.
fn neighbours(seen: &Seen) -> (Neighbours, Neighbours) {
    let mut all: Vec<(Nanos, usize, usize, TaskId)> = Vec::new();
    for (&slot, rows) in seen {
        let rows = rows.iter().enumerate();
        all.extend(rows.filter_map(|(index, row)| Some((row.t0, slot, index, row.task?))));
    }
    all.sort_unstable();
    let (mut before, mut after) = (Neighbours::default(), Neighbours::default());
    let mut last: FxHashMap<TaskId, At> = FxHashMap::default();
    for (_, slot, index, task) in all {
        let at = At { slot, index };
        if let Some(earlier) = last.insert(task, at) {
            before.insert((slot, index), earlier);
            after.insert((earlier.slot, earlier.index), at);
        }
    }
    (before, after)
}
