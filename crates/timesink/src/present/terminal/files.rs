//! Files that were opened or read over and over, and paths that were looked for in vain.

use timesink_analysis::facts::files::FileUse;

use super::rows::title;
use super::style::{self, Style};
use super::{units, Report};
use crate::present::names;

const ROWS: usize = 5;
/// Opened at least this often is worth a line.
const OFTEN: u64 = 20;
/// Read this many times over is worth a line, if it was opened at least twice.
const OVER: f64 = 3.0;
/// So many vain look-ups are worth a line.
const VAIN: u64 = 100;

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let facts = report.facts;
    let mut notable: Vec<&FileUse> = facts.files.iter().filter(|file| is_notable(file)).collect();
    let more = notable.len().saturating_sub(ROWS);
    notable.truncate(ROWS);
    let vain = facts
        .missing
        .iter()
        .fold(0u64, |sum, path| sum.saturating_add(path.count));
    if notable.is_empty() && vain < VAIN {
        return Vec::new();
    }
    let mut lines = vec![title(
        "FILES",
        "opened, read or looked up repeatedly",
        style,
    )];
    let labels: Vec<String> = notable
        .iter()
        .map(|file| names::object_in(report, file.object))
        .collect();
    let most = (style.width / 2).max(28);
    let widest = labels
        .iter()
        .map(|label| style::width(label))
        .max()
        .unwrap_or(0)
        .clamp(26, most);
    for (file, label) in notable.iter().zip(&labels) {
        let label = if style.terminal {
            style::cut_front(label, widest)
        } else {
            label.clone()
        };
        lines.push(style::fit(
            format!("  {}  {}", style::pad(&label, widest), usage(file)),
            style,
        ));
    }
    if more > 0 {
        lines.push(format!(
            "  and {}",
            units::plural(more as u64, "more file", "more files")
        ));
    }
    if vain >= VAIN {
        let paths = units::plural(facts.missing.len() as u64, "path", "paths");
        let mut line = format!(
            "  {} lookups of {paths} that do not exist",
            units::count(vain)
        );
        if let Some(first) = facts.missing.first() {
            let path = names::harmless(&first.path);
            line += &format!(", most often {path} ({} x)", units::count(first.count));
        }
        lines.push(style::fit(line, style));
    }
    lines
}

/// How many times over a file was read, where that can be told.
fn over(file: &FileUse) -> Option<f64> {
    let size = file.size.filter(|&size| size > 0)?;
    Some(file.bytes_read as f64 / size as f64)
}

fn is_notable(file: &FileUse) -> bool {
    file.opened >= OFTEN || (file.opened >= 2 && over(file).is_some_and(|over| over >= OVER))
}

fn usage(file: &FileUse) -> String {
    let mark = if file.estimated { "~" } else { "" };
    let mut parts = Vec::new();
    if file.opened > 0 {
        parts.push(format!("opened {mark}{} times", units::count(file.opened)));
    }
    if file.bytes_read > 0 {
        let mut read = format!("read {mark}{}", units::bytes(file.bytes_read));
        if let (Some(size), Some(over)) = (file.size, over(file).filter(|&over| over >= 1.5)) {
            let over = units::count(over.round() as u64);
            read += &format!(" of {} ({over} times over)", units::bytes(size));
        }
        parts.push(read);
    }
    if file.bytes_written > 0 {
        parts.push(format!("wrote {mark}{}", units::bytes(file.bytes_written)));
    }
    parts.join(" · ")
}
