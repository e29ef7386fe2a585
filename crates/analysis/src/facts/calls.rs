//! System calls, summed per process, call and object. The time of a call includes what it waited.

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::tables::{Call, CallError, Thread};

/// All calls of one kind by one process on one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSum {
    /// The process; `None` where its threads are not listed.
    pub process: Option<ProcessId>,
    /// The call's name.
    pub call: String,
    /// What it was about.
    pub object: Option<ObjectId>,
    pub count: u64,
    /// From entry to return, waits included.
    pub ns: u64,
    pub bytes: u64,
    /// How many failed.
    pub errors: u64,
    /// How many were really timed.
    pub seen: u64,
    /// Calls were timed for part of the time only; count, ns, bytes and errors are scaled up.
    pub estimated: bool,
    /// Failures by error, most frequent first, of the calls that were really timed.
    pub errnos: Vec<(String, u64)>,
}

type CallKey = (Option<ProcessId>, u32, Option<ObjectId>);

/// The sums under way.
pub struct CallTally {
    homes: FxHashMap<ThreadId, ProcessId>,
    names: FxHashMap<String, u32>,
    sums: FxHashMap<CallKey, CallSum>,
}

impl CallTally {
    /// Nothing yet; the threads tell which process a call belongs to.
    pub fn new(threads: &[Thread]) -> CallTally {
        CallTally {
            homes: threads
                .iter()
                .map(|thread| (thread.thread, thread.process))
                .collect(),
            names: FxHashMap::default(),
            sums: FxHashMap::default(),
        }
    }

    fn sum(&mut self, thread: ThreadId, call: &str, object: Option<ObjectId>) -> &mut CallSum {
        let next = self.names.len() as u32;
        let name = match self.names.get(call) {
            Some(&known) => known,
            None => *self.names.entry(call.to_owned()).or_insert(next),
        };
        let process = self.homes.get(&thread).copied();
        self.sums
            .entry((process, name, object))
            .or_insert_with(|| CallSum {
                process,
                call: call.to_owned(),
                object,
                count: 0,
                ns: 0,
                bytes: 0,
                errors: 0,
                seen: 0,
                estimated: false,
                errnos: Vec::new(),
            })
    }

    /// Adds up calls.
    pub fn calls(&mut self, rows: &[Call]) {
        for row in rows {
            let sum = self.sum(row.thread, &row.call, row.object);
            sum.count = sum.count.saturating_add(row.count);
            sum.ns = sum.ns.saturating_add(row.ns);
            sum.bytes = sum.bytes.saturating_add(row.bytes);
            sum.errors = sum.errors.saturating_add(row.errors);
            sum.seen = sum.seen.saturating_add(row.seen);
            sum.estimated |= row.estimated;
        }
    }

    /// Adds up failures by error.
    pub fn errors(&mut self, rows: &[CallError]) {
        for row in rows {
            let sum = self.sum(row.thread, &row.call, row.object);
            match sum.errnos.iter_mut().find(|(error, _)| *error == row.error) {
                Some((_, count)) => *count = count.saturating_add(row.count),
                None => sum.errnos.push((row.error.clone(), row.count)),
            }
        }
    }

    /// The sums, longest first.
    pub fn finish(self) -> Vec<CallSum> {
        let mut sums: Vec<CallSum> = self.sums.into_values().collect();
        for sum in &mut sums {
            sum.errnos
                .sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        }
        sums.sort_by(|a, b| {
            let key = |sum: &CallSum| (sum.process, sum.object);
            b.ns.cmp(&a.ns)
                .then(key(a).cmp(&key(b)))
                .then_with(|| a.call.cmp(&b.call))
        });
        sums
    }
}
