//! Results of another tool, held against each other.

use timesink_trials::Summary;

use super::style::{pad_left, wrap, Ink, Style};
use super::{text, units};
use crate::bench::imported::ImportedComparison;
use crate::bench::label;
use crate::present::bench::gate_of;
use crate::present::names::harmless;

const ABOUT: &str = "Measured one command after the other: what the machine did otherwise meanwhile is in the ratios. timesink bench \
                     runs commands in turn.";

/// The page, ending in a line feed.
pub fn imported(all: &[ImportedComparison], gate: Option<f64>, style: &Style) -> String {
    let mut lines = Vec::new();
    for (number, one) in all.iter().enumerate() {
        if let Some((said, loss)) = one.gate.zip(gate) {
            lines.extend(wrap(&gate_of(number, said, loss), "", Ink::Title, style));
        }
    }
    lines.push(style.paint(Ink::Title, "IMPORTED  wall time, the median of all runs"));
    for (number, one) in all.iter().enumerate() {
        let times = &one.imported.times;
        let median = Summary::of(times).map_or(0.0, |summary| summary.median);
        let line = format!(
            "{}  {}  {}{} ({})",
            label(number),
            pad_left(&units::time((median.max(0.0) * 1e9) as u64), 8),
            against(one),
            harmless(&one.imported.command),
            units::plural(times.len() as u64, "run", "runs")
        );
        lines.extend(wrap(&line, "  ", Ink::Plain, style));
    }
    lines.extend(wrap(ABOUT, "  ", Ink::Faint, style));
    text(&lines)
}

fn against(one: &ImportedComparison) -> String {
    let Some(apart) = one.against_first else {
        return String::new();
    };
    let range = match apart.interval {
        Some(interval) if interval.holds(1.0) => format!(
            "no difference seen ({} to {})",
            units::ratio(interval.lo),
            units::ratio(interval.hi)
        ),
        Some(interval) => format!(
            "{} x A ({} to {})",
            units::ratio(apart.ratio),
            units::ratio(interval.lo),
            units::ratio(interval.hi)
        ),
        None => format!("{} x A, too few runs to be sure", units::ratio(apart.ratio)),
    };
    format!("{range}  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::imported::{held_against_first, results};

    #[test]
    fn each_command_stands_beside_the_first() {
        let json = r#"{"results": [
            {"command": "a", "times": [0.1, 0.101, 0.102, 0.1]},
            {"command": "b \u001b[2J", "times": [0.2, 0.201, 0.203, 0.2]},
            {"command": "c", "times": [0.1, 0.1005, 0.102, 0.1]},
            {"command": "d", "times": [0.3]}
        ]}"#;
        let all = held_against_first(results(json).expect("hyperfine's"), None);
        let style = Style {
            colour: false,
            terminal: false,
            width: 100,
        };
        let page = imported(&all, None, &style);
        assert!(!page.contains("Gate"), "{page}");
        let all = held_against_first(results(json).expect("hyperfine's").split_off(1), Some(0.05));
        let gated = imported(&all, Some(0.05), &style);
        assert!(
            gated.starts_with("Gate: not decided whether B loses 5.0 %\n"),
            "{gated}"
        );
        for part in [
            "A    100 ms  a (4 runs)",
            "2.0",
            "x A (1.9",
            "no difference seen",
            "too few runs",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains('\u{1b}'));
    }
}
