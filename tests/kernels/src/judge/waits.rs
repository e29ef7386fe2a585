//! Waits and what they are about.

use serde_json::Value;
use timesink_live::{json_lines, number, text, Slack, Truth};

use super::Problems;
use crate::results::Results;

/// In the emulator whatever the program does beside waiting takes long, and its processors take turns. That the sums are right to a
/// hundredth is held against the kernel's own figures.
const SLACK: Slack = Slack {
    share: 0.1,
    ns: 5e6,
};

/// All kinds of waits, a lock's owner, files that are flushed and faulted in, by the program's own account.
pub fn truth(results: &Results) -> Vec<String> {
    let recorded = results.recorded("truth");
    let wrong = Truth::of(recorded, &results.text("truth.json"), SLACK).check(true);
    wrong.err().into_iter().collect()
}

/// The calls of a kind on a file, over all processes.
fn calls(report: &Value, call: &str, file: &str) -> i64 {
    let calls = report["calls"].as_array().into_iter().flatten();
    let calls = calls.filter(|c| c["call"] == call);
    let calls = calls.filter(|c| {
        c["object"]
            .as_str()
            .is_some_and(|object| object.ends_with(file))
    });
    calls.map(|c| number(c, "count")).sum()
}

/// Rows that are flushed one by one: the finding comes first, with the file's name.
pub fn flush(results: &Results) -> Vec<String> {
    let recorded = results.recorded("flush");
    let mut problems = Problems::default();
    let findings = recorded.list("findings");
    let first = findings
        .first()
        .map_or("nothing", |first| text(first, "rule"));
    problems.must(first == "flush-per-record", || {
        format!("flush: {first} is told first: {findings:?}")
    });
    let object = findings.first().and_then(|first| first["object"].as_str());
    problems.must(object.is_some_and(|o| o.ends_with("/disk/rows.db")), || {
        format!("flush: of {object:?}")
    });
    problems.0
}

/// A file that is read for the first time: its name, and that it was waited for.
pub fn coldread(results: &Results) -> Vec<String> {
    let recorded = results.recorded("coldread");
    let mut problems = Problems::default();
    let read = calls(&recorded.json, "read", "/disk/cold");
    problems.must(read >= 128, || {
        format!("coldread: {read} reads of /disk/cold, in truth 128")
    });
    let causes = recorded
        .list("threads")
        .iter()
        .flat_map(|t| t["causes"].as_array().into_iter().flatten());
    let cold = |c: &&Value| {
        c["state"] == "wait"
            && c["object"]
                .as_str()
                .is_some_and(|o| o.ends_with("/disk/cold"))
    };
    let waits: i64 = causes.filter(cold).map(|c| number(c, "count")).sum();
    problems.must(waits > 0, || {
        format!(
            "coldread: nothing waited for /disk/cold: {}",
            recorded.json["threads"]
        )
    });
    problems.0
}

/// Two threads hand a token to and fro: each round is two switches, as the program counts them.
pub fn pingpong(results: &Results) -> Vec<String> {
    let recorded = results.recorded("pingpong");
    let truth = json_lines(&recorded.ran.err);
    let truth = truth
        .iter()
        .find(|line| line["phase"] == "switches")
        .expect("its truth");
    let real = number(truth, "switches");
    let counted = recorded.list("threads").iter();
    let counted: i64 = counted
        .map(|t| number(t, "switches_voluntary") + number(t, "switches_involuntary"))
        .sum();
    let mut problems = Problems::default();
    // The program looks before it ends.
    problems.must((real..=real + real / 20 + 20).contains(&counted), || {
        format!("pingpong: {counted} switches, in truth {truth}")
    });
    problems.0
}
