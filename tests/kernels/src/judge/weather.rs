//! Kernels that lack something: what must work all the same, and what must be refused in a sentence.

use serde_json::Value;

use super::verified::verified;
use super::Problems;
use crate::results::Results;

/// What doctor says: every probe works.
pub fn doctor(results: &Results) -> Vec<String> {
    let said = results.ran("doctor").exits(0).text();
    let mut problems = Problems::default();
    problems.must(said.contains("\nprobes\n"), || format!("doctor: {said}"));
    let refused = said.lines().filter(|line| line.starts_with("  no "));
    problems
        .0
        .extend(refused.map(|line| format!("doctor: {line}")));
    let verbose = results.ran("verbose").exits(0).text();
    let wrong = verbose
        .lines()
        .filter(|line| line.contains("please report this"));
    problems
        .0
        .extend(wrong.map(|line| format!("doctor --verbose: {line}")));
    problems.must(verbose.contains(" as expected\n"), || {
        format!("doctor --verbose: {verbose}")
    });
    let kernel = said.split_whitespace().nth(1).unwrap_or_default();
    let minor: Vec<&str> = kernel.split('.').take(2).collect();
    problems.0.extend(verified(&minor.join("."), &verbose));
    problems.0
}

/// It is refused in one sentence with these words, and nothing was started.
fn refused(results: &Results, name: &str, words: &[&str]) -> Vec<String> {
    let ran = results.ran(name);
    let mut problems = Problems::default();
    problems.must(ran.code() == 2, || {
        format!("{name}: exit code {}: {}", ran.code(), ran.err)
    });
    problems.must(ran.err.trim_end().lines().count() == 1, || {
        format!("{name}: not one sentence: {}", ran.err)
    });
    for word in words {
        problems.must(ran.err.contains(word), || {
            format!("{name}: nothing of '{word}': {}", ran.err)
        });
    }
    problems.must(!results.recording(name).exists(), || {
        format!("{name}: there is a recording")
    });
    problems.0
}

pub fn refusal(results: &Results) -> Vec<String> {
    let mut problems = refused(
        results,
        "refusal",
        &["5.10", "5.15 or newer", "nothing was started"],
    );
    let left = results.text("refusal.ls");
    if left.contains("started") || left.contains("refusal.timesink") {
        problems.push(format!("refusal: it left {left}"));
    }
    problems
}

/// All is recorded without it; the books of each recording are judged elsewhere.
fn works(results: &Results, name: &str) -> Vec<String> {
    results.recorded(name);
    results.ran(&format!("{name}.doctor")).exits(0);
    Vec::new()
}

pub fn untraced(results: &Results) -> Vec<String> {
    works(results, "untraced")
}

pub fn cgroup1(results: &Results) -> Vec<String> {
    works(results, "cgroup1")
}

/// A run's group tells the peak of all its processes, and none is left: a killed timesink's goes with the next. Where leaving timesink's own
/// would be leaving a limit, there is none.
pub fn groups(results: &Results) -> Vec<String> {
    let mut problems = Problems::default();
    let runs = |name: &str| {
        let told = results.ran(name).exits(0).text();
        let json: Value = serde_json::from_str(&told).expect("JSON");
        json["commands"][0]["runs"]
            .as_array()
            .expect("runs")
            .clone()
    };
    for run in runs("memory") {
        let bytes = run["memory_bytes"].as_u64().unwrap_or(0);
        let is_so = run["memory_of"] == "group" && (19_000_000..90_000_000).contains(&bytes);
        problems.must(is_so, || format!("memory: {run}"));
    }
    for run in runs("limited") {
        problems.must(run["memory_of"] == "process", || format!("limited: {run}"));
    }
    results.ran("late").exits(2);
    results.ran("behind").exits(0);
    for name in ["groups.ls", "after.ls"] {
        let left = results.text(name);
        problems.must(left.is_empty(), || format!("{name}: {left}"));
    }
    let killed = results.text("killed.ls");
    problems.must(killed.lines().count() == 1, || format!("killed: {killed}"));
    problems.0
}

pub fn guarded(results: &Results) -> Vec<String> {
    works(results, "guarded")
}

pub fn untyped(results: &Results) -> Vec<String> {
    let mut problems = refused(results, "untyped", &["BTF", "nothing was started"]);
    problems.extend(refused(
        results,
        "typeless",
        &["BTF", "nothing was started"],
    ));
    problems
}

pub fn integrity(results: &Results) -> Vec<String> {
    let mode = results.text("lockdown.mode");
    let mut problems = works(results, "lockdown");
    if !mode.contains("[integrity]") {
        problems.push(format!("lockdown: the kernel is not in it: {mode}"));
    }
    problems
}

pub fn confidentiality(results: &Results) -> Vec<String> {
    let mode = results.text("lockdown.mode");
    let mut problems = refused(
        results,
        "lockdown",
        &["lockdown", "confidentiality", "nothing was started"],
    );
    if !mode.contains("[confidentiality]") {
        problems.push(format!("lockdown: the kernel is not in it: {mode}"));
    }
    problems
}
