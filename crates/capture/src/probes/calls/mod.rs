//! System calls, timed from entry to return.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "calls",
    programs: &[("on_enter", "sys_enter"), ("on_return", "sys_exit")],
    gives: "system calls: counts, bytes, errors, durations",
    without:
        "counts, bytes, errors and durations of system calls, what woke a poll, failed look-ups",
    essential: false,
};
