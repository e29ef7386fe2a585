//! Process starts: who started what, and what fork, exec and tear-down cost.

use std::collections::BTreeMap;

use timesink_recording::ids::ProcessId;
use timesink_recording::tables::Image;
use timesink_recording::tables::Process;
use timesink_recording::words::ImageEvent;
use timesink_recording::Nanos;

/// What one step cost, and how large the image was then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartStep {
    /// `None` where it was not timed.
    pub cost_ns: Option<u64>,
    pub resident_bytes: u64,
}

/// How one process came to be, and went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    pub process: ProcessId,
    pub pid: u32,
    pub parent: Option<ProcessId>,
    /// As last executed; for a process that only forked, its parent's as the recording has it.
    pub executable: String,
    /// As last executed, one by one.
    pub arguments: Vec<String>,
    /// The fork that made it; `resident_bytes` is the parent's.
    pub fork: Option<StartStep>,
    pub by_vfork: bool,
    /// Executions, summed: cost, and the resident size of the last image left behind.
    pub execs: u64,
    pub exec: Option<StartStep>,
    /// Tear-down, from exit to the last switch.
    pub exit: Option<StartStep>,
    /// What it executed, one after the other.
    pub executed: Vec<Executed>,
}

/// A program that a process became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    pub at: Nanos,
    pub executable: String,
    pub arguments: Vec<String>,
}

impl Start {
    /// What is known of the cost of fork, exec and tear-down together.
    pub fn cost_ns(&self) -> u64 {
        let steps = [self.fork, self.exec, self.exit];
        let costs = steps.iter().flatten().filter_map(|step| step.cost_ns);
        costs.fold(0, u64::saturating_add)
    }
}

/// The starts of all processes, in the order of their numbers.
pub fn starts<'a>(processes: impl Iterator<Item = &'a Process>, images: &[Image]) -> Vec<Start> {
    let mut starts: BTreeMap<ProcessId, Start> = processes
        .map(|process| {
            let start = Start {
                process: process.process,
                pid: process.pid,
                parent: process.parent,
                executable: process.executable.clone(),
                arguments: arguments(&process.arguments),
                fork: None,
                by_vfork: false,
                execs: 0,
                exec: None,
                exit: None,
                executed: Vec::new(),
            };
            (process.process, start)
        })
        .collect();
    for image in images {
        let Some(start) = starts.get_mut(&image.process) else {
            continue;
        };
        let step = StartStep {
            cost_ns: image.cost_ns,
            resident_bytes: image.resident_bytes,
        };
        match image.event {
            ImageEvent::Fork | ImageEvent::Vfork => {
                start.fork = Some(step);
                start.by_vfork = image.event == ImageEvent::Vfork;
            }
            ImageEvent::Exec => {
                let before = start.exec.and_then(|exec| exec.cost_ns);
                let cost_ns = match (before, step.cost_ns) {
                    (Some(a), Some(b)) => Some(a.saturating_add(b)),
                    (a, b) => a.or(b),
                };
                start.exec = Some(StartStep { cost_ns, ..step });
                start.execs += 1;
                start.executed.push(Executed {
                    at: image.t,
                    executable: image.executable.clone(),
                    arguments: arguments(&image.arguments),
                });
            }
            ImageEvent::Exit => start.exit = Some(step),
        }
    }
    starts.into_values().collect()
}

/// Arguments as a list. They are kept with NUL between them, and perhaps after the last.
pub fn arguments(joined: &str) -> Vec<String> {
    let joined = joined.strip_suffix('\0').unwrap_or(joined);
    if joined.is_empty() {
        return Vec::new();
    }
    joined.split('\0').map(str::to_owned).collect()
}

/// Processes that ran the same executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinship {
    pub executable: String,
    pub processes: u64,
    /// Of the steps that were timed: how many, and their cost.
    pub fork: (u64, u64),
    pub exec: (u64, u64),
    pub exit: (u64, u64),
    /// The largest resident size of a parent at a fork.
    pub resident_at_fork: u64,
}

/// The starts by executable, costliest first.
pub fn by_executable(starts: &[Start]) -> Vec<Kinship> {
    let mut kin: BTreeMap<&str, Kinship> = BTreeMap::new();
    for start in starts {
        let entry = kin.entry(&start.executable).or_insert_with(|| Kinship {
            executable: start.executable.clone(),
            processes: 0,
            fork: (0, 0),
            exec: (0, 0),
            exit: (0, 0),
            resident_at_fork: 0,
        });
        entry.processes += 1;
        let steps = [
            (&mut entry.fork, start.fork),
            (&mut entry.exec, start.exec),
            (&mut entry.exit, start.exit),
        ];
        for ((count, ns), step) in steps {
            if let Some(cost) = step.and_then(|step| step.cost_ns) {
                *count += 1;
                *ns = ns.saturating_add(cost);
            }
        }
        let resident = start.fork.map_or(0, |fork| fork.resident_bytes);
        entry.resident_at_fork = entry.resident_at_fork.max(resident);
    }
    let mut kin: Vec<Kinship> = kin.into_values().collect();
    let cost = |kin: &Kinship| {
        kin.fork
            .1
            .saturating_add(kin.exec.1)
            .saturating_add(kin.exit.1)
    };
    kin.sort_by(|a, b| {
        cost(b)
            .cmp(&cost(a))
            .then_with(|| a.executable.cmp(&b.executable))
    });
    kin
}
