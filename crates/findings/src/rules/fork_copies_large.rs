//! A large process that starts programs by fork, which copies what the kernel knows of its memory, for nothing.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::starts::Start;
use timesink_analysis::replay::What;
use timesink_recording::ids::ProcessId;

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "fork-copies-large",
    looks_for: "programs started by fork from a process with much memory",
    why: "fork copies the page tables of the whole memory, and the child discards the copy when it calls exec: the more memory, the longer both take.",
    advice: "start programs with posix_spawn or vfork, or from a small helper process that is started first",
    wrong_if: "the child needs the memory before it calls exec",
    limits: &[&limits::FORKS, &limits::RESIDENT, &limits::COST],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static FORKS: Limit = Limit {
        name: "forks",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of forks by one process whose children call exec",
    };
    pub static RESIDENT: Limit = Limit {
        name: "resident",
        value: 67108864.0,
        unit: Unit::Bytes,
        means: "minimum resident memory of the parent at the fork, on average",
    };
    pub static COST: Limit = Limit {
        name: "cost",
        value: 1e6,
        unit: Unit::Nanoseconds,
        means: "minimum time of a fork, on average",
    };
}

/// What a small process pays for a start: fork and exec together (measured; vfork from a large one is no dearer).
const SMALL_NS: f64 = 300_000.0;
const CALLS: [&str; 5] = ["clone", "clone3", "fork", "execve", "execveat"];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut parents: BTreeMap<ProcessId, Vec<&Start>> = BTreeMap::new();
    for start in inquiry
        .facts
        .starts
        .iter()
        .filter(|start| !start.by_vfork && start.execs > 0)
    {
        let timed = start.fork.is_some_and(|fork| fork.cost_ns.is_some());
        if let Some(parent) = start.parent.filter(|_| timed) {
            parents.entry(parent).or_default().push(start);
        }
    }
    let suspects = parents.into_iter();
    suspects
        .filter_map(|(parent, starts)| suspect(inquiry, parent, &starts))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, parent: ProcessId, starts: &[&Start]) -> Option<Suspect> {
    let count = starts.len() as u64;
    let forks = starts.iter().filter_map(|start| start.fork);
    let (cost, resident) = forks.fold((0u64, 0u64), |(cost, resident), fork| {
        (
            cost + fork.cost_ns.unwrap_or(0),
            resident + fork.resident_bytes,
        )
    });
    let (each, resident) = (cost / count.max(1), resident / count.max(1));
    if (count as f64) < RULE.limit(inquiry, &limits::FORKS)
        || (resident as f64) < RULE.limit(inquiry, &limits::RESIDENT)
        || (each as f64) < RULE.limit(inquiry, &limits::COST)
    {
        return None;
    }
    // The copy is taken down again where the child executes.
    let execs = starts.iter().filter_map(|start| start.exec?.cost_ns);
    let execs: u64 = execs.sum();
    let whole = (cost + execs) as f64 / count.max(1) as f64;
    let mut processes: BTreeSet<ProcessId> = starts.iter().map(|start| start.process).collect();
    let children = processes.clone();
    processes.insert(parent);
    let names = CALLS.iter().copied().collect();
    let fix = Fix::scaled(What::Calls(names), processes, (SMALL_NS / whole).min(1.0));
    // The path tells children by what they run in the end. Of what they do nothing is left to be told, of the parent some.
    let programs: BTreeSet<&str> = children
        .iter()
        .filter_map(|&c| inquiry.program(c))
        .collect();
    let is_child = |process: ProcessId| {
        inquiry
            .program(process)
            .is_some_and(|p| programs.contains(p))
    };
    let mut causes = inquiry.causes(|key| is_child(key.process));
    causes.extend(
        inquiry.causes(|key| inquiry.same_program(key.process, parent) && !is_child(key.process)),
    );
    let is_fork = |function: &str| {
        let call = timesink_analysis::replay::entered(function)?;
        (call != "execve" && CALLS.contains(&call)).then_some(0)
    };
    let region = inquiry
        .stacks
        .region(&inquiry.threads_of(&BTreeSet::from([parent])), is_fork);
    let title = say![
        parent,
        " forks ",
        Piece::Count(count),
        " times to start programs, and copies the page tables of ",
        Piece::Bytes(resident),
        " each time"
    ];
    let suspect = Suspect::new(title, fix, Weight::within(causes, cost + execs))
        .of(parent)
        .seen_around(inquiry, region.as_ref())
        .held(inquiry, &RULE, "forks", count as f64, &limits::FORKS)
        .held(
            inquiry,
            &RULE,
            "resident bytes",
            resident as f64,
            &limits::RESIDENT,
        )
        .held(inquiry, &RULE, "cost of a fork", each as f64, &limits::COST)
        .told(say![
            "a fork takes ",
            Piece::Time(each),
            ", discarding the copy at exec ",
            Piece::Time(execs / count.max(1))
        ]);
    Some(suspect)
}
