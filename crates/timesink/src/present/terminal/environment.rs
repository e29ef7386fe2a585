//! The environment of a run, and what of it differs from another's.

use timesink_comparison::{Environment, EnvironmentDifferences, FactDifference, KnownFact};
use timesink_recording::words::FactKind;

use super::diff::Amount;
use super::style::{self, Ink, Style};
use super::{text, units};
use crate::present::names::{absent, harmless};

/// Rows of a screen that differ and were used; others.
const ROWS: usize = 12;
const OTHERS: usize = 6;

/// All facts of one run, by kind.
pub fn environment(environment: &Environment, style: &Style) -> String {
    let mut lines = Vec::new();
    let mut last: Option<FactKind> = None;
    for ((kind, key), fact) in &environment.facts {
        if last.replace(*kind) != Some(*kind) {
            lines.push(style.paint(Ink::Title, kind.as_str()));
        }
        let line = format!("  {}  {}", style::pad(&harmless(key), KEY), values(fact));
        lines.push(style::fit(line, style));
    }
    let kinds = environment.kinds();
    let all = FactKind::ALL.len();
    lines.push(String::new());
    lines.push(match environment.only_observed {
        true => format!("{kinds} of {all} kinds of facts: this recording has none of the machine, it was made by an older timesink"),
        false => format!("{kinds} of {all} kinds of facts"),
    });
    text(&lines)
}

/// Room for what a fact is about.
const KEY: usize = 34;

fn values(fact: &KnownFact) -> String {
    match (&fact.begin, &fact.end) {
        (Some(begin), Some(end)) if begin != end => {
            format!("{}, at the end {}", harmless(begin), harmless(end))
        }
        _ => harmless(fact.value()).into_owned(),
    }
}

/// What differs between two runs, as a page.
pub fn environments(found: &EnvironmentDifferences, amount: Amount, style: &Style) -> String {
    let (most, others) = match amount {
        Amount::Screen => (ROWS, OTHERS),
        Amount::All => (usize::MAX, usize::MAX),
    };
    text(&differences(found, most, others, style))
}

/// The lines of that: so many that were used, and so many others.
pub(super) fn differences(
    found: &EnvironmentDifferences,
    most: usize,
    others: usize,
    style: &Style,
) -> Vec<String> {
    let title = style.paint(Ink::Title, "ENVIRONMENT");
    let mut lines = vec![format!("{title}  {}", summary(found))];
    let (explaining, rest): (Vec<_>, Vec<_>) = found.facts.iter().partition(|fact| fact.explains);
    for (rank, fact) in explaining.iter().take(most).enumerate() {
        lines.extend(told(&(rank + 1).to_string(), fact, style));
    }
    let more = explaining.len().saturating_sub(most);
    if more > 0 {
        lines.push(format!("  and {more} more that the run used"));
    }
    if rest.is_empty() || others == 0 {
        return lines;
    }
    let below = "  not used by the run, or unrelated to what changed:";
    lines.push(style.paint(Ink::Faint, below));
    for fact in rest.iter().take(others) {
        lines.extend(told("", fact, style));
    }
    let more = rest.len().saturating_sub(others);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines
}

/// `45 of 47 kinds compared, 6 differ, 2 of them in what the run used`.
pub(super) fn summary(found: &EnvironmentDifferences) -> String {
    let all = FactKind::ALL.len();
    let kinds = found.kinds();
    let differ = if kinds == 1 { "differs" } else { "differ" };
    let facts = units::plural(found.facts.len() as u64, "fact", "facts");
    let compared = found.compared;
    format!(
        "{compared} of {all} kinds compared, {kinds} {differ} ({facts}), {} used by the run",
        found.touched()
    )
}

fn told(rank: &str, fact: &FactDifference, style: &Style) -> Vec<String> {
    let rank = style::pad_left(rank, RANK);
    let about = format!("{} {}", fact.kind, harmless(&fact.key));
    let mut lines = vec![style::fit(format!("{rank}  {about}"), style)];
    let side = |name: &str, value: &str| {
        let line = format!("{}{name}  {value}", " ".repeat(RANK + 2));
        style::fit(line, style)
    };
    if !fact.lines.is_empty() {
        for line in &fact.lines {
            let of = |line: &Option<String>| match line {
                Some(line) => harmless(line).into_owned(),
                None => "(no such line)".to_owned(),
            };
            lines.push(side("A", &of(&line.a)));
            lines.push(side("B", &of(&line.b)));
        }
        return lines;
    }
    for (name, value) in [("A", &fact.a), ("B", &fact.b)] {
        let value = match value {
            Some(value) => harmless(value).into_owned(),
            None => absent(fact).to_owned(),
        };
        lines.push(side(name, &value));
    }
    lines
}

const RANK: usize = 3;
