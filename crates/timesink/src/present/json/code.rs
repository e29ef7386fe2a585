//! The parts of the JSON report that are about code.

use serde::Serialize;
use timesink_analysis::stacks::{Coverage, Stacks, What};

use crate::present::Report;

#[derive(Serialize)]
pub(super) struct StacksPage {
    taken: u64,
    complete: u64,
    frames: u64,
    nameless_frames: u64,
    wakers: u64,
    causes: Vec<CodeCausePage>,
    dominant: Vec<DominantPage>,
}

/// How many of a kind have a stack.
#[derive(Serialize)]
struct CodeCausePage {
    state: &'static str,
    detail: &'static str,
    count: u64,
    with_stack: u64,
}

#[derive(Serialize)]
struct DominantPage {
    thread: u32,
    function: String,
    module: Option<String>,
    ns: u64,
    of_ns: u64,
}

#[derive(Serialize)]
pub(super) struct TopPage<'a> {
    rank: u64,
    function: Option<&'a str>,
    module: Option<&'a str>,
    language: Option<&'static str>,
    missing: Option<&'static str>,
    self_ns: u64,
    self_cpu_ns: u64,
    self_wait_ns: u64,
    accumulated_ns: u64,
    accumulated_cpu_ns: u64,
    accumulated_wait_ns: u64,
    count: u64,
    running_ns: u64,
}

/// How much of a thread's time must pass through a function for it to be told.
const DOMINANT: f64 = 0.8;

pub(super) fn stacks(report: &Report) -> StacksPage {
    let counts = &report.stacks.counts;
    let cause = |state, detail, coverage: &Coverage| CodeCausePage {
        state,
        detail,
        count: coverage.count,
        with_stack: coverage.with_stack,
    };
    let mut causes = vec![cause("cpu", "running", &counts.samples)];
    let waits = counts.waits.iter();
    causes.extend(waits.map(|(detail, coverage)| cause("wait", detail.as_str(), coverage)));
    StacksPage {
        taken: counts.taken,
        complete: counts.complete,
        frames: counts.frames,
        nameless_frames: counts.nameless_frames,
        wakers: counts.wakers,
        causes,
        dominant: dominant(report),
    }
}

fn dominant(report: &Report) -> Vec<DominantPage> {
    let mut pages = Vec::new();
    let code = &report.stacks.code;
    for thread in &report.facts.ledger.threads {
        let id = thread.row.thread;
        if report.stacks.events_of(id).is_empty() {
            continue;
        }
        if let Some(found) = report.stacks.view_of_thread(id).dominant(DOMINANT) {
            let module = code.module_of(found.function);
            pages.push(DominantPage {
                thread: id.0,
                function: code.function(found.function).name.clone(),
                module: module.map(|module| module.path.clone()),
                ns: found.amount.ns(),
                of_ns: found.whole_ns,
            });
        }
    }
    pages
}

pub(super) fn top(stacks: &Stacks) -> Vec<TopPage<'_>> {
    let code = &stacks.code;
    let rows = stacks.view().top();
    let pages = (1u64..).zip(rows).map(|(rank, row)| {
        let (function, missing) = match row.what {
            What::Function(function) => (Some(function), None),
            What::Missing(missing) => (None, Some(missing.word())),
        };
        let found = function.map(|function| code.function(function));
        let module = function.and_then(|function| code.module_of(function));
        TopPage {
            rank,
            function: found.map(|found| found.name.as_str()),
            module: module.map(|module| module.path.as_str()),
            language: found.map(|found| found.language.as_str()),
            missing,
            self_ns: row.own.ns(),
            self_cpu_ns: row.own.cpu_ns,
            self_wait_ns: row.own.wait_ns,
            accumulated_ns: row.accumulated.ns(),
            accumulated_cpu_ns: row.accumulated.cpu_ns,
            accumulated_wait_ns: row.accumulated.wait_ns,
            count: row.own.count,
            running_ns: row.running_ns,
        }
    });
    pages.collect()
}
