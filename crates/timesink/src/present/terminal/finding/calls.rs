//! The system calls that a finding is about: those of its process on its things, or all of the process.

use std::collections::BTreeSet;

use timesink_analysis::facts::calls::CallSum;
use timesink_analysis::replay::What;
use timesink_recording::ids::ObjectId;
use timesink_recording::words::State;

use super::One;
use crate::present::names;
use crate::present::terminal::style::{wrap, Ink, Style};
use crate::present::terminal::table::{self, Column};
use crate::present::terminal::units;

/// So many are shown, longest first.
const MOST: usize = 8;

pub(super) fn lines(one: &One, style: &Style) -> Vec<String> {
    let report = one.report;
    let suspect = &one.finding.suspect;
    let Some(process) = suspect.process else {
        return Vec::new();
    };
    let things = things(one);
    let of_it = report.facts.calls.iter();
    let mut calls: Vec<&CallSum> = of_it
        .filter(|call| call.process == Some(process))
        .filter(|call| {
            let about = call.object.is_some_and(|object| things.contains(&object));
            about || things.is_empty()
        })
        .collect();
    let names = names_of(one);
    if things.is_empty() && calls.iter().any(|call| names.contains(call.call.as_str())) {
        calls.retain(|call| names.contains(call.call.as_str()));
    }
    if calls.is_empty() {
        return Vec::new();
    }
    let named: Vec<String> = things
        .iter()
        .take(3)
        .map(|&thing| names::object_in(report, thing))
        .collect();
    let on = match (named.as_slice(), things.len()) {
        ([], _) => String::new(),
        (named, all) if all > named.len() => {
            format!(" on {} and {} more", named.join(", "), all - named.len())
        }
        (named, _) => format!(" on {}", named.join(", ")),
    };
    let about = format!("of {}{on}", names::process(report.facts, process));
    let mut lines = wrap(&about, "  ", Ink::Faint, style);
    let shown = &calls[..calls.len().min(MOST)];
    lines.extend(table(one, shown, style));
    let errors = shown.iter().flat_map(|call| {
        let errnos = call.errnos.iter();
        errnos.map(|(error, count)| {
            let (call, error) = (names::harmless(&call.call), names::harmless(error));
            format!("{call} failed with {error} {} times", units::count(*count))
        })
    });
    for error in errors.take(MOST) {
        lines.extend(wrap(&error, "  ", Ink::Faint, style));
    }
    let rest = calls.len() - shown.len();
    if rest > 0 {
        lines.extend(wrap(&format!("and {rest} more"), "  ", Ink::Faint, style));
    }
    lines
}

/// The calls that the fix names, or that those waits were in which it takes away.
fn names_of<'a>(one: &'a One) -> BTreeSet<&'a str> {
    if let Some(change) = one.finding.suspect.fix.single() {
        if let What::Calls(names) = &change.what {
            return names.iter().copied().collect();
        }
    }
    let waits = one.touched.iter().filter(|kind| kind.state == State::Wait);
    let calls_of = &one.report.loaded.waited().calls_of;
    let calls = waits.flat_map(|kind| calls_of.of_kind(kind.detail, kind.object));
    calls.map(String::as_str).collect()
}

/// What it is about: the things of the fix, or the one that the suspect names.
fn things(one: &One) -> BTreeSet<ObjectId> {
    let suspect = &one.finding.suspect;
    let of_fix = suspect.fix.single().and_then(|change| match &change.what {
        What::Waits { objects, .. } => objects.clone(),
        _ => None,
    });
    of_fix.unwrap_or_else(|| suspect.object.into_iter().collect())
}

fn table(one: &One, calls: &[&CallSum], style: &Style) -> Vec<String> {
    let report = one.report;
    let column = |head, spare, cell: &dyn Fn(&CallSum) -> String| Column {
        head,
        spare,
        cells: calls.iter().map(|call| cell(call)).collect(),
    };
    let any = |is: fn(&CallSum) -> bool| calls.iter().any(|call| is(call));
    let each = |sum: u64, call: &CallSum| sum / call.count.max(1);
    let mark = |call: &CallSum| if call.estimated { "~" } else { "" };
    let mut columns = vec![
        column("calls", 0, &|call| {
            format!("{}{}", mark(call), units::count(call.count))
        }),
        column("time", 0, &|call| {
            format!("{}{}", mark(call), units::time(call.ns))
        }),
        column("each", 1, &|call| units::time(each(call.ns, call))),
    ];
    if any(|call| call.bytes > 0) {
        let bytes = |call: &CallSum, bytes: u64| match call.bytes {
            0 => String::new(),
            _ => units::bytes(bytes),
        };
        columns.push(column("bytes", 2, &|call| bytes(call, call.bytes)));
        columns.push(column("each", 3, &|call| {
            bytes(call, each(call.bytes, call))
        }));
    }
    if any(|call| call.errors > 0) {
        columns.push(column("failed", 0, &|call| match call.errors {
            0 => String::new(),
            errors => units::count(errors),
        }));
    }
    let called = calls.iter().map(|call| {
        let object = call.object.map(|object| names::object_in(report, object));
        let name = names::harmless(&call.call);
        match object {
            Some(object) => format!("{name} · {object}"),
            None => name.into_owned(),
        }
    });
    table::lines(columns, "", &called.collect::<Vec<_>>(), style)
}
