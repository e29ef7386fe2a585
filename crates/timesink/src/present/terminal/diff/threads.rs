//! Threads of both sides by the part that they have in their program.

use timesink_comparison::{Comparison, Role, RoleDifference, RoleTimes, ThreadRole};

use super::super::style::{Ink, Style};
use super::super::table::{self, Column};
use super::super::{text, units};
use crate::present::compared::{signed, Compared};
use crate::present::names::{called, harmless};

/// So many are told.
const ROLES: usize = 40;

/// All threads of both sides, ending in a line feed.
pub fn threads(compared: &Compared<'_>, style: &Style) -> String {
    text(&lines(compared.comparison, style))
}

pub(super) fn lines(comparison: &Comparison, style: &Style) -> Vec<String> {
    let roles = comparison.roles.iter();
    let roles: Vec<&RoleDifference> = roles.take(ROLES).collect();
    let change = |head, spare, ns: fn(&RoleTimes) -> u64| Column {
        head,
        cells: roles
            .iter()
            .map(|one| signed(ns(&one.b) as i64 - ns(&one.a) as i64))
            .collect(),
        spare,
    };
    let count = |head, threads: fn(&RoleDifference) -> u64| Column {
        head,
        cells: roles.iter().map(|one| units::count(threads(one))).collect(),
        spare: 0,
    };
    let columns = vec![
        count("A", |one| one.a.threads),
        count("B", |one| one.b.threads),
        change("on the path", 0, |times| times.path_ns),
        change("on CPU", 0, |times| times.cpu_ns),
        change("runnable", 2, |times| times.ready_ns),
        change("waiting", 1, |times| times.wait_ns),
    ];
    let names: Vec<String> = roles.iter().map(|one| name(&one.role)).collect();
    let head = "THREADS  by what they are for: how many, and their time, B minus A";
    let mut lines = vec![style.paint(Ink::Title, head)];
    lines.extend(table::lines(columns, "threads", &names, style));
    let more = comparison.roles.len().saturating_sub(ROLES);
    if more > 0 {
        lines.push(format!("  and {} more", units::count(more as u64)));
    }
    lines
}

pub(in crate::present) fn name(role: &ThreadRole) -> String {
    let program = harmless(&role.program);
    match &role.role {
        Role::Main => format!("{program}, main thread"),
        Role::Named(name) => format!("{program}: {}", harmless(name)),
        Role::In(function) => format!("{program} in {}", called(&harmless(function))),
        Role::Other => format!("{program}, other threads"),
    }
}
