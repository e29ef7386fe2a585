//! Disks: how long each was at work, and for whom.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use timesink_recording::ids::ProcessId;
use timesink_recording::tables::Request;
use timesink_recording::words::RequestKind;
use timesink_recording::Nanos;

use super::ProgramTime;
use crate::facts::Facts;
use crate::timeline::Timeline;

/// One disk, or one partition of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskTime {
    /// As the kernel numbers it: major << 20 | minor.
    pub device: u64,
    /// How long at least one request was under way.
    pub busy_ns: u64,
    pub requests: u64,
    /// What they took, from when they were given to the device, all together.
    pub requests_ns: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Who issued them, and how long those took, longest first. What is written back later is issued by a thread of the kernel.
    pub issuers: Vec<(String, u64)>,
}

/// Those of a machine, the busiest first. `at`: which program each process is one of.
pub(super) fn disks(
    mut requests: Vec<Request>,
    programs: &[ProgramTime],
    at: &BTreeMap<ProcessId, usize>,
    timeline: &Timeline,
    facts: &Facts,
) -> Vec<DiskTime> {
    #[derive(Default)]
    struct Sums<'a> {
        disk: DiskTime,
        /// Up to when it is known to be busy.
        busy_until: i64,
        issuers: BTreeMap<&'a str, u64>,
    }
    let name_of = |row: &Request| {
        let slot = row.thread.and_then(|thread| timeline.slot(thread));
        let process = slot.map(|slot| timeline.threads[slot].process);
        let program = process.and_then(|process| at.get(&process));
        match program {
            Some(&program) => programs[program].name.as_str(),
            None => facts.outsiders.name(row.tid),
        }
    };
    requests.sort_by_key(|row| row.issued);
    let mut sums: BTreeMap<u64, Sums<'_>> = BTreeMap::new();
    for row in &requests {
        let own = sums.entry(row.device).or_insert_with(|| Sums {
            busy_until: i64::MIN,
            ..Sums::default()
        });
        let disk = &mut own.disk;
        let took_ns = row.completed.since(row.issued);
        disk.requests += 1;
        disk.requests_ns = disk.requests_ns.saturating_add(took_ns);
        let from = row.issued.0.max(own.busy_until);
        let busy_ns = row.completed.since(Nanos(from));
        disk.busy_ns = disk.busy_ns.saturating_add(busy_ns);
        own.busy_until = own.busy_until.max(row.completed.0);
        let bytes = match row.kind {
            RequestKind::Read => Some(&mut disk.read_bytes),
            RequestKind::Write => Some(&mut disk.written_bytes),
            _ => None,
        };
        if let Some(bytes) = bytes {
            *bytes = bytes.saturating_add(row.bytes);
        }
        let issued = own.issuers.entry(name_of(row)).or_default();
        *issued = issued.saturating_add(took_ns);
    }
    let mut disks: Vec<DiskTime> = sums
        .into_iter()
        .map(|(device, sums)| {
            let issuers = sums.issuers.into_iter();
            let mut issuers: Vec<(String, u64)> =
                issuers.map(|(name, ns)| (name.to_owned(), ns)).collect();
            issuers.sort_by_key(|(_, ns)| Reverse(*ns));
            DiskTime {
                device,
                issuers,
                ..sums.disk
            }
        })
        .collect();
    disks.sort_by_key(|disk| Reverse(disk.busy_ns));
    disks
}
