//! Stacks: names of functions, of Python and of scripts.

use timesink_live::{Chain, Recorded};
use timesink_recording::tables::{Sample, Wait};
use timesink_recording::words::Detail;

use super::Problems;
use crate::results::Results;

/// Whether the waits of this kind are in these functions, the innermost first; without kind, what ran on a processor.
fn is_in(recorded: &Recorded, detail: Option<Detail>, functions: &[&str]) -> bool {
    let chains = recorded.chains();
    let stacks: Vec<_> = match detail {
        Some(detail) => {
            let waits = recorded.rows::<Wait>().into_iter();
            waits
                .filter(|w| w.detail == detail)
                .filter_map(|w| w.stack)
                .collect()
        }
        None => recorded
            .rows::<Sample>()
            .into_iter()
            .filter_map(|s| s.stack)
            .collect(),
    };
    let has = |chain: &&Chain| in_order(&chain.functions(), functions);
    stacks
        .iter()
        .filter_map(|stack| chains.get(stack))
        .filter(has)
        .count()
        > 0
}

/// Whether these functions are there in this order, others between them or not.
fn in_order(all: &[&str], wanted: &[&str]) -> bool {
    let mut rest = all.iter();
    wanted
        .iter()
        .all(|name| rest.any(|function| function == name))
}

/// Known functions in waits and on a processor, with shared libraries, with an index of unwind tables and without one, and with
/// musl, which has no tables of its own, so that what waits in it has no callers. How many stacks are whole is counted over all
/// recordings; a busybox has few, because the distribution builds it without tables.
pub fn stacks(results: &Results) -> Vec<String> {
    let mut problems = Problems::default();
    for (name, waits) in [
        ("stacks", true),
        ("static-pie", true),
        ("static", true),
        ("musl", false),
    ] {
        let recorded = results.recorded(name);
        let places = [
            (Some(Detail::Sleep), "in_sleep"),
            (Some(Detail::PipeRead), "in_pipe"),
            (Some(Detail::Flush), "in_flush"),
            (None, "in_cpu"),
        ];
        for (detail, function) in places {
            let chain = [function, "middle", "outer", "main"];
            let expected = waits || detail.is_none();
            problems.must(!expected || is_in(&recorded, detail, &chain), || {
                format!("{name}: {detail:?} is never in {function}, called by main")
            });
        }
    }
    results.recorded("busybox");
    problems.0
}

pub fn python(results: &Results) -> Vec<String> {
    let recorded = results.recorded("python");
    let mut problems = Problems::default();
    for (detail, functions) in [
        (Some(Detail::Sleep), ["nap", "main"]),
        (Some(Detail::Flush), ["store", "main"]),
        (None, ["compute", "store"]),
    ] {
        problems.must(is_in(&recorded, detail, &functions), || {
            format!("python: {detail:?} is never in {functions:?}")
        });
    }
    problems.0
}

/// The lines of a script that wait for a child.
pub fn bash(results: &Results) -> Vec<String> {
    let recorded = results.recorded("bash");
    let script = include_str!("../../guest/naps.sh");
    let mut problems = Problems::default();
    let chains = recorded.chains();
    let waits = recorded.rows::<Wait>().into_iter();
    let waits: Vec<_> = waits.filter(|w| w.detail == Detail::Child).collect();
    for (function, text) in [("one", "waits in one"), ("two", "waits in two")] {
        let line = script
            .lines()
            .position(|line| line.contains(text))
            .map(|at| at as u32 + 1);
        let there = waits
            .iter()
            .filter_map(|w| chains.get(&w.stack?))
            .any(|chain| {
                let mut frames = chain.frames.iter();
                frames.any(|f| {
                    f.function == function && f.line == line && f.file.ends_with("naps.sh")
                })
            });
        problems.must(there, || {
            format!("bash: no child is waited for in {function}, line {line:?}")
        });
    }
    problems.0
}
