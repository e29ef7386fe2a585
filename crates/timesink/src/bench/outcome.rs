//! From rounds to what may be said of them: figures of each command, and each command held against its reference.

use timesink_trials::{
    adjusted, gate, shift, slow_start, smallest_visible, verdict, Estimate, Gate, Round, Shift,
    Summary, Verdict,
};

use super::{Figure, Job, MemoryOf, Metric, Sample};

/// Of verdicts on figures that did not change, so many are wrong.
pub const ALPHA: f64 = 0.05;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The figure that decides.
    pub figure: Figure,
    pub metric: Option<Metric>,
    /// The share within which commands count as the same.
    pub margin: f64,
    /// The share that is not to be lost.
    pub gate: Option<f64>,
    /// How likely the interval of one comparison, at one look, may be wrong.
    pub alpha: f64,
}

impl Question {
    /// The name of the figure that decides.
    pub fn name(&self) -> &str {
        match (&self.metric, self.figure) {
            (Some(metric), Figure::Metric) => &metric.name,
            (_, figure) => figure.name(),
        }
    }

    pub fn higher_is_better(&self) -> bool {
        let metric = self.metric.as_ref();
        self.figure == Figure::Metric && metric.is_some_and(|metric| metric.higher_is_better)
    }
}

/// All that is said of some rounds.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub commands: Vec<CommandOutcome>,
    pub comparisons: Vec<Comparison>,
    /// Whole rounds that were run.
    pub rounds: usize,
    /// Rounds at the start that count for nothing, because commands were slower in them.
    pub left_out: usize,
    /// The commands that were.
    pub slow_at_start: Vec<usize>,
    /// All commands together became slower or faster on the way.
    pub shift: Option<Shift>,
    pub memory_of: MemoryOf,
}

/// The figures of one command, without the rounds that are left out.
#[derive(Clone, Debug)]
pub struct CommandOutcome {
    /// Of the figure that decides; `None`: there are no runs, or they do not have it.
    pub deciding: Option<Summary>,
    /// The medians of other figures.
    pub medians: Vec<(Figure, Option<f64>)>,
    pub failed: usize,
}

/// One command held against its reference: `b` as a multiple of `a`.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub a: usize,
    pub b: usize,
    /// `None`: the figures have no ratio.
    pub estimate: Option<Estimate>,
    pub verdict: Verdict,
    /// The smallest ratio that would have been seen.
    pub visible: Option<f64>,
    pub gate: Option<Gate>,
    /// The ratio itself changed on the way.
    pub shift: Option<Shift>,
    pub others: Vec<Other>,
}

/// A figure that does not decide.
#[derive(Clone, Copy, Debug)]
pub struct Other {
    pub figure: Figure,
    pub estimate: Estimate,
    /// Its p value, adjusted for how many such figures there are.
    pub p_adjusted: f64,
    /// It lies within the margin.
    pub is_within_margin: bool,
}

impl Other {
    /// Whether it is worth telling.
    pub fn differs(&self) -> bool {
        self.p_adjusted <= ALPHA && !self.is_within_margin
    }
}

/// Figures whose medians are shown of each command.
pub const SHOWN: [Figure; 6] = [
    Figure::Wall,
    Figure::User,
    Figure::System,
    Figure::Memory,
    Figure::Switches,
    Figure::Faults,
];

impl Outcome {
    pub fn of(jobs: &[Job], rounds: &[Round<Sample>], question: &Question) -> Outcome {
        let starts: Vec<usize> = (0..jobs.len())
            .map(|command| slow_start(&series(rounds, command, question)))
            .collect();
        let left_out = starts.iter().copied().max().unwrap_or(0);
        let counted = rounds.get(left_out..).unwrap_or(&[]);
        let mut comparisons: Vec<Comparison> = jobs
            .iter()
            .enumerate()
            .filter_map(|(b, job)| Some(compare(counted, job.reference?, b, question)))
            .collect();
        adjust(&mut comparisons);
        Outcome {
            commands: (0..jobs.len())
                .map(|command| figures(counted, command, question))
                .collect(),
            comparisons,
            rounds: rounds.len(),
            memory_of: rounds
                .first()
                .and_then(|round| round.results.first())
                .map_or(MemoryOf::Process, |sample| sample.memory_of),
            left_out,
            slow_at_start: (0..jobs.len()).filter(|at| starts[*at] > 0).collect(),
            shift: shift(&together(counted, jobs.len(), question)).map(|found| Shift {
                at: found.at + left_out,
                ..found
            }),
        }
    }

    /// Whether more rounds would say no more than these.
    pub fn is_decided(&self) -> bool {
        self.comparisons.iter().all(|one| match one.gate {
            Some(gate) => !matches!(gate, Gate::Undecided { .. }),
            None => !matches!(one.verdict, Verdict::Undecided { .. }),
        })
    }

    /// What the gate says of all comparisons: one loss is a loss.
    pub fn gate(&self) -> Option<Gate> {
        gate_of_all(self.comparisons.iter().filter_map(|one| one.gate))
    }
}

/// One loss is a loss, and what is not decided is not passed.
pub fn gate_of_all(gates: impl Iterator<Item = Gate>) -> Option<Gate> {
    let gates: Vec<Gate> = gates.collect();
    let undecided = gates
        .iter()
        .find(|one| matches!(one, Gate::Undecided { .. }));
    match gates.contains(&Gate::Lost) {
        true => Some(Gate::Lost),
        false => undecided.or(gates.first()).copied(),
    }
}

fn series(rounds: &[Round<Sample>], command: usize, question: &Question) -> Vec<f64> {
    let samples = rounds.iter().filter_map(|round| round.results.get(command));
    let figures = samples.filter_map(|sample| question.figure.of(sample));
    match question.higher_is_better() {
        // A slow start is one of few a second.
        true => figures.map(|figure| 1.0 / figure).collect(),
        false => figures.collect(),
    }
}

/// What a round took of all commands together: the geometric mean, for which a long command is no more than a short one.
fn together(rounds: &[Round<Sample>], commands: usize, question: &Question) -> Vec<f64> {
    let all: Vec<Vec<f64>> = (0..commands)
        .map(|command| series(rounds, command, question))
        .collect();
    let means = (0..rounds.len()).map(|round| {
        let of_round = all.iter().filter_map(|series| series.get(round));
        let sum: f64 = of_round.map(|value| value.ln()).sum();
        (sum / commands.max(1) as f64).exp()
    });
    means.collect()
}

fn figures(rounds: &[Round<Sample>], command: usize, question: &Question) -> CommandOutcome {
    let samples: Vec<&Sample> = rounds
        .iter()
        .filter_map(|round| round.results.get(command))
        .collect();
    let summary = |figure: Figure| {
        let values: Option<Vec<f64>> = samples.iter().map(|sample| figure.of(sample)).collect();
        Summary::of(&values?)
    };
    CommandOutcome {
        deciding: summary(question.figure),
        medians: SHOWN
            .iter()
            .map(|figure| (*figure, summary(*figure).map(|all| all.median)))
            .collect(),
        failed: samples
            .iter()
            .filter(|sample| sample.exit_code != 0)
            .count(),
    }
}

fn pairs(rounds: &[Round<Sample>], a: usize, b: usize, figure: Figure) -> Option<Vec<(f64, f64)>> {
    let pairs = rounds.iter().map(|round| {
        let figure_of = |command: usize| figure.of(round.results.get(command)?);
        figure_of(a).zip(figure_of(b))
    });
    pairs.collect()
}

fn compare(rounds: &[Round<Sample>], a: usize, b: usize, question: &Question) -> Comparison {
    let deciding = pairs(rounds, a, b, question.figure).unwrap_or_default();
    let estimate = Estimate::of(&deciding, question.alpha);
    let cost = match question.higher_is_better() {
        true => estimate.map(|estimate| estimate.inverse()),
        false => estimate,
    };
    let nothing_known = Gate::Undecided { more: None };
    let ratios: Vec<f64> = deciding.iter().map(|(a, b)| b / a).collect();
    let others = Figure::OTHERS.iter().filter(|one| **one != question.figure);
    Comparison {
        a,
        b,
        estimate,
        verdict: estimate.map_or(Verdict::Undecided { more: None }, |estimate| {
            verdict(&estimate, question.margin)
        }),
        visible: estimate.and_then(|estimate| smallest_visible(&estimate)),
        gate: question
            .gate
            .map(|loss| cost.map_or(nothing_known, |cost| gate(&cost, loss))),
        shift: shift(&ratios),
        others: others
            .filter_map(|figure| {
                let estimate = Estimate::of(&pairs(rounds, a, b, *figure)?, question.alpha)?;
                Some(Other {
                    figure: *figure,
                    p_adjusted: estimate.p,
                    is_within_margin: verdict(&estimate, question.margin) == Verdict::Same,
                    estimate,
                })
            })
            .collect(),
    }
}

/// All figures of all comparisons that do not decide are one family.
fn adjust(comparisons: &mut [Comparison]) {
    let all = || comparisons.iter().flat_map(|one| &one.others);
    let p: Vec<f64> = all().map(|other| other.p_adjusted).collect();
    let others = comparisons.iter_mut().flat_map(|one| &mut one.others);
    for (other, p) in others.zip(adjusted(&p)) {
        other.p_adjusted = p;
    }
}
