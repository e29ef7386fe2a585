//! The critical path by state, in rows.

use timesink_analysis::outlook::Outlook;
use timesink_analysis::path::{Cause, Key};
use timesink_page::model::PathRow;
use timesink_page::States;
use timesink_recording::words::Detail;

use crate::present::{names, terminal, Report};

fn number(states: &States, key: &Key) -> u32 {
    match key.unknown {
        Some(why) => states.of_unknown(why),
        None => states.of(key.state, key.detail.unwrap_or(Detail::Running)),
    }
}

fn row(
    states: &States,
    label: String,
    wall_ns: u64,
    causes: &[Cause],
    about: Vec<String>,
) -> PathRow {
    let mut numbers: Vec<u32> = causes
        .iter()
        .map(|cause| number(states, &cause.key))
        .collect();
    let longest = causes
        .iter()
        .zip(&numbers)
        .max_by_key(|(cause, _)| cause.ns);
    let group = longest.map_or(timesink_page::model::StateGroup::Unknown, |(_, number)| {
        states.kinds[*number as usize].group
    });
    numbers.sort_unstable();
    numbers.dedup();
    let ns = causes.iter().map(|cause| cause.ns).sum();
    PathRow {
        label,
        group,
        states: numbers,
        ns,
        time: terminal::units::Span::within(wall_ns).one(i64::try_from(ns).unwrap_or(i64::MAX)),
        share: ns as f64 / wall_ns.max(1) as f64,
        about,
    }
}

/// The path as it was, by what the terminal calls it; longest first.
pub(super) fn rows(report: &Report, outlook: &Outlook, states: &States) -> Vec<PathRow> {
    let rows = terminal::path_rows(&outlook.causes)
        .into_iter()
        .map(|told| {
            let causes: Vec<Cause> = told.causes.iter().map(|on_path| on_path.cause).collect();
            let about = terminal::about_row(report, &told);
            row(states, told.label, outlook.wall_ns, &causes, about)
        });
    rows.collect()
}

/// A path that a prediction leaves.
pub(super) fn left(
    report: &Report,
    causes: &[Cause],
    wall_ns: u64,
    states: &States,
) -> Vec<PathRow> {
    let mut rows: Vec<(String, Vec<Cause>)> = Vec::new();
    for cause in causes.iter().filter(|cause| cause.ns > 0) {
        let label = terminal::cause_label(&cause.key);
        match rows.iter_mut().find(|(known, _)| *known == label) {
            Some((_, causes)) => causes.push(*cause),
            None => rows.push((label, vec![*cause])),
        }
    }
    let mut rows: Vec<PathRow> = rows
        .into_iter()
        .map(|(label, causes)| {
            let longest = causes.iter().max_by_key(|cause| cause.ns);
            let thing = longest.and_then(|cause| cause.key.object);
            let about = thing.map(|thing| names::object_in(report, thing));
            row(states, label, wall_ns, &causes, about.into_iter().collect())
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.ns));
    rows
}
