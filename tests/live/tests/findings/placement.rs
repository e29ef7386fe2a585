//! Rules about processors: who has them, and who has none.

use timesink_live::{pair, pair_of, root};

/// A calculation beside others that nobody waits for, and after them.
#[test]
fn no_processor() {
    pair("no-processor");
}

/// A program that computes, and one that waits as long.
#[test]
fn busy() {
    pair("busy");
}

/// A calculation with a quarter of a processor, and the same in a group without a limit.
#[test]
fn throttled() {
    let script = root().join("tests/live/programs/rules/throttled.sh");
    let script = script.to_str().expect("its path");
    pair_of(
        "throttled",
        &[],
        &["sh", script, "fires"],
        &["sh", script, "silent"],
    );
}

/// Two threads that are bound to one processor, and to one each.
#[test]
fn pinned() {
    pair("pinned");
}
