//! What the path did while somebody waited for a response: it leads through who sent it, and is none of the wait's own causes.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timesink_recording::words::State;

use super::{Cause, Key, Path, Segment};

/// So many segments are looked at, of which each is looked at for all waits that it lies in: whoever waits for one who waits for one.
const MOST: usize = 4_000_000;

/// By the waits, what the path did meanwhile: the causes by their index, and for how long.
#[derive(Clone, Debug, Default)]
pub struct Responses(BTreeMap<Key, BTreeMap<usize, u64>>);

impl Responses {
    /// `causes`: those of the path; `key`: the cause of a segment.
    pub(crate) fn of(path: &Path, causes: &[Cause], key: impl Fn(&Segment) -> Key) -> Responses {
        let numbers: FxHashMap<Key, usize> = causes
            .iter()
            .enumerate()
            .map(|(number, cause)| (cause.key, number))
            .collect();
        let mut all: BTreeMap<Key, BTreeMap<usize, u64>> = BTreeMap::new();
        let mut seen = 0;
        for wait in &path.responses {
            let own = all.entry(key(&Segment {
                slot: wait.slot,
                t0: wait.t0,
                t1: wait.t1,
                state: State::Wait,
                detail: wait.detail,
                object: Some(wait.object),
                unknown: None,
            }));
            let own = own.or_default();
            let begun = path
                .segments
                .partition_point(|segment| segment.t1 <= wait.t0);
            let within = path.segments[begun..].iter();
            for segment in within.take_while(|segment| segment.t0 < wait.t1) {
                seen += 1;
                if let Some(&cause) = numbers
                    .get(&key(segment))
                    .filter(|_| segment.slot != wait.slot)
                {
                    let ns = segment.t1.min(wait.t1).since(segment.t0.max(wait.t0));
                    *own.entry(cause).or_default() += ns;
                }
            }
            if seen > MOST {
                break;
            }
        }
        Responses(all)
    }

    /// What the path did during the waits that are so.
    pub fn during(&self, is: impl Fn(&Key) -> bool) -> BTreeMap<usize, u64> {
        let mut sums: BTreeMap<usize, u64> = BTreeMap::new();
        for (_, causes) in self.0.iter().filter(|(key, _)| is(key)) {
            for (&cause, ns) in causes {
                *sums.entry(cause).or_default() += ns;
            }
        }
        sums
    }
}
