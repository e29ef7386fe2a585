//! What both sides do again and again: operations of servers and their clients, and loops.

use timesink_analysis::operations::Kind;
use timesink_comparison::{
    Comparison, Recurrence, RecurrenceDifference, RecurrenceKind, RecurrenceTimes,
};

use super::super::operations::{wait, what};
use super::super::style::{Ink, Style};
use super::super::table::{self, Column};
use super::super::{text, units};
use crate::present::compared::Compared;
use crate::present::names::{called, harmless};

/// So many are told.
const ROWS: usize = 40;
/// Of a loop that is in no function that is known, so many waits of a round.
const STEPS: usize = 3;

/// All operations and loops of both sides, ending in a line feed.
pub fn operations(compared: &Compared<'_>, style: &Style) -> String {
    let lines = lines(compared.comparison, style);
    match lines.is_empty() {
        true => "No operations of servers or clients and no loops in either recording\n".to_owned(),
        false => text(&lines),
    }
}

pub(super) fn lines(comparison: &Comparison, style: &Style) -> Vec<String> {
    let shown = comparison.recurrences.iter();
    let shown: Vec<&RecurrenceDifference> = shown.take(ROWS).collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let column = |head, spare, cell: &dyn Fn(&RecurrenceTimes) -> String| Column {
        head,
        cells: shown
            .iter()
            .map(|one| beside(one.a.as_ref(), one.b.as_ref(), cell))
            .collect(),
        spare,
    };
    let mut columns = vec![
        column("count", 0, &|times| units::count(times.count)),
        column("rate", 2, &rate),
        column("p50", 0, &|times| units::time(times.p50_ns)),
        column("p99", 1, &|times| {
            times.p99_ns.map_or(String::new(), units::time)
        }),
    ];
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    let names: Vec<String> = shown.iter().map(|one| name(&one.recurrence)).collect();
    let head = "OPERATIONS AND LOOPS  number waited for and time of each, A → B";
    let mut lines = vec![style.paint(Ink::Title, head)];
    lines.extend(table::lines(columns, "", &names, style));
    let more = comparison.recurrences.len().saturating_sub(ROWS);
    if more > 0 {
        lines.push(format!("  and {} more", units::count(more as u64)));
    }
    lines
}

fn rate(times: &RecurrenceTimes) -> String {
    times.rate.map_or(String::new(), units::rate)
}

/// `1.02 ms → 3.10 ms`; a dash where a side has none.
fn beside(
    a: Option<&RecurrenceTimes>,
    b: Option<&RecurrenceTimes>,
    cell: &dyn Fn(&RecurrenceTimes) -> String,
) -> String {
    let (a, b) = (a.map(cell), b.map(cell));
    let is_known = a.iter().chain(&b).any(|cell| !cell.is_empty());
    let told = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
    match is_known {
        true => format!("{} → {}", told(a), told(b)),
        false => String::new(),
    }
}

pub(in crate::present) fn name(recurrence: &Recurrence) -> String {
    let program = harmless(&recurrence.program);
    match &recurrence.what {
        RecurrenceKind::Operations { kind, thing } => {
            let to = match kind {
                Kind::Asked => "to",
                _ => "on",
            };
            let place = match thing.name() {
                "" => String::new(),
                address => format!(" {to} {}", harmless(address)),
            };
            format!("{} {program}{place}", what(*kind))
        }
        RecurrenceKind::LoopIn(function) => format!(
            "rounds of a loop in {} of {program}",
            called(&harmless(function))
        ),
        RecurrenceKind::Loop(steps) => {
            let steps = steps.iter().take(STEPS);
            let steps = steps.map(|(detail, thing)| match thing.name() {
                "" => wait(*detail),
                name => format!("{} ({})", wait(*detail), harmless(name)),
            });
            let steps = steps.collect::<Vec<_>>().join(", ");
            format!("rounds of a loop of {program}: {steps}")
        }
    }
}
