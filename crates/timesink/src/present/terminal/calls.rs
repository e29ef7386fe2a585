//! The system calls that took longest.

use timesink_analysis::facts::calls::CallSum;
use timesink_analysis::ledger::measure::percent;

use super::rows::{align, times, title, Row};
use super::style::Style;
use super::{units, Report};
use crate::present::names;

const ROWS: usize = 6;
/// Calls that took less than this share of wall time are left out.
const SMALL_PCT: f64 = 0.1;

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let facts = report.facts;
    let notable =
        |call: &&CallSum| call.count > 0 && percent(call.ns, report.about.wall_ns) >= SMALL_PCT;
    let top: Vec<&CallSum> = facts.calls.iter().filter(notable).take(ROWS).collect();
    let Some(longest) = top.first() else {
        return Vec::new();
    };
    let several = facts.ledger.processes.len() > 1;
    let rows: Vec<Row> = top
        .iter()
        .map(|call| Row {
            label: label(report, call, several),
            ns: call.ns,
            estimated: call.estimated,
            times: times(call.count, call.ns),
            about: call
                .object
                .map_or(String::new(), |id| names::object_in(report, id)),
            more: more(call),
            ..Row::default()
        })
        .collect();
    let mut lines = vec![title(
        "SYSTEM CALLS",
        "by total time, waits included",
        style,
    )];
    lines.extend(align(&rows, longest.ns, style));
    lines
}

fn label(report: &Report, call: &CallSum, several: bool) -> String {
    let name = names::harmless(&call.call);
    match call.process {
        Some(process) if several => {
            format!("{name} in {}", names::process(report.facts, process))
        }
        _ => name.into_owned(),
    }
}

/// Bytes and failures.
fn more(call: &CallSum) -> String {
    let mut parts = Vec::new();
    if call.bytes > 0 {
        parts.push(units::bytes(call.bytes));
    }
    if call.errors > 0 {
        let kind = call.errnos.first().map_or(String::new(), |(error, _)| {
            let more = if call.errnos.len() > 1 { ", ..." } else { "" };
            format!(" ({}{more})", names::harmless(error))
        });
        parts.push(format!("{} failed{kind}", units::count(call.errors)));
    }
    parts.join(" · ")
}
