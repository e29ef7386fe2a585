//! The history of benchmarks: the level of each over commits and days, what was confirmed and what only may have changed.

use super::style::{bar, cut, pad, pad_left, wrap, Ink, Style};
use super::text;
use super::units;
use crate::bench::Figure;
use crate::history::{Candidate, History, Measured, Series, Verdict};
use crate::present::bench::figure as shown;
use crate::present::history::{by, day, is_loss, short, since, told};
use crate::present::names::harmless;

/// Levels that are shown of a benchmark, and cells of a bar.
const LEVELS: usize = 8;
const BAR: usize = 20;
/// What a line has besides the bar.
const BESIDE_BAR: usize = 26;
/// Facts that changed with a level.
const FACTS: usize = 4;
/// Columns of a value.
const VALUE: usize = 60;

/// The page, ending in a line feed.
pub fn history(history: &History, figure: Option<Figure>, style: &Style) -> String {
    let mut lines = Vec::new();
    for series in &history.series {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let figure = figure.unwrap_or(series.own_figure());
        lines.extend(one(history, series, figure, style));
    }
    text(&lines)
}

fn one(history: &History, series: &Series, figure: Figure, style: &Style) -> Vec<String> {
    let recent = series.recent();
    let times: Vec<u64> = recent.iter().map(|one| one.measured_unix_s).collect();
    let range = match (times.iter().min(), times.iter().max()) {
        (Some(first), Some(last)) if day(*first) != day(*last) => {
            format!("{} to {}", day(*first), day(*last))
        }
        (Some(first), _) => day(*first),
        _ => "never".to_owned(),
    };
    let place = match series.what.directory.as_str() {
        "" => String::new(),
        directory => format!(" (in {})", harmless(directory)),
    };
    let title = format!(
        "HISTORY  {}{place} · {} · {}, measured {range}",
        harmless(&series.what.command),
        harmless(&series.name_of(figure)),
        units::plural(recent.len() as u64, "result", "results"),
    );
    let mut lines = wrap(&title, "", Ink::Title, style);
    let candidates = series.candidates(figure, &history.places);
    lines.extend(levels(series, figure, &candidates, style));
    for candidate in &candidates {
        lines.extend(changed(series, figure, candidate, style));
    }
    let is_open = |one: &Candidate| {
        let known = series.confirmation(one, figure);
        one.ends.is_some() && known.is_none_or(|known| known.verdict == Verdict::Undecided)
    };
    if candidates.iter().any(is_open) {
        let more = "A candidate proves nothing: timesink history --confirm measures both sides again, in pairs";
        lines.extend(wrap(more, "  ", Ink::Faint, style));
    }
    if recent.len() < 4 {
        lines.extend(wrap(
            "Changes are looked for from 4 results on",
            "  ",
            Ink::Faint,
            style,
        ));
    }
    lines
}

/// Each stretch between two candidates, the last ones.
fn levels(series: &Series, figure: Figure, candidates: &[Candidate], style: &Style) -> Vec<String> {
    let recent = series.recent();
    let mut ends: Vec<usize> = candidates.iter().map(|one| one.at).collect();
    ends.push(recent.len());
    let mut stretches = Vec::new();
    let mut from = 0;
    for end in ends {
        stretches.push(&recent[from..end]);
        from = end;
    }
    let left_out = stretches.len().saturating_sub(LEVELS);
    let stretches = &stretches[left_out..];
    let median = |results: &[Measured]| {
        let all: Vec<f64> = results
            .iter()
            .filter_map(|one| one.median(figure))
            .collect();
        timesink_trials::Summary::of(&all).map(|all| all.median)
    };
    let most = stretches
        .iter()
        .filter_map(|one| median(one))
        .fold(0.0, f64::max);
    let room = match style.terminal {
        true => style.width.saturating_sub(BESIDE_BAR).clamp(1, BAR),
        false => BAR,
    };
    let mut lines = Vec::new();
    if left_out > 0 {
        lines.push(format!("  ({left_out} earlier levels)"));
    }
    for stretch in stretches {
        let Some((level, last)) = median(stretch).zip(stretch.last()) else {
            lines.push("  not every run has this figure".to_owned());
            continue;
        };
        let line = format!(
            "  {}  {}  {}",
            pad_left(&shown(figure, level), 8),
            pad(&bar(level / most.max(f64::MIN_POSITIVE), room), room),
            units::plural(stretch.len() as u64, "result", "results"),
        );
        let until = format!("{line}, to {}", at(last));
        // Where it does not fit, when is less than how much.
        let fits = super::style::width(&until) <= style.width;
        lines.push(if fits { until } else { line });
    }
    lines
}

/// A result by its commit and day.
fn at(one: &Measured) -> String {
    match &one.commit {
        Some(commit) => {
            let changed = if commit.is_changed { " and more" } else { "" };
            format!("{}{changed} ({})", short(&commit.id), day(commit.unix_s))
        }
        None => day(one.measured_unix_s),
    }
}

/// What is known of a candidate.
fn changed(series: &Series, figure: Figure, one: &Candidate, style: &Style) -> Vec<String> {
    let recent = series.recent();
    let between = match (&one.ends, recent.get(one.at - 1), recent.get(one.at)) {
        (Some((old, new)), _, _) => format!("{}..{}", short(old), short(new)),
        (None, Some(old), Some(new)) => format!("between {} and {}", at(old), at(new)),
        _ => String::new(),
    };
    let perhaps = by(one.ratio, None, figure, series.what.higher_is_better);
    let known = series.confirmation(one, figure);
    let ink = match known {
        Some(known) if known.verdict == Verdict::Changed && is_loss(known, series) => Ink::Warning,
        _ => Ink::Plain,
    };
    let line = match known {
        Some(known) if known.verdict == Verdict::Changed => format!(
            "{} {}; confirmed on {} by {}",
            told(known, series),
            since(known),
            day(known.confirmed_unix_s),
            units::plural(known.pairs.len() as u64, "pair", "pairs")
        ),
        Some(known) if known.verdict == Verdict::Same => format!(
            "not the source: {between} looked {perhaps}, measured again on {} both are {}",
            day(known.confirmed_unix_s),
            told(known, series)
        ),
        Some(known) => format!(
            "candidate: perhaps {perhaps} in {between}; measured again on {}: {}",
            day(known.confirmed_unix_s),
            told(known, series)
        ),
        None if one.ends.is_some() => format!("candidate: perhaps {perhaps} in {between}"),
        None => format!(
            "candidate: perhaps {perhaps} {between}; cannot be measured again: that takes two commits without other changes"
        ),
    };
    let mut lines = wrap(&line, "  ", ink, style);
    lines.extend(facts(one, style));
    lines
}

fn facts(one: &Candidate, style: &Style) -> Vec<String> {
    if one.facts.is_empty() {
        return Vec::new();
    }
    let mut lines = wrap(
        "where it was measured changed there, too:",
        "    ",
        Ink::Faint,
        style,
    );
    let value = |value: &Option<String>| match value {
        Some(value) => cut(&harmless(value), VALUE),
        None => "(none)".to_owned(),
    };
    for fact in one.facts.iter().take(FACTS) {
        let line = format!(
            "{} {}: {} → {}",
            harmless(&fact.kind),
            harmless(&fact.key),
            value(&fact.old),
            value(&fact.new)
        );
        lines.extend(wrap(&line, "      ", Ink::Plain, style));
    }
    let more = one.facts.len().saturating_sub(FACTS);
    if more > 0 {
        lines.push(format!("      and {more} more (--json has all)"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::{confirmed, slower};
    use crate::history::{Confirmation, FactChange};

    fn style(width: usize) -> Style {
        Style {
            colour: false,
            terminal: true,
            width,
        }
    }

    #[test]
    fn candidates_are_told_as_candidates() {
        let page = history(&slower(), None, &style(100));
        for part in [
            "HISTORY  ./import rows.txt · wall time · 30 results",
            "candidate: perhaps slower by 10.0 % in 0000000000..0000000000",
            "timesink history --confirm",
            "20 results, to 0000000000",
        ] {
            assert!(page.contains(part), "{part} in\n{page}");
        }
        assert!(!page.contains("confirmed on"), "{page}");
    }

    #[test]
    fn what_was_confirmed_is_said() {
        let page = history(&confirmed(), None, &style(100)).replace('\n', " ");
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let want = "slower by 10.0 % (8.0 to 12.0 %) since somewhere in 0000000000..0000000000 (3 commits); confirmed on";
        assert!(page.contains(want), "{page}");
        assert!(!page.contains("candidate"), "{page}");
        let mut same = confirmed();
        let one: &mut Confirmation = &mut same.series[0].confirmations[0];
        one.verdict = Verdict::Same;
        assert!(history(&same, None, &style(100)).contains("not the source"));
    }

    /// A narrow terminal, hostile names, no results and a figure that runs do not have: a page there is.
    #[test]
    fn every_history_has_its_page() {
        let mut strange = slower();
        strange.series[0].what.command = "\u{1b}[2J".to_owned();
        let facts = vec![FactChange {
            kind: "kernel".to_owned(),
            key: "x\u{1b}".to_owned(),
            old: None,
            new: Some("y".to_owned()),
        }];
        let candidate = Candidate {
            at: 20,
            ratio: 1.1,
            p: 0.01,
            ends: None,
            facts,
        };
        let page = text(&changed(
            &strange.series[0],
            Figure::Wall,
            &candidate,
            &style(40),
        ));
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("cannot be measured again"), "{page}");
        assert!(!page.contains('\u{1b}'), "{page}");
        let narrow = history(&strange, None, &style(40));
        assert!(
            narrow
                .lines()
                .all(|line| super::super::style::width(line) <= 40),
            "{narrow}"
        );
        assert!(!narrow.contains('\u{1b}'));
        assert!(history(&strange, Some(Figure::Metric), &style(100)).contains("not every run"));
        strange.series[0].results.clear();
        assert!(history(&strange, None, &style(100)).contains("from 4 results on"));
        assert_eq!(history(&History::default(), None, &style(100)), "");
    }
}
