//! Who runs, who waits and who woke whom.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "scheduling",
    programs: &[("on_switch", "sched_switch"), ("on_waking", "sched_waking")],
    gives: "who runs, who waits, who woke whom",
    without: "everything: without it there is no recording",
    essential: true,
};
