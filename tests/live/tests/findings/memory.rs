//! Rules about memory: what it costs to ask the kernel for it.

use timesink_live::pair;

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
