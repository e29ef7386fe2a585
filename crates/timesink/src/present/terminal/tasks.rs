//! Tasks: whose work threads did, by where the tasks were started.

use timesink_analysis::stacks::FunctionIx;
use timesink_analysis::tasks::{BegunBy, CarriedTime, GroupKind, Parking, TaskGroup, Tasks};

use super::rows::{align, title, Row};
use super::style::{Ink, Style};
use super::{units, Report};
use crate::present::{names, words};

/// So many places are told.
const ROWS: usize = 12;
/// From this share of the time on, calls count as timed all the time.
const ALWAYS: f64 = 0.995;
/// So many kinds of waits of each.
const WAITS: usize = 2;
/// What takes less than this part of a place's time is left out of its line.
const SMALL: f64 = 0.01;
/// A place without a name whose tasks have less of the time of all is no line.
const TINY: f64 = 0.001;
/// What begins callbacks less often than this, by time, is not named.
const WORTH_NAMING: f64 = 0.1;
/// The first function of the goroutine that runs main().
const MAIN: &str = "runtime.main";

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let Some(tasks) = report.tasks else {
        return Vec::new();
    };
    let wall = report.outlook.map_or(1, |outlook| outlook.wall_ns.max(1));
    let worth = |group: &&TaskGroup| is_worth_a_line(report, tasks, group);
    let shown: Vec<&TaskGroup> = tasks.groups.iter().filter(worth).take(ROWS).collect();
    let more = tasks.groups.len() - shown.len();
    let shown = shown.into_iter();
    let mut rows: Vec<Row> = shown
        .map(|group| Row {
            label: label(report, group),
            ns: carried_ns(&group.carried),
            estimated: true,
            share: Some(group.on_path_ns as f64 / wall as f64),
            more: about(report, group),
            ink: Some(Ink::Wait),
            ..Row::default()
        })
        .collect();
    rows.extend(runtime(tasks));
    let most = rows.iter().map(|row| row.ns).max().unwrap_or(0);
    let about = match kinds(tasks) {
        kinds if kinds.is_empty() => "no work was seen for any of them".to_owned(),
        kinds => format!("{kinds}: time on threads, share of the critical path"),
    };
    let mut lines = vec![title("TASKS", &about, style)];
    lines.extend(align(&rows, most, style));
    if more > 0 {
        let more = units::plural(more as u64, "more place", "more places");
        lines.push(format!("  and {more}"));
    }
    let timed = report.about.call_timing_share;
    if timed < ALWAYS {
        lines.push(format!(
            "  system calls were timed for {} of the time: a task that only made calls in the rest, and was never sampled, is not counted",
            units::whole_percent(timed)
        ));
    }
    lines
}

/// Of places whose names are not known, those with next to no time say nothing to anybody.
fn is_worth_a_line(report: &Report, tasks: &Tasks, group: &TaskGroup) -> bool {
    let all: u64 = tasks.groups.iter().map(|of| carried_ns(&of.carried)).sum();
    let ns = carried_ns(&group.carried) + group.on_path_ns;
    ns as f64 >= all as f64 * TINY || first(report, group).is_some_and(|name| !name.is_empty())
}

/// The first function of the tasks, as it is named.
fn first<'r>(report: &Report<'r>, group: &TaskGroup) -> Option<&'r str> {
    let code = &report.stacks.code;
    let first = group.spots(code).first().map(|spot| spot.function);
    let first = group.entry.or(first)?;
    Some(code.function(first).name.as_str())
}

/// Whether there are tasks of a kind.
fn has(tasks: &Tasks, kind: GroupKind) -> bool {
    tasks.groups.iter().any(|group| group.kind == kind)
}

/// What the lines are of.
fn kinds(tasks: &Tasks) -> String {
    let kinds = [
        (
            GroupKind::Goroutine,
            "goroutines by where they were started",
        ),
        (GroupKind::Coroutine, "tasks of the event loop by coroutine"),
        (GroupKind::Future, "tasks of tokio by their first function"),
        (
            GroupKind::Callback,
            "callbacks of Node.js by their first function",
        ),
        (
            GroupKind::VirtualThread,
            "virtual threads of Java by their first function",
        ),
    ];
    let there = kinds.iter().filter(|(kind, _)| has(tasks, *kind));
    let words: Vec<&str> = there.map(|(_, words)| *words).collect();
    words.join(", ")
}

/// The runtime's own threads wait for something to do: that is no time of interest.
fn runtime(tasks: &Tasks) -> Option<Row> {
    let ns = tasks.runtime.cpu_ns + tasks.runtime.ready_ns;
    (ns > 0).then(|| Row {
        label: "the runtime itself".into(),
        ns,
        estimated: true,
        more: about_runtime(tasks).into(),
        ..Row::default()
    })
}

/// What the runtime itself does.
fn about_runtime(tasks: &Tasks) -> &'static str {
    let mut kinds = tasks.groups.iter().map(|group| group.kind);
    let first = kinds.next();
    match first.filter(|first| kinds.all(|kind| kind == *first)) {
        Some(GroupKind::Goroutine) => "scheduler and garbage collector, idle time left out",
        Some(GroupKind::Coroutine) => {
            "the event loop between tasks, and its other callbacks; idle time left out"
        }
        Some(GroupKind::Future) => {
            "tokio between tasks, and what its threads do for none, such as main; idle time left out"
        }
        Some(GroupKind::Callback) => {
            "Node.js: its start and what it does between callbacks; idle time left out"
        }
        Some(GroupKind::VirtualThread) => {
            "Java's scheduler between virtual threads; idle time left out"
        }
        None => "what runtimes do between tasks, idle time left out",
    }
}

fn carried_ns(time: &CarriedTime) -> u64 {
    time.cpu_ns
        .saturating_add(time.ready_ns)
        .saturating_add(time.wait_ns())
}

/// Whether it is the goroutine that runs the program's main function: nobody started that.
fn is_main(report: &Report, group: &TaskGroup) -> bool {
    let first = group.spots(&report.stacks.code).first().copied();
    first.is_some_and(|spot| report.stacks.code.function(spot.function).name == MAIN)
}

fn label(report: &Report, group: &TaskGroup) -> String {
    let first = group.spots(&report.stacks.code).first().copied();
    let first = group.entry.or(first.map(|spot| spot.function));
    let name = match first {
        _ if is_main(report, group) => "main goroutine".into(),
        Some(function) => named(report, function),
        None if group.kind == GroupKind::Future => "tasks never seen in a stack".into(),
        None => "started at an unknown place".into(),
    };
    match group.count {
        0 | 1 => name,
        count => format!("{} x {name}", units::count(count)),
    }
}

/// A function; one that has no name of its own, as `{closure#0}` or `(anonymous)`, with its file.
fn named(report: &Report, function: FunctionIx) -> String {
    let code = &report.stacks.code;
    match code.function(function).name.starts_with(['{', '(', '<']) {
        true => names::function_told(code, function),
        false => names::function(code, function),
    }
}

/// Whether tasks are of more than one process.
fn has_several_processes(report: &Report) -> bool {
    let groups = report.tasks.map_or(&[][..], |tasks| &tasks.groups);
    let first = groups.first().map(|group| group.process);
    groups.iter().any(|group| Some(group.process) != first)
}

/// What callbacks are begun by, most of them first.
fn begun(group: &TaskGroup) -> Option<String> {
    let all: u64 = group.begun.values().sum();
    let worth = |ns: u64| ns as f64 >= all as f64 * WORTH_NAMING;
    let mut begun: Vec<(BegunBy, u64)> = group.begun.iter().map(|(by, ns)| (*by, *ns)).collect();
    begun.retain(|(by, ns)| *by != BegunBy::Unknown && worth(*ns));
    begun.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let words: Vec<&str> = begun.iter().map(|(by, _)| by.word()).collect();
    (!words.is_empty()).then(|| format!("begun by {}", words.join(", ")))
}

/// What they did, and where they were started.
fn about(report: &Report, group: &TaskGroup) -> String {
    let time = &group.carried;
    let least = carried_ns(time) as f64 * SMALL;
    let mut parts = Vec::new();
    let mut add = |words: &str, ns: u64| {
        if ns > 0 && ns as f64 >= least {
            parts.push(format!("{words} {}", units::time(ns)));
        }
    };
    add("on CPU", time.cpu_ns);
    add("runnable", time.ready_ns);
    let mut waits: Vec<_> = time.waits.iter().collect();
    waits.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.ns));
    for (detail, waits) in waits.into_iter().take(WAITS) {
        add(words::wait(*detail), waits.ns);
    }
    add("runnable, waiting for a Go processor (P)", group.queued_ns);
    let mut parked: Vec<_> = group.parked.iter().collect();
    parked.sort_by_key(|(_, ns)| std::cmp::Reverse(**ns));
    let away = match group.kind {
        GroupKind::Goroutine => "parked",
        GroupKind::Coroutine
        | GroupKind::Future
        | GroupKind::Callback
        | GroupKind::VirtualThread => "awaiting",
    };
    for (parking, ns) in parked.into_iter().take(WAITS) {
        match parking {
            Parking::Runtime => add(away, *ns),
            parking => add(&format!("{away} ({})", parking.word(group.kind)), *ns),
        }
    }
    parts.extend(begun(group));
    if has_several_processes(report) {
        parts.push(format!(
            "in {}",
            names::process(report.facts, group.process)
        ));
    }
    let code = &report.stacks.code;
    if let ([_, started, ..], false) = (
        group.spots(&report.stacks.code).as_slice(),
        is_main(report, group),
    ) {
        parts.push(format!("started in {}", names::function_at(code, *started)));
    }
    parts.join(" · ")
}
