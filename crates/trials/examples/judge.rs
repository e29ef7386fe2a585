//! Judges comparisons from standard input, one a line, for scripts that hold our figures against other people's:
//! `ALPHA MARGIN a1 b1 a2 b2 ...` in, `VERDICT GATE RATIO LO HI P` out. The gate is at 5 %; what there is not is `-`.
//! Of a history, `changes v1 v2 ...` in, `AT STATISTIC P` of its best place out.
//! Of runs that are apart, `apart ALPHA RUNS_OF_A a1 a2 ... b1 b2 ...` in, `RATIO LO HI` out.

use std::io::{self, BufRead};

use timesink_trials::{best_place, gate, verdict, Apart, Estimate, Gate, Interval, Verdict};

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let line = line?;
        let judged = match line.split_once(' ') {
            Some(("apart", runs)) => apart(runs),
            Some(("changes", history)) => place(history),
            _ => judged(&line),
        };
        println!("{}", judged.unwrap_or_else(|| "-".to_owned()));
    }
    Ok(())
}

fn judged(line: &str) -> Option<String> {
    let numbers: Option<Vec<f64>> = line.split(' ').map(|word| word.parse().ok()).collect();
    let numbers = numbers?;
    let (settings, figures) = numbers.split_at_checked(2)?;
    let pairs: Vec<(f64, f64)> = figures
        .chunks_exact(2)
        .map(|pair| (pair[0], pair[1]))
        .collect();
    let estimate = Estimate::of(&pairs, settings[0])?;
    let verdict = match verdict(&estimate, settings[1]) {
        Verdict::Changed => "changed",
        Verdict::Same => "same",
        Verdict::Undecided { .. } => "undecided",
    };
    let gate = match gate(&estimate, 0.05) {
        Gate::Lost => "lost",
        Gate::Passed => "passed",
        Gate::Undecided { .. } => "undecided",
    };
    let ends = ends(estimate.interval);
    let Estimate { ratio, p, .. } = estimate;
    Some(format!("{verdict} {gate} {ratio:e} {ends} {p:e}"))
}

fn ends(interval: Option<Interval>) -> String {
    match interval {
        Some(one) => format!("{:e} {:e}", one.lo, one.hi),
        None => "- -".to_owned(),
    }
}

fn apart(line: &str) -> Option<String> {
    let numbers: Option<Vec<f64>> = line.split(' ').map(|word| word.parse().ok()).collect();
    let numbers = numbers?;
    let (settings, figures) = numbers.split_at_checked(2)?;
    let (a, b) = figures.split_at_checked(settings[1] as usize)?;
    let found = Apart::of(a, b, settings[0])?;
    Some(format!("{:e} {}", found.ratio, ends(found.interval)))
}

fn place(line: &str) -> Option<String> {
    let values: Option<Vec<f64>> = line.split(' ').map(|word| word.parse().ok()).collect();
    let found = best_place(&values?)?;
    Some(format!("{} {:e} {:e}", found.at, found.statistic, found.p))
}
