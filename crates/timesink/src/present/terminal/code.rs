//! Where in the code the main thread's time went, in short: its heaviest stacks, each by the few
//! functions of the program that are innermost.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use timesink_analysis::ledger::measure::percent;
use timesink_analysis::ledger::{Account, Kind, ThreadLedger};
use timesink_analysis::stacks::{Code, FunctionIx, StackIx};
use timesink_recording::words::Detail;

use super::rows::{align, times, title, Row};
use super::style::{Ink, Style};
use super::{time, units, views, Report};
use crate::present::{names, words};

/// Rows, at most.
const ROWS: usize = 5;
/// Functions of a stack that are told.
const INNERMOST: usize = 3;
/// Stacks with less of the thread's life are left out.
const SMALL_PCT: f64 = 1.0;
/// How much of a thread's time must pass through a function for it to be told on its own.
const DOMINANT: f64 = 0.8;

/// What shares a row: the state, the kind of wait, and the functions that are told.
type Path = (Account, Detail, String);

#[derive(Clone, Copy, Default)]
struct FunctionSum {
    ns: u64,
    count: u64,
}

impl FunctionSum {
    fn add(&mut self, ns: u64, count: u64) {
        self.ns = self.ns.saturating_add(ns);
        self.count += count;
    }
}

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let Some(thread) = report.main() else {
        return Vec::new();
    };
    let life = time::life(thread);
    let mut heaviest: Vec<(Path, FunctionSum)> = paths(report, thread)
        .into_iter()
        .filter(|(_, sum)| percent(sum.ns, life) >= SMALL_PCT)
        .collect();
    heaviest.sort_by_key(|(_, sum)| Reverse(sum.ns));
    if heaviest.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Row> = heaviest
        .into_iter()
        .take(ROWS)
        .map(|((account, detail, path), FunctionSum { ns, count })| Row {
            label: words::cause(account, Kind::As(detail), ""),
            ns,
            estimated: account == Account::Cpu,
            share: Some(percent(ns, life) / 100.0),
            times: match account {
                Account::Wait | Account::Ready => times(count, ns),
                _ => String::new(),
            },
            about: path,
            ink: Some(words::ink(account)),
            ..Row::default()
        })
        .collect();
    let about = format!("main thread, {}", views::quality(report.stacks));
    let mut lines = vec![title("WHERE IN THE CODE", &about, style)];
    lines.extend(align(&rows, life, style));
    lines
}

/// Time and count by state, kind of wait and the functions that are told.
fn paths(report: &Report, thread: &ThreadLedger) -> BTreeMap<Path, FunctionSum> {
    let mut by_stack: BTreeMap<(Account, Detail, StackIx), FunctionSum> = BTreeMap::new();
    for event in report.stacks.events_of(thread.row.thread) {
        let key = (event.account, event.detail, event.stack);
        by_stack.entry(key).or_default().add(event.ns, 1);
    }
    let mut paths: BTreeMap<Path, FunctionSum> = BTreeMap::new();
    for ((account, detail, stack), sum) in by_stack {
        let key = (account, detail, path(&report.stacks.code, stack));
        paths.entry(key).or_default().add(sum.ns, sum.count);
    }
    paths
}

/// The innermost functions of the program itself, the outer one first; of a stack without any, the
/// innermost there are.
fn path(code: &Code, stack: StackIx) -> String {
    path_of(code, &code.functions_of(stack))
}

/// The same of functions, the innermost of which comes first.
pub(super) fn path_of(code: &Code, functions: &[FunctionIx]) -> String {
    let own = functions
        .iter()
        .filter(|function| !code.is_system(**function));
    let mut told: Vec<_> = own.take(INNERMOST).copied().collect();
    if told.is_empty() {
        told = functions.iter().take(INNERMOST).copied().collect();
    }
    // A function that calls itself need not be told twice in a row.
    told.dedup();
    let names: Vec<String> = told
        .into_iter()
        .rev()
        .map(|function| names::function(code, function))
        .collect();
    names.join(" > ")
}

/// The one function that most of the main thread's time passes through, if there is one that is
/// not simply where the program begins.
pub(super) fn dominant(report: &Report, thread: &ThreadLedger, style: &Style) -> Option<String> {
    let view = report.stacks.view_of_thread(thread.row.thread);
    let found = view.dominant(DOMINANT)?;
    let code = &report.stacks.code;
    let begins = ["main", "_start", "<module>", "<main>", "{main}"];
    if begins.contains(&code.function(found.function).name.as_str()) {
        return None;
    }
    let share = units::percent(percent(found.amount.ns(), found.whole_ns));
    let name = names::function_in(code, found.function);
    let text = format!("  {share} of it passes through {name}");
    Some(style.paint(Ink::Title, &super::style::fit(text, style)))
}
