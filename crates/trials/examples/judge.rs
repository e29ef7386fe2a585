//! Judges comparisons from standard input, one a line, for scripts that hold our figures against other people's:
//! `ALPHA MARGIN a1 b1 a2 b2 ...` in, `VERDICT GATE RATIO LO HI P` out. The gate is at 5 %; what there is not is `-`.

use std::io::{self, BufRead};

use timesink_trials::{gate, verdict, Estimate, Gate, Verdict};

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        println!("{}", judged(&line?).unwrap_or_else(|| "-".to_owned()));
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
    let (lo, hi) = match estimate.interval {
        Some(one) => (format!("{:e}", one.lo), format!("{:e}", one.hi)),
        None => ("-".to_owned(), "-".to_owned()),
    };
    let Estimate { ratio, p, .. } = estimate;
    Some(format!("{verdict} {gate} {ratio:e} {lo} {hi} {p:e}"))
}
