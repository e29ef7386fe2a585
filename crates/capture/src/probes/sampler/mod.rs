//! Where the processor is, some hundred times a second.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "sampler",
    programs: &[("on_sample", "")],
    gives: "CPU samples: user and kernel time, stacks",
    without: "CPU samples; user and kernel time come from the kernel's ticks instead",
    essential: false,
};
