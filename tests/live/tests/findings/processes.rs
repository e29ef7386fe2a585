//! Rules about starting processes.

use timesink_live::{pair, pair_of, root};

/// A program started for each of many items with little to do, and for some with much.
#[test]
fn child_per_item() {
    pair("child-per-item");
}

/// Python started mostly to load its modules, and to work.
#[test]
fn repeated_start_up() {
    let script = root().join("tests/live/programs/rules/repeated-start-up.sh");
    let script = script.to_str().expect("its path");
    pair_of(
        "repeated-start-up",
        &[],
        &[script, "fires"],
        &[script, "silent"],
    );
}

/// A program started through a shell, and by itself.
#[test]
fn shell_between() {
    pair("shell-between");
}

/// A large process that forks, and one that does not copy itself.
#[test]
fn fork_copies_large() {
    pair("fork-copies-large");
}

/// All numbers closed that a descriptor could have, and those that there are.
#[test]
fn close_storm() {
    pair("close-storm");
}
