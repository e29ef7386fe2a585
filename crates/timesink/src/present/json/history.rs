//! The history of benchmarks as JSON (docs/json.md; a test compares the fields).

use serde::Serialize;
use timesink_trials::Summary;

use crate::bench::Figure;
use crate::history::{Candidate, Confirmation, History, Measured, Series, What};

#[derive(Serialize)]
pub(super) struct Page<'a> {
    version: u32,
    benchmarks: Vec<BenchmarkPage<'a>>,
}

#[derive(Serialize)]
struct BenchmarkPage<'a> {
    #[serde(flatten)]
    what: &'a What,
    setup: Option<&'a str>,
    cleanup: Option<&'a str>,
    figure: &'static str,
    results: Vec<ResultPage<'a>>,
    candidates: Vec<CandidatePage>,
    confirmations: Vec<ConfirmationPage<'a>>,
}

#[derive(Serialize)]
struct ResultPage<'a> {
    measured_unix_s: u64,
    commit: Option<&'a str>,
    commit_unix_s: Option<u64>,
    is_changed: Option<bool>,
    place: i64,
    runs: usize,
    median: Option<f64>,
    quarter: Option<f64>,
    three_quarters: Option<f64>,
}

#[derive(Serialize)]
struct CandidatePage {
    result: usize,
    ratio: f64,
    p: f64,
    old: Option<String>,
    new: Option<String>,
    confirmation: Option<&'static str>,
    facts: Vec<FactPage>,
}

#[derive(Serialize)]
struct FactPage {
    kind: String,
    key: String,
    old: Option<String>,
    new: Option<String>,
}

#[derive(Serialize)]
struct ConfirmationPage<'a> {
    confirmed_unix_s: u64,
    figure: &'a str,
    old: &'a str,
    new: &'a str,
    commits: Option<u64>,
    verdict: &'static str,
    ratio: f64,
    lo: Option<f64>,
    hi: Option<f64>,
    pairs: Vec<[f64; 2]>,
}

pub(super) fn page(history: &History, figure: Option<Figure>) -> Page<'_> {
    let benchmarks = history.series.iter().map(|series| {
        let figure = figure.unwrap_or(series.own_figure());
        let candidates = series.candidates(figure, &history.places);
        BenchmarkPage {
            what: &series.what,
            setup: series.setup.as_deref(),
            cleanup: series.cleanup.as_deref(),
            figure: figure.word(),
            results: series
                .recent()
                .iter()
                .map(|one| result(one, figure))
                .collect(),
            candidates: candidates
                .into_iter()
                .map(|one| candidate(series, one, figure))
                .collect(),
            confirmations: series.confirmations.iter().map(confirmation).collect(),
        }
    });
    Page {
        version: super::VERSION,
        benchmarks: benchmarks.collect(),
    }
}

fn result(one: &Measured, figure: Figure) -> ResultPage<'_> {
    let commit = one.commit.as_ref();
    let all: Option<Vec<f64>> = one.runs.iter().map(|run| run.figure(figure)).collect();
    let summary = Summary::of(&all.unwrap_or_default());
    ResultPage {
        measured_unix_s: one.measured_unix_s,
        commit: commit.map(|commit| commit.id.as_str()),
        commit_unix_s: commit.map(|commit| commit.unix_s),
        is_changed: commit.map(|commit| commit.is_changed),
        place: one.place,
        runs: one.runs.len(),
        median: summary.map(|all| all.median),
        quarter: summary.map(|all| all.quartiles.0),
        three_quarters: summary.map(|all| all.quartiles.1),
    }
}

fn candidate(series: &Series, one: Candidate, figure: Figure) -> CandidatePage {
    let confirmation = series.confirmation(&one, figure);
    let (old, new) = one
        .ends
        .map_or((None, None), |(old, new)| (Some(old), Some(new)));
    let facts = one.facts.into_iter().map(|fact| FactPage {
        kind: fact.kind,
        key: fact.key,
        old: fact.old,
        new: fact.new,
    });
    CandidatePage {
        result: one.at,
        ratio: one.ratio,
        p: one.p,
        confirmation: confirmation.map(|one| one.verdict.word()),
        facts: facts.collect(),
        old,
        new,
    }
}

fn confirmation(one: &Confirmation) -> ConfirmationPage<'_> {
    ConfirmationPage {
        confirmed_unix_s: one.confirmed_unix_s,
        figure: &one.figure,
        old: &one.old,
        new: &one.new,
        commits: one.commits,
        verdict: one.verdict.word(),
        ratio: one.ratio,
        lo: one.interval.map(|(lo, _)| lo),
        hi: one.interval.map(|(_, hi)| hi),
        pairs: one.pairs.iter().map(|(old, new)| [*old, *new]).collect(),
    }
}
