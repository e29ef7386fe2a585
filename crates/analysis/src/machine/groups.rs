//! Control groups: units of systemd, containers, jobs. What the processes of each took together.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use timesink_recording::ids::ProcessId;

use super::ProgramTime;
use crate::facts::{group_name, Facts};

/// All processes of one control group, without those of groups within it.
#[derive(Clone, Debug, Default)]
pub struct GroupTime {
    /// As the kernel names it: `/system.slice/nginx.service`.
    pub path: String,
    pub processes: Vec<ProcessId>,
    pub cpu_ns: u64,
    pub ready_ns: u64,
    /// Of that, while the CPU quota of the group was used up.
    pub throttled_ns: u64,
    /// Programs that ran in it, as indexes into [`super::MachineTime::programs`], longest first.
    pub programs: Vec<(usize, u64)>,
}

impl GroupTime {
    pub fn name(&self) -> String {
        group_name(&self.path)
    }
}

/// Those of a machine, most time on CPUs first. Threads of the kernel are in none.
pub(super) fn groups(
    programs: &[ProgramTime],
    throttled: &BTreeMap<ProcessId, u64>,
    facts: &Facts,
) -> Vec<GroupTime> {
    let mut groups: BTreeMap<&str, (GroupTime, BTreeMap<usize, u64>)> = BTreeMap::new();
    for (at, program) in programs.iter().enumerate() {
        if program.is_kernel {
            continue;
        }
        let own = program.processes.iter();
        for process in own.filter_map(|id| facts.ledger.process(*id)) {
            let Some(path) = process.row.group.as_deref() else {
                continue;
            };
            let (group, ran) = groups.entry(path).or_default();
            group.path = path.to_owned();
            group.processes.push(process.row.process);
            group.cpu_ns = group.cpu_ns.saturating_add(process.sums.cpu_ns);
            group.ready_ns = group.ready_ns.saturating_add(process.sums.ready_ns);
            let held = throttled.get(&process.row.process).copied();
            group.throttled_ns = group.throttled_ns.saturating_add(held.unwrap_or(0));
            let sum = ran.entry(at).or_default();
            *sum = sum.saturating_add(process.sums.cpu_ns);
        }
    }
    let mut groups: Vec<GroupTime> = groups
        .into_values()
        .map(|(mut group, ran)| {
            group.programs = super::longest_first(ran);
            group
        })
        .collect();
    groups.sort_by_key(|group| Reverse((group.cpu_ns, group.ready_ns)));
    groups
}
