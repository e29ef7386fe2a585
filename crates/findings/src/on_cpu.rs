//! What a program's time on the CPU is for, as far as the names of functions tell whatever the program is: system calls,
//! and getting started.

use std::collections::BTreeMap;

use timesink_recording::ids::ProcessId;
use timesink_recording::words::Language;

use crate::inquiry::Inquiry;
use crate::memory::is_fault;
use crate::sentence::Piece;
use crate::start_up::is_loading;

/// Shares of what a program, in all its processes, had on the CPU on the critical path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OnCpu {
    /// In the kernel.
    pub kernel: f64,
    /// Of that, in page faults.
    pub faults: f64,
    /// In an interpreter that gets ready, and in modules while they are loaded.
    pub loading: f64,
}

impl OnCpu {
    /// Of the program that this process runs; zero where no sample tells.
    pub fn of(inquiry: &Inquiry<'_>, process: ProcessId) -> OnCpu {
        let code = &inquiry.stacks.code;
        let (mut all, mut kernel, mut faults, mut loading) = (0u64, 0u64, 0u64, 0u64);
        for on in &inquiry.outlook.on_processors.stacks {
            let cause = inquiry.outlook.causes.get(on.cause);
            if !cause.is_some_and(|at| inquiry.same_program(at.cause.key.process, process)) {
                continue;
            }
            let functions = code.functions_of(on.stack);
            let functions = functions.iter().map(|&function| code.function(function));
            let functions: Vec<_> = functions.collect();
            let names: Vec<&str> = functions.iter().map(|found| &*found.name).collect();
            all += on.ns;
            if functions
                .iter()
                .any(|found| found.language == Language::Kernel)
            {
                kernel += on.ns;
                faults += if is_fault(&names) { on.ns } else { 0 };
            }
            if is_loading(&names) {
                loading += on.ns;
            }
        }
        let share = |ns: u64| ns as f64 / all.max(1) as f64;
        OnCpu {
            kernel: share(kernel),
            faults: share(faults),
            loading: share(loading),
        }
    }
}

/// The calls that a program makes most often: `48,695 x newfstatat, 20,101 x openat`. Empty where calls were not counted.
pub fn most_frequent_calls(inquiry: &Inquiry<'_>, process: ProcessId) -> Vec<Piece> {
    /// So many are named.
    const NAMED: usize = 3;
    let own = |process_of: Option<ProcessId>| {
        process_of.is_some_and(|other| inquiry.same_program(other, process))
    };
    let mut counts: BTreeMap<&str, (u64, bool)> = BTreeMap::new();
    for row in inquiry.facts.calls.iter().filter(|row| own(row.process)) {
        let (count, estimated) = counts.entry(&row.call).or_default();
        *count = count.saturating_add(row.count);
        *estimated |= row.estimated;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(name, (count, _))| (std::cmp::Reverse(count), name));
    let mut pieces = Vec::new();
    for (rank, (name, (count, estimated))) in counts.into_iter().take(NAMED).enumerate() {
        pieces.extend([
            if rank == 0 { "" } else { ", " }.into(),
            if estimated { "about " } else { "" }.into(),
            Piece::Count(count),
            " x ".into(),
            Piece::Name(name.to_owned()),
        ]);
    }
    pieces
}
