//! The other threads and processes, in short. Many of a kind share one line.

use std::collections::BTreeMap;

use timesink_analysis::facts::Facts;
use timesink_analysis::ledger::measure::percent;
use timesink_analysis::ledger::{Sums, ThreadLedger};

use super::rows::title;
use super::style::{self, Ink, Style};
use super::{units, Report};
use crate::present::words;
use crate::present::{file_name, names};

/// Lines before the rest is folded.
const LINES: usize = 10;
/// Threads of a kind that still get a line each.
const FEW: usize = 2;

/// Threads that look alike: the same program and the same thread name.
struct ThreadsAlike {
    threads: Vec<usize>,
    processes: usize,
    sums: Sums,
}

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let facts = report.facts;
    let kinds = kinds(facts);
    if kinds.is_empty() {
        return Vec::new();
    }
    let mut table: Vec<[String; 6]> = Vec::new();
    let mut splits: Vec<Sums> = Vec::new();
    for kind in kinds.iter().take(LINES) {
        table.push(cells(facts, kind));
        splits.push(kind.sums);
    }
    let all = facts.ledger.threads.len();
    let count = |threads: usize| units::plural(threads as u64, "thread", "threads");
    let heading = match facts.ledger.main {
        Some(_) => {
            let about = format!("{} besides the main thread", count(all - 1));
            title("THE OTHER THREADS", &about, style)
        }
        None => title("THREADS", &count(all), style),
    };
    let mut lines = vec![heading];
    lines.extend(aligned(&table, &splits, style));
    let rest = kinds.get(LINES..).unwrap_or_default();
    if !rest.is_empty() {
        let threads: usize = rest.iter().map(|kind| kind.threads.len()).sum();
        let cpu = rest
            .iter()
            .fold(0u64, |sum, kind| sum.saturating_add(kind.sums.cpu_ns));
        let threads = units::plural(threads as u64, "more thread", "more threads");
        lines.push(format!(
            "  and {threads}, {} on CPU in all",
            units::time(cpu)
        ));
    }
    lines
}

/// All threads but the main one, by kind, the longest lives (in all) first.
fn kinds(facts: &Facts) -> Vec<ThreadsAlike> {
    let ledger = &facts.ledger;
    let mut by_name: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (at, thread) in ledger.threads.iter().enumerate() {
        if Some(at) != ledger.main {
            by_name
                .entry((program(facts, thread), &thread.row.name))
                .or_default()
                .push(at);
        }
    }
    let mut kinds = Vec::new();
    for threads in by_name.into_values() {
        if threads.len() <= FEW {
            kinds.extend(threads.into_iter().map(|at| kind(facts, vec![at])));
        } else {
            kinds.push(kind(facts, threads));
        }
    }
    kinds.sort_by_key(|kind| {
        (
            std::cmp::Reverse(kind.sums.life_ns),
            kind.threads.first().copied(),
        )
    });
    kinds
}

fn kind(facts: &Facts, threads: Vec<usize>) -> ThreadsAlike {
    let mut sums = Sums::default();
    let mut processes: Vec<_> = threads
        .iter()
        .map(|&at| facts.ledger.threads[at].row.process)
        .collect();
    processes.sort_unstable();
    processes.dedup();
    for &at in &threads {
        sums.add(&facts.ledger.threads[at].sums);
    }
    ThreadsAlike {
        threads,
        processes: processes.len(),
        sums,
    }
}

/// What a thread's process runs.
fn program<'a>(facts: &'a Facts, thread: &ThreadLedger) -> &'a str {
    let process = thread.process.and_then(|at| facts.ledger.processes.get(at));
    process.map_or("", |process| match process.row.executable.as_str() {
        "" => &process.row.name,
        executable => executable,
    })
}

/// Name, life, the three shares, and what it mostly did.
fn cells(facts: &Facts, kind: &ThreadsAlike) -> [String; 6] {
    let accounted = kind.sums.accounted_ns();
    let share = |ns| units::percent(percent(ns, accounted));
    let count = kind.threads.len() as u64;
    let life = match count {
        1 => units::time(kind.sums.life_ns),
        _ => format!(
            "{} x {}",
            units::count(count),
            units::time(kind.sums.life_ns / count)
        ),
    };
    [
        label(facts, kind),
        life,
        share(kind.sums.cpu_ns.saturating_add(kind.sums.tracer_ns)),
        share(kind.sums.ready_ns),
        share(kind.sums.wait_ns),
        mostly(facts, kind),
    ]
}

fn label(facts: &Facts, kind: &ThreadsAlike) -> String {
    let Some(thread) = kind
        .threads
        .first()
        .and_then(|&at| facts.ledger.threads.get(at))
    else {
        return String::new();
    };
    let program = names::harmless(program(facts, thread));
    let short = file_name(&program);
    let name = names::harmless(&thread.row.name);
    // The kernel cuts names to 15 bytes, so a longer program may still be the same word.
    let own_name = name != short && !(name.len() == 15 && short.starts_with(name.as_ref()));
    let owner = match facts.ledger.processes.len() {
        1 => String::new(),
        _ => format!(" in {}", names::process(facts, thread.row.process)),
    };
    match (kind.threads.len(), kind.processes) {
        (1, _) => {
            let leader = thread.process.and_then(|at| facts.ledger.processes.get(at));
            let is_leader = leader.is_some_and(|leader| leader.row.pid == thread.row.tid);
            let owner = if is_leader { "" } else { &owner };
            format!("{}{owner}", names::thread(facts, thread.row.thread))
        }
        (n, 1) => format!("{} threads {name}{owner}", units::count(n as u64)),
        (_, m) if own_name => {
            format!(
                "{} processes like {program}: {name}",
                units::count(m as u64)
            )
        }
        (_, m) => format!("{} processes like {program}", units::count(m as u64)),
    }
}

/// The largest cause of these threads, whatever the object.
fn mostly(facts: &Facts, kind: &ThreadsAlike) -> String {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for cause in facts.ledger.causes_of(&kind.threads) {
        let function = cause
            .key
            .function
            .map_or("", |id| facts.ledger.function(id));
        let words = words::cause(
            cause.key.account,
            cause.key.kind,
            &names::harmless(function),
        );
        let sum = sums.entry(words).or_default();
        *sum = sum.saturating_add(cause.ns);
    }
    let largest = sums.into_iter().max_by_key(|(_, ns)| *ns);
    largest
        .filter(|(_, ns)| *ns > 0)
        .map_or(String::new(), |(words, _)| words)
}

fn aligned(table: &[[String; 6]], splits: &[Sums], style: &Style) -> Vec<String> {
    let label_most = if style.terminal { style.width / 3 } else { 60 };
    let widest = |column: usize| {
        table
            .iter()
            .map(|cells| style::width(&cells[column]))
            .max()
            .unwrap_or(0)
    };
    let label_width = widest(0).clamp(20, label_most);
    let life_width = widest(1).max(8);
    let heads = ["on CPU", "runnable", "blocked"];
    let mut head = format!(
        "  {}  {}",
        style::pad("", label_width),
        style::pad_left("life", life_width)
    );
    for text in heads {
        head += &format!("  {}", style::pad_left(text, 7));
    }
    let with_bar = style.terminal && style.width >= BAR_FROM;
    if with_bar {
        head += &" ".repeat(2 + SPLIT);
    }
    let room = style.width.saturating_sub(style::width(&head) + 2);
    let with_mostly = !style.terminal || room >= MOSTLY_FROM;
    if with_mostly {
        head += "  mostly";
    }
    let mut lines = vec![style.paint(Ink::Faint, &head)];
    for (cells, sums) in table.iter().zip(splits) {
        let name = style::pad(&style::cut(&cells[0], label_width), label_width);
        let mut line = format!("  {name}  {}", style::pad_left(&cells[1], life_width));
        for cell in &cells[2..5] {
            line += &format!("  {}", style::pad_left(cell, 7));
        }
        if with_bar {
            line += &format!("  {}", split_bar(sums, style));
        }
        if with_mostly {
            let mostly = if style.terminal {
                style::cut(&cells[5], room)
            } else {
                cells[5].clone()
            };
            line += &format!("  {mostly}");
        }
        lines.push(line);
    }
    lines
}

/// Columns of the small bar that shows a thread's split.
const SPLIT: usize = 8;
/// Less room than this says nothing of what threads mostly did.
const MOSTLY_FROM: usize = 12;
/// Narrower terminals have better uses for those columns.
const BAR_FROM: usize = 100;

/// A bar of three shades: on a processor, ready, waiting.
fn split_bar(sums: &Sums, style: &Style) -> String {
    let whole = sums.accounted_ns().max(1) as f64;
    let cpu = sums.cpu_ns.saturating_add(sums.tracer_ns) as f64 / whole;
    let ready = sums.ready_ns as f64 / whole;
    let to = |share: f64| ((share * SPLIT as f64).round() as usize).min(SPLIT);
    let (first, second) = (to(cpu), to(cpu + ready));
    let second = second.max(first);
    [
        style.paint(Ink::Cpu, &"█".repeat(first)),
        style.paint(Ink::Ready, &"▓".repeat(second - first)),
        style.paint(Ink::Wait, &"░".repeat(SPLIT - second)),
    ]
    .concat()
}
