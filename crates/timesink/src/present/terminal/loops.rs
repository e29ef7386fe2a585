//! Loops: how many rounds, the time of one, and what is waited for in it.

use timesink_analysis::loops::{Loop, Step};

use super::operations::wait;
use super::rows::{align, title, Row};
use super::style::{Ink, Style};
use super::{units, Report};
use crate::present::names;

/// So many are told.
const ROWS: usize = 4;
/// So many steps of a round.
const STEPS: usize = 5;
/// Loops with less of the recording's time are left out.
const SMALL: f64 = 0.05;

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let wall = report.about.wall_ns.max(1);
    let share = |one: &Loop| one.ns as f64 / wall as f64;
    let shown = report.loops.iter().filter(|one| share(one) >= SMALL);
    let rows: Vec<Row> = shown
        .take(ROWS)
        .map(|one| Row {
            label: body(one),
            ns: one.ns,
            share: Some(share(one)),
            times: format!(
                "{} x {}",
                units::count(one.rounds),
                units::time(one.median_ns)
            ),
            more: about(report, one),
            ink: Some(Ink::Wait),
            ..Row::default()
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let about = "rounds with the same waits in the same order; the time of one is the median";
    let mut lines = vec![title("LOOPS", about, style)];
    lines.extend(align(
        &rows,
        report.loops.iter().map(|one| one.ns).max().unwrap_or(0),
        style,
    ));
    lines
}

/// What a round waits for: `disk: flush, then asleep`.
fn body(one: &Loop) -> String {
    let steps: Vec<String> = one.body.iter().take(STEPS).map(step).collect();
    let more = match one.body.len() {
        0..=STEPS => String::new(),
        all => format!(", {} more", all - STEPS),
    };
    format!("{}{more}", steps.join(", "))
}

fn step(step: &Step) -> String {
    let words = wait(step.detail);
    let words = words.strip_prefix("waiting for ").unwrap_or(&words);
    match step.waits >= 1.05 {
        true => format!("{:.1} x {words}", step.waits),
        false => words.to_owned(),
    }
}

/// Whose it is, where in the code, and what is waited for.
fn about(report: &Report, one: &Loop) -> String {
    let mut parts = Vec::new();
    let code = &report.stacks.code;
    let mut functions: Vec<String> = Vec::new();
    let mut objects: Vec<String> = Vec::new();
    for step in one.body.iter().take(STEPS) {
        let function = step
            .function
            .map(|function| names::function(code, function));
        let object = step.object.map(|id| names::object_in(report, id));
        functions.extend(function.filter(|name| !functions.contains(name)));
        objects.extend(object.filter(|name| !objects.contains(name)));
    }
    if !functions.is_empty() {
        parts.push(format!("in {}", functions.join(", ")));
    }
    if !objects.is_empty() {
        parts.push(objects.join(", "));
    }
    if report.main().map(|main| main.row.thread) != Some(one.thread) {
        parts.push(format!("of {}", names::thread(report.facts, one.thread)));
    }
    if one.unlike > 0 {
        let unlike = units::plural(
            one.unlike,
            "stretch between them is",
            "stretches between them are",
        );
        parts.push(format!("{unlike} unlike"));
    }
    parts.join(" · ")
}
