//! Rules about what a program does on a processor.

use timesink_live::{build_go, go_tools, pair_of, root, Folder};

/// The script of a rule in `programs/rules`, run by the system's Python.
fn python_pair(rule: &str) {
    let script = root().join(format!("tests/live/programs/rules/{rule}.py"));
    let script = script.to_str().expect("its path");
    let form = |form| ["/usr/bin/python3", script, form];
    pair_of(rule, &[], &form("fires"), &form("silent"));
}

/// Dates read by a function in Python, and by one in C.
#[test]
fn known_slow_function() {
    python_pair("known-slow-function");
}

/// A table of things that point to each other, and one of numbers, both in Go.
#[test]
fn garbage_collection() {
    let folder = Folder::new("collector");
    let tools = go_tools();
    let built = build_go(&tools[0], "rules/garbage-collection.go", &folder, &[]);
    let built = built.to_str().expect("its path");
    pair_of(
        "garbage-collection",
        &[],
        &[built, "fires"],
        &[built, "silent"],
    );
}
