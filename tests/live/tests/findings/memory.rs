//! Rules about memory: what it costs to ask the kernel for it.

use timesink_live::{pair, pair_of, root};

/// Memory mapped and unmapped for each message, and mapped once.
#[test]
fn map_unmap_churn() {
    pair("map-unmap-churn");
}

/// A heap whose end moves down and up again, and one that malloc keeps.
#[test]
fn trim_thrash() {
    pair("trim-thrash");
}

/// Large images in new memory each, and in the same.
#[test]
fn page_fault_storm() {
    pair("page-fault-storm");
}

/// A mapped file that is read from the disk page by page, and one that is there before it is touched.
#[test]
fn major_faults() {
    pair("major-faults");
}

/// A table written over again and again, with room for a quarter of it in memory, and for all.
#[test]
fn memory_reclaim() {
    let script = root().join("tests/live/programs/rules/memory-reclaim.sh");
    let script = script.to_str().expect("its path");
    pair_of(
        "memory-reclaim",
        &[],
        &["sh", script, "fires"],
        &["sh", script, "silent"],
    );
}

/// Snapshots by fork of a large memory that is written to meanwhile, and of a small one.
#[test]
fn copy_on_write() {
    pair("copy-on-write");
}

/// A table through a pipe of which each cell is kept as a node, and one kept as it is beside memory for something else.
#[test]
fn memory_far_larger() {
    pair("memory-far-larger");
}
