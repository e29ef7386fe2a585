//! The anatomy of one item: what a program does again and again, how often, and what one of it consists of.
//!
//! Calls are counted exactly, by kind and by what they are on. Those that are about as many belong together, and the innermost
//! function of the program around them does one item at a time. An item's time is that of its calls, which were timed, and
//! what its functions did on a processor between them, by samples. It judges nothing.

mod calls;
mod program;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};

use crate::operations::Recorded;
use crate::outlook::Outlook;
use crate::stacks::{FunctionIx, Spot, Stacks};
use program::ProgramCalls;

/// What is done again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Anatomy {
    /// The first process of the program that does it.
    pub process: ProcessId,
    pub count: u64,
    /// Calls were counted for part of the time only.
    pub estimated: bool,
    /// The function that does it; `None` where that is the program's outermost one, which does all else, too.
    pub place: Option<Spot>,
    /// The time of all of them, in all threads together.
    pub ns: u64,
    pub at_once: AtOnce,
    /// What it consists of, the longest first. They add up to its time.
    pub components: Vec<Component>,
}

/// By how many threads items are done at the same time, on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtOnce {
    /// 1 where they are done one after another.
    pub many: u64,
    /// Each of the threads is of another process.
    pub processes: bool,
}

impl Anatomy {
    /// The time of each thread with them: it is no longer than the wall time.
    fn each_ns(&self) -> u64 {
        self.ns / self.at_once.many.max(1)
    }

    /// Whether it is counted by what is done for each item, and not by what happens meanwhile.
    fn is_counted(&self) -> bool {
        let all = self.all_working_ns() as f64;
        self.components.iter().any(|component| {
            let Does::Calls { names, .. } = &component.does else {
                return false;
            };
            let is_large = component.ns as f64 >= all * BY_TRANSFERS;
            let mut names = names.iter().map(String::as_str);
            names
                .any(|name| !OF_RUNTIME.contains(&name) && (is_large || !TRANSFERS.contains(&name)))
        })
    }

    /// Without the time for which others had the processors, of each thread.
    fn working_ns(&self) -> u64 {
        self.all_working_ns() / self.at_once.many.max(1)
    }

    /// The same in all threads together.
    fn all_working_ns(&self) -> u64 {
        let works = self.components.iter();
        let works = works.filter(|component| component.does != Does::Ready);
        works.fold(0u64, |sum, component| sum.saturating_add(component.ns))
    }
}

/// A part of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    pub does: Does,
    /// In all items.
    pub ns: u64,
}

/// What is done in a part of an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Does {
    /// System calls on one thing or on several; on nothing where their number is 0.
    Calls {
        names: Vec<String>,
        /// Calls for each item, on average.
        times: f64,
        object: Option<ObjectId>,
        objects: u64,
    },
    /// On a processor in a function that is called from there.
    Function(FunctionIx),
    /// On a processor in the function itself.
    Itself,
    /// On a processor in what runs the program, and in none of its functions.
    Runtime,
    /// Runnable, without a processor.
    Ready,
}

/// A program with less of the path, and items with less of the wall time, are not told.
const LARGE: f64 = 0.2;
/// What threads do for each other's sake and for memory, however often, counts no items: a program that clicks 700,000 times was told to do
/// so 38 times, as often as its collector asked for memory.
const OF_RUNTIME: [&str; 11] = [
    "futex",
    "rt_sigprocmask",
    "sched_yield",
    "getpid",
    "prctl",
    "mmap",
    "munmap",
    "mremap",
    "mprotect",
    "madvise",
    "brk",
];
/// These come with each full buffer. Where they are less of an item's time they count none. Measured 2026-11-29: 0.2 to 4.5 % in four programs
/// that were told 46 times for 3,000 and 9,352 for 900,000; 27 % and more in five that were counted rightly.
const BY_TRANSFERS: f64 = 0.1;
const TRANSFERS: [&str; 7] = [
    "read", "write", "pread64", "pwrite64", "readv", "writev", "lseek",
];
/// Of items that take about as long, the smaller tell more.
const AS_LONG: f64 = 0.8;
/// So many are told.
const TOLD: usize = 3;

/// What the programs that the path is longest in do again and again, the longest first.
pub fn anatomies(recorded: &Recorded<'_>, stacks: &Stacks, outlook: &Outlook) -> Vec<Anatomy> {
    let wall = outlook.wall_ns as f64;
    let threads = recorded
        .facts
        .ledger
        .threads
        .iter()
        .map(|thread| &thread.row);
    let mut on_path: BTreeMap<ProcessId, Vec<(ThreadId, u64)>> = BTreeMap::new();
    for row in threads {
        if let Some(&ns) = outlook.in_threads.get(&row.thread) {
            let program = recorded.programs.first(row.process);
            on_path.entry(program).or_default().push((row.thread, ns));
        }
    }
    let large = on_path.into_iter().filter(|(_, threads)| {
        let ns = threads.iter().map(|(_, ns)| *ns);
        ns.fold(0, u64::saturating_add) as f64 >= wall * LARGE
    });
    let mut found: Vec<Anatomy> = large
        .flat_map(|(process, threads)| {
            ProgramCalls::of(recorded, stacks, process, &threads).anatomies()
        })
        .filter(|one| one.working_ns() as f64 >= wall * LARGE && one.is_counted())
        .collect();
    found.sort_by_key(|one| (Reverse(one.each_ns()), Reverse(one.count)));
    if let Some(longest) = found.first().map(|one| one.each_ns() as f64) {
        let as_long = found
            .iter()
            .take_while(|one| one.each_ns() as f64 >= longest * AS_LONG);
        let as_long = as_long.enumerate();
        let smallest = as_long.max_by_key(|(at, one)| (one.count, Reverse(*at)));
        let at = smallest.map_or(0, |(at, _)| at);
        found[..=at].rotate_right(1);
    }
    found.truncate(TOLD);
    found
}
