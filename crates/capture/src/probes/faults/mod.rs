//! Which file a page fault reads from.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "faults",
    programs: &[("on_page_cache", "mm_filemap_add_to_page_cache")],
    gives: "files read by page faults",
    without: "the file that a page fault waited for",
    essential: false,
};
