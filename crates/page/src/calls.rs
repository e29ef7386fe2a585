//! `calls`: system calls by process, call and thing, with how long they took and how much they moved.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::HistogramKind;

use crate::model::{CallRow, Calls, ErrorCount, Histogram};
use crate::Page;

/// Rows that are kept, the longest first.
const MOST: usize = 5_000;

/// Counts by bucket.
pub(crate) type Buckets = BTreeMap<u32, u64>;

pub(crate) fn histogram(buckets: Option<&Buckets>) -> Histogram {
    let mut histogram = Histogram::default();
    for (bucket, count) in buckets.into_iter().flatten() {
        histogram.bucket.push(*bucket);
        histogram.count.push(*count);
    }
    histogram
}

impl Page<'_> {
    /// System calls, longest first.
    pub fn calls(&self) -> Calls {
        type Key<'a> = (Option<ProcessId>, &'a str, Option<ObjectId>);
        let mut durations: FxHashMap<Key, Buckets> = FxHashMap::default();
        let mut sizes: FxHashMap<Key, Buckets> = FxHashMap::default();
        for row in &self.histograms {
            let thread = self.loaded.facts.ledger.thread(row.thread);
            let process = thread.map(|thread| thread.row.process);
            let of_kind = match row.kind {
                HistogramKind::Duration => &mut durations,
                HistogramKind::Size => &mut sizes,
            };
            let key = (process, row.call.as_str(), row.object);
            let buckets = of_kind.entry(key).or_default();
            let count = buckets.entry(row.bucket).or_default();
            *count = count.saturating_add(row.count);
        }
        let all = &self.loaded.facts.calls;
        let rows = all.iter().take(MOST).map(|sum| {
            let key = (sum.process, sum.call.as_str(), sum.object);
            let errors = sum.errnos.iter().map(|(error, count)| ErrorCount {
                error: error.clone(),
                count: *count,
            });
            CallRow {
                process: sum.process.and_then(|id| self.places.process(id)),
                call: self.words.name(&sum.call),
                thing: sum.object.and_then(|id| self.places.thing(id)),
                count: sum.count,
                ns: sum.ns,
                bytes: sum.bytes,
                errors: errors.collect(),
                is_estimated: sum.estimated,
                durations: histogram(durations.get(&key)),
                sizes: histogram(sizes.get(&key)),
            }
        });
        let rest = all.iter().skip(MOST);
        Calls {
            rows: rows.collect(),
            left_out: all.len().saturating_sub(MOST) as u64,
            left_out_ns: rest.fold(0, |sum, call| sum.saturating_add(call.ns)),
        }
    }
}
