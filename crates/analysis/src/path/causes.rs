//! The path, summed up by cause.

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, State};

use super::{Path, Segment, Unknown};
use crate::timeline::Timeline;

/// What identifies a cause on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Of several processes with the same program, the first on the path.
    pub process: ProcessId,
    pub state: State,
    /// Of waits, and of what is not the program's own running.
    pub detail: Option<Detail>,
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

impl Key {
    /// The cause that a segment belongs to.
    pub fn of(segment: &Segment, process: ProcessId) -> Key {
        let detail = match (segment.state, segment.detail) {
            // Who wants a processor, and who is switched to at once, is about to run: how it came to that is nothing
            // that anybody could change.
            (State::Ready, detail) if detail != Detail::Throttled => None,
            (State::Cpu, Detail::Running | Detail::SwitchingIn) => None,
            (_, detail) => Some(detail),
        };
        Key {
            process,
            state: segment.state,
            detail,
            // Of what is not known, why it is not is all there is to say.
            object: segment
                .object
                .filter(|_| segment.state == State::Wait && segment.unknown.is_none()),
            unknown: segment.unknown,
        }
    }
}

impl Path {
    /// The causes of its time, longest first; they add up to the wall time. `group` says under which process a
    /// process is to be counted: many that run the same program are better told as one.
    pub fn causes(
        &self,
        timeline: &Timeline,
        group: impl Fn(ProcessId) -> ProcessId,
    ) -> Vec<Cause> {
        self.causes_by(|segment| {
            let process = group(timeline.threads[segment.slot].process);
            Key::of(segment, process)
        })
    }

    /// The same, with the cause of a segment told by `key`.
    pub fn causes_by(&self, key: impl Fn(&Segment) -> Key) -> Vec<Cause> {
        causes_of(&self.segments, key)
    }
}

/// The causes of some segments, longest first.
pub fn causes_of(segments: &[Segment], key: impl Fn(&Segment) -> Key) -> Vec<Cause> {
    let mut sums: FxHashMap<Key, (u64, u64)> = FxHashMap::default();
    for segment in segments {
        let (count, ns) = sums.entry(key(segment)).or_default();
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
