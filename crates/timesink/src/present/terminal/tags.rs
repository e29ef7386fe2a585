//! Tags: what threads were at work for, by what their programs say.

use timesink_analysis::tags::{TagTime, TagTree};

use super::rows::{align, title, Row};
use super::style::{Ink, Style};
use super::{units, Report};
use crate::present::{names, words};

/// So many modules are told.
const ROWS: usize = 40;
/// Of each processor or thread.
const ROWS_OF_EACH: usize = 8;
/// So many threads, those with most time in tags.
const THREADS: usize = 16;
/// So many kinds of waits of each.
const WAITS: usize = 2;
/// What takes less than this part of the whole is left out.
const SMALL: f64 = 0.001;
/// What takes less than this part of a module's time is left out of its line.
const SMALL_PART: f64 = 0.01;

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let Some(tags) = report.tags else {
        return Vec::new();
    };
    let about =
        "modules by their tags: time of threads, share of all of it, and without what is in it";
    let mut lines = vec![title("TAGS", about, style)];
    lines.extend(tree(&tags.whole, ROWS, style));
    lines
}

pub(super) fn by_processor(report: &Report, style: &Style) -> Vec<String> {
    let Some(tags) = report.tags else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for one in &tags.processors {
        let about = "modules by their tags: what ran there, and was runnable there meanwhile";
        let name = format!("TAGS ON CPU {}", one.processor);
        lines.push(title(&name, about, style));
        lines.extend(tree(&one.tree, ROWS_OF_EACH, style));
    }
    lines
}

pub(super) fn by_thread(report: &Report, style: &Style) -> Vec<String> {
    let Some(tags) = report.tags else {
        return Vec::new();
    };
    let tagged_ns = |tree: &TagTree| tree.total_ns() - tree.untagged.total_ns();
    let mut threads: Vec<_> = tags.threads.iter().collect();
    threads.sort_by_key(|one| std::cmp::Reverse(tagged_ns(&one.tree)));
    let mut lines = Vec::new();
    for one in threads.iter().take(THREADS) {
        let name = format!("TAGS OF {}", names::thread(report.facts, one.thread));
        lines.push(title(&name, "modules by their tags", style));
        lines.extend(tree(&one.tree, ROWS_OF_EACH, style));
    }
    let more = threads.len().saturating_sub(THREADS);
    if more > 0 {
        let more = units::plural(more as u64, "more thread", "more threads");
        lines.push(format!("  and {more}"));
    }
    lines
}

fn tree(tree: &TagTree, most: usize, style: &Style) -> Vec<String> {
    let whole = tree.total_ns().max(1);
    let share = |ns: u64| Some(ns as f64 / whole as f64);
    let large = tree.nodes.iter();
    let large: Vec<_> = large
        .filter(|node| node.all.total_ns() as f64 >= whole as f64 * SMALL)
        .collect();
    let mut rows: Vec<Row> = large
        .iter()
        .take(most)
        .map(|node| Row {
            label: format!("{}{}", "  ".repeat(node.depth.min(12)), node.name),
            ns: node.all.total_ns(),
            estimated: true,
            share: share(node.all.total_ns()),
            more: about(&node.all, node.own.total_ns()),
            ink: Some(Ink::Wait),
            ..Row::default()
        })
        .collect();
    rows.push(Row {
        label: "no tag".into(),
        ns: tree.untagged.total_ns(),
        estimated: true,
        share: share(tree.untagged.total_ns()),
        more: about(&tree.untagged, tree.untagged.total_ns()),
        ..Row::default()
    });
    let longest = rows.iter().map(|row| row.ns).max().unwrap_or(0);
    let mut lines = align(&rows, longest, style);
    let more = tree.nodes.len().saturating_sub(large.len().min(most));
    if more > 0 {
        let more = units::plural(more as u64, "more module", "more modules");
        lines.push(format!("  and {more}"));
    }
    lines
}

/// What they did; and what of it is in no module further in, where that is not all.
fn about(time: &TagTime, own_ns: u64) -> String {
    let total = time.total_ns();
    let mut parts = Vec::new();
    let mut add = |words: &str, ns: u64| {
        if ns > 0 && ns as f64 >= total as f64 * SMALL_PART {
            parts.push(format!("{words} {}", units::time(ns)));
        }
    };
    if own_ns != total {
        add("itself", own_ns);
    }
    add("on CPU", time.cpu_ns);
    add("runnable", time.ready_ns);
    let mut waits: Vec<_> = time.waits.iter().collect();
    waits.sort_by_key(|(_, ns)| std::cmp::Reverse(**ns));
    for (detail, ns) in waits.into_iter().take(WAITS) {
        add(words::wait(*detail), *ns);
    }
    parts.join(" · ")
}
