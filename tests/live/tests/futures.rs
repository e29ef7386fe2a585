//! Tasks of tokio, held against what the program's own clocks say of them, by how the program was built.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use timesink_live::{attempts, json_lines, none_of, ns, number, output, root, text, timesink};
use timesink_live::{Folder, Recorded};

/// How many tasks there are of each function that was seen in stacks. What does nothing but await has none.
const COUNTS: [(&str, i64); 5] = [
    ("spinner", 3),
    ("consumer", 1),
    ("loads", 1),
    ("pooled", 4),
    ("local", 1),
];

/// A time is right within this part, or within this much.
const WITHIN: f64 = 0.1;
const WITHIN_NS: f64 = 15e6;

fn is_near(told: f64, truth: f64) -> bool {
    let off = (told - truth).abs();
    off <= WITHIN * truth || off <= WITHIN_NS
}

fn is_seen(function: &str) -> bool {
    COUNTS.iter().any(|(name, _)| *name == function)
}

fn build(profile: &str) -> PathBuf {
    let programs = root().join("tests/live/programs/tokio");
    let target = root().join("target/live/tokio");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "-q", "--locked", "--profile", profile]);
    build
        .arg("--manifest-path")
        .arg(programs.join("Cargo.toml"));
    build.arg("--target-dir").arg(&target);
    // What cargo is told about the build of this test is none of the program's business.
    build.env_remove("RUSTFLAGS").env_remove("CARGO_TARGET_DIR");
    output(&mut build).exits(0);
    let folder = if profile == "dev" { "debug" } else { profile };
    target.join(folder).join("tokio-tasks")
}

fn record(profile: &str) -> (Recorded, Value) {
    let program = build(profile);
    let folder = Folder::new("futures");
    let command = [program.to_str().unwrap()];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let truth = json_lines(&recorded.ran.text()).remove(0);
    (recorded, truth)
}

/// The function of a group as its source has it.
fn function(group: &Value) -> Option<&str> {
    let name = group["function"].as_str()?.split("::{").next()?;
    name.rsplit("::").next()
}

fn problems(profile: &str) -> Vec<String> {
    let (recorded, truth) = record(profile);
    let groups = recorded.json["tasks"]["groups"].as_array();
    let groups = groups.into_iter().flatten();
    let groups: BTreeMap<&str, &Value> = groups
        .filter_map(|group| Some((function(group)?, group)))
        .collect();
    let mut problems = Vec::new();
    for (name, count) in COUNTS {
        let told = groups.get(name).map_or(0, |group| number(group, "count"));
        if told != count {
            problems.push(format!("{told} tasks of {name}, not {count}"));
        }
    }
    for group in groups.values() {
        if text(group, "kind") != "future" {
            problems.push(format!("{group} is no task of tokio"));
        }
    }
    let told = |name: &str, keys: &[&str]| -> f64 {
        let group = groups.get(name);
        group.map_or(0.0, |group| keys.iter().map(|key| ns(group, key)).sum())
    };
    for (part, keys) in [
        ("on_thread", &["cpu_ns", "ready_ns", "wait_ns"][..]),
        ("awaiting", &["parked_ns"]),
    ] {
        let times = truth[part].as_object().expect("times of tasks").iter();
        for (name, seconds) in times.filter(|(name, _)| is_seen(name)) {
            let truth = seconds.as_f64().unwrap() * 1e9;
            let told = told(name, keys);
            if !is_near(told, truth) {
                problems.push(format!("{part}: {told} ns of {name}, not {truth}"));
            }
        }
    }
    problems
}

/// How many there are, what each did on threads and for how long, and how long it awaited.
#[test]
fn tasks_of_tokio() {
    for profile in ["release", "merged", "dev"] {
        attempts(|| none_of(&problems(profile)).map_err(|e| format!("{profile}: {e}")));
    }
}

/// Without symbols nobody knows where tokio keeps what: nothing is guessed.
#[test]
fn without_symbols_there_are_none() {
    let (recorded, _) = record("stripped");
    assert!(recorded.json["tasks"].is_null());
}

/// timesink has tokio itself, and a program is a copy of timesink until it starts. Installed without symbols it told in each recording that
/// there were no tasks of tokio.
#[test]
fn what_timesink_has_itself_is_not_told() {
    let folder = Folder::new("futures-own");
    let (copy, file) = (folder.join("timesink"), folder.join("r.timesink"));
    std::fs::copy(timesink(), &copy).expect("a copy of timesink");
    output(Command::new("strip").arg(&copy)).exits(0);
    let mut run = Command::new(&copy);
    run.args(["run", "-q", "-o"])
        .arg(&file)
        .args(["--", "true"]);
    output(&mut run).exits(0);
    let mut report = Command::new(timesink());
    let report = output(report.args(["report", "--json"]).arg(&file));
    let told: Value = serde_json::from_str(&report.exits(0).text()).expect("JSON");
    assert_eq!(told["lost"], serde_json::json!({}));
}
