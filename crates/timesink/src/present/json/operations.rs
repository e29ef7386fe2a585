//! The parts of the JSON report that are about operations and loops.

use serde::Serialize;
use timesink_analysis::loops::{Loop, LoopStep};
use timesink_analysis::operations::{Detail, Differs, NoDifference, One, Told, Unlike};
use timesink_analysis::path::{Cause, Key};
use timesink_analysis::stacks::FunctionIx;
use timesink_recording::words::{Detail as Word, ObjectKind};

use super::path::{frames, key, KeyPage};
use crate::present::{names, Report};

#[derive(Serialize)]
pub(super) struct SetPage<'a> {
    kind: &'static str,
    process: u32,
    processes: usize,
    threads: usize,
    connections: usize,
    addresses: Vec<&'a str>,
    sends: Option<u64>,
    count: usize,
    from_ns: i64,
    until_ns: i64,
    per_s: Option<f64>,
    ns: u64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    max_ns: u64,
    median: Option<OnePage<'a>>,
    slowest: Option<OnePage<'a>>,
    unlike: Option<UnlikePage<'a>>,
    no_difference: Option<&'static str>,
}

#[derive(Serialize)]
struct OnePage<'a> {
    thread: u32,
    from_ns: i64,
    ns: u64,
    causes: Vec<OperationCausePage<'a>>,
}

#[derive(Serialize)]
struct OperationCausePage<'a> {
    #[serde(flatten)]
    key: KeyPage,
    frames: Vec<&'a str>,
    count: u64,
    ns: u64,
}

#[derive(Serialize)]
struct UnlikePage<'a> {
    slow: usize,
    others: usize,
    slow_walked: usize,
    others_walked: usize,
    slow_from_ns: u64,
    slow_mean_ns: u64,
    others_mean_ns: u64,
    causes: Vec<DifferingCause<'a>>,
    functions: Vec<DifferingFunction<'a>>,
}

#[derive(Serialize)]
struct DifferingCause<'a> {
    #[serde(flatten)]
    key: KeyPage,
    frames: Vec<&'a str>,
    #[serde(flatten)]
    figures: FiguresPage,
}

#[derive(Serialize)]
struct DifferingFunction<'a> {
    function: &'a str,
    module: Option<&'a str>,
    #[serde(flatten)]
    figures: FiguresPage,
}

#[derive(Serialize)]
struct FiguresPage {
    slow_ns: u64,
    others_ns: u64,
    slow_share: f64,
    others_share: f64,
}

#[derive(Serialize)]
pub(super) struct LoopPage<'a> {
    thread: u32,
    from_ns: i64,
    until_ns: i64,
    rounds: u64,
    unlike: u64,
    ns: u64,
    median_ns: u64,
    body: Vec<OperationStepPage<'a>>,
}

#[derive(Serialize)]
struct OperationStepPage<'a> {
    detail: &'static str,
    kind: Option<&'static str>,
    object: Option<String>,
    function: Option<&'a str>,
    waits: f64,
}

/// The operations of servers, or those that were asked for.
pub(super) fn operations<'a>(report: &Report<'a>) -> Vec<SetPage<'a>> {
    report
        .operations
        .iter()
        .map(|told| set(report, told))
        .collect()
}

fn set<'a>(report: &Report<'a>, told: &'a Told) -> SetPage<'a> {
    let Told { set, detail } = told;
    let address = |id| names::address(report.facts, set, id);
    let detail: Option<&Detail> = detail.as_ref();
    let unlike = detail.map(|detail| &detail.unlike);
    SetPage {
        kind: set.kind.word(),
        process: set.process.0,
        processes: set.processes,
        threads: set.threads,
        connections: set.connections,
        addresses: set.addresses.iter().filter_map(|&id| address(id)).collect(),
        sends: set.sends,
        count: set.operations.len(),
        from_ns: set.from.0,
        until_ns: set.until.0,
        per_s: set.rate(),
        ns: set.ns(),
        p50_ns: set.at(0.5).ns(),
        p90_ns: set.at(0.9).ns(),
        p99_ns: set.at(0.99).ns(),
        max_ns: set.at(1.0).ns(),
        median: detail.map(|detail| one(report, &detail.median)),
        slowest: detail.map(|detail| one(report, &detail.slowest)),
        unlike: unlike
            .and_then(|unlike| unlike.as_ref().ok())
            .map(|found| unlike_page(report, found)),
        no_difference: unlike.and_then(|unlike| match unlike {
            Ok(_) => None,
            Err(NoDifference::Few) => Some("few"),
            Err(NoDifference::Alike) => Some("alike"),
        }),
    }
}

fn one<'a>(report: &Report<'a>, one: &One) -> OnePage<'a> {
    let cause = |(cause, of): &(Cause, Vec<FunctionIx>)| OperationCausePage {
        key: key(report, &cause.key),
        frames: frames(report, of),
        count: cause.count,
        ns: cause.ns,
    };
    OnePage {
        thread: one.thread.0,
        from_ns: one.operation.from.0,
        ns: one.operation.ns(),
        causes: one.causes.iter().map(cause).collect(),
    }
}

fn figures<T>(differs: &Differs<T>) -> FiguresPage {
    FiguresPage {
        slow_ns: differs.slow_ns,
        others_ns: differs.others_ns,
        slow_share: differs.slow_share,
        others_share: differs.others_share,
    }
}

fn unlike_page<'a>(report: &Report<'a>, unlike: &Unlike) -> UnlikePage<'a> {
    let code = &report.stacks.code;
    let cause = |cause: &Differs<Key>| DifferingCause {
        key: key(report, &cause.what),
        frames: frames(report, &cause.frames),
        figures: figures(cause),
    };
    let function = |differs: &Differs<FunctionIx>| DifferingFunction {
        function: &code.function(differs.what).name,
        module: code
            .module_of(differs.what)
            .map(|module| module.path.as_str()),
        figures: figures(differs),
    };
    UnlikePage {
        slow: unlike.slow,
        others: unlike.others,
        slow_walked: unlike.walked.0,
        others_walked: unlike.walked.1,
        slow_from_ns: unlike.slow_from_ns,
        slow_mean_ns: unlike.slow_ns,
        others_mean_ns: unlike.others_ns,
        causes: unlike.causes.iter().map(cause).collect(),
        functions: unlike.functions.iter().map(function).collect(),
    }
}

/// Loops of threads that have no operations.
pub(super) fn loops<'a>(report: &Report<'a>) -> Vec<LoopPage<'a>> {
    let step = |step: &LoopStep| OperationStepPage {
        detail: Word::as_str(step.detail),
        kind: step.kind.map(ObjectKind::as_str),
        object: step.object.map(|id| names::object(report.facts, id)),
        function: step
            .function
            .map(|function| report.stacks.code.function(function).name.as_str()),
        waits: step.waits,
    };
    let page = |one: &Loop| LoopPage {
        thread: one.thread.0,
        from_ns: one.from.0,
        until_ns: one.until.0,
        rounds: one.rounds,
        unlike: one.unlike,
        ns: one.ns,
        median_ns: one.median_ns,
        body: one.body.iter().map(step).collect(),
    };
    report.loops.iter().map(page).collect()
}
