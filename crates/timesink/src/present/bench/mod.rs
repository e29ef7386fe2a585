//! Commands held against each other, in words.

pub mod tables;

use timesink_recording::floors::Load;
use timesink_trials::{Estimate, Gate, Interval, Round, Shift, Verdict};

use crate::bench::{label, Comparison, Figure, Job, MemoryOf, Outcome, Question, Sample};
use crate::present::terminal::units;

/// A machine is busy from this share of its CPU time on that others use, in percent.
const BUSY_PCT: f64 = 10.0;
/// Ratios from here on, either way, are told as times and not as percent.
const TIMES: f64 = 2.0;

/// All there is to present.
pub struct Bench<'a> {
    pub jobs: &'a [Job],
    pub rounds: &'a [Round<Sample>],
    pub question: &'a Question,
    pub outcome: &'a Outcome,
    /// What others did meanwhile.
    pub load: Load,
    /// No other bench was running.
    pub is_alone: bool,
    pub was_interrupted: bool,
    /// It was looked at more than once, and would have ended when it was decided.
    pub looked_at: bool,
    pub seed: u64,
}

/// A figure with its unit.
pub fn figure(figure: Figure, value: f64) -> String {
    let whole = value.max(0.0).round() as u64;
    match figure {
        one if one.is_time() => units::time(whole),
        Figure::Memory => units::bytes(whole),
        Figure::Metric => units::figure(value),
        _ => units::count(whole),
    }
}

/// `B takes 24.1 % more wall time than A (21.8 to 26.0 %)`, or that they are the same, or that it is not decided.
pub fn verdict(comparison: &Comparison, question: &Question, memory_of: MemoryOf) -> String {
    let (a, b, name) = (label(comparison.a), label(comparison.b), question.name());
    let Some(estimate) = &comparison.estimate else {
        if question.figure == Figure::Memory {
            return format!(
                "{a} and {b} cannot be compared: of some runs it is not known how much memory they used{}",
                match memory_of {
                    MemoryOf::Process => ": it was too little (below about 1 MB), or could not be measured here",
                    MemoryOf::Group => "",
                }
            );
        }
        return format!("{a} and {b} cannot be compared: not every run has a {name} above 0");
    };
    match comparison.verdict {
        Verdict::Changed => changed(&a, &b, question.figure, name, estimate),
        Verdict::Same => {
            let margin = units::whole_percent(question.margin);
            let mut told = format!(
                "{a} and {b} have the same {name} within {margin} ({})",
                ratio(&a, &b, estimate)
            );
            if let Some(visible) = comparison.visible {
                told += &format!("; {} would have been seen", percent(visible));
            }
            told
        }
        Verdict::Undecided { more } => {
            let mut told = format!(
                "Not decided whether {name} differs: {}",
                ratio(&a, &b, estimate)
            );
            told += &format!("; {} would tell", pairs(more));
            if let Some(visible) = comparison.visible {
                told += &format!(
                    "; a difference of {} would have been seen",
                    percent(visible)
                );
            }
            told
        }
    }
}

/// `about 120 more pairs`.
fn pairs(more: Option<usize>) -> String {
    match more {
        Some(1) => "one more pair".to_owned(),
        Some(more) => format!("about {} more pairs", units::count(more as u64)),
        None => "no reasonable number of pairs".to_owned(),
    }
}

/// One command has more or less of something than the other.
pub fn changed(a: &str, b: &str, what: Figure, name: &str, estimate: &Estimate) -> String {
    let verb = match what.is_amount() && what != Figure::Metric {
        true => "takes",
        false => "has",
    };
    let Estimate {
        ratio, interval, ..
    } = *estimate;
    if ratio <= 1.0 / TIMES {
        let part = |ratio: f64| format!("1/{}", units::factor(1.0 / ratio));
        let range = interval.map_or(String::new(), |Interval { lo, hi }| {
            format!(" ({} to {})", part(lo), part(hi))
        });
        return format!("{b} {verb} {} of the {name} of {a}{range}", part(ratio));
    }
    if ratio >= TIMES {
        let range = interval.map_or(String::new(), |Interval { lo, hi }| {
            format!(" ({}-{})", units::factor(lo), units::factor(hi))
        });
        return format!(
            "{b} {verb} {} times the {name} of {a}{range}",
            units::factor(ratio)
        );
    }
    let word = match (ratio > 1.0, what.is_amount()) {
        (true, _) => "more",
        (false, true) => "less",
        (false, false) => "fewer",
    };
    let range = interval.map_or(String::new(), |Interval { lo, hi }| {
        let (near, far) = if ratio > 1.0 { (lo, hi) } else { (hi, lo) };
        let share = |ratio: f64| format!("{:.1}", (ratio - 1.0).abs() * 100.0);
        format!(" ({} to {} %)", share(near), share(far))
    });
    format!(
        "{b} {verb} {} {word} {name} than {a}{range}",
        percent(ratio)
    )
}

/// How far a ratio is from 1.
fn percent(ratio: f64) -> String {
    units::percent((ratio - 1.0).abs() * 100.0)
}

/// `B/A 1.012, 0.985-1.040`.
pub fn ratio(a: &str, b: &str, estimate: &Estimate) -> String {
    let range = match estimate.interval {
        Some(Interval { lo, hi }) => format!("{}-{}", units::ratio(lo), units::ratio(hi)),
        None => "too few pairs for an interval".to_owned(),
    };
    format!("{b}/{a} {}, {range}", units::ratio(estimate.ratio))
}

/// What the gate says of one comparison.
pub fn gate(comparison: &Comparison, question: &Question) -> Option<String> {
    let gate = comparison.gate?;
    let told = gate_of(comparison.b, gate, question.gate?);
    Some(match gate {
        Gate::Undecided { more } => format!("{told}; {} would tell", pairs(more)),
        Gate::Lost | Gate::Passed => told,
    })
}

/// What the gate says of a command, by its number.
pub fn gate_of(number: usize, gate: Gate, loss: f64) -> String {
    let (who, loss) = (label(number), units::percent(loss * 100.0));
    match gate {
        Gate::Lost => format!("Gate: {who} loses more than {loss}"),
        Gate::Passed => format!("Gate: passed, {who} does not lose {loss}"),
        Gate::Undecided { .. } => format!("Gate: not decided whether {who} loses {loss}"),
    }
}

/// What is to be known before the figures are believed, most important first.
pub fn warnings(bench: &Bench<'_>) -> Vec<String> {
    let outcome = bench.outcome;
    let mut told = Vec::new();
    if bench.was_interrupted {
        told.push(
            "Stopped before all rounds had run; the unfinished round is not counted".to_owned(),
        );
    }
    for one in &outcome.comparisons {
        if let Some(Shift { at, ratio, .. }) = one.shift {
            told.push(format!(
                "The ratio of {} to {} changed at round {}, to {} times what it was before: no single figure is true of both parts; \
                 measure again",
                label(one.b),
                label(one.a),
                at + outcome.left_out + 1,
                units::ratio(ratio)
            ));
        }
    }
    let ratio_changed = outcome.comparisons.iter().any(|one| one.shift.is_some());
    // One command that changes moves all of them together, too: then it is not the machine, or not known to be.
    if let Some(Shift { at, ratio, .. }) = outcome.shift.filter(|_| !ratio_changed) {
        let (who, what) = match bench.jobs.len() {
            1 => ("A", "Its figures mix both"),
            _ => (
                "all commands together",
                "Ratios within rounds are not affected; the medians mix both levels",
            ),
        };
        told.push(format!(
            "From round {} on {who} had {} times the {} of before: the machine changed, or was changed. {what}",
            at + 1,
            units::ratio(ratio),
            bench.question.name()
        ));
    }
    if !bench.is_alone {
        told.push(
            "Another timesink bench was running on this machine; the two disturb each other"
                .to_owned(),
        );
    }
    if bench.load.others_pct > BUSY_PCT {
        told.push(format!(
            "Other programs used {} of the CPU time meanwhile: CPU time (--by cpu) suffers less from that than wall time",
            units::percent(bench.load.others_pct)
        ));
    }
    if bench.load.stolen_pct > BUSY_PCT {
        let stolen = units::percent(bench.load.stolen_pct);
        told.push(format!(
            "The machine's host took {stolen} of the CPU time away"
        ));
    }
    let failed = outcome.commands.iter().enumerate();
    for (at, command) in failed.filter(|(_, command)| command.failed > 0) {
        let runs = units::plural(
            outcome.rounds.saturating_sub(outcome.left_out) as u64,
            "run",
            "runs",
        );
        told.push(format!(
            "{} failed in {} of {runs}",
            label(at),
            command.failed
        ));
    }
    told
}

/// How it was measured, in parts.
pub fn method(bench: &Bench<'_>) -> Vec<String> {
    let outcome = bench.outcome;
    let order = match bench.jobs.len() {
        1 => String::new(),
        _ => "; each round runs every command once, in random order".to_owned(),
    };
    let mut parts = vec![format!(
        "{}{order}",
        units::plural(outcome.rounds as u64, "round", "rounds")
    )];
    if outcome.left_out > 0 {
        let slow: Vec<String> = outcome.slow_at_start.iter().map(|at| label(*at)).collect();
        let rounds = match outcome.left_out {
            1 => "the first is left out".to_owned(),
            n => format!("the first {n} are left out"),
        };
        parts.push(format!("{rounds} ({} started slow)", slow.join(", ")));
    }
    if let Some(level) = level(bench) {
        parts.push(level);
    }
    parts.push(match outcome.memory_of {
        MemoryOf::Process => "memory: peak of the largest process".to_owned(),
        MemoryOf::Group => {
            "memory: peak of all processes together, with what of files they brought into the page cache".to_owned()
        }
    });
    if outcome.commands.iter().all(|command| command.failed == 0) {
        parts.push("no run failed".to_owned());
    }
    if bench.load.others_pct <= BUSY_PCT {
        let others = units::percent(bench.load.others_pct);
        parts.push(format!("other programs used {others} of the CPU time"));
    }
    parts
}

/// What the intervals are, where there are any.
fn level(bench: &Bench<'_>) -> Option<String> {
    let comparisons = bench.outcome.comparisons.len();
    let percent = (1.0 - bench.question.alpha) * 100.0;
    let why = match (bench.looked_at, comparisons) {
        (_, 0) => return None,
        (false, 1) => return Some(format!("{percent:.0} % intervals")),
        (true, 1) => "looks".to_owned(),
        (true, many) => format!("looks at {many} comparisons"),
        (false, many) => format!("{many} comparisons"),
    };
    Some(format!(
        "{percent:.1} % intervals, so that of all {why} together 5 % are wrong at most"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::samples;

    /// Where one command became slower on the way, the ratio changed: it is not the machine, and ratios are not unaffected.
    #[test]
    fn a_ratio_that_changed_is_not_the_machine() {
        samples::drifting(|shown| {
            assert!(
                shown.outcome.shift.is_some(),
                "all together became slower, too"
            );
            let told = warnings(shown).join("\n");
            assert!(
                told.contains("The ratio of B to A changed at round 21"),
                "{told}"
            );
            assert!(
                !told.contains("the machine changed") && !told.contains("not affected"),
                "{told}"
            );
        });
    }
}
