//! The part of the JSON report that is about tasks.

use serde::Serialize;
use timesink_analysis::stacks::{Code, Spot};
use timesink_analysis::tasks::{CarriedTime, GroupKind, Stuck, TaskGroup};

use crate::present::Report;

#[derive(Serialize)]
pub(super) struct TasksPage<'a> {
    groups: Vec<TaskGroupPage<'a>>,
    runtime: CarriedPage,
    unseen: CarriedPage,
    stuck: Vec<StuckPage<'a>>,
}

#[derive(Serialize)]
struct StuckPage<'a> {
    process: u32,
    waits_for: &'static str,
    count: u64,
    per_second: f64,
    functions: Vec<TaskPlacePage<'a>>,
}

#[derive(Serialize)]
struct TaskGroupPage<'a> {
    process: u32,
    kind: &'static str,
    count: u64,
    function: Option<&'a str>,
    first: Option<TaskPlacePage<'a>>,
    started: Option<TaskPlacePage<'a>>,
    #[serde(flatten)]
    carried: CarriedPage,
    parked_ns: u64,
    parked: Vec<ParkedPage>,
    queued_ns: u64,
    queued_after_calls_ns: u64,
    path_ns: u64,
    begun: Vec<BegunPage>,
}

#[derive(Serialize)]
struct BegunPage {
    by: &'static str,
    ns: u64,
}

#[derive(Serialize)]
struct ParkedPage {
    waits_for: &'static str,
    ns: u64,
}

#[derive(Serialize)]
struct TaskPlacePage<'a> {
    function: &'a str,
    file: &'a str,
    line: Option<u32>,
}

#[derive(Serialize)]
struct CarriedPage {
    cpu_ns: u64,
    samples: u64,
    ready_ns: u64,
    wait_ns: u64,
    waits: Vec<CarriedWaitsPage>,
}

#[derive(Serialize)]
struct CarriedWaitsPage {
    detail: &'static str,
    count: u64,
    ns: u64,
}

pub(super) fn tasks<'a>(report: &Report<'a>) -> Option<TasksPage<'a>> {
    let tasks = report.tasks?;
    Some(TasksPage {
        groups: tasks.groups.iter().map(|one| group(report, one)).collect(),
        runtime: carried(&tasks.runtime),
        unseen: carried(&tasks.unseen),
        stuck: stuck(report),
    })
}

fn stuck<'a>(report: &Report<'a>) -> Vec<StuckPage<'a>> {
    let code = &report.stacks.code;
    let all = Stuck::all(&report.loaded.timeline, report.stacks).into_iter();
    let pages = all.map(|one| {
        let spots = one.spots(code);
        StuckPage {
            process: one.process.0,
            waits_for: one.parking.word(GroupKind::Goroutine),
            count: one.count,
            per_second: one.per_second,
            functions: spots.iter().map(|spot| place(code, spot)).collect(),
        }
    });
    pages.collect()
}

fn place<'a>(code: &'a Code, spot: &Spot) -> TaskPlacePage<'a> {
    TaskPlacePage {
        function: &code.function(spot.function).name,
        file: code.frame(*spot).map_or("", |frame| &frame.file),
        line: code.frame(*spot).and_then(|frame| frame.line),
    }
}

fn group<'a>(report: &Report<'a>, group: &TaskGroup) -> TaskGroupPage<'a> {
    let code = &report.stacks.code;
    let spots = group.spots(code);
    let place = |spot: &Spot| place(code, spot);
    let parked = group.parked.iter().map(|(parking, &ns)| ParkedPage {
        waits_for: parking.word(group.kind),
        ns,
    });
    let begun = group.begun.iter();
    let begun = begun.map(|(by, &ns)| BegunPage { by: by.word(), ns });
    TaskGroupPage {
        process: group.process.0,
        kind: group.kind.word(),
        count: group.count,
        function: group
            .entry
            .map(|function| code.function(function).name.as_str()),
        first: spots.first().map(place),
        started: spots.get(1).map(place),
        carried: carried(&group.carried),
        parked_ns: group.parked_ns,
        parked: parked.collect(),
        queued_ns: group.queued_ns,
        queued_after_calls_ns: group.queued_after_calls_ns,
        path_ns: group.on_path_ns,
        begun: begun.collect(),
    }
}

fn carried(time: &CarriedTime) -> CarriedPage {
    let waits = time.waits.iter();
    CarriedPage {
        cpu_ns: time.cpu_ns,
        samples: time.samples,
        ready_ns: time.ready_ns,
        wait_ns: time.wait_ns(),
        waits: waits
            .map(|(&detail, waits)| CarriedWaitsPage {
                detail: detail.as_str(),
                count: waits.count,
                ns: waits.ns,
            })
            .collect(),
    }
}
