//! Threads that belong together: those of one process that the same thread started, and copies of a process.
//!
//! It says who they are and when they were there, not what they did.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timesink_recording::ids::ProcessId;
use timesink_recording::tables::Thread;
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use super::Timeline;

/// Threads that one thread started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Who started them, as an index into the timeline's threads.
    pub parent: usize,
    /// Likewise, in the order in which they were started; at least two.
    pub members: Vec<usize>,
    /// They are processes of their own, of which these are the first threads.
    pub is_processes: bool,
}

impl Pool {
    /// All pools of a recording.
    pub fn all(timeline: &Timeline) -> Vec<Pool> {
        let mut pools: BTreeMap<(usize, bool), Vec<usize>> = BTreeMap::new();
        for (slot, thread) in timeline.threads.iter().enumerate() {
            let parent = thread.parent.and_then(|parent| timeline.slot(parent));
            if let Some(parent) = parent.filter(|&parent| parent != slot) {
                let apart = timeline.threads[parent].process != thread.process;
                pools.entry((parent, apart)).or_default().push(slot);
            }
        }
        let pools = pools
            .into_iter()
            .filter(|(_, members)| members.len() > 1)
            .map(|((parent, is_processes), mut members)| {
                members.sort_by_key(|&slot| timeline.threads[slot].start);
                Pool {
                    parent,
                    members,
                    is_processes,
                }
            });
        pools.collect()
    }

    /// Their process, or that of who started them.
    pub fn process(&self, timeline: &Timeline) -> ProcessId {
        timeline.threads[self.parent].process
    }

    /// Its rows.
    pub fn rows<'a>(&'a self, timeline: &'a Timeline) -> impl Iterator<Item = &'a Thread> {
        self.members.iter().map(|&slot| &timeline.threads[slot])
    }
}

/// When a thread's work was over: as it called exit, if that is known.
pub fn over(thread: &Thread) -> Nanos {
    thread.exit.unwrap_or(thread.end)
}

/// How long a thread worked: on a processor, without what was taken from it there.
pub fn work_ns(thread: &Thread) -> u64 {
    let taken_ns = thread.taken_ns.unwrap_or(0);
    thread.cpu_ns.saturating_sub(taken_ns)
}

/// Who is waited for comes to its end within this share of its life after that, or within a millisecond.
const AFTERWARDS: f64 = 0.05;
const AFTERWARDS_NS: u64 = 1_000_000;

impl Pool {
    /// For each member (by its place) the wait of who started them that its end ended, as the index of a span.
    pub fn joins(&self, timeline: &Timeline) -> Vec<Option<usize>> {
        let places = self.members.iter().enumerate();
        let places: FxHashMap<usize, usize> = places.map(|(at, &slot)| (slot, at)).collect();
        let place = |thread| places.get(&timeline.slot(thread)?).copied();
        let mut joins = vec![None; self.members.len()];
        for (index, span) in timeline.indexed(self.parent) {
            let waits = span.state == State::Wait
                && matches!(
                    span.detail,
                    Detail::Join | Detail::Child | Detail::Condition | Detail::Lock
                );
            let Some(at) = span.waker().filter(|_| waits).and_then(place) else {
                continue;
            };
            let member = &timeline.threads[self.members[at]];
            let slack = (member.end.since(member.start) as f64 * AFTERWARDS) as u64;
            if over(member).since(span.t1) <= slack.max(AFTERWARDS_NS) {
                joins[at] = Some(index);
            }
        }
        joins
    }
}
