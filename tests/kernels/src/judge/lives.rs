//! Who is recorded, how programs and recordings end, and that nothing is lost in silence.

use std::collections::HashMap;

use serde_json::Value;
use timesink_live::{json_lines, ns, number, Recorded};
use timesink_recording::tables::Process;

use super::Problems;
use crate::results::Results;

pub fn children(results: &Results) -> Vec<String> {
    let recorded = results.recorded("children");
    let mut problems = Problems::default();
    let seen = recorded.list("processes").len();
    problems.must(seen == 31, || {
        format!("children: {seen} processes, in truth 31")
    });
    let truth = json_lines(&recorded.ran.err);
    problems.must(truth.iter().any(|line| line["count"] == 30), || {
        format!("children: {}", recorded.ran.err)
    });
    problems.0
}

/// What a process other than the client's does on the path, with this function in its stack.
fn on_path(recorded: &Recorded, state: &str, function: &str) -> f64 {
    let segments = recorded.json["path"]["segments"]
        .as_array()
        .into_iter()
        .flatten();
    let segments = segments.filter(|segment| {
        let mut frames = segment["frames"].as_array().into_iter().flatten();
        segment["state"] == state && frames.any(|frame| frame == function)
    });
    segments.map(|segment| ns(segment, "ns")).sum()
}

/// The path of a client leads through the server that it asks: 200 ms asleep, 100 ms at work.
fn through_server(results: &Results, name: &str) -> Vec<String> {
    let recorded = results.recorded(name);
    let mut problems = Problems::default();
    let server: u32 = results
        .text(&format!("{name}.server"))
        .trim()
        .parse()
        .expect("a pid");
    let processes: Vec<u32> = recorded.rows::<Process>().iter().map(|p| p.pid).collect();
    problems.must(processes.contains(&server), || {
        format!("{name}: the server is not recorded")
    });
    let (asleep, busy) = (
        on_path(&recorded, "wait", "nap_in_server"),
        on_path(&recorded, "cpu", "work_in_server"),
    );
    problems.must((0.199e9..0.3e9).contains(&asleep), || {
        format!("{name}: asleep in the server for {asleep} ns")
    });
    problems.must((0.09e9..0.25e9).contains(&busy), || {
        format!("{name}: at work in the server for {busy} ns")
    });
    problems.0
}

pub fn follow(results: &Results) -> Vec<String> {
    through_server(results, "follow")
}

pub fn with(results: &Results) -> Vec<String> {
    through_server(results, "with")
}

/// What ran before and runs on: its waits and its work are there, and it is told as alive.
pub fn attach(results: &Results) -> Vec<String> {
    let recorded = results.recorded("attach");
    let mut problems = Problems::default();
    let json = &recorded.json;
    let wall = ns(json, "wall_ns");
    problems.must((4e9..60e9).contains(&wall), || {
        format!("attach: for {wall} ns, asked for 4 s")
    });
    let born = number(&json["ends"], "born_before");
    problems.must(born == 1, || format!("attach: {}", json["ends"]));
    let threads = recorded.list("threads");
    let slept: f64 = threads
        .iter()
        .map(|t| recorded.cause(t, "wait", "sleep").1)
        .sum();
    problems.must(slept >= 0.2e9, || {
        format!("attach: it slept for {slept} ns: {threads:?}")
    });
    problems.0
}

/// A flood while timesink stands still: what was lost is told, and the sums hold.
pub fn losses(results: &Results) -> Vec<String> {
    let recorded = results.recorded("losses");
    let mut problems = Problems::default();
    let lost = &recorded.json["lost"];
    let kinds = lost.as_object().into_iter().flatten();
    let count: i64 = kinds.map(|(_, kind)| number(kind, "count")).sum();
    problems.must(count > 0, || format!("losses: nothing is told: {lost}"));
    let life = &recorded.json["books"]["life"];
    let (ours, kernel) = (ns(life, "ours_ns"), ns(life, "kernel_ns"));
    problems.must((ours - kernel).abs() < kernel * 0.03, || {
        format!("losses: sums of lives {life}")
    });
    problems.0
}

/// What is opened while calls are not timed is known as it is opened.
pub fn opens(results: &Results) -> Vec<String> {
    let recorded = results.recorded("opens");
    let mut problems = Problems::default();
    let share = recorded.json["cost"]["calls_timed_share"].as_f64();
    problems.must(share.is_some_and(|share| share < 0.9), || {
        format!("opens: calls were timed for {share:?} of the time")
    });
    let told = results.ran("env").exits(0).text();
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let facts = told["facts"].as_array().into_iter().flatten();
    let mut files = facts.filter(|fact| fact["kind"] == "file");
    problems.must(files.any(|fact| fact["key"] == "/tmp/pace.conf"), || {
        format!("opens: the file is not told: {}", recorded.json["probes"])
    });
    problems.0
}

pub fn codes(results: &Results) -> Vec<String> {
    let mut problems = Problems::default();
    for (name, expected) in [("code", 3), ("signal", 137), ("missing", 127)] {
        let ran = results.ran(name);
        problems.must(ran.code() == expected, || {
            format!(
                "{name}: exit code {}, expected {expected}: {}",
                ran.code(),
                ran.err
            )
        });
    }
    problems.0
}

/// The lines of a scene that tries something again and again: pairs of words (`report 0`), and what was said.
fn tries(told: &str) -> Vec<HashMap<&str, &str>> {
    let words = told.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let pairs = words.map(|words| {
        words
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect()
    });
    pairs.collect()
}

/// However timesink is killed: the guest lives, what was recorded is mended, nothing is left behind, and the next recording is right.
pub fn killed(results: &Results) -> Vec<String> {
    let told = results.text("killed.told");
    let mut problems = Problems::default();
    for (line, kill) in told.lines().zip(tries(&told)) {
        // Some are killed before there is anything to mend.
        let report = matches!(kill.get("report"), Some(&("none" | "0")))
            || line.contains("nothing can be mended");
        problems.must(report && kill.get("left") == Some(&"0"), || {
            format!("killed: {line}")
        });
    }
    problems.must(told.contains("mend"), || {
        format!("killed: never while it recorded: {told}")
    });
    results.recorded("afterwards");
    problems.0
}

/// Two at once: each records its own program, and that alone.
pub fn two(results: &Results) -> Vec<String> {
    let mut problems = Problems::default();
    for name in ["one", "other"] {
        let recorded = results.recorded(name);
        let processes: Vec<&Value> = recorded.list("processes").iter().collect();
        problems.must(processes.len() == 1, || {
            format!("two: {name} has {processes:?}")
        });
        let command = &recorded.json["command"];
        problems.must(command[0] == "switches", || {
            format!("two: {name} is of {command}")
        });
    }
    problems.0
}

/// A process that ends as it is attached to: a recording, or a sentence and the exit code 2.
pub fn ending(results: &Results) -> Vec<String> {
    let told = results.text("ending.told");
    let mut problems = Problems::default();
    for (line, attempt) in told.lines().zip(tries(&told)) {
        let (code, report) = (attempt.get("code"), attempt.get("report"));
        let recorded = code == Some(&"0") && report == Some(&"0");
        let refused = code == Some(&"2") && line.contains("timesink: ");
        problems.must(recorded || refused, || format!("ending: {line}"));
    }
    problems.must(!told.is_empty(), || "ending: nothing was tried".into());
    problems.0
}
