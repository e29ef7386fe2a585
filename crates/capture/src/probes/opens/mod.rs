//! Files that are opened while system calls are not timed.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "opens",
    programs: &[("on_open", "security_file_open")],
    gives: "files opened while system calls are not timed",
    without: "files opened and closed while system calls are not timed",
    essential: false,
};
