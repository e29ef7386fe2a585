//! The system calls that waits happen in: without the wait there is no call either, and what it took on a
//! processor goes with it.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use timesink_recording::ids::ObjectId;
use timesink_recording::tables::Wait;
use timesink_recording::words::Detail;
use timesink_recording::Recording;

use crate::facts::Facts;
use crate::timeline::Timeline;

/// A kind of wait for a thing.
type Kind = (Detail, Option<ObjectId>);

/// In which calls each kind of wait was.
#[derive(Clone, Debug, Default)]
pub struct CallsOfWaits {
    calls: FxHashMap<Kind, Vec<String>>,
    /// Calls that wait for any of several things, by what they were on: how many of their waits were of each kind.
    polls: FxHashMap<(String, Option<ObjectId>), FxHashMap<Kind, u64>>,
}

impl CallsOfWaits {
    pub fn of(
        recording: &Recording,
        timeline: &Timeline,
    ) -> timesink_recording::Result<CallsOfWaits> {
        let mut found = CallsOfWaits::default();
        recording.scan(|rows: &[Wait]| {
            for row in rows {
                let (detail, object) = timeline.was_for(row);
                found.add(row, detail, object);
            }
        })?;
        Ok(found)
    }

    /// Adds what the row of a wait tells that was so and for this thing.
    pub fn add(&mut self, row: &Wait, detail: Detail, object: Option<ObjectId>) {
        // Who waits for memory in a call has what the call is for still before it.
        if row.call.is_empty() || row.detail == Detail::Reclaim {
            return;
        }
        let calls = self.calls.entry((detail, object)).or_default();
        if !calls.contains(&row.call) {
            calls.push(row.call.clone());
        }
        if row.detail == Detail::Poll {
            let on = (row.call.clone(), row.object);
            let kinds = self.polls.entry(on).or_default();
            *kinds.entry((detail, object)).or_default() += 1;
        }
    }

    /// The calls that waits of this kind for this thing were seen in.
    pub fn of_kind(&self, detail: Detail, object: Option<ObjectId>) -> &[String] {
        self.calls.get(&(detail, object)).map_or(&[], Vec::as_slice)
    }

    /// Of each call that such waits happen in, the share that was on the same thing; of a call that waits for any of several
    /// things, as much of that as of its waits were such.
    pub(super) fn shares(
        &self,
        facts: &Facts,
        meant: impl Fn(Detail, Option<ObjectId>) -> bool,
    ) -> BTreeMap<String, f64> {
        let mut wanted: BTreeMap<&str, FxHashMap<Option<ObjectId>, f64>> = BTreeMap::new();
        for ((detail, object), calls) in &self.calls {
            if meant(*detail, *object) {
                for call in calls {
                    let on = wanted.entry(call).or_default();
                    on.insert(*object, 1.0);
                }
            }
        }
        for ((call, on), kinds) in &self.polls {
            let all: u64 = kinds.values().sum();
            let such = kinds
                .iter()
                .filter(|((detail, object), _)| meant(*detail, *object));
            let such: u64 = such.map(|(_, count)| count).sum();
            if such > 0 {
                let parts = wanted.entry(call).or_default();
                parts.insert(*on, such as f64 / all.max(1) as f64);
            }
        }
        let mut shares = BTreeMap::new();
        for (call, parts) in wanted {
            let of_it = || facts.calls.iter().filter(|sum| sum.call == call);
            let whole: u64 = of_it().fold(0, |sum, row| sum.saturating_add(row.count));
            let part: f64 = of_it()
                .map(|row| row.count as f64 * parts.get(&row.object).copied().unwrap_or(0.0))
                .sum();
            if whole > 0 {
                shares.insert(call.to_owned(), part / whole as f64);
            }
        }
        shares
    }
}

/// Of each call on these things, sent or received, the share that was on them.
pub(super) fn calls_on(
    facts: &Facts,
    objects: Option<&BTreeSet<ObjectId>>,
) -> BTreeMap<String, f64> {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for sum in &facts.calls {
        let (part, whole) = counts.entry(&sum.call).or_default();
        *whole = whole.saturating_add(sum.count);
        let on_them = objects
            .zip(sum.object)
            .is_some_and(|(objects, object)| objects.contains(&object));
        if on_them {
            *part = part.saturating_add(sum.count);
        }
    }
    let shares = counts.into_iter().filter(|(_, (part, _))| *part > 0);
    shares
        .map(|(call, (part, whole))| (call.to_owned(), part as f64 / whole as f64))
        .collect()
}
