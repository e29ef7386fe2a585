//! Processes that run the same program are told as one: under the first of them.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use timesink_recording::ids::ProcessId;
use timesink_recording::tables::Process;

use crate::facts::Facts;

/// What a process runs: its executable, or what it calls itself where that is not known.
pub fn program(row: &Process) -> &str {
    match row.executable.as_str() {
        "" => &row.name,
        executable => executable,
    }
}

/// For each process the first that ran the same program.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    first: FxHashMap<ProcessId, ProcessId>,
}

impl Programs {
    pub fn of(facts: &Facts) -> Programs {
        let mut programs: FxHashMap<&str, ProcessId> = FxHashMap::default();
        let mut first = FxHashMap::default();
        for process in &facts.ledger.processes {
            let row = &process.row;
            let known = *programs.entry(program(row)).or_insert(row.process);
            first.insert(row.process, known);
        }
        Programs { first }
    }

    /// The first process that ran the same program as this one.
    pub fn first(&self, process: ProcessId) -> ProcessId {
        self.first.get(&process).copied().unwrap_or(process)
    }

    /// All processes that are told under this one.
    pub fn alike(&self, first: ProcessId) -> BTreeSet<ProcessId> {
        let of_it = self.first.iter().filter(|(_, known)| **known == first);
        let mut processes: BTreeSet<ProcessId> = of_it.map(|(process, _)| *process).collect();
        processes.insert(first);
        processes
    }
}
