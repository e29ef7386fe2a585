//! Who wrote to a terminal that another thread reads.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "terminals",
    programs: &[
        ("on_work", "workqueue_queue_work"),
        ("on_work_begun", "workqueue_execute_start"),
        ("on_work_done", "workqueue_execute_end"),
    ],
    gives: "who wrote what is read from a terminal",
    without: "who wrote what is read from a terminal (a kernel thread is named instead)",
    essential: false,
};
