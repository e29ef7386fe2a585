//! The ledger: where the time of every thread went, as sums of spans, checked against the
//! kernel's own figures.
//!
//! The sums per state come from `threads`, which survive lost events; the causes come from
//! `spans`. Where spans lack time that the sums have, a cause `lost` of that state carries the
//! difference, so that the causes of a thread always add up to its states.
//!
//! It does not follow wakes from thread to thread; that is the critical path.

mod behind;
mod books;
mod causes;
pub mod measure;
mod split;
mod tally;
mod tiling;

pub use behind::{Behind, Who};
pub use books::{Balance, Books, Imbalance};
pub use split::{Basis, Split};
pub use tally::Tally;
pub use tiling::Tiling;

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::tables::Process;
use timesink_recording::tables::Thread;
use timesink_recording::words::Detail;

/// The states of the ledger: those of a span, with timesink's own time taken out of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Account {
    /// On a processor.
    Cpu,
    /// Wanting a processor and having none.
    Ready,
    /// Blocked.
    Wait,
    /// In timesink's own programs.
    Tracer,
    /// Not known, because events were lost and the sums do not tell either.
    Lost,
}

impl Account {
    /// The word for it, as in the JSON report.
    pub fn word(self) -> &'static str {
        match self {
            Account::Cpu => "cpu",
            Account::Ready => "ready",
            Account::Wait => "wait",
            Account::Tracer => "tracer",
            Account::Lost => "lost",
        }
    }
}

/// What kind of time it was within its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// cpu: in the program's own code (estimated).
    User,
    /// cpu: in the kernel on the program's behalf (estimated).
    Kernel,
    /// As the span said.
    As(Detail),
    /// tracer: measured in timesink's own programs.
    Recording,
    /// The sum is known, the spans that would tell more were lost.
    Missing,
}

impl Kind {
    /// The word for it, as in the JSON report.
    pub fn word(self) -> &'static str {
        match self {
            Kind::User => "user",
            Kind::Kernel => "kernel",
            Kind::As(detail) => detail.as_str(),
            Kind::Recording => "recording",
            Kind::Missing => "lost",
        }
    }
}

/// A kernel function's name, as an index into [`Ledger::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// What identifies a cause within a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub account: Account,
    pub kind: Kind,
    /// What was waited for.
    pub object: Option<ObjectId>,
    /// For a wait of kind `other`: the kernel function it was spent in, where that is known.
    pub function: Option<FunctionId>,
}

/// One cause: how often, and how long in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    pub key: Key,
    /// Spans. For `user` and `kernel` alike, the stretches on a processor; zero where spans were lost.
    pub count: u64,
    pub ns: u64,
    /// The time was divided by an estimate (`user` against `kernel`).
    pub estimated: bool,
}

/// Time by state, ours and the kernel's, of a thread, a process or the whole recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Recorded life, from first to last moment.
    pub life_ns: u64,
    /// On a processor, without the tracer's measured time.
    pub cpu_ns: u64,
    pub ready_ns: u64,
    pub wait_ns: u64,
    /// timesink's own time, measured.
    pub tracer_ns: u64,
    /// timesink's own time, estimated; part of `cpu_ns`.
    pub tracer_estimated_ns: u64,
    /// Time whose state is not known.
    pub lost_ns: u64,
    /// Of the time on a processor, what the kernel counts as nobody's.
    pub taken_ns: u64,
    pub kernel_cpu_ns: u64,
    pub kernel_ready_ns: u64,
    pub kernel_life_ns: u64,
}

impl Sums {
    /// All time that some state accounts for.
    pub fn accounted_ns(&self) -> u64 {
        self.cpu_ns
            .saturating_add(self.ready_ns)
            .saturating_add(self.wait_ns)
            .saturating_add(self.tracer_ns)
    }

    /// The time of one state.
    pub fn of(&self, account: Account) -> u64 {
        match account {
            Account::Cpu => self.cpu_ns,
            Account::Ready => self.ready_ns,
            Account::Wait => self.wait_ns,
            Account::Tracer => self.tracer_ns,
            Account::Lost => self.lost_ns,
        }
    }

    /// The kernel's life that no state accounts for, or that states account for twice.
    pub fn unaccounted_ns(&self) -> u64 {
        self.kernel_life_ns.abs_diff(self.accounted_ns())
    }

    /// What recording cost this thread: the measured part and the estimated one.
    pub fn cost_ns(&self) -> u64 {
        self.tracer_ns.saturating_add(self.tracer_estimated_ns)
    }

    /// Adds another's sums to these.
    pub fn add(&mut self, other: &Sums) {
        let pairs = [
            (&mut self.life_ns, other.life_ns),
            (&mut self.cpu_ns, other.cpu_ns),
            (&mut self.ready_ns, other.ready_ns),
            (&mut self.wait_ns, other.wait_ns),
            (&mut self.tracer_ns, other.tracer_ns),
            (&mut self.tracer_estimated_ns, other.tracer_estimated_ns),
            (&mut self.lost_ns, other.lost_ns),
            (&mut self.taken_ns, other.taken_ns),
            (&mut self.kernel_cpu_ns, other.kernel_cpu_ns),
            (&mut self.kernel_ready_ns, other.kernel_ready_ns),
            (&mut self.kernel_life_ns, other.kernel_life_ns),
        ];
        for (mine, theirs) in pairs {
            *mine = mine.saturating_add(theirs);
        }
    }
}

/// One thread's page of the ledger.
#[derive(Clone, Debug)]
pub struct ThreadLedger {
    /// The thread as recorded.
    pub row: Thread,
    /// Its process, as an index into [`Ledger::processes`]; `None` if that row was lost.
    pub process: Option<usize>,
    pub sums: Sums,
    /// Longest first; they add up to the states in `sums`.
    pub causes: Vec<Cause>,
    /// Who had the processor while this thread was ready, longest first.
    pub behind: Vec<Behind>,
    /// Who held the locks it waited for, where their memory told, longest first; waits below the
    /// threshold are not in it.
    pub held_by: Vec<Behind>,
    /// How its time on a processor was divided into user and kernel.
    pub split: Split,
}

/// One process's page: the sums of its threads.
#[derive(Clone, Debug)]
pub struct ProcessLedger {
    /// The process as recorded.
    pub row: Process,
    pub sums: Sums,
    /// Its threads, as indices into [`Ledger::threads`], in the order they started.
    pub threads: Vec<usize>,
}

/// Threads whose life the recording does not hold from end to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub born_before: u64,
    pub alive_at_end: u64,
    pub end_lost: u64,
}

/// Where all the time went.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// In the order of their numbers.
    pub threads: Vec<ThreadLedger>,
    /// In the order of their numbers.
    pub processes: Vec<ProcessLedger>,
    pub whole: Sums,
    pub books: Books,
    pub tiling: Tiling,
    pub ends: Ends,
    /// The first thread of the process that nobody recorded started, as an index into `threads`.
    pub main: Option<usize>,
    /// Names of kernel functions; see [`FunctionId`].
    pub functions: Vec<String>,
}

impl Ledger {
    /// The name of a kernel function.
    pub fn function(&self, id: FunctionId) -> &str {
        self.functions.get(id.0 as usize).map_or("", String::as_str)
    }

    /// The thread with this number.
    pub fn thread(&self, id: ThreadId) -> Option<&ThreadLedger> {
        let at = self
            .threads
            .binary_search_by_key(&id, |thread| thread.row.thread);
        self.threads.get(at.ok()?)
    }

    /// The process with this number.
    pub fn process(&self, id: ProcessId) -> Option<&ProcessLedger> {
        let at = self
            .processes
            .binary_search_by_key(&id, |process| process.row.process);
        self.processes.get(at.ok()?)
    }

    /// The causes of several threads as one list, longest first.
    pub fn causes_of(&self, threads: &[usize]) -> Vec<Cause> {
        let mut merged: FxHashMap<Key, Cause> = FxHashMap::default();
        let pages = threads.iter().filter_map(|&at| self.threads.get(at));
        for cause in pages.flat_map(|thread| &thread.causes) {
            match merged.get_mut(&cause.key) {
                Some(sum) => {
                    sum.count = sum.count.saturating_add(cause.count);
                    sum.ns = sum.ns.saturating_add(cause.ns);
                    sum.estimated |= cause.estimated;
                }
                None => {
                    merged.insert(cause.key, *cause);
                }
            }
        }
        longest_first(merged.into_values().collect())
    }
}

/// Longest first; among equals by key, so that the order of rows never shows.
fn longest_first(mut causes: Vec<Cause>) -> Vec<Cause> {
    causes.sort_unstable_by(|a, b| b.ns.cmp(&a.ns).then(a.key.cmp(&b.key)));
    causes
}
