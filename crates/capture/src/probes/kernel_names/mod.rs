//! What the kernel calls its own functions.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "names",
    programs: &[("symbol", "")],
    gives: "names of the kernel's functions",
    without: "the names of the kernel's functions in stacks",
    essential: false,
};
