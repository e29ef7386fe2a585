//! What the kernel calls its own functions.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "names",
    programs: &[("symbol", "")],
    gives: "names of kernel functions",
    without: "names of kernel functions in stacks",
    essential: false,
};
