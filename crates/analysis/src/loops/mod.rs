//! Loops: rounds of the same waits in the same order at the same places in the code.
//!
//! What a thread waits for is all that is known of it one by one, so a loop that never waits is not seen, and what
//! waits only now and then is no part of a round. Rounds need not be all alike: an additional wait now and then is
//! passed over.

mod rounds;
mod sites;

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::words::{Detail, ObjectKind};
use timesink_recording::Nanos;

use crate::operations::Recorded;
use crate::stacks::{FunctionIx, Stacks};

/// A loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    pub thread: ThreadId,
    /// From the first round to the end of the last.
    pub from: Nanos,
    pub until: Nanos,
    /// Rounds that are alike.
    pub rounds: u64,
    /// What else lay between two of its beginnings.
    pub unlike: u64,
    /// The time of rounds that are alike.
    pub ns: u64,
    /// The time of one.
    pub median_ns: u64,
    /// What is waited for in a round, in order.
    pub body: Vec<LoopStep>,
}

/// One step of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopStep {
    pub detail: Detail,
    /// The kind of thing that is waited for.
    pub kind: Option<ObjectKind>,
    /// The thing itself, if it is always the same.
    pub object: Option<ObjectId>,
    /// The program's own function that waits, if a stack tells.
    pub function: Option<FunctionIx>,
    /// Such waits one after the other in a round, on average.
    pub waits: f64,
}

/// Less is no loop.
const FEW: usize = 10;
/// In so many threads, those with the most waits, loops are looked for.
const THREADS: usize = 16;
/// So many are told.
const LOOPS: usize = 12;
/// A loop that takes less of its thread's life is left out.
const SMALL: f64 = 0.01;

/// The loops of the busiest threads, the longest first; not of those that are passed over.
pub fn loops(recorded: &Recorded<'_>, stacks: &Stacks, pass_over: &FxHashSet<usize>) -> Vec<Loop> {
    let (timeline, facts) = (recorded.timeline, recorded.facts);
    let slots = (0..timeline.threads.len()).filter(|slot| !pass_over.contains(slot));
    let mut slots: Vec<usize> = slots.collect();
    let is_main = |slot: usize| {
        let main = facts
            .ledger
            .main
            .and_then(|at| facts.ledger.threads.get(at));
        main.is_some_and(|main| main.row.thread == timeline.threads[slot].thread)
    };
    slots.sort_by_key(|&slot| {
        let spans = timeline.spans_of(slot).len();
        std::cmp::Reverse((is_main(slot), spans))
    });
    slots.truncate(THREADS);
    let mut cache = FxHashMap::default();
    let mut found = Vec::new();
    for slot in slots {
        if timeline.spans_of(slot).len() >= FEW {
            let waits = sites::waits(recorded, stacks, slot, &mut cache);
            found.extend(rounds::loops(timeline, slot, &waits));
        }
    }
    found.sort_by_key(|one| (std::cmp::Reverse(one.ns), one.thread));
    found.truncate(LOOPS);
    found
}
