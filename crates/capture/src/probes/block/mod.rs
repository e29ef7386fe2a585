//! Requests to block devices.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "block",
    programs: &[
        ("on_issue", "block_rq_issue"),
        ("on_complete", "block_rq_complete"),
    ],
    gives: "disk requests",
    without: "disk requests, and which waits a disk ended",
    essential: false,
};
