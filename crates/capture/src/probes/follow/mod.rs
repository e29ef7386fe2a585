//! Which processes come in because they exchange something with those that are recorded. Loaded only if the user wants
//! that.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "follow",
    programs: &[("on_contact", "sched_waking")],
    gives: "servers and others that the program exchanges something with (--follow)",
    without: "processes that the program exchanges something with",
    essential: false,
};
