//! Who wrote to a terminal that another thread reads.

use super::ProbeInfo;

/// The program that finds out which of the kernel's work is for terminals; to be run before the others are attached.
pub const FIND_WORK: &str = "find_work";
/// The kernel's function that does that work.
pub const WORK: &str = "flush_to_ldisc";

pub static INFO: ProbeInfo = ProbeInfo {
    name: "terminals",
    programs: &[
        (FIND_WORK, ""),
        ("on_work", "workqueue_queue_work"),
        ("on_work_begun", "workqueue_execute_start"),
        ("on_work_done", "workqueue_execute_end"),
    ],
    gives: "who wrote what is read from a terminal",
    without: "who wrote what is read from a terminal (a kernel thread is named instead)",
    essential: false,
};
