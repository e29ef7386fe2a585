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
    let is_tried = |fact: &&Tried| !matches!(fact.verdict, FactVerdict::NotTested { .. });
    let untried = proof.facts.iter().filter(|fact| !is_tried(fact)).count();
    let tried = proof.facts.len() - untried;
    for fact in proof.facts.iter().take(tried + UNTRIED) {
        let (word, told) = told(&fact.verdict, proof.difference_ns);
        let line = format!(
            "{}  {}{told}",
            super::style::pad(word, WORD),
            harmless(&fact.name)
        );
        lines.extend(wrap(&line, "  ", Ink::Plain, style));
    }
    if untried > UNTRIED {
        let more = untried - UNTRIED;
        lines.push(format!("  and {more} more that were not tested"));
    }
    text(&lines)
}

/// So many facts are told that were not tested.
const UNTRIED: usize = 6;
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
        FactVerdict::Undecided { more: Some(more) } => (
            "undecided",
            format!(": about {more} more rounds would tell"),
        ),
        FactVerdict::Undecided { more: None } => (
            "undecided",
            ": not even 10,000 rounds would tell".to_owned(),
        ),
        FactVerdict::NotTested { why } => ("not tested", format!(": {}", harmless(why))),
    }
}
