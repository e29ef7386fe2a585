//! Locks that threads wait for: who let go of them when, and how long they were held at least.
//!
//! Nothing tells when a lock is taken that nobody waits for. But whoever lets go of it while others wait has held it
//! since they came, or since it was let go of last: so long at least, and holds do not overlap.

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use super::{Spans, Waker};

/// A stretch in which a lock was held while somebody waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Who let go of it, as an index into the timeline's threads.
    pub holder: usize,
    pub from: Nanos,
    pub until: Nanos,
    /// For how long of it the holder is known to have done something: it ran, or waited for something else.
    pub own_ns: u64,
}

impl Hold {
    pub fn ns(&self) -> u64 {
        self.until.since(self.from)
    }
}

/// One lock that was waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    pub process: ProcessId,
    pub object: ObjectId,
    /// The waits, as indexes of spans, in the order in which they ended.
    pub waits: Vec<usize>,
    pub wait_ns: u64,
    /// In the order of time; they do not overlap.
    pub holds: Vec<Hold>,
}

impl Lock {
    /// How long it was held while others waited, all in all.
    pub fn held_ns(&self) -> u64 {
        let holds = self.holds.iter().map(Hold::ns);
        holds.fold(0, u64::saturating_add)
    }
}

/// All locks of a recording that were waited for, longest first.
#[derive(Clone, Debug, Default)]
pub struct Locks(pub Vec<Lock>);

impl Locks {
    pub fn of(timeline: &Spans) -> Locks {
        let mut waits: FxHashMap<(ProcessId, ObjectId), Vec<usize>> = FxHashMap::default();
        for (slot, thread) in timeline.threads.iter().enumerate() {
            for (index, span) in timeline.indexed(slot) {
                if let (State::Wait, Detail::Lock, Some(object)) =
                    (span.state, span.detail, span.object())
                {
                    waits
                        .entry((thread.process, object))
                        .or_default()
                        .push(index);
                }
            }
        }
        let locks = waits.into_iter();
        let locks = locks.map(|((process, object), waits)| lock(timeline, process, object, waits));
        let mut locks: Vec<Lock> = locks.collect();
        locks.sort_unstable_by_key(|lock| {
            (std::cmp::Reverse(lock.wait_ns), lock.process, lock.object)
        });
        Locks(locks)
    }

    /// The one of this process.
    pub fn find(&self, process: ProcessId, object: ObjectId) -> Option<&Lock> {
        self.0
            .iter()
            .find(|lock| lock.process == process && lock.object == object)
    }
}

fn lock(timeline: &Spans, process: ProcessId, object: ObjectId, mut waits: Vec<usize>) -> Lock {
    waits.sort_by_key(|&index| timeline.span(index).map(|span| span.t1));
    let mut holds: Vec<Hold> = Vec::new();
    let mut wait_ns = 0u64;
    let mut let_go: Option<Nanos> = None;
    for span in waits.iter().filter_map(|&index| timeline.span(index)) {
        wait_ns = wait_ns.saturating_add(span.t1.since(span.t0));
        let from = let_go.map_or(span.t0, |before| before.max(span.t0));
        let_go = Some(span.t1);
        if let Waker::Thread { slot, at } = timeline.waker(span) {
            if at > from {
                holds.push(Hold {
                    holder: slot,
                    from,
                    until: at,
                    own_ns: 0,
                });
            }
        }
    }
    find_own(timeline, &mut holds);
    Lock {
        process,
        object,
        waits,
        wait_ns,
        holds,
    }
}

/// How much of each stretch is the holder's own. What was taken from one of its runs is known, but not where in it:
/// most likely where it took longest.
fn find_own(timeline: &Spans, holds: &mut [Hold]) {
    let mut order: Vec<usize> = (0..holds.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(holds[at].ns()));
    let mut taken: FxHashMap<(usize, Nanos), u64> = FxHashMap::default();
    for at in order {
        let hold = &mut holds[at];
        for (span, within) in timeline.between(hold.holder, hold.from, hold.until) {
            let own = match (span.state, span.detail) {
                (State::Cpu, Detail::SwitchingIn) => 0,
                (State::Cpu, _) => {
                    let left = taken.entry((hold.holder, span.t0));
                    let left = left.or_insert(span.taken_ns());
                    let here = within.min(*left);
                    *left -= here;
                    within - here
                }
                (State::Wait, _) => within,
                _ => 0,
            };
            hold.own_ns = hold.own_ns.saturating_add(own);
        }
    }
}
