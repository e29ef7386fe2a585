//! Where each process, thread and thing stands in the lists that the page knows them by.

use rustc_hash::FxHashMap;
use timesink_analysis::facts::Facts;
use timesink_analysis::timeline::Timeline;
use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};

/// Of one recording.
pub struct Places {
    /// In the order of the page: as indexes into the ledger's processes and threads.
    pub processes: Vec<usize>,
    pub threads: Vec<usize>,
    /// As indexes into the facts' objects.
    pub things: Vec<usize>,
    of_process: FxHashMap<ProcessId, u32>,
    of_thread: FxHashMap<ThreadId, u32>,
    of_thing: FxHashMap<ObjectId, u32>,
    /// By the timeline's slot; `u32::MAX` where the ledger does not have it.
    of_slot: Vec<u32>,
}

/// So many things are named to the page, those with most time first.
const MOST_THINGS: usize = 50_000;

impl Places {
    /// `weights`: the time of each object, by its place in the facts.
    pub fn of(facts: &Facts, timeline: &Timeline, weights: &[u64]) -> Places {
        let ledger = &facts.ledger;
        let mut processes: Vec<usize> = (0..ledger.processes.len()).collect();
        processes.sort_by_key(|&at| {
            let row = &ledger.processes[at].row;
            (row.start, row.process)
        });
        let in_order = |ids: &[usize]| -> FxHashMap<ProcessId, u32> {
            let ids = ids.iter().map(|&at| ledger.processes[at].row.process);
            ids.zip(0..).collect()
        };
        let of_process = in_order(&processes);
        let mut threads: Vec<usize> = (0..ledger.threads.len()).collect();
        threads.sort_by_key(|&at| {
            let row = &ledger.threads[at].row;
            let process = of_process.get(&row.process).copied();
            (process.unwrap_or(u32::MAX), row.start, row.thread)
        });
        let ids = threads.iter().map(|&at| ledger.threads[at].row.thread);
        let of_thread: FxHashMap<ThreadId, u32> = ids.zip(0..).collect();
        let mut things: Vec<usize> = (0..facts.objects.len()).collect();
        if things.len() > MOST_THINGS {
            let weight = |at: &usize| std::cmp::Reverse(weights.get(*at).copied().unwrap_or(0));
            things.sort_by_key(weight);
            things.truncate(MOST_THINGS);
            things.sort_unstable();
        }
        let ids = things.iter().map(|&at| facts.objects[at].object);
        let slot = |row: &timesink_recording::tables::Thread| of_thread.get(&row.thread).copied();
        let slots = timeline.threads.iter();
        Places {
            of_thing: ids.zip(0..).collect(),
            of_slot: slots.map(|row| slot(row).unwrap_or(u32::MAX)).collect(),
            processes,
            threads,
            things,
            of_process,
            of_thread,
        }
    }

    pub fn process(&self, id: ProcessId) -> Option<u32> {
        self.of_process.get(&id).copied()
    }

    pub fn thread(&self, id: ThreadId) -> Option<u32> {
        self.of_thread.get(&id).copied()
    }

    pub fn thing(&self, id: ObjectId) -> Option<u32> {
        self.of_thing.get(&id).copied()
    }

    /// The thread at a slot of the timeline.
    pub fn slot(&self, slot: usize) -> Option<u32> {
        let place = self.of_slot.get(slot).copied();
        place.filter(|place| *place != u32::MAX)
    }
}

/// A place counted from 1, 0 for none.
pub(crate) fn from_one(place: Option<u32>) -> u32 {
    place.map_or(0, |place| place + 1)
}
