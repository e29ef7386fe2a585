//! Commands held against each other, as a drawing: runs in their order, how they scatter, and the ratios with their intervals.

use std::io::{self, Write};

use super::{colour, short, Axis, Drawing, LEFT, RIGHT, ROW_HEIGHT};
use crate::bench::{label, Figure};
use crate::present::bench::{self, Bench};

const RUNS_HEIGHT: f64 = 200.0;

/// The drawing.
pub fn chart(bench: &Bench<'_>, out: &mut impl Write) -> io::Result<()> {
    let mut drawing = Drawing::default();
    let of_command: Vec<Vec<(usize, f64)>> = (0..bench.jobs.len())
        .map(|command| values(bench, command))
        .collect();
    runs(bench, &of_command, &mut drawing);
    scatter(bench, &of_command, &mut drawing);
    ratios(bench, &mut drawing);
    drawing.finish(out)
}

/// The round and the figure of each run of a command.
fn values(bench: &Bench<'_>, command: usize) -> Vec<(usize, f64)> {
    let rounds = bench.rounds.iter().enumerate();
    let figure = bench.question.figure;
    rounds
        .filter_map(|(at, round)| Some((at, figure.of(round.results.get(command)?)?)))
        .collect()
}

fn shown(figure: Figure, value: f64) -> String {
    bench::figure(figure, value)
}

fn runs(bench: &Bench<'_>, of_command: &[Vec<(usize, f64)>], drawing: &mut Drawing) {
    let figure = bench.question.figure;
    drawing.title(&format!("{}, run after run", bench.question.name()));
    let top = drawing.height;
    let bottom = top + RUNS_HEIGHT;
    let all = of_command.iter().flatten().map(|(_, value)| *value);
    let up = Axis::over(all.clone(), bottom, top);
    let rounds = (bench.rounds.len().max(2) - 1) as f64;
    let along = |round: usize| LEFT + (RIGHT - LEFT) * round as f64 / rounds;
    drawing.line((LEFT - 8.0, bottom), (RIGHT, bottom), "#888888", 1.0);
    let ends = [
        all.clone().fold(f64::INFINITY, f64::min),
        all.fold(0.0, f64::max),
    ];
    for end in ends.into_iter().filter(|end| end.is_finite()) {
        drawing.text(
            LEFT - 12.0,
            up.at(end) + 4.0,
            "end",
            "normal",
            &shown(figure, end),
        );
    }
    let left_out = bench.outcome.left_out;
    if left_out > 0 {
        let x = (along(left_out - 1) + along(left_out)) / 2.0;
        drawing.line((x, top), (x, bottom), "#bbbbbb", 1.0);
        drawing.text(x + 4.0, top + 12.0, "start", "normal", "left out");
    }
    for (command, values) in of_command.iter().enumerate() {
        for (round, value) in values {
            drawing.dot(along(*round), up.at(*value), 3.0, colour(command));
        }
    }
    drawing.height = bottom + 6.0;
}

fn scatter(bench: &Bench<'_>, of_command: &[Vec<(usize, f64)>], drawing: &mut Drawing) {
    drawing.title("Distribution: all runs, the middle half, the median");
    let all = of_command.iter().flatten().map(|(_, value)| *value);
    let along = Axis::over(all, LEFT, RIGHT);
    for (command, values) in of_command.iter().enumerate() {
        let deciding = bench.outcome.commands.get(command);
        let deciding = deciding.and_then(|one| one.deciding);
        let values: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        drawing.scatter(&label(command), &values, deciding, &along, colour(command));
        let text = bench.jobs.get(command).map_or("", |job| &job.text);
        drawing.text(LEFT, drawing.height + 2.0, "start", "normal", &short(text));
        drawing.height += 14.0;
    }
}

fn ratios(bench: &Bench<'_>, drawing: &mut Drawing) {
    let known = bench.outcome.comparisons.iter();
    let known: Vec<_> = known.filter_map(|one| Some((one, one.estimate?))).collect();
    if known.is_empty() {
        return;
    }
    drawing.title(&format!(
        "Ratios of {}, with their intervals",
        bench.question.name()
    ));
    let margin = 1.0 + bench.question.margin;
    let ends = known.iter().flat_map(|(_, estimate)| {
        let interval = estimate.interval.map(|one| [one.lo, one.hi]);
        interval.into_iter().flatten().chain([estimate.ratio])
    });
    let along = Axis::over(ends.chain([margin, 1.0 / margin]), LEFT, RIGHT - 240.0);
    let (top, rows) = (drawing.height, known.len() as f64);
    let same = [along.at(1.0 / margin), along.at(margin)];
    drawing.add(&format!(
        r##"<rect x="{:.1}" y="{top:.1}" width="{:.1}" height="{:.1}" fill="#eeeeee"/>"##,
        same[0],
        same[1] - same[0],
        rows * ROW_HEIGHT
    ));
    let one = along.at(1.0);
    drawing.line((one, top), (one, top + rows * ROW_HEIGHT), "#888888", 1.0);
    for (comparison, estimate) in known {
        let middle = drawing.height + ROW_HEIGHT / 2.0;
        let (a, b) = (label(comparison.a), label(comparison.b));
        drawing.text(
            LEFT - 12.0,
            middle + 4.0,
            "end",
            "bold",
            &format!("{b}/{a}"),
        );
        let colour = colour(comparison.b);
        if let Some(interval) = estimate.interval {
            let (lo, hi) = (along.at(interval.lo), along.at(interval.hi));
            drawing.line((lo, middle), (hi, middle), colour, 2.0);
        }
        drawing.dot(along.at(estimate.ratio), middle, 5.0, colour);
        let told = bench::ratio(&a, &b, &estimate);
        drawing.text(RIGHT - 230.0, middle + 4.0, "start", "normal", &told);
        drawing.height += ROW_HEIGHT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::samples;

    fn drawn(bench: &Bench<'_>) -> String {
        let mut out = Vec::new();
        chart(bench, &mut out).expect("memory takes it");
        String::from_utf8(out).expect("it is text")
    }

    /// Each run is a dot, each comparison has its ratio in words, and no place is beside the drawing.
    #[test]
    fn runs_and_ratios_are_drawn() {
        samples::changed(|bench| {
            let text = drawn(bench);
            let runs: usize = bench.rounds.iter().map(|round| round.results.len()).sum();
            let others = bench.jobs.len() + bench.outcome.comparisons.len();
            assert_eq!(text.matches("<circle").count(), runs + others);
            assert!(text.contains(">B/A</text>"), "{text}");
            for name in ["x", "y", "cx", "cy", "x1", "x2", "y1", "y2"] {
                for place in text.split(&format!(" {name}=\"")).skip(1) {
                    let place = place.split('"').next().and_then(|p| p.parse::<f64>().ok());
                    assert!(
                        place.is_some_and(|p| (0.0..2000.0).contains(&p)),
                        "{name}: {place:?}"
                    );
                }
            }
        });
    }

    #[test]
    fn drawings_of_bad_weather_are_whole() {
        let is_whole = |bench: &Bench<'_>| {
            let text = drawn(bench);
            assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
            assert!(!text.contains("NaN") && !text.contains("inf\""), "{text}");
        };
        samples::bad_weather(is_whole);
        samples::drifting(is_whole);
    }
}
