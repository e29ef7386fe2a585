//! Rules about what is made safe on a disk.

use timesink_live::pair;

/// A flush for each row, and one for all.
#[test]
fn flush_per_record() {
    pair("flush-per-record");
}
