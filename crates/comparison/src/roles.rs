//! The threads of a program by the part that they have in it: threads have other numbers in each recording, and other names if
//! there is a number in them.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use timesink_analysis::ledger::ThreadLedger;
use timesink_analysis::stacks::StackIx;
use timesink_findings::signature;
use timesink_recording::ids::ThreadId;
use timesink_story::Story;

use crate::code::function_name;
use crate::digest::program_name;
use crate::Digest;

/// A part in a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadRole {
    pub program: String,
    pub role: Role,
}

/// What tells threads of a program apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The first thread of each process.
    Main,
    /// A name that it was given, with `*` for a number.
    Named(String),
    /// Without a name of its own: the program's function that it began with.
    In(String),
    /// Neither is known.
    Other,
}

/// All threads with one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleTimes {
    pub threads: u64,
    /// Of the critical path.
    pub path_ns: u64,
    pub cpu_ns: u64,
    pub ready_ns: u64,
    pub wait_ns: u64,
}

/// The same part in two recordings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleDifference {
    pub role: ThreadRole,
    pub a: RoleTimes,
    pub b: RoleTimes,
}

impl RoleTimes {
    fn add(&mut self, other: RoleTimes) {
        for (mine, others) in [
            (&mut self.threads, other.threads),
            (&mut self.path_ns, other.path_ns),
            (&mut self.cpu_ns, other.cpu_ns),
            (&mut self.ready_ns, other.ready_ns),
            (&mut self.wait_ns, other.wait_ns),
        ] {
            *mine = mine.saturating_add(others);
        }
    }
}

/// All threads of a recording.
pub(crate) fn roles(story: &Story<'_>) -> BTreeMap<ThreadRole, RoleTimes> {
    let ledger = &story.loaded.facts.ledger;
    let first = ledger.processes.iter().filter_map(|process| {
        let first = process.threads.first()?;
        Some(ledger.threads.get(*first)?.row.thread)
    });
    let first: BTreeSet<ThreadId> = first.collect();
    let mut roles: BTreeMap<ThreadRole, RoleTimes> = BTreeMap::new();
    for thread in &ledger.threads {
        let role = match first.contains(&thread.row.thread) {
            true => Role::Main,
            false => role(story, thread),
        };
        let role = ThreadRole {
            program: program_name(&story.loaded.facts, thread.row.process),
            role,
        };
        let outlook = story.outlook.as_ref();
        let path = outlook.and_then(|outlook| outlook.in_threads.get(&thread.row.thread));
        roles.entry(role).or_default().add(RoleTimes {
            threads: 1,
            path_ns: path.copied().unwrap_or(0),
            cpu_ns: thread.sums.cpu_ns,
            ready_ns: thread.sums.ready_ns,
            wait_ns: thread.sums.wait_ns,
        });
    }
    roles
}

/// The part of a thread that is not the first of its process.
fn role(story: &Story<'_>, thread: &ThreadLedger) -> Role {
    let ledger = &story.loaded.facts.ledger;
    let process = ledger.process(thread.row.process);
    let first = process.and_then(|process| ledger.threads.get(*process.threads.first()?));
    let inherited = first.is_some_and(|first| first.row.name == thread.row.name);
    if !inherited && !thread.row.name.is_empty() {
        return Role::Named(without_numbers(&thread.row.name));
    }
    began_with(story, thread.row.thread).map_or(Role::Other, Role::In)
}

/// The outermost function of the program that most of a thread's stacks begin with.
fn began_with(story: &Story<'_>, thread: ThreadId) -> Option<String> {
    let stacks = &story.loaded.stacks;
    let mut sums: FxHashMap<StackIx, u64> = FxHashMap::default();
    for event in stacks.events_of(thread) {
        let sum = sums.entry(event.stack).or_default();
        *sum = sum.saturating_add(event.ns);
    }
    let code = &stacks.code;
    let mut begun: BTreeMap<String, u64> = BTreeMap::new();
    for (stack, ns) in sums {
        let functions = code.functions_of(stack);
        let is_own = |function| !code.is_system(function) && !code.is_of_language(function);
        let outermost = functions
            .into_iter()
            .rev()
            .find(|&function| is_own(function));
        if let Some(function) = outermost {
            let sum = begun.entry(function_name(code, function)).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
    let most = begun.into_iter().max_by_key(|(_, ns)| *ns);
    most.map(|(name, _)| name)
}

/// A name with `*` for each number that stands by itself or at its end: `GC Thread#3`, `pool-1-thread-2`, `worker12`; but
/// `C2 Compiler` keeps its own.
fn without_numbers(name: &str) -> String {
    let name = signature::lasting(name);
    let mut told = String::with_capacity(name.len());
    let mut rest = name.as_str();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| !c.is_ascii_digit());
        let (number, after) = from.split_at(end.unwrap_or(from.len()));
        told.push_str(before);
        let is_in_word = told.ends_with(|c: char| c.is_alphabetic()) && !after.is_empty();
        told.push_str(if is_in_word { number } else { "*" });
        rest = after;
    }
    told.push_str(rest);
    told
}

/// The parts of both sides, those first whose time differs most.
pub(crate) fn differences(a: &Digest, b: &Digest) -> Vec<RoleDifference> {
    let all: BTreeSet<&ThreadRole> = a.roles.keys().chain(b.roles.keys()).collect();
    let times = |digest: &Digest, role| digest.roles.get(role).copied().unwrap_or_default();
    let mut all: Vec<RoleDifference> = all
        .into_iter()
        .map(|role| RoleDifference {
            role: role.clone(),
            a: times(a, role),
            b: times(b, role),
        })
        .collect();
    all.sort_by_key(|one| {
        let path = one.a.path_ns.abs_diff(one.b.path_ns);
        let cpu = one.a.cpu_ns.abs_diff(one.b.cpu_ns);
        std::cmp::Reverse(path.max(cpu))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::without_numbers;

    /// Numbers of threads are no part of a role's name, those of words are.
    #[test]
    fn numbers_of_threads() {
        for (name, wanted) in [
            ("GC Thread#3", "GC Thread#*"),
            ("pool-1-thread-2", "pool-*-thread-*"),
            ("worker12", "worker*"),
            ("C2 CompilerThre", "C2 CompilerThre"),
            ("C2 CompilerThre0", "C2 CompilerThre*"),
            ("http-nio-8080-e", "http-nio-*-e"),
            ("tokio-runtime-w", "tokio-runtime-w"),
            ("7", "*"),
        ] {
            assert_eq!(without_numbers(name), wanted, "{name}");
        }
    }
}
