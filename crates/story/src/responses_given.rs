//! A second look, where what takes longest is that a peer sleeps before it responds.
//!
//! A service that is asked over the network takes its time, and mostly nobody can change that; what can be changed is how it is asked:
//! behind a lock, by one thread, over two connections. The path to the end leads through the peer where that was recorded, and says
//! nothing of those who wait in turn. So its responses are taken as given then, as they are where the peer runs elsewhere. Where that
//! tells of nobody who waits in turn, the first look stays.

use std::collections::BTreeSet;

use timesink_analysis::outlook::LARGE;
use timesink_analysis::replay::{Change, What};
use timesink_analysis::timeline::Timeline;
use timesink_findings::engine::{Finding, Findings};
use timesink_findings::rule::Weight;

use crate::Loaded;

/// With fewer of them nobody waits in turn.
const LEAST: usize = 5;
/// What is told instead may save this share of what the sleeps take, at least. Measured 2026-11-29: 0.9 to 1.3 for a lock, a blocked event
/// loop, a server's only thread and a program's.
const SHARE: f64 = 0.3;

/// The recording with responses given that take as long as the sleeps that the first finding is of; `None` if that is of no sleeps, or
/// nobody waits for them.
pub fn timeline(loaded: &Loaded<'_>, findings: &Findings) -> Option<Timeline> {
    let first = findings.told.first().filter(|first| first.is_of_sleeps())?;
    // All spans are there twice meanwhile.
    if loaded.timeline.len() > LARGE {
        return None;
    }
    let (timeline, given) = loaded.timeline.with_slept_responses_given(&sleeps(first));
    (given >= LEAST).then_some(timeline)
}

/// The sleeps that a finding is of.
fn sleeps(finding: &Finding) -> BTreeSet<usize> {
    let changes: Vec<Change> = finding.suspect.fix.changes();
    let spans = changes.into_iter().map(|change| match change.what {
        What::Spans(spans) => spans,
        _ => BTreeSet::new(),
    });
    spans.flatten().collect()
}

/// Whether the second look tells who waits in turn.
pub fn tells_more(second: &Findings, first: &Findings) -> bool {
    let sleeps_ns = first.told.first().map_or(0, |first| first.gain.ns);
    let told = second.told.first().filter(|told| !told.is_of_sleeps());
    told.is_some_and(|told| {
        told.may_be_why_in_turn() && told.gain.hi_ns as f64 >= sleeps_ns as f64 * SHARE
    })
}

/// The second look, with the sleeps behind what it tells. They are on no path any more.
pub fn with_sleeps(mut second: Findings, first: &Findings) -> Findings {
    let of_sleeps = || first.told.iter().filter(|told| told.is_of_sleeps());
    let known: BTreeSet<usize> = of_sleeps().flat_map(sleeps).collect();
    second
        .told
        .retain(|told| !told.is_of_sleeps() || sleeps(told).is_disjoint(&known));
    second.told.extend(of_sleeps().cloned().map(|mut finding| {
        finding.suspect.weight = Weight::all(Vec::new());
        finding.main = false;
        finding
    }));
    second
}
