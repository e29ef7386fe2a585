//! Who called whom on both sides: down to where the time changed.

use timesink_comparison::{difference, Branch, BranchLine, BranchStep, Weights};

use super::super::rows::title;
use super::super::style::Style;
use super::super::table::{self, Column};
use super::super::views::chain;
use super::super::{text, units};
use crate::present::compared::signed;
use crate::present::names::harmless;

/// Parts of a tree with less of what changed are folded.
const LEAST: f64 = 0.01;

/// The tree, ending in a line feed.
pub fn tree(tree: &Branch, weights: Weights, style: &Style) -> String {
    let rows = tree.lines(LEAST);
    let time = match weights {
        Weights::Cpu => "on CPU",
        Weights::Waits => "blocked",
        Weights::Both => "on CPU and blocked",
    };
    let whole = signed(difference(tree.a_ns, tree.b_ns));
    let about = format!("{time}, all threads, B minus A: {whole}");
    let mut lines = vec![title("CALLS", &about, style)];
    if rows.is_empty() {
        lines.push("  Nothing differs.".to_owned());
        return text(&lines);
    }
    let change = |head, spare, of: fn(&BranchLine) -> i64| Column {
        head,
        cells: rows.iter().map(|row| signed(of(row))).collect(),
        spare,
    };
    let side = |head, ns: fn(&BranchLine) -> u64| Column {
        head,
        cells: rows
            .iter()
            .map(|row| match ns(row) {
                0 => "-".to_owned(),
                ns => units::time(ns),
            })
            .collect(),
        spare: 2,
    };
    let columns = vec![
        change("B minus A", 0, |row| difference(row.a_ns, row.b_ns)),
        side("A", |row| row.a_ns),
        side("B", |row| row.b_ns),
        change("self", 1, |row| difference(row.own_a_ns, row.own_b_ns)),
    ];
    let names: Vec<String> = rows
        .iter()
        .map(|row| format!("{}{}", "  ".repeat(row.depth), step(&row.what)))
        .collect();
    let head = "function, and what it called";
    lines.extend(table::lines(columns, head, &names, style));
    text(&lines)
}

fn step(step: &BranchStep<'_>) -> String {
    let names = match step {
        BranchStep::Folded(count) => {
            return format!(
                "({} more, each below 1 % of what changed)",
                units::count(*count as u64)
            )
        }
        BranchStep::Functions(names) => names,
    };
    let names = names.iter().map(|name| harmless(name).into_owned());
    chain(&names.collect::<Vec<_>>())
}
