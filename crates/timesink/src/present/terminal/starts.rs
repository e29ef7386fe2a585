//! What starting processes cost, where there were many.

use timesink_analysis::facts::starts::{by_executable, Kinship};

use super::rows::title;
use super::style::{self, Style};
use super::{units, Report};
use crate::present::names;

/// So many processes are many.
const MANY: usize = 10;
const ROWS: usize = 5;
/// A parent this large makes fork slow enough to be told.
const LARGE: u64 = 64_000_000;

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let starts = &report.facts.starts;
    if starts.len() < MANY {
        return Vec::new();
    }
    let mut kin = by_executable(starts);
    if kin.iter().any(is_timed) {
        kin.retain(is_timed);
    }
    let count = units::count(starts.len() as u64);
    let about = format!("{count} processes; what starting and ending them cost");
    let mut lines = vec![title("STARTS", &about, style)];
    let labels: Vec<String> = kin.iter().take(ROWS).map(label).collect();
    let most = (style.width / 2).max(28);
    let widest = labels
        .iter()
        .map(|label| style::width(label))
        .max()
        .unwrap_or(0)
        .clamp(26, most);
    for (kin, label) in kin.iter().zip(&labels) {
        let label = if style.terminal {
            style::cut_front(label, widest)
        } else {
            label.clone()
        };
        lines.push(style::fit(
            format!("  {}  {}", style::pad(&label, widest), costs(kin)),
            style,
        ));
    }
    let more = kin.len().saturating_sub(ROWS);
    if more > 0 {
        lines.push(format!(
            "  and {}",
            units::plural(more as u64, "more program", "more programs")
        ));
    }
    lines
}

fn is_timed(kin: &Kinship) -> bool {
    kin.fork.0 > 0 || kin.exec.0 > 0 || kin.exit.0 > 0
}

fn label(kin: &Kinship) -> String {
    match kin.executable.as_str() {
        "" => format!("{} x (no exec)", units::count(kin.processes)),
        executable => format!(
            "{} x {}",
            units::count(kin.processes),
            names::harmless(executable)
        ),
    }
}

fn costs(kin: &Kinship) -> String {
    let steps = [
        ("fork", kin.fork),
        ("exec", kin.exec),
        ("tear-down", kin.exit),
    ];
    let timed: Vec<String> = steps
        .iter()
        .filter(|(_, (count, _))| *count > 0)
        .map(|(step, (count, ns))| format!("{step} {}", units::time(ns / count)))
        .collect();
    if timed.is_empty() {
        return "not timed".to_owned();
    }
    let all = steps
        .iter()
        .fold(0u64, |sum, (_, (_, ns))| sum.saturating_add(*ns));
    let each = if kin.processes > 1 { " each" } else { "" };
    let mut text = format!("{}{each} · {} in all", timed.join(", "), units::time(all));
    if kin.resident_at_fork >= LARGE {
        text += &format!(
            " · forked by a parent of {}",
            units::bytes(kin.resident_at_fork)
        );
    }
    text
}
