//! Aligned rows: a label, a time, a share, a bar, how often, and what about.

use super::style::{self, Ink, Style};
use super::units::{self, Scale};

/// One line of a section, before alignment.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Part of the row above it.
    pub(super) inner: bool,
    pub(super) label: String,
    pub(super) ns: u64,
    /// The time is an estimate.
    pub(super) estimated: bool,
    /// Of the whole that the section divides, from 0 to 1; no share and no bar where there is no
    /// such whole.
    pub(super) share: Option<f64>,
    /// How often and how long each; empty where that says nothing.
    pub(super) times: String,
    /// The name of what it is about; on a terminal it is cut to fit, and keeps its end.
    pub(super) about: String,
    /// More about it; on a terminal it is cut to fit, and keeps its start.
    pub(super) more: String,
    pub(super) ink: Option<Ink>,
}

/// `1,204,332 x 10.9 us`.
pub(super) fn times(count: u64, ns: u64) -> String {
    match count {
        0 => String::new(),
        _ => format!("{} x {}", units::count(count), units::time(ns / count)),
    }
}

const LABEL_MOST: usize = 46;

/// How wide the columns of a section are.
struct Columns {
    label: usize,
    time: usize,
    /// Zero where no row has a share.
    share: usize,
    /// Zero where there are no bars.
    bar: usize,
    /// Zero where no row says how often.
    times: usize,
    scale: Scale,
}

impl Columns {
    fn of(rows: &[Row], most: u64, style: &Style) -> Columns {
        let scale = Scale::of(most);
        let widest = |measure: &dyn Fn(&Row) -> usize| rows.iter().map(measure).max().unwrap_or(0);
        let label_most = if style.terminal {
            style.width * 2 / 5
        } else {
            LABEL_MOST
        };
        let label = widest(&|row| indent(row) + style::width(&row.label));
        let has_share = rows.iter().any(|row| row.share.is_some());
        let bar = match (style.terminal && has_share, style.width) {
            (false, _) | (_, ..=79) => 0,
            (_, ..=99) => 8,
            (_, ..=119) => 12,
            _ => 20,
        };
        Columns {
            label: label.clamp(28, label_most.clamp(28, LABEL_MOST)),
            time: widest(&|row| style::width(&time(row, &scale))).max(9),
            share: if has_share { 7 } else { 0 },
            bar,
            times: widest(&|row| style::width(&row.times)),
            scale,
        }
    }

    /// Columns before what a row is about.
    fn used(&self) -> usize {
        let column = |width: usize| if width > 0 { 2 + width } else { 0 };
        self.label
            + [self.time, self.share, self.bar, self.times]
                .map(column)
                .iter()
                .sum::<usize>()
    }
}

fn indent(row: &Row) -> usize {
    if row.inner {
        4
    } else {
        2
    }
}

fn time(row: &Row, scale: &Scale) -> String {
    format!(
        "{}{}",
        if row.estimated { "~" } else { "" },
        scale.time(row.ns)
    )
}

/// The rows as lines. `most` is the longest time, which sets the unit.
pub(super) fn align(rows: &[Row], most: u64, style: &Style) -> Vec<String> {
    let columns = Columns::of(rows, most, style);
    rows.iter()
        .flat_map(|row| with_about(line(row, &columns, style), row, &columns, style))
        .collect()
}

fn ink(row: &Row) -> Ink {
    if row.inner {
        Ink::Faint
    } else {
        Ink::Plain
    }
}

fn line(row: &Row, columns: &Columns, style: &Style) -> String {
    let label = style::cut(&row.label, columns.label - indent(row));
    let label = format!("{}{label}", " ".repeat(indent(row)));
    let mut line = style.paint(ink(row), &style::pad(&label, columns.label));
    let mut right = |text: &str, width: usize| {
        line += &format!("  {}", style.paint(ink(row), &style::pad_left(text, width)));
    };
    right(&time(row, &columns.scale), columns.time);
    if columns.share > 0 {
        let share = row
            .share
            .map_or(String::new(), |share| units::percent(share * 100.0));
        right(&share, columns.share);
    }
    if columns.bar > 0 {
        let bar = style::bar(row.share.filter(|_| !row.inner).unwrap_or(0.0), columns.bar);
        let blank = " ".repeat(columns.bar - style::width(&bar));
        line += &format!(
            "  {}{blank}",
            style.paint(row.ink.unwrap_or(Ink::Plain), &bar)
        );
    }
    if columns.times > 0 {
        let times = style::pad_left(&row.times, columns.times);
        line += &format!("  {}", style.paint(ink(row), &times));
    }
    line
}

/// The line with what it is about after it, or below it where a terminal has no room left.
fn with_about(mut line: String, row: &Row, columns: &Columns, style: &Style) -> Vec<String> {
    const ROOM: usize = 16;
    let room = style.width.saturating_sub(columns.used() + 2);
    let whole = about(row, usize::MAX);
    if whole.is_empty() {
        return vec![line];
    }
    if !style.terminal || style::width(&whole) <= room || room >= ROOM && row.more.is_empty() {
        let about = if style.terminal {
            about(row, room)
        } else {
            whole
        };
        line += &format!("  {}", style.paint(ink(row), &about));
        return vec![line];
    }
    let indent = indent(row) + 2;
    let about = about(row, style.width.saturating_sub(indent));
    vec![
        line,
        format!("{}{}", " ".repeat(indent), style.paint(Ink::Faint, &about)),
    ]
}

/// What a row is about, in so many columns.
fn about(row: &Row, room: usize) -> String {
    if row.about.is_empty() || row.more.is_empty() {
        let more = style::cut(&row.more, room);
        return format!("{}{more}", style::cut_front(&row.about, room));
    }
    const BETWEEN: &str = " · ";
    let left = room.saturating_sub(style::width(BETWEEN) + style::width(&row.more));
    let name = style::cut_front(&row.about, left.max(room / 3));
    style::cut(&format!("{name}{BETWEEN}{}", row.more), room)
}

/// A section's title, with what it is about.
pub(super) fn title(title: &str, about: &str, style: &Style) -> String {
    let gap = 38usize.saturating_sub(style::width(title)).max(3);
    let about = if style.terminal {
        style::cut(about, style.width.saturating_sub(style::width(title) + gap))
    } else {
        about.to_owned()
    };
    format!(
        "{}{}{}",
        style.paint(Ink::Title, title),
        " ".repeat(gap),
        style.paint(Ink::Faint, &about)
    )
}
