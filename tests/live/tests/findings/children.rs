//! Who waits for a child is never the cause, in whichever way it waits: what the child does is, or its child in turn. Here
//! the slow part is always two levels down.

use timesink_live::{attempts, none_of, program, text, Told};

/// What flushes each of its rows; the kernel keeps fifteen letters of its name, a report has all.
const SLOW: &str = "rules/flush-per-record";
const NAME: &str = "flush-per-record";

fn path_of(name: &str) -> String {
    program(name).to_str().expect("its path").to_owned()
}

/// The slow program is told first, with its file, and of the processes above it nothing is said.
#[track_caller]
fn descends(command: &[&str]) {
    descends_but(command, "");
}

/// The same, but for what one rule rightly says of a process above.
#[track_caller]
fn descends_but(command: &[&str], own: &str) {
    attempts(|| {
        let told = Told::of(&[], command);
        let mut problems = told.first("flush-per-record");
        let processes = told.recorded.list("processes");
        let is_slow = |of: &serde_json::Value| {
            let number = of["process"].as_i64();
            let known = processes.iter().find(|p| p["process"].as_i64() == number);
            known.is_some_and(|process| text(process, "name") == NAME)
        };
        for finding in &told.findings {
            if !finding["process"].is_null() && !is_slow(finding) && finding["rule"] != own {
                problems.push(format!("of another: {finding}"));
            }
        }
        if let Some(first) = told.findings.first() {
            let object = first["object"].as_str().unwrap_or_default();
            if !object.ends_with("rows.db") || first["process"].is_null() {
                problems.push(format!("not of its file: {first}"));
            }
        }
        let cleared = told.recorded.list("cleared").iter();
        let waits = cleared.filter(|cause| cause["state"] == "wait" && !is_slow(cause));
        problems.extend(waits.map(|cause| format!("the path stays above: {cause}")));
        none_of(&problems)
    });
}

/// Two parents that wait in the same way.
#[track_caller]
fn parents(form: &str) {
    let (parents, slow) = (path_of("parents"), path_of(SLOW));
    descends(&[&parents, form, &parents, form, &slow, "fires"]);
}

/// Parents that reap: any child, one by its number, or once a signal has come.
#[test]
fn parents_that_wait() {
    for form in ["wait4", "waitid", "signal"] {
        parents(form);
    }
}

/// Parents that stand still until the child executes, and wait then.
#[test]
fn parents_that_lend_their_memory() {
    for form in ["vfork", "spawn"] {
        parents(form);
    }
}

/// Parents that start a shell, and read what comes out of it or not.
#[test]
fn parents_that_start_a_shell() {
    for form in ["system", "popen"] {
        parents(form);
    }
}

/// Scripts that start scripts, and make and xargs with two at a time.
#[test]
fn scripts() {
    let slow = path_of(SLOW);
    let script = format!("sh -c 'sh -c \"{slow} fires; true\"; true'; true");
    descends(&["sh", "-c", &script]);
    let rules = format!("all: a b\\na:\\n\\t{slow} fires; true\\nb:\\n\\tsleep 0.1\\n");
    let script = format!("printf '{rules}' | make -s -j2 -f -; true");
    descends(&["sh", "-c", &script]);
    let lines = format!("{slow} fires\\nsleep 0.1\\n");
    let script = format!("printf '{lines}' | xargs -P2 -I@ sh -c '@; true'; true");
    descends(&["sh", "-c", &script]);
}

/// Python, which reads what a child prints, or, with a time-out, looks again and again whether it is gone.
#[test]
fn python() {
    let slow = path_of(SLOW);
    let command = format!("['sh', '-c', '{slow} fires; true']");
    // Who looks now and then sleeps on for a while after the child is gone: that is its own doing.
    for (options, own) in [("capture_output=True", ""), ("timeout=60", "sleep-polling")] {
        let script = format!("import subprocess; subprocess.run({command}, {options})");
        descends_but(&["/usr/bin/python3", "-c", &script], own);
    }
}
