//! WHERE THE TIME WENT: the critical path by state, with bars.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use timesink_analysis::outlook::{OnPath, Outlook};
use timesink_recording::words::State;

use super::served::Served;
use crate::present::names;
use crate::present::terminal::path::{account, label_of, object_of};
use crate::present::terminal::style::{self, Ink, Style};
use crate::present::terminal::{units, Report};
use crate::present::words;

/// Rows, and the least share of a row; what is smaller is added up.
const ROWS: usize = 6;
const LEAST: f64 = 0.01;
/// Something that most of a row is about is named.
const MOSTLY: f64 = 0.6;
/// With fewer columns, what a row is about is left out.
const ROOM: usize = 8;
/// Between the parts of what a row is about.
const BETWEEN: &str = " · ";
/// The widest name of a state.
const LABEL: usize = 28;

/// Causes that go by the same words.
pub(in crate::present) struct PathRow<'a> {
    pub label: String,
    pub ns: u64,
    state: State,
    pub causes: Vec<&'a OnPath>,
}

impl PathRow<'_> {
    /// Its time by something of its causes, the most last.
    fn divided<T: Ord>(&self, part: impl Fn(&OnPath) -> Option<T>) -> Vec<(u64, T)> {
        let mut sums: BTreeMap<T, u64> = BTreeMap::new();
        for on_path in &self.causes {
            if let Some(part) = part(on_path) {
                *sums.entry(part).or_default() += on_path.cause.ns;
            }
        }
        let mut sums: Vec<(u64, T)> = sums.into_iter().map(|(part, ns)| (ns, part)).collect();
        sums.sort();
        sums
    }
}

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let heading = style.paint(Ink::Title, "WHERE THE TIME WENT");
    let under = |about: &str| format!("{heading}  {}", style.paint(Ink::Faint, about));
    if let Some(served) = Served::of(report) {
        let mut lines = vec![under("an average request")];
        let about = style::fit(format!("  {}", served.told(report)), style);
        lines.push(style.paint(Ink::Faint, &about));
        let one = Whole {
            ns: served.ns,
            times: served.requests,
        };
        lines.extend(bars(report, &served.causes, one, style));
        return lines;
    }
    let Some(outlook) = report.outlook.filter(|outlook| outlook.wall_ns > 0) else {
        return Vec::new();
    };
    let mut lines = vec![under("critical path")];
    let whole = Whole {
        ns: outlook.wall_ns,
        times: 1,
    };
    lines.extend(bars(report, &outlook.causes, whole, style));
    lines.extend(by_tag(outlook).map(|text| style.paint(Ink::Faint, &text)));
    lines
}

/// What the causes shown add up to. Of something that took place several times the average of one is shown.
#[derive(Clone, Copy)]
struct Whole {
    ns: u64,
    times: u64,
}

/// A line for each state, with bars.
fn bars(report: &Report, causes: &[OnPath], whole: Whole, style: &Style) -> Vec<String> {
    let share = |ns: u64| ns as f64 / whole.ns.max(1) as f64;
    let of_one = |ns: u64| ns / whole.times.max(1);
    let rows = rows(causes);
    let is_shown = |at: usize, row: &PathRow| at < ROWS && share(row.ns) >= LEAST;
    let shown: Vec<&PathRow> = rows
        .iter()
        .enumerate()
        .filter(|(at, row)| is_shown(*at, row))
        .map(|(_, row)| row)
        .collect();
    let rest = rows.iter().skip(shown.len());
    let rest = rest.fold(0u64, |sum, row| sum.saturating_add(row.ns));
    let mut lines = Vec::new();
    let bar = Bar::of(style);
    let label_width = label_width(shown.iter().map(|row| row.label.as_str()), style);
    for row in &shown {
        let parts = about_row(report, row);
        let ink = words::ink(account(row.state));
        let (ns, all_ns) = (of_one(row.ns), of_one(whole.ns));
        let figures = bar.figures(&row.label, label_width, ns, share(row.ns), all_ns);
        let drawn = bar.drawn(share(row.ns), ink, style, parts.is_empty());
        let room = style
            .width
            .saturating_sub(style::width(&figures) + bar.columns());
        let about = match style.terminal {
            true if room < ROOM => String::new(),
            true => fitted(&parts, room),
            false => parts.join(BETWEEN),
        };
        lines.push(format!(
            "{figures}{drawn}{}",
            style.paint(Ink::Faint, &about)
        ));
    }
    if share(rest) >= LEAST / 2.0 {
        let (ns, all_ns) = (of_one(rest), of_one(whole.ns));
        lines.push(bar.figures("other", label_width, ns, share(rest), all_ns));
    }
    lines
}

/// What all of it was at work for, where programs say so: `by tag: storage/scrub/crc 63 %, storage/log 20 %`.
fn by_tag(outlook: &Outlook) -> Option<String> {
    /// So many are named.
    const TAGS: usize = 3;
    let all = outlook.tags.as_ref()?.all().into_iter();
    let share = |ns: u64| ns as f64 / outlook.wall_ns as f64;
    let large = all.filter(|(_, ns)| share(*ns) >= LEAST).take(TAGS);
    let parts = large.map(|(tag, ns)| {
        let tag = names::harmless(tag);
        format!("{tag} {}", units::percent(share(ns) * 100.0))
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("  by tag: {}", parts.join(", ")))
}

fn label_width<'a>(labels: impl Iterator<Item = &'a str>, style: &Style) -> usize {
    let widest = labels.map(style::width).max().unwrap_or(0);
    match style.terminal {
        true => widest.clamp(8, LABEL.min(style.width / 2)),
        false => widest,
    }
}

/// The columns right of a name.
struct Bar {
    /// Cells of a whole bar; none in a pipe and on a narrow terminal.
    cells: usize,
}

impl Bar {
    fn of(style: &Style) -> Bar {
        let cells = match (style.terminal, style.width) {
            (false, _) | (_, ..=59) => 0,
            (_, ..=119) => 16,
            _ => 24,
        };
        Bar { cells }
    }

    fn columns(&self) -> usize {
        match self.cells {
            0 => 2,
            cells => cells + 4,
        }
    }

    /// `  sleeping (requested)   1.27 s   49 %`.
    fn figures(&self, label: &str, width: usize, ns: u64, share: f64, wall_ns: u64) -> String {
        let time = units::Span::within(wall_ns).one(i64::try_from(ns).unwrap_or(i64::MAX));
        format!(
            "  {}  {:>9}  {:>5}",
            style::pad(&style::cut(label, width), width),
            time,
            units::whole_percent(share)
        )
    }

    fn drawn(&self, share: f64, ink: Ink, style: &Style, alone: bool) -> String {
        match (self.cells, alone) {
            (0, true) => String::new(),
            (0, false) => "  ".to_owned(),
            (cells, _) => {
                let bar = style::bar(share, cells);
                let blank = match alone {
                    true => 0,
                    false => cells + 2 - style::width(&bar),
                };
                format!("  {}{}", style.paint(ink, &bar), " ".repeat(blank))
            }
        }
    }
}

/// The causes by what they are called, longest first.
pub(in crate::present) fn rows(causes: &[OnPath]) -> Vec<PathRow<'_>> {
    let mut rows: BTreeMap<String, PathRow> = BTreeMap::new();
    for on_path in causes {
        let label = label_of(on_path);
        let row = rows.entry(label.clone()).or_insert_with(|| PathRow {
            label,
            ns: 0,
            state: on_path.cause.key.state,
            causes: Vec::new(),
        });
        row.ns = row.ns.saturating_add(on_path.cause.ns);
        row.causes.push(on_path);
    }
    let mut rows: Vec<PathRow> = rows.into_values().collect();
    rows.sort_by_key(|row| Reverse(row.ns));
    rows
}

/// Where most of the time on CPU is, in the program's own functions.
fn functions(report: &Report, of_ns: u64) -> Option<String> {
    const MOST: usize = 2;
    const MUCH: f64 = 0.2;
    let functions = report.outlook.iter().flat_map(|outlook| &outlook.functions);
    let much = functions.filter(|function| function.cpu_ns as f64 >= of_ns as f64 * MUCH);
    let code = &report.stacks.code;
    let names = much.take(MOST).map(|much| names::call(code, much.function));
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// What most of a row is about: a thing and how often, functions, or other processes.
pub(in crate::present) fn about_row(report: &Report, row: &PathRow) -> Vec<String> {
    let mut parts = Vec::new();
    if row.state == State::Cpu {
        parts.extend(functions(report, row.ns));
    }
    let mostly = |ns: u64| ns as f64 >= row.ns as f64 * MOSTLY;
    if row.state == State::Wait {
        let count: u64 = row.causes.iter().map(|on_path| on_path.cause.count).sum();
        if let Some(each) = row.ns.checked_div(count) {
            let each = units::time(each);
            parts.push(format!("{} x {each}", units::count(count)));
        }
        let things = row.divided(object_of);
        match things.last() {
            Some((ns, thing)) if mostly(*ns) => parts.push(names::object_in(report, *thing)),
            Some(_) => parts.push(units::plural(things.len() as u64, "object", "objects")),
            None => {}
        }
    }
    let main = report.main().map(|main| main.row.process);
    let first = row.divided(|on_path| Some(on_path.cause.key.process)).pop();
    let elsewhere = first.filter(|(ns, process)| Some(*process) != main && mostly(*ns));
    if let Some((_, process)) = elsewhere {
        parts.push(format!("in {}", names::process_name(report.facts, process)));
    }
    parts
}

/// As many of these parts as fit, whole; of a path its end, which tells most.
fn fitted(parts: &[String], room: usize) -> String {
    let mut text = String::new();
    for part in parts {
        let between = if text.is_empty() { "" } else { BETWEEN };
        let left = room.saturating_sub(style::width(&text) + style::width(between));
        let fits = style::width(part) <= left;
        match (fits, left >= ROOM && part.contains('/')) {
            (true, _) => text += &format!("{between}{part}"),
            (false, true) => text += &format!("{between}{}", style::cut_front(part, left)),
            (false, false) => {
                let first = part.split(", ").next().unwrap_or(part);
                if style::width(first) <= left {
                    text += &format!("{between}{first}");
                }
                break;
            }
        }
    }
    text
}
