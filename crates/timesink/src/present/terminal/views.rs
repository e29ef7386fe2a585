//! The tables about code: functions by their time, who called whom, the lines of a function.

use timesink_analysis::ledger::measure::percent;
use timesink_analysis::stacks::{Amount, Direction, Missing, Node, Stacks, Step, View, What};

use super::rows::title;
use super::style::Style;
use super::table::{lines as table_lines, Column};
use super::units::{self, Scale};
use crate::present::{names, words};

/// A table that can be asked for.
#[derive(Clone, Debug)]
pub enum Table {
    /// So many functions, by their own time.
    Top(usize),
    Tree(Direction),
    /// The lines of the function of this name.
    Lines(String),
}

/// Parts of a tree below this share are folded.
pub(in crate::present) const LEAST: f64 = 0.01;
/// Functions that share a line of a tree, before those in the middle are left out.
const CHAIN: usize = 8;

/// The tables, one after the other.
pub fn tables(stacks: &Stacks, tables: &[Table], style: &Style) -> String {
    let view = stacks.view();
    let mut page = String::new();
    for table in tables {
        let lines = match table {
            Table::Top(most) => top(&view, *most, style),
            Table::Tree(direction) => tree(&view, *direction, style),
            Table::Lines(function) => lines(&view, function, style),
        };
        if !page.is_empty() {
            page.push('\n');
        }
        for line in lines {
            page.push_str(line.trim_end());
            page.push('\n');
        }
    }
    if !stacks.any() {
        page.push_str("\nThis part of the recording has no stacks.\n");
    }
    page
}

/// What a remainder is called.
pub(in crate::present) fn missing(missing: Missing) -> &'static str {
    match missing {
        Missing::Cpu => "(on CPU, no stack taken)",
        Missing::Ready => "(runnable, waiting for a CPU)",
        Missing::Wait => "(blocked, no stack taken)",
        Missing::ShortWait => "(in short waits)",
        Missing::Tracer => "(recording overhead)",
        Missing::Lost => "(unknown: events were lost)",
    }
}

/// Times of one kind as a column.
fn times(head: &'static str, times: impl Iterator<Item = u64>, scale: &Scale, spare: u8) -> Column {
    let cells = times.map(|ns| match ns {
        0 => "-".to_owned(),
        ns => scale.time(ns),
    });
    Column {
        head,
        cells: cells.collect(),
        spare,
    }
}

fn shares(head: &'static str, times: impl Iterator<Item = u64>, whole: u64, spare: u8) -> Column {
    let cells = times.map(|ns| units::percent(percent(ns, whole)));
    Column {
        head,
        cells: cells.collect(),
        spare,
    }
}

fn top(view: &View, most: usize, style: &Style) -> Vec<String> {
    let all = view.top();
    let rows = &all[..most.min(all.len())];
    let whole = view.total.ns();
    let scale = Scale::of(whole);
    let own = |pick: fn(&Amount) -> u64| rows.iter().map(move |row| pick(&row.own));
    let accumulated = || rows.iter().map(|row| row.accumulated.ns());
    let columns = vec![
        Column {
            head: "rank",
            cells: (1..=rows.len()).map(|rank| rank.to_string()).collect(),
            spare: 1,
        },
        times("self", own(Amount::ns), &scale, 0),
        shares("", own(Amount::ns), whole, 0),
        times("on cpu", own(|amount| amount.cpu_ns), &scale, 5),
        times("waiting", own(|amount| amount.wait_ns), &scale, 4),
        times("accumulated", accumulated(), &scale, 0),
        shares("", accumulated(), whole, 3),
        Column {
            head: "count",
            cells: own(|amount| amount.count).map(units::count).collect(),
            spare: 6,
        },
        shares("running", rows.iter().map(|row| row.running_ns), whole, 2),
    ];
    let names: Vec<String> = rows
        .iter()
        .map(|row| match row.what {
            What::Function(function) => names::function_in(view.code, function),
            What::Missing(cause) => missing(cause).to_owned(),
        })
        .collect();
    let about = format!("by their own time, of {}", units::time(whole));
    let mut lines = vec![title("FUNCTIONS", &about, style)];
    lines.extend(table_lines(columns, "function", &names, style));
    if all.len() > rows.len() {
        let rest = units::plural((all.len() - rows.len()) as u64, "more row", "more rows");
        let shown = rows.last().map_or(0, |row| row.running_ns);
        let ns = units::time(whole.saturating_sub(shown));
        lines.push(format!("  and {rest}, {ns}"));
    }
    lines
}

/// The lines of a tree with their depth, in order.
fn flat<'n>(nodes: &'n [Node], depth: usize, out: &mut Vec<(usize, &'n Node)>) {
    for node in nodes {
        out.push((depth, node));
        flat(&node.children, depth + 1, out);
    }
}

fn tree(view: &View, direction: Direction, style: &Style) -> Vec<String> {
    let tree = view.tree(direction, LEAST);
    let mut nodes = Vec::new();
    flat(&tree.roots, 0, &mut nodes);
    let whole = tree.total.ns();
    let scale = Scale::of(whole);
    let amount = |pick: fn(&Amount) -> u64| nodes.iter().map(move |(_, node)| pick(&node.amount));
    let columns = vec![
        times("time", amount(Amount::ns), &scale, 0),
        shares("", amount(Amount::ns), whole, 0),
        times("on cpu", amount(|amount| amount.cpu_ns), &scale, 2),
        times("waiting", amount(|amount| amount.wait_ns), &scale, 1),
        times(
            "self",
            nodes.iter().map(|(_, node)| node.own.ns()),
            &scale,
            3,
        ),
    ];
    let names: Vec<String> = nodes
        .iter()
        .map(|(depth, node)| format!("{}{}", "  ".repeat(*depth), step(view, &node.step)))
        .collect();
    let (order, head) = match direction {
        Direction::Callees => (
            "from the outermost function in",
            "function, and what it called",
        ),
        Direction::Callers => (
            "from the innermost function out",
            "function, and who called it",
        ),
    };
    let about = format!("{order}, of {}", units::time(whole));
    let mut lines = vec![title("CALLS", &about, style)];
    lines.extend(table_lines(columns, head, &names, style));
    lines
}

fn step(view: &View, step: &Step) -> String {
    let functions = match step {
        Step::Missing(cause) => return missing(*cause).to_owned(),
        Step::Folded(count) => return format!("({} more, each below 1 %)", units::count(*count)),
        Step::Functions(functions) => functions,
    };
    let names = functions.iter();
    let names: Vec<String> = names.map(|&f| names::function(view.code, f)).collect();
    chain(&names)
}

/// Functions that share a line; of many those in the middle are left out.
pub(super) fn chain(names: &[String]) -> String {
    if names.len() <= CHAIN {
        return names.join(" > ");
    }
    let (first, last) = (&names[..2], &names[names.len() - 4..]);
    let between = [format!("({} more)", names.len() - 6)];
    [first, &between, last].concat().join(" > ")
}

fn lines(view: &View, name: &str, style: &Style) -> Vec<String> {
    let found = view.lines(name);
    let shown = names::harmless(name);
    if found.places.is_empty() {
        return vec![format!("No time was found in a function called {shown}.")];
    }
    let whole = found.total.ns();
    let scale = Scale::of(whole);
    let places = || found.places.iter();
    let columns = vec![
        times("self", places().map(|place| place.own.ns()), &scale, 0),
        times(
            "accumulated",
            places().map(|place| place.accumulated.ns()),
            &scale,
            0,
        ),
        shares("", places().map(|place| place.accumulated.ns()), whole, 0),
        times(
            "on cpu",
            places().map(|place| place.accumulated.cpu_ns),
            &scale,
            2,
        ),
        times(
            "waiting",
            places().map(|place| place.accumulated.wait_ns),
            &scale,
            1,
        ),
    ];
    let several = found.functions.len() > 1;
    let names: Vec<String> = places()
        .map(|place| {
            let file = match place.file.as_str() {
                "" => "(file not known)".into(),
                file => names::harmless(file),
            };
            let line = place.line.map_or(String::new(), |line| format!(":{line}"));
            let function = match several {
                true => format!(" · {}", names::function_in(view.code, place.function)),
                false => String::new(),
            };
            format!("{file}{line}{function}")
        })
        .collect();
    let function = match found.functions.first() {
        Some(only) if !several => names::function_in(view.code, *only),
        _ => shown.into_owned(),
    };
    let about = format!("of {function}, {}", units::time(whole));
    let mut lines = vec![title("LINES", &about, style)];
    lines.extend(table_lines(columns, "line", &names, style));
    lines
}

/// How whole the stacks are, in words.
pub(super) fn quality(stacks: &Stacks) -> String {
    let counts = &stacks.counts;
    let whole = percent(counts.complete, counts.taken);
    let taken = words::stacks(counts.taken);
    format!("{taken} in all, {whole:.0} % of them whole")
}
