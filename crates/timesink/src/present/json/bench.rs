//! Commands held against each other, as JSON of our own (docs/json.md; a test compares the fields) and as hyperfine has it.

use std::collections::BTreeMap;

use serde::Serialize;
use timesink_trials::{Estimate, Gate, Shift, Summary, Verdict};

use crate::bench::outcome::Other;
use crate::bench::{label, Comparison, Figure, MemoryOf, RunPage, Sample};
use crate::present::bench::{self, Bench};

#[derive(Serialize)]
pub(super) struct Page<'a> {
    version: u32,
    figure: &'static str,
    metric: Option<&'a str>,
    higher_is_better: bool,
    margin_share: f64,
    gate_share: Option<f64>,
    gate: Option<&'static str>,
    level: f64,
    seed: u64,
    rounds: usize,
    left_out: usize,
    was_interrupted: bool,
    warnings: Vec<String>,
    shift: Option<ShiftPage>,
    others_pct: f64,
    stolen_pct: f64,
    commands: Vec<CommandPage<'a>>,
    comparisons: Vec<ComparisonPage>,
}

#[derive(Serialize)]
struct ShiftPage {
    round: usize,
    ratio: f64,
}

#[derive(Serialize)]
struct CommandPage<'a> {
    label: String,
    command: &'a str,
    parameters: Vec<ParameterPage<'a>>,
    deciding: Option<SummaryPage>,
    failed: usize,
    runs: Vec<RunPage>,
}

#[derive(Serialize)]
struct ParameterPage<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct SummaryPage {
    median: f64,
    mean: f64,
    deviation: f64,
    least: f64,
    most: f64,
    quarter: f64,
    three_quarters: f64,
}

#[derive(Serialize)]
struct ComparisonPage {
    a: String,
    b: String,
    verdict: &'static str,
    told: String,
    more_pairs: Option<usize>,
    estimate: Option<EstimatePage>,
    smallest_visible: Option<f64>,
    gate: Option<&'static str>,
    shift: Option<ShiftPage>,
    others: Vec<OtherPage>,
}

#[derive(Serialize)]
struct EstimatePage {
    ratio: f64,
    lo: Option<f64>,
    hi: Option<f64>,
    pairs: usize,
    p: f64,
}

#[derive(Serialize)]
struct OtherPage {
    figure: &'static str,
    estimate: EstimatePage,
    p_adjusted: f64,
    differs: bool,
}

pub(super) fn page<'a>(bench: &'a Bench<'a>) -> Page<'a> {
    let (question, outcome) = (bench.question, bench.outcome);
    Page {
        version: super::VERSION,
        figure: question.figure.word(),
        metric: question.metric.as_ref().map(|metric| metric.name.as_str()),
        higher_is_better: question.higher_is_better(),
        margin_share: question.margin,
        gate_share: question.gate,
        gate: outcome.gate().map(gate_word),
        level: 1.0 - question.alpha,
        seed: bench.seed,
        rounds: outcome.rounds,
        left_out: outcome.left_out,
        was_interrupted: bench.was_interrupted,
        warnings: bench::warnings(bench),
        shift: outcome.shift.map(|one| shift(one, 0)),
        others_pct: bench.load.others_pct,
        stolen_pct: bench.load.stolen_pct,
        commands: (0..bench.jobs.len()).map(|at| command(bench, at)).collect(),
        comparisons: outcome
            .comparisons
            .iter()
            .map(|one| comparison(bench, one))
            .collect(),
    }
}

/// Rounds are counted from 1, as on the page.
fn shift(shift: Shift, left_out: usize) -> ShiftPage {
    ShiftPage {
        round: shift.at + left_out + 1,
        ratio: shift.ratio,
    }
}

fn gate_word(gate: Gate) -> &'static str {
    match gate {
        Gate::Lost => "lost",
        Gate::Passed => "passed",
        Gate::Undecided { .. } => "undecided",
    }
}

fn command<'a>(bench: &Bench<'a>, at: usize) -> CommandPage<'a> {
    let job = &bench.jobs[at];
    let outcome = bench.outcome.commands.get(at);
    let runs = bench.rounds.iter().filter_map(|round| {
        let place = round.order.iter().position(|command| *command == at)?;
        Some(RunPage {
            place: place + 1,
            sample: *round.results.get(at)?,
        })
    });
    let parameters = job.parameters.iter();
    CommandPage {
        label: label(at),
        command: &job.text,
        parameters: parameters
            .map(|(name, value)| ParameterPage { name, value })
            .collect(),
        deciding: outcome.and_then(|one| one.deciding).map(summary),
        failed: outcome.map_or(0, |one| one.failed),
        runs: runs.collect(),
    }
}

fn summary(all: Summary) -> SummaryPage {
    SummaryPage {
        median: all.median,
        mean: all.mean,
        deviation: all.deviation,
        least: all.least,
        most: all.most,
        quarter: all.quartiles.0,
        three_quarters: all.quartiles.1,
    }
}

fn comparison(bench: &Bench<'_>, one: &Comparison) -> ComparisonPage {
    let (verdict, more_pairs) = match one.verdict {
        Verdict::Changed => ("changed", None),
        Verdict::Same => ("same", None),
        Verdict::Undecided { more } => ("undecided", more),
    };
    ComparisonPage {
        a: label(one.a),
        b: label(one.b),
        verdict,
        told: bench::verdict(one, bench.question, bench.outcome.memory_of),
        more_pairs,
        estimate: one.estimate.as_ref().map(estimate),
        smallest_visible: one.visible,
        gate: one.gate.map(gate_word),
        shift: one.shift.map(|found| shift(found, bench.outcome.left_out)),
        others: one.others.iter().map(other).collect(),
    }
}

fn estimate(estimate: &Estimate) -> EstimatePage {
    EstimatePage {
        ratio: estimate.ratio,
        lo: estimate.interval.map(|one| one.lo),
        hi: estimate.interval.map(|one| one.hi),
        pairs: estimate.pairs,
        p: estimate.p,
    }
}

fn other(other: &Other) -> OtherPage {
    OtherPage {
        figure: other.figure.word(),
        estimate: estimate(&other.estimate),
        p_adjusted: other.p_adjusted,
        differs: other.differs(),
    }
}

/// What `hyperfine --export-json` writes: seconds, all runs.
#[derive(Serialize)]
pub(super) struct Hyperfine<'a> {
    results: Vec<HyperfineResult<'a>>,
}

#[derive(Serialize)]
struct HyperfineResult<'a> {
    command: &'a str,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_usage_byte: Option<Vec<u64>>,
    exit_codes: Vec<u8>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, &'a str>,
}

pub(super) fn hyperfine<'a>(bench: &'a Bench<'a>) -> Hyperfine<'a> {
    let results = bench.jobs.iter().enumerate().filter_map(|(at, job)| {
        let samples: Vec<&Sample> = bench
            .rounds
            .iter()
            .filter_map(|round| round.results.get(at))
            .collect();
        let seconds = |figure: Figure| -> Vec<f64> {
            let all = samples.iter().filter_map(|sample| figure.of(sample));
            all.map(|ns| ns / 1e9).collect()
        };
        let times = seconds(Figure::Wall);
        let wall = Summary::of(&times)?;
        let mean = |figure: Figure| Summary::of(&seconds(figure)).map_or(0.0, |all| all.mean);
        Some(HyperfineResult {
            command: &job.text,
            mean: wall.mean,
            stddev: (wall.runs > 1).then_some(wall.deviation),
            median: wall.median,
            user: mean(Figure::User),
            system: mean(Figure::System),
            min: wall.least,
            max: wall.most,
            times,
            // What is not known of one run is nothing that a reader expects: then there is none.
            // There it is memory of the largest process.
            memory_usage_byte: samples
                .iter()
                .map(|one| {
                    one.memory_bytes
                        .filter(|_| one.memory_of == MemoryOf::Process)
                })
                .collect(),
            exit_codes: samples.iter().map(|one| one.exit_code).collect(),
            parameters: job
                .parameters
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
        })
    });
    Hyperfine {
        results: results.collect(),
    }
}

/// What Bencher takes in: benchmarks by name, each with its measures; times are in nanoseconds.
pub(super) type BencherResults<'a> = BTreeMap<String, BTreeMap<&'a str, BencherMetric>>;

/// The median, and where the middle half of the runs lies.
#[derive(Serialize)]
pub(super) struct BencherMetric {
    value: f64,
    lower_value: f64,
    upper_value: f64,
}

pub(super) fn bencher<'a>(bench: &'a Bench<'a>) -> BencherResults<'a> {
    let metric = bench.question.metric.as_ref();
    let metric = metric.map_or("metric", |metric| metric.name.as_str());
    let measures = [
        ("latency", Figure::Wall),
        ("memory", Figure::Memory),
        (metric, Figure::Metric),
    ];
    let mut results = BencherResults::new();
    for (at, job) in bench.jobs.iter().enumerate() {
        let samples = bench
            .rounds
            .iter()
            .filter_map(|round| round.results.get(at));
        let of = |figure: Figure| {
            let figures = samples.clone().filter_map(|sample| figure.of(sample));
            Summary::of(&figures.collect::<Vec<f64>>())
        };
        let measured = measures.iter().filter_map(|&(name, figure)| {
            let all = of(figure)?;
            let metric = BencherMetric {
                value: all.median,
                lower_value: all.quartiles.0,
                upper_value: all.quartiles.1,
            };
            Some((name, metric))
        });
        // The same command twice is two benchmarks.
        let numbered = (2..).map(|number| format!("{} #{number}", job.text));
        let mut names = std::iter::once(job.text.clone()).chain(numbered);
        let name = names.find(|name| !results.contains_key(name));
        results.insert(name.unwrap_or_default(), measured.collect());
    }
    results
}
