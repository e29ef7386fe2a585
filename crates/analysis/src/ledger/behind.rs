//! Behind whom a thread stood while it was ready and had no processor.

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::ThreadId;
use timesink_recording::tables::Occupant;
use timesink_recording::units::Nanos;

use crate::outsiders::Outsiders;

/// Who had the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// A recorded thread.
    Thread(ThreadId),
    /// A process outside of the recording, by the kernel's id of its first thread; of a thread whose process is not known, by that
    /// thread's own.
    Outsider(u32),
    /// Nobody: the processor was idle and on its way out of it.
    Idle,
    /// Either of these: so many ran in turn that the recording did not keep them all.
    Unlisted,
}

/// How long a thread was ready while somebody else had its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind {
    pub who: Who,
    /// Ready spans in which that one ran; zero for time that is a remainder.
    pub count: u64,
    pub ns: u64,
}

/// The recording keeps this many occupants a span; a span with fewer has them all.
const KEPT: u32 = 8;

/// The sums under way, by position of the ready thread.
pub(super) struct Occupants {
    sums: FxHashMap<(u32, Who), (u64, u64)>,
    /// Spans whose list of occupants is full, so that the rest of them may have had more.
    full: FxHashSet<(u32, Nanos)>,
    /// The span whose rows are passing by, how many there were, and how long they took.
    current: Option<(u32, Nanos)>,
    rows: u32,
}

impl Occupants {
    pub(super) fn new() -> Occupants {
        Occupants {
            sums: FxHashMap::default(),
            full: FxHashSet::default(),
            current: None,
            rows: 0,
        }
    }

    /// One row of the thread at `slot`. Threads outside of the recording count for their processes.
    pub(super) fn row(&mut self, slot: usize, row: &Occupant, outsiders: &Outsiders) {
        let slot = slot as u32;
        let who = match (row.occupant, row.occupant_outsider) {
            (Some(thread), _) => Who::Thread(thread),
            // The kernel's idle threads all have number 0.
            (None, None | Some(0)) => Who::Idle,
            (None, Some(tid)) => Who::Outsider(outsiders.process(tid)),
        };
        let (count, ns) = self.sums.entry((slot, who)).or_insert((0, 0));
        *count += 1;
        *ns = ns.saturating_add(row.ns);
        if self.current == Some((slot, row.t0)) {
            self.rows += 1;
        } else {
            self.current = Some((slot, row.t0));
            self.rows = 1;
        }
        if self.rows == KEPT {
            self.full.insert((slot, row.t0));
        }
    }

    /// Whether the span of the thread at `slot` that began at `t0` may have had more occupants
    /// than are listed.
    pub(super) fn is_full(&self, slot: usize, t0: Nanos) -> bool {
        !self.full.is_empty() && self.full.contains(&(slot as u32, t0))
    }

    /// For each thread, behind whom, longest first. What its ready spans (`queued_ns`, without
    /// those that a quota held back) have beyond the occupants listed was an idle processor on
    /// its way, unless lists were full.
    pub(super) fn finish(self, queued: &[Queued]) -> Vec<Vec<Behind>> {
        let mut lists: Vec<Vec<Behind>> = vec![Vec::new(); queued.len()];
        for ((slot, who), (count, ns)) in self.sums {
            if let Some(list) = lists.get_mut(slot as usize) {
                list.push(Behind { who, count, ns });
            }
        }
        for (list, queued) in lists.iter_mut().zip(queued) {
            let named: u64 = list
                .iter()
                .fold(0, |sum, behind| sum.saturating_add(behind.ns));
            let rest = queued.ns.saturating_sub(named);
            let who = if queued.has_full {
                Who::Unlisted
            } else {
                Who::Idle
            };
            if rest > 0 {
                match list.iter_mut().find(|behind| behind.who == who) {
                    Some(behind) => behind.ns = behind.ns.saturating_add(rest),
                    None => list.push(Behind {
                        who,
                        count: 0,
                        ns: rest,
                    }),
                }
            }
            list.sort_unstable_by(|a, b| b.ns.cmp(&a.ns).then(a.who.cmp(&b.who)));
        }
        lists
    }
}

/// How long a thread stood in a queue for a processor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queued {
    pub(super) ns: u64,
    /// At least one of its spans may have had more occupants than are listed.
    pub(super) has_full: bool,
}
