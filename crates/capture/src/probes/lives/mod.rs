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
    gives: "start and end of threads and processes",
    without: "everything: no thread can be recorded without it",
    essential: true,
};
