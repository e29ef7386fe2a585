//! The answer on one screen: why it took so long, where the time went, whether the figures hold, and what to ask next.
//!
//! It fits 40 lines where a terminal has 100 columns, whatever was recorded. All else is in the sections of the full report.

mod bounds;
mod checks;
mod path;
mod repeated;
mod served;
mod stuck;
mod unexplained;
mod unrecorded;
mod why;

pub(in crate::present) use checks::lines as checks;
pub(in crate::present) use path::{about_row, rows as path_rows};
pub(in crate::present) use why::{notes, place, title};

use super::style::{wrap, Ink};
use super::{head, Report, Style};

/// Lines of a screen.
const LINES: usize = 40;
/// So many findings are shown, if there is room.
const FINDINGS: usize = 5;

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let head = head::lines(report, style);
    let path = path::lines(report, style);
    let mut foot = checks::lines(report, style);
    foot.extend(next(report, style));
    let room = LINES.saturating_sub(head.len() + path.len() + foot.len() + BETWEEN);
    let why = (0..=FINDINGS)
        .rev()
        .map(|findings| why::lines(report, findings, style))
        .find(|lines| lines.len() <= room)
        .unwrap_or_else(|| why::lines(report, 1, style));
    let parts = [head, why, path, foot];
    let parts: Vec<Vec<String>> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(&String::new())
}

/// Empty lines between the parts.
const BETWEEN: usize = 3;

/// What to ask next.
fn next(report: &Report, style: &Style) -> Vec<String> {
    let told = report.findings.map_or(0, |findings| findings.told.len());
    let first = match told {
        0 => report.recording.command("report", "--tree"),
        _ => report.recording.command("why", "1"),
    };
    let full = report.recording.command("report", "--full");
    wrap(&format!("More: {first} · {full}"), "", Ink::Plain, style)
}
