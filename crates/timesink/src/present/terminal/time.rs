//! Where the time of the main thread went.

use std::collections::BTreeMap;

use timesink_analysis::facts::Facts;
use timesink_analysis::ledger::{Account, Behind, Cause, Kind, ThreadLedger};
use timesink_recording::words::{Detail, ObjectKind};

use super::rows::{align, times, title, Row};
use super::style::Style;
use super::{code, units, Report};
use crate::present::{names, words};

/// Causes below this share of the thread's life are folded into one row.
const SMALL: f64 = 0.001;
/// Objects named under a cause that has several.
const OBJECTS: usize = 3;
/// And only those with this share of the cause.
const LARGE: f64 = 0.05;
/// Occupants named behind a ready row.
const OCCUPANTS: usize = 3;

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let facts = report.facts;
    let Some(thread) = report.main() else {
        return Vec::new();
    };
    let life = life(thread);
    let name = names::thread(facts, thread.row.thread);
    let about = format!("{name}, {}", units::time(life));
    let mut lines = vec![title(heading(facts, thread), &about, style)];
    lines.extend(align(&rows(report, thread, life), life, style));
    lines.extend(code::dominant(report, thread, style));
    lines
}

/// Where the first thread only waited, another one stands for it (`analysis/wall.rs`).
fn heading(facts: &Facts, thread: &ThreadLedger) -> &'static str {
    let process = facts.ledger.process(thread.row.process);
    match process.is_some_and(|process| process.row.pid == thread.row.tid) {
        true => "THE MAIN THREAD",
        false => "THE THREAD THAT RAN MOST",
    }
}

/// The whole that shares are of: the kernel's life of the thread, or ours where that is missing.
pub(super) fn life(thread: &ThreadLedger) -> u64 {
    match thread.sums.kernel_life_ns {
        0 => thread.sums.life_ns,
        kernel => kernel,
    }
}

/// Causes that share a line: the same words, whatever the object.
struct TimeGroup {
    label: String,
    account: Account,
    kind: Kind,
    ns: u64,
    count: u64,
    causes: Vec<Cause>,
}

fn groups(facts: &Facts, causes: &[Cause]) -> Vec<TimeGroup> {
    let mut groups: Vec<TimeGroup> = Vec::new();
    for cause in causes {
        let key = cause.key;
        let function = key.function.map_or("", |id| facts.ledger.function(id));
        let label = words::cause(key.account, key.kind, &names::harmless(function));
        let found = groups.iter_mut().find(|group| group.label == label);
        let group = match found {
            Some(group) => group,
            None => {
                groups.push(TimeGroup {
                    label,
                    account: key.account,
                    kind: key.kind,
                    ns: 0,
                    count: 0,
                    causes: Vec::new(),
                });
                let last = groups.len() - 1;
                &mut groups[last]
            }
        };
        group.ns = group.ns.saturating_add(cause.ns);
        group.count = group.count.saturating_add(cause.count);
        group.causes.push(*cause);
    }
    groups.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.label.cmp(&b.label)));
    groups
}

fn rows(report: &Report, thread: &ThreadLedger, life: u64) -> Vec<Row> {
    let facts = report.facts;
    let mut rows = Vec::new();
    let (mut small, mut small_ns) = (0, 0u64);
    for group in groups(facts, &thread.causes)
        .into_iter()
        .filter(|group| group.ns > 0)
    {
        // What is lost, or our own, is never too small to be told.
        let must_tell = matches!(group.account, Account::Lost) || group.kind == Kind::Missing;
        if share(group.ns, life) < SMALL && !must_tell {
            small += 1;
            small_ns = small_ns.saturating_add(group.ns);
            continue;
        }
        rows.extend(group_rows(report, thread, &group, life));
    }
    if small > 0 {
        rows.push(Row {
            label: format!(
                "and {}",
                units::plural(small, "smaller cause", "smaller causes")
            ),
            ns: small_ns,
            share: Some(share(small_ns, life)),
            ..Row::default()
        });
    }
    rows
}

fn share(ns: u64, life: u64) -> f64 {
    if life == 0 {
        0.0
    } else {
        ns as f64 / life as f64
    }
}

fn group_rows(report: &Report, thread: &ThreadLedger, group: &TimeGroup, life: u64) -> Vec<Row> {
    let facts = report.facts;
    let counted = matches!(group.account, Account::Ready | Account::Wait);
    let mut head = Row {
        label: group.label.clone(),
        ns: group.ns,
        estimated: group.causes.iter().any(|cause| cause.estimated),
        share: Some(share(group.ns, life)),
        times: if counted {
            times(group.count, group.ns)
        } else {
            String::new()
        },
        ink: Some(words::ink(group.account)),
        ..Row::default()
    };
    let throttled = group.kind == Kind::As(Detail::Throttled);
    if group.account == Account::Ready && !throttled {
        head.more = told("behind", facts, &thread.behind);
        let mut rows = vec![head];
        if group.causes.len() > 1 {
            rows.extend(group.causes.iter().filter_map(|cause| {
                let label = words::ready(cause.key.kind).to_owned();
                inner(label, cause, life)
            }));
        }
        return rows;
    }
    let objects: Vec<&Cause> = group
        .causes
        .iter()
        .filter(|cause| cause.key.object.is_some())
        .collect();
    if group.causes.len() == 1 {
        head.about = objects
            .first()
            .map_or(String::new(), |cause| object(report, cause));
        if group.kind == Kind::As(Detail::Lock) {
            head.more = told("held by", facts, &thread.held_by);
        }
        return vec![head];
    }
    if !objects.is_empty() {
        let many = words::objects(group.kind);
        head.more = format!("{} {many}", units::count(objects.len() as u64));
        if group.kind == Kind::As(Detail::Lock) && !thread.held_by.is_empty() {
            head.more += &format!(", {}", told("held by", facts, &thread.held_by));
        }
        if let Some(program) = mostly(facts, &objects) {
            head.more += &format!(", mostly {program}");
        }
    }
    let mut rows = vec![head];
    let large = |cause: &&&Cause| share(cause.ns, group.ns) >= LARGE;
    let named = objects.iter().filter(large).take(OBJECTS);
    rows.extend(named.filter_map(|cause| inner(object(report, cause), cause, life)));
    rows
}

/// A row within a group, unless it is too small.
fn inner(label: String, cause: &Cause, life: u64) -> Option<Row> {
    let share = share(cause.ns, life);
    (share >= SMALL).then(|| Row {
        inner: true,
        label,
        ns: cause.ns,
        share: Some(share),
        times: times(cause.count, cause.ns),
        ..Row::default()
    })
}

/// The program that most of these children ran, by time; `None` where the objects are no children.
fn mostly(facts: &Facts, objects: &[&Cause]) -> Option<String> {
    let pids: BTreeMap<u64, &str> = facts
        .ledger
        .processes
        .iter()
        .map(|process| (u64::from(process.row.pid), process.row.name.as_str()))
        .collect();
    let mut programs: BTreeMap<&str, u64> = BTreeMap::new();
    for cause in objects {
        let object = cause.key.object.and_then(|id| facts.object(id));
        let child = object.filter(|object| object.kind == ObjectKind::Child);
        if let Some(program) = child.and_then(|child| pids.get(&child.inode?)) {
            let sum = programs.entry(program).or_default();
            *sum = sum.saturating_add(cause.ns);
        }
    }
    let (program, _) = programs.into_iter().max_by_key(|(_, ns)| *ns)?;
    Some(names::harmless(program).into_owned())
}

fn object(report: &Report, cause: &Cause) -> String {
    cause
        .key
        .object
        .map_or(String::new(), |id| names::object_in(report, id))
}

/// `behind: backup(812) 0.07 s, ...`.
fn told(word: &str, facts: &Facts, behind: &[Behind]) -> String {
    if behind.is_empty() {
        return String::new();
    }
    let named = |behind: &Behind| {
        format!(
            "{} {}",
            names::who(facts, behind.who),
            units::time(behind.ns)
        )
    };
    let mut parts: Vec<String> = behind.iter().take(OCCUPANTS).map(named).collect();
    if behind.len() > OCCUPANTS {
        let rest = &behind[OCCUPANTS..];
        let ns = rest
            .iter()
            .fold(0u64, |sum, behind| sum.saturating_add(behind.ns));
        parts.push(format!("{} more {}", rest.len(), units::time(ns)));
    }
    format!("{word}: {}", parts.join(", "))
}
