//! Which facts make a difference, as was tried.

use super::style::{wrap, Ink, Style};
use super::{text, units};
use crate::present::compared::signed;
use crate::present::names::harmless;
use crate::proof::{FactVerdict, Proof, Tried};

/// The page, ending in a line feed.
pub fn proof(proof: &Proof, style: &Style) -> String {
    let about = match proof.rounds {
        0 => "nothing that differs can be tried".to_owned(),
        n => format!(
            "{}, {} a run as in A; B was {} in the recordings",
            units::plural(n as u64, "round", "rounds"),
            units::time(proof.run_ns as u64),
            match proof.difference_ns {
                ns if ns < 0 => format!("{} faster", units::time(ns.unsigned_abs())),
                ns => format!("{} slower", units::time(ns.unsigned_abs())),
            }
        ),
    };
    let mut lines = vec![format!(
        "{}  {about}",
        style.paint(Ink::Title, "FACTS TRIED")
    )];
    lines.extend(unlike(proof, style));
    let tried = proof.facts.iter();
    let tried = tried.map(|fact| (fact, told(&fact.verdict, proof.difference_ns)));
    for (fact, (word, told)) in tried.filter(|(fact, _)| why_not(fact).is_none()) {
        lines.extend(line(word, &harmless(&fact.name), &told, style));
    }
    lines.extend(unexplained(proof, style));
    let untried = untried(&proof.facts);
    for (why, names) in untried.iter().take(REASONS) {
        let told = format!(": {}", harmless(why));
        lines.extend(line("not tested", &several(names), &told, style));
    }
    let more = untried.iter().skip(REASONS).map(|(_, names)| names.len());
    let more: usize = more.sum();
    if more > 0 {
        lines.push(format!("  and {more} more that were not tested"));
    }
    text(&lines)
}

/// What is left of the difference, if something was tried and much of it is.
fn unexplained(proof: &Proof, style: &Style) -> Vec<String> {
    /// Less than that of the difference may be chance.
    const MUCH: f64 = 0.1;
    let confirmed = proof.facts.iter().filter_map(|fact| match fact.verdict {
        FactVerdict::Confirmed { ns, .. } => Some(ns),
        _ => None,
    });
    let whole = proof.difference_ns as f64;
    let rest = whole - confirmed.sum::<f64>();
    if !proof.is_recorded
        || proof.rounds == 0
        || rest * whole <= 0.0
        || rest.abs() < whole.abs() * MUCH
    {
        return Vec::new();
    }
    let told = format!(
        "Not explained by these facts: {} of {}",
        signed(rest as i64),
        signed(proof.difference_ns)
    );
    wrap(&told, "  ", Ink::Plain, style)
}

/// Says so if a run as in A does not take the time that A took: then something else has changed since, which no fact explains.
fn unlike(proof: &Proof, style: &Style) -> Vec<String> {
    /// Recording, and another load of the machine, take less than that.
    const UNLIKE: f64 = 1.5;
    let ratio = proof.run_ns / proof.recorded_ns.max(1) as f64;
    if !proof.is_recorded || proof.rounds == 0 || (1.0 / UNLIKE..=UNLIKE).contains(&ratio) {
        return Vec::new();
    }
    let told = format!(
        "A run as in A took {} in the recording: something that is not tried here has changed since",
        units::time(proof.recorded_ns)
    );
    wrap(&told, "  ", Ink::Warning, style)
}

/// So many reasons are told why facts were not tested, and so many facts with each.
const REASONS: usize = 6;
const NAMES: usize = 4;

fn line(word: &str, name: &str, told: &str, style: &Style) -> Vec<String> {
    let line = format!("{}  {name}{told}", super::style::pad(word, WORD));
    wrap(&line, "  ", Ink::Plain, style)
}

/// Why a fact was not tested; nothing if it was.
fn why_not(fact: &Tried) -> Option<&str> {
    match &fact.verdict {
        FactVerdict::NotTested { why } => Some(why),
        _ => None,
    }
}

/// Facts that were not tested, by the reason, in the order in which these come.
fn untried(facts: &[Tried]) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for fact in facts {
        let Some(why) = why_not(fact) else {
            continue;
        };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(&fact.name),
            None => reasons.push((why, vec![&fact.name])),
        }
    }
    reasons
}

/// `kernel release, CPU flags and 3 more`.
fn several(names: &[&str]) -> String {
    let told = names.iter().take(NAMES).map(|name| harmless(name));
    let told = told.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}

/// `about 31 more rounds`.
fn more_rounds(more: usize) -> String {
    match more {
        1 => "one more round".to_owned(),
        more => format!("about {} more rounds", units::count(more as u64)),
    }
}

/// Room for the verdict.
const WORD: usize = 10;

fn told(verdict: &FactVerdict, difference_ns: i64) -> (&'static str, String) {
    match verdict {
        FactVerdict::Confirmed { ns, lo_ns, hi_ns } => {
            let span = format!(
                "{} ({} to {})",
                signed(*ns as i64),
                signed(*lo_ns as i64),
                signed(*hi_ns as i64)
            );
            let explains = match (*ns > 0.0) == (difference_ns > 0) {
                true => format!("explains {span} of {}", signed(difference_ns)),
                false => format!("changes the time by {span}, which is the other way"),
            };
            ("confirmed", format!(": {explains}"))
        }
        FactVerdict::Excluded { ns } => {
            let ns = units::time(*ns as u64);
            ("excluded", format!(": effect smaller than {ns}"))
        }
        FactVerdict::Undecided { more: Some(more) } => {
            ("undecided", format!(": {} would tell", more_rounds(*more)))
        }
        FactVerdict::Undecided { more: None } => (
            "undecided",
            ": not even 10,000 rounds would tell".to_owned(),
        ),
        FactVerdict::NotTested { why } => ("not tested", format!(": {}", harmless(why))),
    }
}
