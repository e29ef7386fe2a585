//! The rounds of an optimisation as a drawing: the runs of each, and where the round before and its prediction said that they would lie.

use std::io::{self, Write};

use timesink_trials::Summary;

use super::{colour, short, Axis, Drawing, LEFT, RIGHT, ROW_HEIGHT};
use crate::present::terminal;
use crate::rounds::Round;

/// The drawing. Rounds that measured something else than the last one are left out.
pub fn chart(rounds: &[Round], out: &mut impl Write) -> io::Result<()> {
    let mut drawing = Drawing::default();
    if let Some(last) = rounds.last() {
        let alike: Vec<&Round> = rounds
            .iter()
            .filter(|round| round.job.metric == last.job.metric)
            .collect();
        draw(&alike, last, &mut drawing);
    }
    drawing.finish(out)
}

fn draw(rounds: &[&Round], last: &Round, drawing: &mut Drawing) {
    let name = last.job.metric.as_deref().unwrap_or("wall time");
    drawing.title(&format!(
        "Rounds, by {name}: all runs, the middle half, the median; outlined: as predicted"
    ));
    let expected: Vec<Option<(f64, f64)>> = std::iter::once(None)
        .chain(rounds.windows(2).map(|two| expected(two[0], two[1])))
        .collect();
    let ends = expected.iter().flatten().flat_map(|(lo, hi)| [*lo, *hi]);
    let all = rounds.iter().flat_map(|round| &round.figures).copied();
    let along = Axis::over(all.chain(ends).chain([0.0]), LEFT, RIGHT);
    for ((at, round), expected) in rounds.iter().enumerate().zip(&expected) {
        if let Some((lo, hi)) = expected {
            let (from, to) = (along.at(*lo), along.at(*hi));
            drawing.add(&format!(
                r##"<rect x="{from:.1}" y="{:.1}" width="{:.1}" height="{:.1}" fill="none" stroke="#666666" stroke-dasharray="3 2"/>"##,
                drawing.height + 3.0,
                (to - from).max(1.0),
                ROW_HEIGHT - 6.0
            ));
        }
        let summary = Summary::of(&round.figures);
        let number = round.number.to_string();
        drawing.scatter(&number, &round.figures, summary, &along, colour(at));
        let shown = summary.map_or("no runs".to_owned(), |all| {
            terminal::round_figure(round, all.median)
        });
        let before = at.checked_sub(1).map(|before| rounds[before]);
        let changed = before.map_or(String::new(), |before| {
            format!(", {}", terminal::round_changed(round, before))
        });
        let text = short(&format!("{}: {shown}{changed}", round.name));
        drawing.text(LEFT, drawing.height + 2.0, "start", "normal", &text);
        drawing.height += 14.0;
    }
}

/// Where the median of a round was predicted to lie, from that of the round before.
fn expected(before: &Round, round: &Round) -> Option<(f64, f64)> {
    // A prediction is one of wall time.
    let predicted = round.predicted.as_ref();
    let predicted = predicted.filter(|_| round.job.metric.is_none())?;
    let median = Summary::of(&before.figures)?.median;
    Some((
        median * (1.0 - predicted.saves_hi).max(0.0),
        median * (1.0 - predicted.saves_lo.max(0.0)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::tests::whole_round;
    use crate::rounds::Predicted;

    fn drawn(rounds: &[Round]) -> String {
        let mut out = Vec::new();
        chart(rounds, &mut out).expect("memory takes it");
        String::from_utf8(out).expect("it is text")
    }

    /// Each round has its runs, its median and its name, and what was predicted is outlined; names are no marks.
    #[test]
    fn rounds_are_drawn() {
        let mut first = whole_round();
        first.job.metric = None;
        first.name = "baseline <b>".to_owned();
        first.figures = vec![2e9, 2.1e9, 2.2e9];
        let mut second = first.clone();
        second.number = first.number + 1;
        second.figures = vec![1e9, 1.1e9, 1.2e9];
        second.predicted = Some(Predicted {
            saves_lo: 0.4,
            saves_hi: 0.6,
            saved: 0.5,
        });
        let text = drawn(&[first.clone(), second.clone()]);
        assert_eq!(text.matches("<circle").count(), 2);
        assert_eq!(text.matches("stroke-dasharray").count(), 1);
        assert!(text.contains("baseline &lt;b&gt;: 2.10 s"), "{text}");
        assert_eq!(expected(&first, &second), Some((2.1e9 * 0.4, 2.1e9 * 0.6)));
        // What measured something else has no place on the same scale.
        first.job.metric = Some("frames".to_owned());
        assert_eq!(drawn(&[first, second]).matches("<circle").count(), 1);
        assert!(!drawn(&[]).contains("<circle"));
    }
}
