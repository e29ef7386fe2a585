//! Births, execs and deaths: which threads are tracked.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "lives",
    programs: &[
        ("on_fork", "sched_process_fork"),
        ("on_exec", "sched_process_exec"),
        ("on_exit", "sched_process_exit"),
        ("seed", ""),
        ("finish", ""),
    ],
    gives: "which threads and processes are followed, from birth to death",
    without: "everything: without it no thread would be followed",
    essential: true,
};
