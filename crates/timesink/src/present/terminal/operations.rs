//! Operations: a short table of what servers did, and on demand each set in full, with the path of its slowest and
//! of the one in the middle, and what slow ones have that the others do not.

use timesink_analysis::ledger::{Account, Kind as CauseKind};
use timesink_analysis::operations::{Detail, Differs, Kind, NoDifference, One, Set, Told, Unlike};
use timesink_analysis::path::Key;
use timesink_analysis::stacks::FunctionIx;
use timesink_recording::words::{Detail as Word, State};

use super::path::{account, label};
use super::rows::{align, times, title, Row};
use super::style::{fit, Ink, Style};
use super::table::{self, Column};
use super::{code, units, Report};
use crate::present::{names, words};

/// So many sets are told in short.
const SETS: usize = 5;
/// So many causes of one operation.
const CAUSES: usize = 6;
/// Causes below this share of an operation are folded into one row.
const SMALL: f64 = 0.01;

/// The short table.
pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    if report.operations.is_empty() {
        return Vec::new();
    }
    let sets = &report.operations[..report.operations.len().min(SETS)];
    let column = |head, cell: &dyn Fn(&Set) -> String, spare| Column {
        head,
        cells: sets.iter().map(|told| cell(&told.set)).collect(),
        spare,
    };
    let time = |share: f64| move |set: &Set| units::time(set.at(share).ns());
    let columns = vec![
        column("count", &|set| units::count(set.operations.len() as u64), 0),
        column("rate", &rate, 3),
        column("p50", &time(0.5), 0),
        column("p90", &time(0.9), 2),
        column("p99", &time(0.99), 0),
        column("max", &time(1.0), 1),
    ];
    let names: Vec<String> = sets.iter().map(|told| named(report, &told.set)).collect();
    let about =
        "of servers and their clients; report --op auto tells what the slow ones have in common";
    let mut lines = vec![title("OPERATIONS", about, style)];
    lines.extend(table::lines(columns, "", &names, style));
    let more = report.operations.len() - sets.len();
    if more > 0 {
        let more = units::plural(more as u64, "more kind", "more kinds");
        lines.push(format!("  and {more}"));
    }
    lines
}

fn rate(set: &Set) -> String {
    set.rate().map_or(String::new(), units::rate)
}

pub(super) fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::Request => "requests handled by",
        Kind::Asked => "requests of",
        Kind::Round => "rounds of the loop of",
        Kind::Piece => "pieces of work of threads of",
        Kind::Between => "in",
    }
}

/// `requests handled by postgres(2202) on 127.0.0.1:5999`.
pub(in crate::present) fn named(report: &Report, set: &Set) -> String {
    format!("{} {}", what(set.kind), whose(report, set))
}

/// `postgres(2202) on 127.0.0.1:5999, 4 processes`.
fn whose(report: &Report, set: &Set) -> String {
    let mut name = names::process(report.facts, set.process);
    let address = |id| names::address(report.facts, set, id).map(names::harmless);
    let addresses: Vec<_> = set.addresses.iter().filter_map(|&id| address(id)).collect();
    match addresses.as_slice() {
        [] => {}
        [one, ..] if set.kind == Kind::Asked => name += &format!(" to {one}"),
        [one] => name += &format!(" on {one}"),
        [first, rest @ ..] => name += &format!(" on {first} and {} more", rest.len()),
    }
    match (set.processes, set.threads) {
        (0 | 1, 0 | 1) => name,
        (0 | 1, threads) => format!(
            "{name}, {}",
            units::plural(threads as u64, "thread", "threads")
        ),
        (processes, _) => format!("{name}, {processes} processes"),
    }
}

/// Each set in full, ending in a line feed.
pub fn operations(report: &Report, style: &Style) -> String {
    let mut page = String::new();
    for told in report.operations {
        if !page.is_empty() {
            page.push('\n');
        }
        for line in in_full(report, told, style) {
            page.push_str(line.trim_end());
            page.push('\n');
        }
    }
    page
}

fn in_full(report: &Report, told: &Told, style: &Style) -> Vec<String> {
    let set = &told.set;
    let mut lines = vec![title("OPERATIONS", &named(report, set), style)];
    let rate = rate(set);
    let rate = if rate.is_empty() {
        rate
    } else {
        format!(" · {rate}")
    };
    let count = units::count(set.operations.len() as u64);
    let time = |share| units::time(set.at(share).ns());
    lines.push(format!(
        "  {count} in {}{rate} · p50 {} · p90 {} · p99 {} · max {}",
        units::time(set.until.since(set.from)),
        time(0.5),
        time(0.9),
        time(0.99),
        time(1.0),
    ));
    let notes = notes(set);
    lines.extend(
        notes
            .iter()
            .map(|note| style.paint(Ink::Faint, &fit(format!("  {note}"), style))),
    );
    if let Some(detail) = &told.detail {
        lines.extend(close(report, set, detail, style));
    }
    lines
}

/// What these operations are, and what they are not.
fn notes(set: &Set) -> Vec<String> {
    let mut notes: Vec<String> = match set.kind {
        Kind::Request => vec![
            "One operation: from the arrival of a request (or the start of its thread) to the next wait for one.".to_owned(),
            "Requests already queued count as part of it; a request that came in pieces counts as several.".to_owned(),
        ],
        Kind::Round => vec![
            "One operation: a round of an event loop, from one return of poll or epoll_wait to the next call.".to_owned(),
            "It may contain several requests, or part of one.".to_owned(),
        ],
        Kind::Piece => vec![
            "Connections move between threads. One operation: what a thread did between two waits for work.".to_owned(),
            "A request may consist of several.".to_owned(),
        ],
        Kind::Asked => vec![
            "One operation: from the first wait for the response to the end of the last, as the client sees it.".to_owned(),
            "Requests whose response was already there are not included.".to_owned(),
        ],
        Kind::Between => vec![
            "One operation: from the end of a wait in the first call to the end of the next wait in the second.".to_owned(),
            "Calls that did not block are not recorded one by one and are not seen here.".to_owned(),
        ],
    };
    if let Some(sends) = set.sends.filter(|sends| *sends > 0) {
        let each = sends as f64 / set.operations.len() as f64;
        let connections = units::plural(set.connections as u64, "connection", "connections");
        notes.push(format!(
            "{connections}; {each:.1} send calls per operation on average."
        ));
    }
    notes
}

fn close(report: &Report, set: &Set, detail: &Detail, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    let ones = [
        ("THE ONE IN THE MIDDLE", &detail.median),
        ("THE SLOWEST", &detail.slowest),
    ];
    for (name, one) in ones {
        lines.push(String::new());
        let about = format!(
            "{} in {}, {:.6} s after the start",
            units::time(one.operation.ns()),
            names::thread(report.facts, one.thread),
            one.operation.from.0 as f64 / 1e9
        );
        lines.push(title(name, &about, style));
        lines.extend(one_rows(report, set, one, style));
    }
    lines.push(String::new());
    match &detail.unlike {
        Ok(unlike) => lines.extend(unlike_lines(report, set, unlike, style)),
        Err(why) => lines.push(style.paint(Ink::Faint, &format!("  {}", no_difference(*why)))),
    }
    lines
}

fn no_difference(why: NoDifference) -> &'static str {
    match why {
        NoDifference::Few => "Too few operations to say how slow ones differ from the others.",
        NoDifference::Alike => "No operation is much slower than the others.",
    }
}

fn one_rows(report: &Report, set: &Set, one: &One, style: &Style) -> Vec<String> {
    let whole = one.operation.ns();
    let share = |ns: u64| ns as f64 / whole.max(1) as f64;
    let large = |at: usize, ns: u64| at < CAUSES && (share(ns) >= SMALL || at == 0);
    let mut rows = Vec::new();
    let mut small = (0u64, 0u64);
    for (at, (cause, frames)) in one.causes.iter().enumerate() {
        if !large(at, cause.ns) {
            small = (small.0 + 1, small.1.saturating_add(cause.ns));
            continue;
        }
        rows.push(Row {
            label: label(&cause.key),
            ns: cause.ns,
            share: Some(share(cause.ns)),
            times: match cause.key.state {
                State::Wait | State::Ready if cause.count > 1 => times(cause.count, cause.ns),
                _ => String::new(),
            },
            about: cause
                .key
                .object
                .map_or(String::new(), |id| names::object_in(report, id)),
            more: more(report, set, &cause.key, frames),
            ink: Some(words::ink(account(cause.key.state))),
            ..Row::default()
        });
    }
    if small.0 > 0 {
        let many = units::plural(small.0, "smaller cause", "smaller causes");
        rows.push(Row {
            label: format!("and {many}"),
            ns: small.1,
            share: Some(share(small.1)),
            ..Row::default()
        });
    }
    align(&rows, whole, style)
}

/// In which process, if not the one that the operations are of, and where in the code.
fn more(report: &Report, set: &Set, key: &Key, frames: &[FunctionIx]) -> String {
    let mut more = Vec::new();
    if key.process != set.process {
        more.push(format!("in {}", names::process(report.facts, key.process)));
    }
    if !frames.is_empty() {
        more.push(code::path_of(&report.stacks.code, frames));
    }
    more.join(" · ")
}

fn unlike_lines(report: &Report, set: &Set, unlike: &Unlike, style: &Style) -> Vec<String> {
    let about = format!(
        "{} of {}, each {} or more: {} on average, the others {}",
        units::count(unlike.slow as u64),
        units::count((unlike.slow + unlike.others) as u64),
        units::time(unlike.slow_from_ns),
        units::time(unlike.slow_ns),
        units::time(unlike.others_ns),
    );
    let mut lines = vec![title("HOW SLOW ONES DIFFER", &about, style)];
    let causes: Vec<String> = unlike
        .causes
        .iter()
        .map(|cause| {
            let object = cause.what.object.map(|id| names::object_in(report, id));
            let more = more(report, set, &cause.what, &cause.frames);
            let parts = [Some(label(&cause.what)), object, Some(more)];
            let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join(" · ")
        })
        .collect();
    lines.extend(table::lines(columns_of(&unlike.causes), "", &causes, style));
    let code = &report.stacks.code;
    let functions = unlike.functions.iter();
    let functions: Vec<String> = functions
        .map(|function| names::function_in(code, function.what))
        .collect();
    if !functions.is_empty() {
        lines.push(style.paint(
            Ink::Faint,
            "  per function, with its library and kernel callees, by samples and waits:",
        ));
        let mut columns = columns_of(&unlike.functions);
        // How often samples hit says nothing of how many have it.
        columns.truncate(2);
        lines.extend(table::lines(columns, "", &functions, style));
    }
    let (slow, others) = unlike.walked;
    if slow < unlike.slow || others < unlike.others {
        let text =
            format!("  From {slow} of the slow ones and {others} of the others, evenly spaced.");
        lines.push(style.paint(Ink::Faint, &text));
    }
    lines
}

/// Mean times and shares on both sides.
fn columns_of<T>(rows: &[Differs<T>]) -> Vec<Column> {
    let column = |head, cell: &dyn Fn(&Differs<T>) -> String, spare| Column {
        head,
        cells: rows.iter().map(cell).collect(),
        spare,
    };
    vec![
        column("slow", &|row| units::time(row.slow_ns), 0),
        column("others", &|row| units::time(row.others_ns), 0),
        column(
            "slow with it",
            &|row| units::percent(row.slow_share * 100.0),
            1,
        ),
        column(
            "others with it",
            &|row| units::percent(row.others_share * 100.0),
            1,
        ),
    ]
}

/// A kind of wait in plain words.
pub(super) fn wait(detail: Word) -> String {
    words::cause(Account::Wait, CauseKind::As(detail), "")
}
