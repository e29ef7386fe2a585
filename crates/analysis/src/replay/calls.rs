//! The system calls that waits happen in: without the wait there is no call either, and what it took on a
//! processor goes with it.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::ObjectId;
use timesink_recording::tables::Wait;
use timesink_recording::words::Detail;
use timesink_recording::Recording;

use crate::facts::Facts;

/// A kind of wait for a thing.
type Kind = (Detail, Option<ObjectId>);

/// In which calls each kind of wait was.
#[derive(Clone, Debug, Default)]
pub struct CallsOfWaits {
    calls: FxHashMap<Kind, Vec<String>>,
}

impl CallsOfWaits {
    pub fn of(recording: &Recording) -> timesink_recording::Result<CallsOfWaits> {
        let mut found = CallsOfWaits::default();
        recording.scan(|rows| found.add(rows))?;
        Ok(found)
    }

    /// Adds what these rows tell.
    pub fn add(&mut self, rows: &[Wait]) {
        // Who waits for memory in a call has what the call is for still before it.
        let made = |row: &&Wait| !row.call.is_empty() && row.detail != Detail::Reclaim;
        for row in rows.iter().filter(made) {
            let calls = self.calls.entry((row.detail, row.object)).or_default();
            if !calls.contains(&row.call) {
                calls.push(row.call.clone());
            }
        }
    }

    /// The calls that waits of this kind for this thing were seen in.
    pub fn of_kind(&self, detail: Detail, object: Option<ObjectId>) -> &[String] {
        self.calls.get(&(detail, object)).map_or(&[], Vec::as_slice)
    }

    /// Of each call that such waits happen in, the share that was on the same thing.
    pub(super) fn shares(
        &self,
        facts: &Facts,
        meant: impl Fn(Detail, Option<ObjectId>) -> bool,
    ) -> BTreeMap<String, f64> {
        let mut wanted: BTreeMap<&str, FxHashSet<Option<ObjectId>>> = BTreeMap::new();
        for ((detail, object), calls) in &self.calls {
            if meant(*detail, *object) {
                for call in calls {
                    wanted.entry(call).or_default().insert(*object);
                }
            }
        }
        let mut shares = BTreeMap::new();
        for (call, objects) in wanted {
            let of_it = || facts.calls.iter().filter(|sum| sum.call == call);
            let whole: u64 = of_it().fold(0, |sum, row| sum.saturating_add(row.count));
            let on_them = of_it().filter(|row| objects.contains(&row.object));
            let part: u64 = on_them.fold(0, |sum, row| sum.saturating_add(row.count));
            if whole > 0 {
                shares.insert(call.to_owned(), part as f64 / whole as f64);
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
