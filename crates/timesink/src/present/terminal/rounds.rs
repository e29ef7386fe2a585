//! The rounds of an optimisation: what each was predicted to bring, what it brought, and what stands first now.

use timesink_trials::Summary;

use super::style::{bar, cut, fit, pad, pad_left, width, wrap, Ink, Style};
use super::{text, units};
use crate::present::names::harmless;
use crate::present::shell;
use crate::rounds::Round;

/// Columns of a name, and cells of a bar.
const NAME: usize = 26;
const BAR: usize = 20;
/// From so many times on, times are told in place of percent.
const TIMES: f64 = 2.0;
/// The same program, measured a minute later on a shared machine with 2 CPUs, took 8.4 % less (2.4 to 13.8 %; 2026-11-24).
const DRIFT: f64 = 0.10;
/// From so far apart on, bars of one scale would hide most rounds.
const FAR: f64 = 50.0;

/// The page, ending in a line feed.
pub fn rounds(rounds: &[Round], style: &Style) -> String {
    // A round that was measured again is no step on the way.
    let is_progress = rounds.windows(2).all(|two| two[0].number < two[1].number);
    let Some(last) = rounds.last() else {
        return String::new();
    };
    let title = format!(
        "{}  {} · {}, {} a round",
        style.paint(Ink::Title, "ROUNDS"),
        command(last),
        figure_name(last),
        units::plural(u64::from(last.job.runs), "run", "runs")
    );
    let mut lines = wrap(&title, "", Ink::Plain, style);
    // What was measured otherwise has no place on the same scale.
    let is_alike = |round: &&Round| round.job.metric == last.job.metric;
    let alike = rounds.iter().filter(is_alike);
    let medians: Vec<f64> = alike.filter_map(median).collect();
    let most = medians.iter().copied().fold(0.0, f64::max);
    let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let is_far = most > least * FAR;
    let share = |median: f64| match is_far {
        // A tenth of the bar for the least.
        true => 0.1 + 0.9 * (median / least).ln() / (most / least).ln(),
        false => median / most.max(f64::MIN_POSITIVE),
    };
    let mut before = None;
    for round in rounds {
        let share = is_alike(&round).then_some(&share as &dyn Fn(f64) -> f64);
        lines.extend(one(round, before, share, style));
        // Another command may be the same work, or not.
        if round.job.command != last.job.command {
            let text = format!("      command: {}", command(round));
            lines.push(style.paint(Ink::Faint, &fit(text, style)));
        }
        before = Some(round);
    }
    if let ([first, .., last], true) = (rounds, is_progress) {
        lines.extend(in_all(first, last).map(|line| style.paint(Ink::Title, &line)));
    }
    if is_far {
        lines.push(style.paint(Ink::Faint, "  (bars on a logarithmic scale)"));
    }
    let apart = "  Rounds are measured at different times: timesink bench compares side by side.";
    if rounds.len() > 1 {
        lines.extend(wrap(apart.trim(), "  ", Ink::Faint, style));
    }
    text(&lines)
}

fn command(round: &Round) -> String {
    let words = round.job.command.iter().map(|word| shell::word(word));
    words.collect::<Vec<_>>().join(" ")
}

/// What is measured.
fn figure_name(round: &Round) -> &str {
    match &round.job.metric {
        Some(metric) => metric,
        None => "wall time",
    }
}

fn median(round: &Round) -> Option<f64> {
    Some(Summary::of(&round.figures)?.median)
}

pub fn figure(round: &Round, value: f64) -> String {
    match round.job.metric {
        Some(_) => units::figure(value),
        None => units::time(value.max(0.0) as u64),
    }
}

fn one(
    round: &Round,
    before: Option<&Round>,
    share: Option<&dyn Fn(f64) -> f64>,
    style: &Style,
) -> Vec<String> {
    let shown = median(round).map_or("-".to_owned(), |median| figure(round, median));
    let share = median(round)
        .zip(share)
        .map(|(median, share)| share(median));
    let bar = share.map_or(String::new(), |share| bar(share, BAR));
    let name = cut(&harmless(&round.name), NAME);
    let line = format!(
        "  {}  {}  {}  {}  {}",
        pad_left(&round.number.to_string(), 2),
        pad(&name, NAME),
        pad_left(&shown, 8),
        pad(&bar, BAR),
        before.map_or(String::new(), |before| changed(round, before)),
    );
    let mut lines = vec![line.trim_end().to_owned()];
    let indent = " ".repeat(6);
    let notes = [
        cut_short(round),
        predicted(round),
        first(round),
        source(round),
        elsewhere(round),
    ];
    for note in notes.into_iter().flatten() {
        let room = style.width.saturating_sub(width(&indent)).max(20);
        let note = match style.terminal {
            true => cut(&note, room),
            false => note,
        };
        lines.push(style.paint(Ink::Faint, &format!("{indent}{note}")));
    }
    lines
}

/// A round that was ended on the way.
fn cut_short(round: &Round) -> Option<String> {
    let figures = units::count(round.figures.len() as u64);
    let of = units::plural(u64::from(round.job.runs), "run", "runs");
    round
        .was_cut_short()
        .then(|| format!("cut short: {figures} of {of} measured"))
}

/// By how much a round differs from another one.
pub fn changed(round: &Round, before: &Round) -> String {
    let Some(apart) = round.against(before) else {
        return "measured otherwise".to_owned();
    };
    let Some(interval) = apart.interval else {
        return format!("{} (too few runs to be sure)", ratio(apart.ratio));
    };
    let range = format!("({} to {})", ratio(interval.lo), ratio(interval.hi));
    let drift = 1.0 - DRIFT..=1.0 + DRIFT;
    // The same round once more: the program is the same.
    let is_again = round.number == before.number;
    match interval.holds(1.0) {
        true => format!("no change seen {range}"),
        false if is_again => format!(
            "{} {range}: the machine or its load changed, the program is the same",
            ratio(apart.ratio)
        ),
        false if drift.contains(&apart.ratio) => {
            format!("{} {range}, or the machine drifted", ratio(apart.ratio))
        }
        false => format!("{} {range}", ratio(apart.ratio)),
    }
}

fn ratio(ratio: f64) -> String {
    match ratio {
        times if times >= TIMES => format!("{} times", units::factor(times)),
        share => units::signed_percent((share - 1.0) * 100.0),
    }
}

fn in_all(first: &Round, last: &Round) -> Option<String> {
    let apart = last.against(first)?;
    let better = match last.job.higher_is_better {
        true => apart.ratio,
        false => 1.0 / apart.ratio,
    };
    Some(format!(
        "  In all: {} to {}, {} times as fast",
        figure(first, median(first)?),
        figure(last, median(last)?),
        units::factor(better)
    ))
}

fn predicted(round: &Round) -> Option<String> {
    let one = round.predicted.as_ref()?;
    Some(format!(
        "what is gone was predicted to save {} of the time; in the recordings: {}",
        saves(one.saves_lo, one.saves_hi),
        units::signed_percent(-one.saved * 100.0)
    ))
}

fn saves(lo: f64, hi: f64) -> String {
    let hi = units::whole_percent(hi);
    match lo > 0.0 {
        true => format!("{} to {hi}", units::whole_percent(lo)),
        false => format!("at most {hi}"),
    }
}

fn first(round: &Round) -> Option<String> {
    if let Some(why) = &round.not_recorded {
        return Some(format!("not recorded: {}", harmless(why)));
    }
    let first = round.first.as_ref()?;
    Some(format!(
        "first finding: {} (saves {})",
        harmless(&first.title),
        saves(first.saves_lo, first.saves_hi)
    ))
}

fn source(round: &Round) -> Option<String> {
    let source = round.source.as_ref()?;
    let short = source.commit.get(..10).unwrap_or(&source.commit);
    let changed = if source.is_changed {
        ", with changes that were not committed"
    } else {
        ""
    };
    let facts = round.facts_checksum.as_ref();
    let facts = facts.map_or(String::new(), |sum| format!(", facts {sum}"));
    Some(format!("commit {short}{changed}{facts}"))
}

fn elsewhere(round: &Round) -> Option<String> {
    let differ = round.facts_differ.filter(|differ| *differ > 0)?;
    let differ = units::plural(differ, "difference", "differences");
    Some(format!(
        "{differ} in where it ran, compared to the round before (timesink env)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::tests::{round, whole_round};

    fn plain() -> Style {
        Style {
            colour: false,
            terminal: false,
            width: 100,
        }
    }

    #[test]
    fn prediction_and_measurement_stand_side_by_side() {
        let whole = whole_round();
        let mut first = round(1, "baseline", 2.0);
        first.first.clone_from(&whole.first);
        let mut second = round(2, "one transaction", 1.0);
        second.predicted.clone_from(&whole.predicted);
        second.source.clone_from(&whole.source);
        let page = rounds(&[first, second], &plain());
        for part in [
            "./import rows.txt · wall time, 10 runs a round",
            "1  baseline",
            "first finding: rows.db is flushed to disk 4,000 times (saves 44 % to 62 %)",
            "predicted to save 44 % to 62 % of the time; in the recordings: -51",
            "commit 0123456789, with changes that were not committed",
            "In all: 2.00 s to 1.00 s",
        ] {
            assert!(page.contains(part), "{part} in\n{page}");
        }
    }

    /// The same round once more has the same program: what differs then is the machine.
    #[test]
    fn a_round_again_blames_the_machine() {
        let first = round(1, "baseline", 2.0);
        let again = round(1, "baseline (again)", 1.0);
        let page = rounds(&[first, again], &plain());
        assert!(page.contains("the program is the same"), "{page}");
    }

    /// Rounds may be far apart, have no runs, hostile names, or another metric: a page there is.
    #[test]
    fn every_round_has_its_line() {
        let mut strange = round(2, "\u{1b}[2J", 1e-3);
        strange.job.metric = Some("rate: (.*)".to_owned());
        let mut other = round(3, "b", 1e-3);
        other.job.command = vec!["./other".to_owned()];
        let mut empty = round(4, "", 1.0);
        empty.figures.clear();
        let page = rounds(&[round(1, "a", 10.0), strange, other, empty], &plain());
        assert!(
            !page.contains('\u{1b}') && page.contains("measured otherwise"),
            "{page}"
        );
        assert!(page.contains("logarithmic"), "{page}");
        // What is another command is said to be.
        assert_eq!(page.matches("command: ./other").count(), 1, "{page}");
        // What was measured otherwise has no bar on this scale.
        let line = page
            .lines()
            .find(|line| line.contains("measured otherwise"));
        assert!(line.is_some_and(|line| !line.contains('█')), "{page}");
        assert_eq!(rounds(&[], &plain()), "");
    }
}
