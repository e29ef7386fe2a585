//! Goroutines that wait for others and never go on, and become more and more: what they wait for may never come.

use std::collections::BTreeMap;

use timesink_recording::ids::{ProcessId, StackId};
use timesink_recording::tables::TaskSight;
use timesink_recording::words::TaskState;
use timesink_recording::Nanos;

use super::{GroupKind, Parking};
use crate::stacks::{Code, Spot, Stacks};
use crate::timeline::Timeline;

/// Fewer say nothing.
const FEW: usize = 10;
/// They have waited so many times as long as any that went on from there, and so long.
const LONGER: u64 = 2;
const LEAST_NS: u64 = 500_000_000;
/// They came in at least so many of as many parts of the time in which it was looked.
const PARTS: usize = 4;
const IN_PARTS: usize = 3;

/// Those of a process that wait at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stuck {
    pub process: ProcessId,
    /// Where they wait, with the callers.
    pub stack: StackId,
    pub parking: Parking,
    pub count: u64,
    /// So many more each second.
    pub per_second: f64,
}

/// Waits at one place, by when they began.
#[derive(Default)]
struct Place {
    to_the_end: Vec<Nanos>,
    /// The longest after which one went on.
    longest_ns: u64,
}

impl Stuck {
    /// All there are, most first.
    pub fn all(timeline: &Timeline, stacks: &Stacks) -> Vec<Stuck> {
        let mut processes: Vec<ProcessId> = timeline.threads.iter().map(|t| t.process).collect();
        processes.sort_unstable();
        processes.dedup();
        let of_process = |process: &ProcessId| {
            let sights = timeline.carried().sights(*process);
            in_process(*process, sights, stacks)
        };
        let mut all: Vec<Stuck> = processes.iter().flat_map(of_process).collect();
        all.sort_by_key(|stuck| std::cmp::Reverse(stuck.count));
        all
    }

    /// Where they wait, innermost first.
    pub fn spots(&self, code: &Code) -> Vec<Spot> {
        let stack = code.stack(self.stack);
        stack.map_or(Vec::new(), |stack| code.spots_of(stack))
    }
}

fn in_process(process: ProcessId, sights: &[TaskSight], stacks: &Stacks) -> Vec<Stuck> {
    let first = sights.iter().map(|sight| sight.t).min();
    let end = sights.iter().map(|sight| sight.t).max();
    let (Some(first), Some(end)) = (first, end) else {
        return Vec::new();
    };
    let mut places: BTreeMap<StackId, Place> = BTreeMap::new();
    for of_task in sights.chunk_by(|one, other| one.task == other.task) {
        for pair in of_task.windows(2) {
            let (from, next) = (&pair[0], &pair[1]);
            let Some(stack) = from.stack.filter(|_| from.state == TaskState::Waiting) else {
                continue;
            };
            let place = places.entry(stack).or_default();
            match next.t == end && next.stack == Some(stack) {
                true => place.to_the_end.push(from.t),
                false => place.longest_ns = place.longest_ns.max(next.t.since(from.t)),
            }
        }
    }
    let places = places.into_iter();
    let stuck = places.filter_map(|(stack, mut place)| {
        let least_ns = LEAST_NS.max(place.longest_ns.saturating_mul(LONGER));
        place.to_the_end.retain(|from| end.since(*from) >= least_ns);
        // Those that were there from the first look on say nothing of more to come.
        let came = place.to_the_end.iter().filter(|from| **from > first);
        let came: Vec<Nanos> = came.copied().collect();
        let looked_ns = end.since(first).saturating_sub(least_ns).max(1);
        let mut parts = [false; PARTS];
        for from in &came {
            let part = u128::from(from.since(first)) * PARTS as u128 / u128::from(looked_ns);
            parts[(part as usize).min(PARTS - 1)] = true;
        }
        let in_parts = parts.iter().filter(|part| **part).count();
        let parking = parking(stack, stacks)?;
        (came.len() >= FEW && in_parts >= IN_PARTS).then(|| Stuck {
            process,
            stack,
            parking,
            count: place.to_the_end.len() as u64,
            per_second: came.len() as f64 * 1e9 / looked_ns as f64,
        })
    });
    stuck.collect()
}

/// What the program's own goroutines wait for there, if that is others of them.
fn parking(stack: StackId, stacks: &Stacks) -> Option<Parking> {
    let code = &stacks.code;
    let stack = code.stack(stack)?;
    let mut functions = code.functions_of(stack).into_iter();
    let parking = Parking::of(code, stack, GroupKind::Goroutine);
    let by_others = !matches!(
        parking,
        Parking::Timer | Parking::Network | Parking::Runtime
    );
    (by_others && functions.any(|function| code.is_user_code(function))).then_some(parking)
}
