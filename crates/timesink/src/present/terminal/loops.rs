//! Loops: how many rounds, the time of one, and what is waited for in it.

use timesink_analysis::loops::Loop;
use timesink_recording::words::Detail;

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
    let shown = report.loops.iter();
    let shown = shown.filter(|one| share(one) >= SMALL && !only_asks(one));
    let rows: Vec<Row> = shown
        .take(ROWS)
        .map(|one| Row {
            label: whose(report, one),
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
    let about = "rounds with the same waits in the same order; median time of a round";
    let mut lines = vec![title("LOOPS", about, style)];
    lines.extend(align(
        &rows,
        report.loops.iter().map(|one| one.ns).max().unwrap_or(0),
        style,
    ));
    lines
}

/// Whether all it does is to wait for something to do.
fn only_asks(one: &Loop) -> bool {
    one.body.iter().all(|step| {
        matches!(
            step.detail,
            Detail::Poll
                | Detail::NetworkAccept
                | Detail::NetworkReceive
                | Detail::UnixReceive
                | Detail::Condition
                | Detail::Event
                | Detail::Signal
                | Detail::Terminal
        )
    })
}

/// The function, or the thread if no stack tells.
pub(in crate::present) fn whose(report: &Report, one: &Loop) -> String {
    let function = one.body.iter().find_map(|step| step.function);
    match function {
        Some(function) => format!("in {}", names::function(&report.stacks.code, function)),
        None => format!("of {}", names::thread(report.facts, one.thread)),
    }
}

/// What a round waits for, in order, and what for: `1.5 x the disk: flush (rows.db), asleep`.
pub(in crate::present) fn about(report: &Report, one: &Loop) -> String {
    let mut parts: Vec<String> = Vec::new();
    for of in one.body.iter().take(STEPS) {
        let words = wait(of.detail);
        let thing = of
            .object
            .map(|id| format!(" ({})", names::object_in(report, id)));
        let thing = thing.unwrap_or_default();
        parts.push(match of.waits >= 1.05 {
            true => format!("{:.1} x {words}{thing}", of.waits),
            false => format!("{words}{thing}"),
        });
    }
    if one.body.len() > STEPS {
        parts.push(format!("{} more", one.body.len() - STEPS));
    }
    let mut text = parts.join(", ");
    let has_function = one.body.iter().any(|step| step.function.is_some());
    if has_function && report.main().map(|main| main.row.thread) != Some(one.thread) {
        text += &format!(" · {}", names::thread(report.facts, one.thread));
    }
    text
}
