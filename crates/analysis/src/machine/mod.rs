//! A whole machine: who had its CPUs, who waited for them and behind whom, and which waits of whom are not mere idleness.
//!
//! Processes of one name are one program here: of a build with a thousand compilers it matters what all of them took. Threads of
//! the kernel are told by what they are for, which their names begin with (`kworker/3:1` is one of `kworker`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::tables::{Process, Request};
use timesink_recording::words::{Detail, State};

use crate::facts::{script_of, Facts};
use crate::ledger::{Account, Kind, Who};
use crate::timeline::{is_of_kernel, Timeline};

mod disks;
mod groups;
mod priorities;

pub use disks::DiskTime;
pub use groups::GroupTime;
pub use priorities::{Scheduling, SchedulingEffect};

/// Where the time of a machine's CPUs went.
#[derive(Clone, Debug, Default)]
pub struct MachineTime {
    pub wall_ns: u64,
    /// Most time on CPUs first.
    pub programs: Vec<ProgramTime>,
    /// The same by control group, in which processes are known to be.
    pub groups: Vec<GroupTime>,
    /// Those that somebody ran on or was runnable on, in their order.
    pub processors: Vec<ProcessorTime>,
    /// How many there are.
    pub processors_in_all: usize,
    /// Longest first.
    pub waits: Vec<ProgramWait>,
    /// Priorities and affinities that somebody was runnable because of, the longest time first.
    pub scheduling: Vec<SchedulingEffect>,
    /// Busiest first.
    pub disks: Vec<DiskTime>,
}

/// All processes of one name.
#[derive(Clone, Debug, Default)]
pub struct ProgramTime {
    pub name: String,
    /// The kernel's threads.
    pub is_kernel: bool,
    pub processes: Vec<ProcessId>,
    /// The nice values of its threads that ran or were runnable, without the usual 0.
    pub nice: BTreeSet<i64>,
    pub cpu_ns: u64,
    pub ready_ns: u64,
    /// Of that, while the CPU quota of their cgroup was used up.
    pub throttled_ns: u64,
    /// Who had the CPU meanwhile, by name, longest first. What of it is not known is left out.
    pub behind: Vec<(String, u64)>,
}

/// One CPU.
#[derive(Clone, Debug, Default)]
pub struct ProcessorTime {
    pub processor: u32,
    /// Programs that ran there, as indexes into [`MachineTime::programs`], longest first.
    pub ran: Vec<(usize, u64)>,
    /// Programs that were runnable there meanwhile.
    pub ready: Vec<(usize, u64)>,
    /// Of the time that they ran, what interrupts took and the host.
    pub taken_ns: u64,
}

impl ProcessorTime {
    pub fn busy_ns(&self) -> u64 {
        self.ran.iter().map(|(_, ns)| ns).sum()
    }
}

/// What the threads of a program waited for.
#[derive(Clone, Debug)]
pub struct ProgramWait {
    /// As an index into [`MachineTime::programs`].
    pub program: usize,
    pub detail: Detail,
    /// What most of it was for.
    pub object: Option<ObjectId>,
    pub count: u64,
    pub ns: u64,
}

impl MachineTime {
    /// `requests`: those to disks; `processors`: how many there were, 0 where that is not known.
    pub fn of(
        timeline: &Timeline,
        facts: &Facts,
        requests: Vec<Request>,
        wall_ns: u64,
        processors: u32,
    ) -> MachineTime {
        let mut programs = programs(facts);
        programs.sort_by_key(|program| (Reverse(program.cpu_ns), program.name.clone()));
        let at: BTreeMap<ProcessId, usize> = programs
            .iter()
            .enumerate()
            .flat_map(|(at, program)| program.processes.iter().map(move |id| (*id, at)))
            .collect();
        add_behind(&mut programs, &at, facts);
        add_nice(&mut programs, &at, facts);
        let throttled = throttled(timeline);
        for (process, ns) in &throttled {
            if let Some(&own) = at.get(process) {
                programs[own].throttled_ns = programs[own].throttled_ns.saturating_add(*ns);
            }
        }
        let used = used_processors(timeline, &at);
        let processors_in_all = used.len().max(processors as usize);
        MachineTime {
            wall_ns,
            processors_in_all,
            processors: used,
            waits: waits(&at, facts),
            groups: groups::groups(&programs, &throttled, facts),
            scheduling: priorities::effects(&programs, processors_in_all, &at, timeline, facts),
            disks: disks::disks(requests, &programs, &at, timeline, facts),
            programs,
        }
    }
}

/// What a process is one of: an interpreter goes with the script that it runs.
fn program_name(process: &Process, is_kernel: bool) -> String {
    let name = process.name.as_str();
    match (is_kernel, script_of(process)) {
        (true, _) => name
            .split(['/', '-', ':'])
            .next()
            .unwrap_or(name)
            .to_owned(),
        (false, Some(script)) if script != name => format!("{name} {script}"),
        (false, _) => name.to_owned(),
    }
}

fn programs(facts: &Facts) -> Vec<ProgramTime> {
    let mut programs: BTreeMap<(bool, String), ProgramTime> = BTreeMap::new();
    for process in &facts.ledger.processes {
        let row = &process.row;
        let is_kernel = is_of_kernel(row);
        let name = program_name(row, is_kernel);
        let program = programs.entry((is_kernel, name.clone())).or_default();
        program.name = name;
        program.is_kernel = is_kernel;
        program.processes.push(row.process);
        program.cpu_ns = program.cpu_ns.saturating_add(process.sums.cpu_ns);
        program.ready_ns = program.ready_ns.saturating_add(process.sums.ready_ns);
    }
    programs.into_values().collect()
}

/// For how long each process was runnable while the CPU quota of its control group was used up.
fn throttled(timeline: &Timeline) -> BTreeMap<ProcessId, u64> {
    let mut sums: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for (slot, thread) in timeline.threads.iter().enumerate() {
        let spans = timeline.spans_of(slot).iter();
        let held = spans.filter(|s| s.state == State::Ready && s.detail == Detail::Throttled);
        let ns: u64 = held.map(|span| span.t1.since(span.t0)).sum();
        let sum = sums.entry(thread.process).or_default();
        *sum = sum.saturating_add(ns);
    }
    sums
}

fn add_nice(programs: &mut [ProgramTime], at: &BTreeMap<ProcessId, usize>, facts: &Facts) {
    for thread in &facts.ledger.threads {
        let row = &thread.row;
        let ran = row.cpu_ns > 0 || row.ready_ns > 0;
        let nice = row.nice.filter(|nice| ran && *nice != 0);
        if let (Some(nice), Some(&own)) = (nice, at.get(&row.process)) {
            programs[own].nice.insert(nice);
        }
    }
}

fn add_behind(programs: &mut [ProgramTime], at: &BTreeMap<ProcessId, usize>, facts: &Facts) {
    let ledger = &facts.ledger;
    let mut sums: BTreeMap<(usize, String), u64> = BTreeMap::new();
    for thread in &ledger.threads {
        let Some(&own) = at.get(&thread.row.process) else {
            continue;
        };
        for behind in &thread.behind {
            let name = match behind.who {
                Who::Thread(other) => {
                    let process = ledger.thread(other).map(|other| other.row.process);
                    process
                        .and_then(|process| at.get(&process))
                        .map(|&at| programs[at].name.clone())
                }
                Who::Outsider(tid) => Some(facts.outsiders.name(tid).to_owned()),
                Who::Idle | Who::Unlisted => None,
            };
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                let sum = sums.entry((own, name)).or_default();
                *sum = sum.saturating_add(behind.ns);
            }
        }
    }
    for ((own, name), ns) in sums {
        programs[own].behind.push((name, ns));
    }
    for program in programs {
        program.behind.sort_by_key(|(_, ns)| Reverse(*ns));
    }
}

fn used_processors(timeline: &Timeline, at: &BTreeMap<ProcessId, usize>) -> Vec<ProcessorTime> {
    #[derive(Default)]
    struct Sums {
        ran: BTreeMap<usize, u64>,
        ready: BTreeMap<usize, u64>,
        taken_ns: u64,
    }
    let mut sums: BTreeMap<u32, Sums> = BTreeMap::new();
    for (slot, thread) in timeline.threads.iter().enumerate() {
        let Some(&program) = at.get(&thread.process) else {
            continue;
        };
        for span in timeline.spans_of(slot) {
            let of_state = |sums: &mut Sums, ns: u64| {
                let programs = match span.state {
                    State::Cpu => &mut sums.ran,
                    _ => &mut sums.ready,
                };
                *programs.entry(program).or_default() += ns;
            };
            if matches!(span.state, State::Cpu | State::Ready) {
                let sums = sums.entry(span.processor).or_default();
                of_state(sums, span.t1.since(span.t0));
                sums.taken_ns += span.taken_ns();
            }
        }
    }
    let each = sums.into_iter();
    each.map(|(processor, sums)| ProcessorTime {
        processor,
        ran: longest_first(sums.ran),
        ready: longest_first(sums.ready),
        taken_ns: sums.taken_ns,
    })
    .collect()
}

/// Times of programs, without those that have none.
fn longest_first(sums: BTreeMap<usize, u64>) -> Vec<(usize, u64)> {
    let mut all: Vec<_> = sums.into_iter().filter(|(_, ns)| *ns > 0).collect();
    all.sort_by_key(|&(program, ns)| (Reverse(ns), program));
    all
}

/// Whether somebody who waits so lacks something that the machine has to give, or that another thread holds. Whoever waits for
/// work, for time or for a child may be idle.
fn is_lack(detail: Detail) -> bool {
    matches!(
        detail,
        Detail::DiskRead
            | Detail::DiskWrite
            | Detail::Flush
            | Detail::PageFault
            | Detail::Lock
            | Detail::KernelLock
            | Detail::FileLock
            | Detail::Reclaim
    )
}

fn waits(at: &BTreeMap<ProcessId, usize>, facts: &Facts) -> Vec<ProgramWait> {
    #[derive(Default)]
    struct Sum {
        count: u64,
        ns: u64,
        most: Option<(u64, ObjectId)>,
    }
    let mut sums: BTreeMap<(usize, Detail), Sum> = BTreeMap::new();
    for thread in &facts.ledger.threads {
        let Some(&program) = at.get(&thread.row.process) else {
            continue;
        };
        let causes = thread.causes.iter();
        for cause in causes.filter(|cause| cause.key.account == Account::Wait) {
            let Kind::As(detail) = cause.key.kind else {
                continue;
            };
            if !is_lack(detail) {
                continue;
            }
            let sum = sums.entry((program, detail)).or_default();
            sum.count += cause.count;
            sum.ns = sum.ns.saturating_add(cause.ns);
            sum.most = sum.most.max(cause.key.object.map(|id| (cause.ns, id)));
        }
    }
    let mut waits: Vec<ProgramWait> = sums
        .into_iter()
        .map(|((program, detail), sum)| ProgramWait {
            program,
            detail,
            object: sum.most.map(|(_, object)| object),
            count: sum.count,
            ns: sum.ns,
        })
        .collect();
    waits.sort_by_key(|wait| (Reverse(wait.ns), wait.program));
    waits
}
