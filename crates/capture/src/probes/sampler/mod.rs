//! Where the processor is, some hundred times a second.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "sampler",
    programs: &[("on_sample", "")],
    gives: "user and kernel time, by samples",
    without:
        "the split of processor time into user and kernel (the kernel's own ticks serve instead)",
    essential: false,
};
