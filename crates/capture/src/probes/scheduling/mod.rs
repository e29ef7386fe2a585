//! Who runs, who waits and who woke whom.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "scheduling",
    programs: &[("on_switch", "sched_switch"), ("on_waking", "sched_waking")],
    gives: "running, waiting and wake-ups of threads",
    without: "everything: nothing can be recorded without it",
    essential: true,
};
