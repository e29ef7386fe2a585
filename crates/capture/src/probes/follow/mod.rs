//! Which processes come in because they exchange something with those that are recorded. Loaded only if the user wants
//! that.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "follow",
    programs: &[("on_contact", "sched_waking")],
    gives: "processes that the program talks to (--follow)",
    without: "processes that the program talks to",
    essential: false,
};
