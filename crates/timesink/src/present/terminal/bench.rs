//! Commands held against each other, on one screen: the verdict first, then what each of them took.

use std::time::Duration;

use super::style::{wrap, Ink, Style};
use super::table::{self, Column};
use super::{text, units};
use crate::bench::outcome::SHOWN;
use crate::bench::{label, Figure, Outcome};
use crate::present::bench::{self, Bench};
use crate::present::names::harmless;

/// Other figures that differ are told of so many comparisons, and so many of each.
const COMPARISONS: usize = 3;
const OTHERS: usize = 4;

/// The page, ending in a line feed.
pub fn bench(bench: &Bench<'_>, style: &Style) -> String {
    let parts = [
        verdicts(bench, style),
        figures(bench, style),
        others(bench, style),
        foot(bench, style),
    ];
    let parts: Vec<Vec<String>> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    text(&parts.join(&String::new()))
}

/// One line while it is measured.
pub fn bench_progress(outcome: &Outcome, most: usize, left: Duration) -> String {
    let mut parts = vec![format!("round {} of {most}", outcome.rounds)];
    if let Some((one, estimate)) = outcome
        .comparisons
        .first()
        .and_then(|one| Some((one, one.estimate?)))
    {
        parts.push(bench::ratio(&label(one.a), &label(one.b), &estimate));
    }
    let left = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
    parts.push(format!("{} left at most", units::time(left)));
    parts.join(" · ")
}

fn verdicts(bench: &Bench<'_>, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    for comparison in &bench.outcome.comparisons {
        if let Some(gate) = bench::gate(comparison, bench.question) {
            lines.extend(wrap(&gate, "", Ink::Title, style));
        }
        let verdict = bench::verdict(comparison, bench.question, bench.outcome.memory_of);
        lines.extend(wrap(&verdict, "", Ink::Title, style));
    }
    lines
}

/// A row for each command: the figure that decides with its spread, and the medians of the others.
fn figures(bench: &Bench<'_>, style: &Style) -> Vec<String> {
    let commands = &bench.outcome.commands;
    let deciding = bench.question.figure;
    let shown = |figure: Figure, value: Option<f64>| match (figure, value) {
        (_, Some(value)) => bench::figure(figure, value),
        (_, None) => "-".to_owned(),
    };
    let quartiles = |(low, high): (f64, f64)| {
        format!(
            "{} - {}",
            bench::figure(deciding, low),
            bench::figure(deciding, high)
        )
    };
    let mut columns = vec![
        Column {
            head: "",
            cells: (0..commands.len()).map(label).collect(),
            spare: 0,
        },
        Column {
            head: match deciding {
                Figure::Metric => "median",
                figure => figure.name(),
            },
            cells: commands
                .iter()
                .map(|one| shown(deciding, one.deciding.map(|all| all.median)))
                .collect(),
            spare: 0,
        },
        Column {
            head: "half of the runs",
            cells: commands
                .iter()
                .map(|one| {
                    one.deciding
                        .map_or("-".to_owned(), |all| quartiles(all.quartiles))
                })
                .collect(),
            spare: 1,
        },
    ];
    let others = SHOWN
        .iter()
        .enumerate()
        .filter(|(_, figure)| **figure != deciding);
    columns.extend(others.map(|(at, figure)| {
        let median = |medians: &[(Figure, Option<f64>)]| {
            let found = medians.iter().find(|(one, _)| one == figure);
            found.and_then(|(_, median)| *median)
        };
        Column {
            head: figure.word(),
            cells: commands
                .iter()
                .map(|one| shown(*figure, median(&one.medians)))
                .collect(),
            spare: 2 + u8::try_from(at).unwrap_or(0),
        }
    }));
    let names: Vec<String> = bench
        .jobs
        .iter()
        .map(|job| harmless(&job.text).into_owned())
        .collect();
    table::lines(columns, "command", &names, style)
}

/// Figures that do not decide, but differ.
fn others(bench: &Bench<'_>, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    for comparison in bench.outcome.comparisons.iter().take(COMPARISONS) {
        let (a, b) = (label(comparison.a), label(comparison.b));
        let differing = comparison.others.iter().filter(|other| other.differs());
        for other in differing.take(OTHERS) {
            let told = bench::changed(&a, &b, other.figure, other.figure.name(), &other.estimate);
            lines.extend(wrap(&format!("also: {told}"), "  ", Ink::Plain, style));
        }
    }
    lines
}

fn foot(bench: &Bench<'_>, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    for warning in bench::warnings(bench) {
        lines.extend(wrap(&warning, "", Ink::Warning, style));
    }
    lines.extend(wrap(
        &bench::method(bench).join(" · "),
        "",
        Ink::Faint,
        style,
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::samples;
    use crate::present::terminal::tests::{check, NARROW};

    /// A stranger reads which is faster, by how much and how sure that is, on a terminal and in a pipe.
    #[test]
    fn the_page() {
        samples::changed(|shown| {
            check("bench_changed_plain", &bench(shown, &Style::PLAIN));
            check("bench_changed_small", &bench(shown, &NARROW));
        });
        samples::undecided(|shown| check("bench_undecided_plain", &bench(shown, &Style::PLAIN)));
        samples::bad_weather(|shown| check("bench_weather_plain", &bench(shown, &Style::PLAIN)));
        samples::alone(|shown| check("bench_alone_plain", &bench(shown, &Style::PLAIN)));
    }

    /// What is many times more or less is told by factors.
    #[test]
    fn large_ratios() {
        let pairs = |a: f64, b: f64| -> Vec<(f64, f64)> { vec![(a, b); 10] };
        let told = |a: f64, b: f64| {
            let estimate = timesink_trials::Estimate::of(&pairs(a, b), 0.05).expect("a ratio");
            bench::changed("A", "B", Figure::Wall, "wall time", &estimate)
        };
        assert_eq!(
            told(1.0, 2.41),
            "B takes 2.41 times the wall time of A (2.41-2.41)"
        );
        assert_eq!(
            told(97.0, 1.0),
            "B takes 1/97.0 of the wall time of A (1/97.0 to 1/97.0)"
        );
        assert_eq!(
            told(1.0, 0.9),
            "B takes 10.0 % less wall time than A (10.0 to 10.0 %)"
        );
    }

    /// Progress says how far it is, and what the ratio is so far.
    #[test]
    fn progress() {
        samples::changed(|shown| {
            let line = bench_progress(shown.outcome, 80, Duration::from_secs(75));
            assert!(line.starts_with("round 30 of 80 · B/A 1.2"), "{line}");
            assert!(line.ends_with(" · 75.00 s left at most"), "{line}");
        });
    }
}
