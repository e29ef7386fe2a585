//! Rules about what is made safe on a disk.

use timesink_live::pair;

/// A flush for each row, and one for all.
#[test]
fn flush_per_record() {
    pair("flush-per-record");
}

/// Rows in a file each write of which waits, and in one that is flushed at the end.
#[test]
fn synchronous_writes() {
    pair("synchronous-writes");
}

/// Items that are each flushed and renamed, and all flushed together.
#[test]
fn flush_per_file() {
    pair("flush-per-file");
}
