//! Which programs a file can have had an effect on: those that used it, and those that they started.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::Facts;
use timesink_recording::ids::ProcessId;

use crate::digest::program_name;

/// The programs of each file, by its path.
pub struct Users(BTreeMap<String, BTreeSet<String>>);

impl Users {
    pub fn of(facts: &Facts) -> Users {
        let started = started(facts);
        let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for call in &facts.calls {
            let object = call.object.and_then(|id| facts.object(id));
            let path = object.and_then(|object| object.path.as_ref());
            let programs = call.process.and_then(|process| started.get(&process));
            if let Some((path, programs)) = path.zip(programs) {
                let users = users.entry(path.clone()).or_default();
                users.extend(programs.iter().cloned());
            }
        }
        Users(users)
    }

    /// None of them where it is not known who used it.
    pub fn programs(&self, path: &str) -> BTreeSet<String> {
        self.0.get(path).cloned().unwrap_or_default()
    }
}

/// The program of each process, and those of all that came of it.
fn started(facts: &Facts) -> BTreeMap<ProcessId, BTreeSet<String>> {
    let processes = facts.ledger.processes.iter().map(|process| &process.row);
    let parents: BTreeMap<ProcessId, Option<ProcessId>> = processes
        .map(|process| (process.process, process.parent))
        .collect();
    let mut programs: BTreeMap<ProcessId, BTreeSet<String>> = BTreeMap::new();
    for &process in parents.keys() {
        let name = program_name(facts, process);
        let mut at = Some(process);
        // A tree that is damaged may have a circle.
        for _ in 0..parents.len() {
            let Some(one) = at else { break };
            let known = programs.entry(one).or_default();
            // Its ancestors know of it, too.
            if !known.insert(name.clone()) && one != process {
                break;
            }
            at = parents.get(&one).copied().flatten();
        }
    }
    programs
}
