//! Rules about starting processes.

use timesink_live::pair;

/// A program started for each of many items with little to do, and for some with much.
#[test]
fn child_per_item() {
    pair("child-per-item");
}
