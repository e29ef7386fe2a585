//! Processes that run the same program are told as one: under the first of them.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::ProcessId;
use timesink_recording::tables::Process;

use crate::facts::{script_of, Facts};

/// What a process runs: its executable, or what it calls itself where that is not known.
pub fn program(row: &Process) -> &str {
    match row.executable.as_str() {
        "" => &row.name,
        executable => executable,
    }
}

/// What tells programs apart: a client that is started and the server that was there before may be one executable, and yet two programs; so
/// may two servers that one interpreter runs.
#[derive(PartialEq, Eq, Hash)]
struct Key<'f> {
    program: &'f str,
    was_there: bool,
    script: Option<&'f str>,
}

/// For each process the first that ran the same program.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    first: FxHashMap<ProcessId, ProcessId>,
}

impl Programs {
    pub fn of(facts: &Facts) -> Programs {
        let threads = facts.ledger.threads.iter();
        let before = threads.filter(|thread| thread.row.born_before);
        let mut before: FxHashSet<ProcessId> = before.map(|thread| thread.row.process).collect();
        let mut programs: FxHashMap<Key<'_>, ProcessId> = FxHashMap::default();
        let mut first = FxHashMap::default();
        for process in &facts.ledger.processes {
            let row = &process.row;
            // A worker is what it was forked from, until it executes something else.
            let parent = row.parent.filter(|parent| before.contains(parent));
            let parent = parent.and_then(|parent| facts.ledger.process(parent));
            if parent.is_some_and(|parent| program(&parent.row) == program(row)) {
                before.insert(row.process);
            }
            let was_there = before.contains(&row.process);
            let key = Key {
                program: program(row),
                was_there,
                script: script_of(row).filter(|_| was_there),
            };
            let known = *programs.entry(key).or_insert(row.process);
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

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_recording::notation::draft;

    /// A client and the server that it asks were one program, because one executable is both: the server's waits were told as the client's.
    #[test]
    fn who_was_there_before_is_another_program() {
        let text = "
            process 1 p executable /srv/p
            process 2 p executable /srv/p
            process 3 p executable /srv/p parent 2
            process 4 p executable /srv/p parent 1
            process 5 python3 executable /usr/bin/python3 arguments \"python3 web.py\"
            process 6 python3 executable /usr/bin/python3 arguments \"python3 indexer.py\"
            thread 1.1 tid 1 p
            thread 2.1 tid 2 p born_before
            thread 3.1 tid 3 p
            thread 4.1 tid 4 p
            thread 5.1 tid 5 python3 born_before
            thread 6.1 tid 6 python3 born_before";
        let facts = Facts::of(&draft(text).recording()).expect("a drawn recording reads");
        let programs = Programs::of(&facts);
        let first = |process: u32| programs.first(ProcessId(process)).0;
        let firsts: Vec<u32> = (1..=6).map(first).collect();
        assert_eq!(firsts, [1, 2, 2, 1, 5, 6]);
    }
}
