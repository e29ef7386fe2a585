//! What the critical path was at work for, cause by cause.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timesink_recording::words::State;

use super::{Tagged, Whose};
use crate::path::{Cause, Key, Path, Segment};
use crate::stacks::Stacks;
use crate::timeline::Timeline;

/// The time of a path by the tags that its threads had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagsOnPath {
    pub paths: Vec<String>,
    /// In the order of the causes.
    by_cause: Vec<BTreeMap<Whose, u64>>,
}

impl TagsOnPath {
    pub fn of(
        tagged: Tagged,
        path: &Path,
        (timeline, stacks): (&Timeline, &Stacks),
        (causes, key): (&[Cause], impl Fn(&Segment) -> Key),
    ) -> TagsOnPath {
        let places = causes.iter().enumerate();
        let places: FxHashMap<Key, usize> = places.map(|(at, cause)| (cause.key, at)).collect();
        let mut by_cause = vec![BTreeMap::new(); causes.len()];
        for segment in &path.segments {
            let Some(sums) = places
                .get(&key(segment))
                .and_then(|&at| by_cause.get_mut(at))
            else {
                continue;
            };
            for (whose, ns) in whose(&tagged, segment, timeline, stacks) {
                let sum: &mut u64 = sums.entry(whose).or_default();
                *sum = sum.saturating_add(ns);
            }
        }
        TagsOnPath {
            paths: tagged.paths,
            by_cause,
        }
    }

    /// Their time by tag, the most first; what has none is not there.
    pub fn of_causes(&self, causes: impl IntoIterator<Item = usize>) -> Vec<(&str, u64)> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        let by_tag = causes.into_iter().filter_map(|at| self.by_cause.get(at));
        for (whose, ns) in by_tag.flatten() {
            if let Some(path) = whose.and_then(|whose| self.paths.get(whose)) {
                let sum = sums.entry(path).or_default();
                *sum = sum.saturating_add(*ns);
            }
        }
        let mut sums: Vec<(&str, u64)> = sums.into_iter().collect();
        sums.sort_by_key(|(path, ns)| (std::cmp::Reverse(*ns), *path));
        sums
    }

    /// All of it by tag, the most first.
    pub fn all(&self) -> Vec<(&str, u64)> {
        self.of_causes(0..self.by_cause.len())
    }
}

/// The tags of a segment: of time on a processor as its samples have them, of all else the one that it began with.
fn whose(
    tagged: &Tagged,
    segment: &Segment,
    timeline: &Timeline,
    stacks: &Stacks,
) -> Vec<(Whose, u64)> {
    let thread = timeline.threads[segment.slot].thread;
    let began_with = vec![(tagged.at(thread, segment.t0), segment.ns())];
    if segment.state != State::Cpu {
        return began_with;
    }
    let mut hits: BTreeMap<Whose, u64> = BTreeMap::new();
    for sample in stacks.samples_of(thread, segment.t0, segment.t1) {
        *hits.entry(tagged.at(thread, sample.at)).or_default() += sample.ns;
    }
    let all: u64 = hits.values().sum();
    if all == 0 {
        return began_with;
    }
    let part = |ns: u64| (u128::from(segment.ns()) * u128::from(ns) / u128::from(all)) as u64;
    hits.into_iter()
        .map(|(whose, ns)| (whose, part(ns)))
        .collect()
}
