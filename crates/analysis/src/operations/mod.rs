//! Operations: what a thread does again and again for somebody, from the moment at which it is asked to the moment
//! at which it waits to be asked again, or from one call to another.
//!
//! A recording has no requests in it. What is an operation here is a stretch between two waits of a thread, so
//! requests that were there already when the one before was answered are part of the same operation, and one that
//! came in pieces is several. [`Kind`] says how near to requests they are.

mod asked;
mod detail;
mod exchanges;
pub(crate) mod runs;
mod servers;

pub use asked::{End, Wanted};
pub use detail::{Composition, Detail, Differs, NoDifference, One, Unlike};

use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::Nanos;

use crate::facts::programs::Programs;
use crate::facts::Facts;
use crate::timeline::Timeline;
use crate::waits::Waited;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The thread, as an index into [`Timeline::threads`].
    pub slot: usize,
    pub from: Nanos,
    pub until: Nanos,
}

impl Operation {
    /// How long it took.
    pub fn ns(&self) -> u64 {
        self.until.since(self.from)
    }
}

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A thread has one connection at a time: from the end of a wait for a request to the next such wait.
    Request,
    /// A thread has many connections: one round of its loop, which may hold several requests.
    Round,
    /// Connections go from thread to thread: one piece of work of one of them.
    Piece,
    /// What the process asked another: from the first wait for the answer to the end of the last.
    Asked,
    /// From the end of a wait in one call to the end of the next wait in another.
    Between,
}

impl Kind {
    /// The word for it, as in the JSON report.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Request => "request",
            Kind::Round => "round",
            Kind::Piece => "piece",
            Kind::Asked => "asked",
            Kind::Between => "between",
        }
    }
}

/// Operations of a kind in the processes of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The first process that ran the program.
    pub process: ProcessId,
    pub kind: Kind,
    /// Processes and threads that had such operations.
    pub processes: usize,
    pub threads: usize,
    /// Connections that they were asked on; zero where operations are not about connections.
    pub connections: usize,
    /// A socket for each address that is served, or asked.
    pub addresses: Vec<ObjectId>,
    /// Calls that sent on these connections; `None` if not all calls were seen.
    pub sends: Option<u64>,
    /// The shortest first; there is at least one.
    pub operations: Vec<Operation>,
    /// When the first of them began, and when the last was over.
    pub from: Nanos,
    pub until: Nanos,
}

impl Set {
    /// The operation than which this share of all is not longer.
    pub fn at(&self, share: f64) -> Operation {
        let count = self.operations.len();
        let rank = (share * count as f64).ceil() as usize;
        self.operations[rank.clamp(1, count) - 1]
    }

    /// So many a second, between the first and the last.
    pub fn rate(&self) -> Option<f64> {
        let ns = self.until.since(self.from);
        (ns > 0).then(|| self.operations.len() as f64 * 1e9 / ns as f64)
    }

    /// The time of all.
    pub fn ns(&self) -> u64 {
        let lengths = self.operations.iter().map(Operation::ns);
        lengths.fold(0, u64::saturating_add)
    }
}

/// A set, looked at closely where that was asked for.
#[derive(Clone, Debug)]
pub struct Told {
    pub set: Set,
    pub detail: Option<Detail>,
}

/// What operations are found in.
#[derive(Clone, Copy)]
pub struct Recorded<'a> {
    pub timeline: &'a Timeline,
    pub facts: &'a Facts,
    pub waited: &'a Waited,
    pub programs: &'a Programs,
}

impl Recorded<'_> {
    /// The operations that are wanted, those with most in all first.
    pub fn operations(&self, wanted: &Wanted) -> Vec<Set> {
        let mut sets = match wanted {
            Wanted::Served => {
                let mut sets = servers::served(self, false);
                sets.extend(exchanges::asked(self));
                sets
            }
            Wanted::AnySocket => servers::served(self, true),
            Wanted::Between(first, last) => asked::between(self, first, last),
        };
        sets.sort_by_key(|set| (std::cmp::Reverse(set.operations.len()), set.process));
        sets
    }
}

/// Operations as they are found, by thread.
#[derive(Default)]
struct Found {
    operations: Vec<Operation>,
    threads: usize,
    processes: std::collections::BTreeSet<ProcessId>,
    connections: std::collections::BTreeSet<ObjectId>,
    sends: Option<u64>,
}

impl Found {
    fn into_set(mut self, process: ProcessId, kind: Kind, addresses: Vec<ObjectId>) -> Option<Set> {
        self.operations.sort_by_key(|one| (one.ns(), one.from));
        let from = self.operations.iter().map(|one| one.from).min()?;
        let until = self.operations.iter().map(|one| one.until).max()?;
        Some(Set {
            process,
            kind,
            processes: self.processes.len(),
            threads: self.threads,
            connections: self.connections.len(),
            addresses,
            sends: self.sends,
            operations: self.operations,
            from,
            until,
        })
    }
}
