//! The path, summed up by cause.

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, State};

use super::{Path, Unknown};
use crate::timeline::Timeline;

/// What identifies a cause on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Of several processes with the same program, the first on the path.
    pub process: ProcessId,
    pub state: State,
    pub detail: Detail,
    /// What was waited for.
    pub object: Option<ObjectId>,
    pub unknown: Option<Unknown>,
}

/// One cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    pub key: Key,
    /// Segments.
    pub count: u64,
    pub ns: u64,
}

impl Path {
    /// The causes of its time, longest first; they add up to the wall time. `group` says under which process a
    /// process is to be counted: many that run the same program are better told as one.
    pub fn causes(
        &self,
        timeline: &Timeline,
        group: impl Fn(ProcessId) -> ProcessId,
    ) -> Vec<Cause> {
        let mut sums: FxHashMap<Key, (u64, u64)> = FxHashMap::default();
        for segment in &self.segments {
            let key = Key {
                process: group(timeline.threads[segment.slot].process),
                state: segment.state,
                // A thread that is switched to at once is about to run: nobody can act on the difference.
                detail: match segment.detail {
                    Detail::SwitchingIn => Detail::Running,
                    other => other,
                },
                object: segment.object.filter(|_| segment.state == State::Wait),
                unknown: segment.unknown,
            };
            let (count, ns) = sums.entry(key).or_default();
            *count += 1;
            *ns = ns.saturating_add(segment.ns());
        }
        let mut causes: Vec<Cause> = sums
            .into_iter()
            .map(|(key, (count, ns))| Cause { key, count, ns })
            .collect();
        causes.sort_unstable_by_key(|cause| (std::cmp::Reverse(cause.ns), cause.key));
        causes
    }
}
