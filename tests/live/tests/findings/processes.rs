//! Rules about starting processes.

use std::fs;

use timesink_live::{attempts, none_of, pair, pair_of, root, text, Told};

/// A program started for each of many items with little to do, and for some with much.
#[test]
fn child_per_item() {
    pair("child-per-item");
}

/// Of a script it is told in which function and at which line it starts the programs, in WHY as in the JSON.
#[test]
fn the_line_of_a_script_that_starts_programs() {
    let script = root().join("tests/live/programs/rules/child-per-item.sh");
    let lines = fs::read_to_string(&script).expect("the script");
    let here = 1 + lines
        .lines()
        .position(|line| line.ends_with("# here"))
        .expect("the line");
    let script = script.to_str().expect("its path");
    attempts(|| {
        let told = Told::of(&[], &["bash", script]);
        let mut problems = told.first("child-per-item");
        let why = &told.recorded.ran.err;
        if !why.contains(&format!(
            "in look_up() child-per-item.sh:{here}, called from main():"
        )) {
            problems.push(why.clone());
        }
        let first = &told.findings[0];
        let frames = first["frames"].as_array().expect("functions");
        let at = frames.iter().position(|function| function == "look_up");
        match at {
            None => problems.push(format!("{frames:?}")),
            Some(at) => {
                let place = &first["places"][at];
                if place["line"] != here || !text(place, "file").ends_with("/child-per-item.sh") {
                    problems.push(place.to_string());
                }
            }
        }
        none_of(&problems)
    });
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
