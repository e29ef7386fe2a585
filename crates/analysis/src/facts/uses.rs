//! What each process did with each file or pipe: opened, read, written, closed, and what that took.

use std::collections::BTreeMap;

use timesink_recording::ids::{ObjectId, ProcessId};

use crate::facts::calls::CallSum;

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Open,
    Read,
    Write,
    Close,
}

impl Act {
    pub const ALL: [Act; 4] = [Act::Open, Act::Read, Act::Write, Act::Close];

    /// The system calls that do it.
    pub fn calls(self) -> &'static [&'static str] {
        match self {
            Act::Open => &["open", "openat", "openat2", "creat"],
            Act::Read => &["read", "pread64", "readv", "preadv", "preadv2"],
            Act::Write => &["write", "pwrite64", "writev", "pwritev", "pwritev2"],
            Act::Close => &["close"],
        }
    }

    fn of(call: &str) -> Option<Act> {
        Act::ALL.into_iter().find(|act| act.calls().contains(&call))
    }
}

/// How often something was done. Opens count those that failed, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub count: u64,
    pub bytes: u64,
    pub ns: u64,
}

impl Done {
    fn add(&mut self, call: &CallSum) {
        self.count = self.count.saturating_add(call.count);
        self.bytes = self.bytes.saturating_add(call.bytes);
        self.ns = self.ns.saturating_add(call.ns);
    }
}

/// What one process did with one thing, by act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Acts([Done; 4]);

impl Acts {
    fn add(&mut self, other: &Acts) {
        for (sum, done) in self.0.iter_mut().zip(&other.0) {
            sum.count = sum.count.saturating_add(done.count);
            sum.bytes = sum.bytes.saturating_add(done.bytes);
            sum.ns = sum.ns.saturating_add(done.ns);
        }
    }
}

/// What one process did with one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    pub process: ProcessId,
    pub object: ObjectId,
    acts: Acts,
    /// Some of it is scaled up from calls that were timed.
    pub estimated: bool,
}

impl Use {
    pub fn done(&self, act: Act) -> Done {
        self.acts.0[act as usize]
    }

    /// What these acts took together.
    pub fn ns(&self, acts: &[Act]) -> u64 {
        let ns = acts.iter().map(|&act| self.done(act).ns);
        ns.fold(0, u64::saturating_add)
    }
}

/// All of them, and what each process did in all.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// By process, then object.
    pub all: Vec<Use>,
    totals: BTreeMap<ProcessId, Acts>,
}

impl Uses {
    pub fn of(calls: &[CallSum]) -> Uses {
        let mut sums: BTreeMap<(ProcessId, ObjectId), (Acts, bool)> = BTreeMap::new();
        let mut totals: BTreeMap<ProcessId, Acts> = BTreeMap::new();
        for call in calls {
            let (Some(process), Some(act)) = (call.process, Act::of(&call.call)) else {
                continue;
            };
            totals.entry(process).or_default().0[act as usize].add(call);
            if let Some(object) = call.object {
                let (acts, estimated) = sums.entry((process, object)).or_default();
                acts.0[act as usize].add(call);
                *estimated |= call.estimated;
            }
        }
        Uses::made(sums, totals)
    }

    fn made(
        sums: BTreeMap<(ProcessId, ObjectId), (Acts, bool)>,
        totals: BTreeMap<ProcessId, Acts>,
    ) -> Uses {
        let all = sums
            .into_iter()
            .map(|((process, object), (acts, estimated))| Use {
                process,
                object,
                acts,
                estimated,
            });
        Uses {
            all: all.collect(),
            totals,
        }
    }

    /// The same, with processes that are told as one under the one that `first` names.
    pub fn together(&self, first: impl Fn(ProcessId) -> ProcessId) -> Uses {
        let mut sums: BTreeMap<(ProcessId, ObjectId), (Acts, bool)> = BTreeMap::new();
        let mut totals: BTreeMap<ProcessId, Acts> = BTreeMap::new();
        for one in &self.all {
            let sum = sums.entry((first(one.process), one.object)).or_default();
            sum.0.add(&one.acts);
            sum.1 |= one.estimated;
        }
        for (&process, acts) in &self.totals {
            totals.entry(first(process)).or_default().add(acts);
        }
        Uses::made(sums, totals)
    }

    fn total(&self, process: ProcessId) -> Acts {
        self.totals.get(&process).copied().unwrap_or_default()
    }

    /// Of the time of all such calls of the process, the part that is on this thing.
    pub fn share_of_time(&self, one: &Use, acts: &[Act]) -> f64 {
        let total = self.total(one.process);
        let whole = acts.iter().map(|&act| total.0[act as usize].ns);
        let whole = whole.fold(0, u64::saturating_add);
        one.ns(acts) as f64 / whole.max(1) as f64
    }

    /// Of all bytes that such calls of the process move, the part that is of this thing.
    pub fn share_of_bytes(&self, one: &Use, act: Act) -> f64 {
        let whole = self.total(one.process).0[act as usize].bytes;
        one.done(act).bytes as f64 / whole.max(1) as f64
    }

    /// Of all such calls of the process, the part that is on this thing.
    pub fn share_of_calls(&self, one: &Use, act: Act) -> f64 {
        let whole = self.total(one.process).0[act as usize].count;
        one.done(act).count as f64 / whole.max(1) as f64
    }
}
