//! The kernel's work on a process's memory: which functions it is, and how much of it comes again and again.

use std::collections::BTreeMap;

use timesink_analysis::stacks::memory::turns;
use timesink_recording::ids::{ProcessId, ThreadId};

use crate::in_code::InCode;
use crate::inquiry::Inquiry;

/// Touching memory that the kernel has not given a page for yet. The first is the entry; where a sampler cannot name it, the
/// next ones are.
const FAULTS: [&str; 4] = [
    "asm_exc_page_fault",
    "exc_page_fault",
    "do_user_addr_fault",
    "handle_mm_fault",
];
/// Asking for memory, and giving it back. Where the entry itself only jumps on, stacks have what it jumps to.
const MAPPING: [&str; 12] = [
    "__x64_sys_mmap",
    "ksys_mmap_pgoff",
    "vm_mmap_pgoff",
    "__x64_sys_munmap",
    "__vm_munmap",
    "__x64_sys_brk",
    "__do_sys_brk",
    "__x64_sys_madvise",
    "do_madvise",
    "__x64_sys_mremap",
    "__do_sys_mremap",
    "do_brk_flags",
];
/// The part of it that gives back.
const GIVING: [&str; 8] = [
    "__x64_sys_munmap",
    "__vm_munmap",
    "vms_complete_munmap_vmas",
    "unmap_region",
    "do_brk_munmap",
    "zap_page_range",
    "zap_page_range_single",
    "madvise_dontneed_free",
];
/// The size of a page.
pub const PAGE: u64 = 4096;

/// Whether functions, of which some are the kernel's, are in a page fault.
pub fn is_fault(names: &[&str]) -> bool {
    names.iter().any(|name| FAULTS.contains(name))
}

pub struct Memory {
    pub faults: InCode,
    pub mapping: InCode,
}

impl Memory {
    /// What the path did so.
    pub fn of(inquiry: &Inquiry<'_>) -> Memory {
        Memory {
            faults: InCode::of_kernel(inquiry, &FAULTS),
            mapping: InCode::of_kernel(inquiry, &MAPPING),
        }
    }

    /// Only that of one program.
    pub fn in_program(&self, inquiry: &Inquiry<'_>, process: ProcessId) -> Memory {
        Memory {
            faults: self.faults.clone().in_program(inquiry, process),
            mapping: self.mapping.clone().in_program(inquiry, process),
        }
    }

    /// How often samples of a process show memory that was taken being given back.
    pub fn turns(&self, inquiry: &Inquiry<'_>, process: ProcessId) -> u64 {
        let given = InCode::of_kernel(inquiry, &GIVING);
        turns(
            inquiry.stacks,
            threads(inquiry, process),
            &self.faults.functions,
            &given.functions,
        )
    }
}

fn threads<'a>(
    inquiry: &'a Inquiry<'_>,
    process: ProcessId,
) -> impl Iterator<Item = ThreadId> + 'a {
    let threads = inquiry.facts.ledger.threads.iter();
    let its = threads.filter(move |thread| thread.row.process == process);
    its.map(|thread| thread.row.thread)
}

/// The page faults of a process that were served without a disk.
pub fn faults(inquiry: &Inquiry<'_>, process: ProcessId) -> u64 {
    let threads = inquiry.facts.ledger.threads.iter();
    let its = threads.filter(|thread| thread.row.process == process);
    its.map(|thread| thread.row.faults_minor)
        .fold(0, u64::saturating_add)
}

/// Of the processes of a program the one with most of them, and how many.
pub fn most_faults(inquiry: &Inquiry<'_>, program: ProcessId) -> Option<(ProcessId, u64)> {
    let alike = inquiry.of_program(program);
    let mut sums: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for thread in &inquiry.facts.ledger.threads {
        if alike.contains(&thread.row.process) {
            *sums.entry(thread.row.process).or_default() += thread.row.faults_minor;
        }
    }
    sums.into_iter().max_by_key(|&(_, faults)| faults)
}

/// What a process still had of its memory as it ended, as a share of all that it had touched: so much it had to touch.
pub fn kept(inquiry: &Inquiry<'_>, process: ProcessId) -> f64 {
    let start = inquiry
        .facts
        .starts
        .iter()
        .find(|start| start.process == process);
    let resident = start
        .and_then(|start| start.exit)
        .map_or(0, |exit| exit.resident_bytes);
    let touched = faults(inquiry, process).saturating_mul(PAGE);
    (resident as f64 / touched.max(1) as f64).min(1.0)
}
