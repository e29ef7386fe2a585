//! What must hold of findings for any recording, tried on the cases, on mixtures of them from fixed seeds, and on
//! both with rows taken away.

use fastrand::Rng;
use timesink_findings::registry::RULES;
use timesink_findings::rule::{Limits, Need};
use timesink_recording::notation::{draft, Draft};
use timesink_recording::words::ObjectKind;

use crate::cases::cases;
use crate::drawn::{findings_at_once, told_of};
use crate::mixtures::{after, shuffle, thin};

/// All cases that can be mixed, by their names.
fn drawn() -> Vec<(String, Draft)> {
    let cases = cases().into_iter();
    cases
        .map(|(name, text)| {
            let mut drawn = draft(&text);
            addressed(&mut drawn);
            (name, drawn)
        })
        .collect()
}

/// Recorded sockets have addresses, by which it can be told who is asked on them even if that call is lost.
fn addressed(drawn: &mut Draft) {
    let accepted = drawn.calls.iter().filter(|row| row.call == "accept4");
    let accepted: Vec<_> = accepted.filter_map(|row| row.object).collect();
    for object in &mut drawn.objects {
        let is_socket = matches!(object.kind, ObjectKind::TcpSocket | ObjectKind::UdpSocket);
        if !is_socket || object.local.is_some() || object.remote.is_some() {
            continue;
        }
        let (own, other) = match accepted.contains(&object.object) {
            true => ("10.0.0.1:5432", "10.0.0.2:40000"),
            false => ("10.0.0.2:40000", "10.0.0.1:5432"),
        };
        (object.local, object.remote) = (Some(own.to_owned()), Some(other.to_owned()));
    }
}

/// A case, or two or three of them one after the other.
fn mixture(dice: &mut Rng, cases: &[(String, Draft)]) -> (String, Draft) {
    let mut pick = || &cases[dice.u64(..cases.len() as u64) as usize];
    let (name, first) = pick();
    let (mut name, mut mixed) = (name.clone(), first.clone());
    for _ in 0..2 {
        let (next, then) = pick();
        name += &format!(" + {next}");
        mixed = after(mixed, then);
    }
    (name, mixed)
}

/// The rules that accuse somebody of something.
fn accused(drawn: &Draft) -> Vec<String> {
    accused_without(drawn, &[])
}

/// The same if these rules are not asked.
fn accused_without(drawn: &Draft, off: &[String]) -> Vec<String> {
    let mut limits = Limits::default();
    off.iter().for_each(|rule| limits.switch(rule, false));
    let findings = findings_at_once(&drawn.recording(), &limits);
    let told = findings.told.iter().filter(|f| f.rule.accuses());
    let mut told: Vec<String> = told.map(|f| f.rule.name.to_owned()).collect();
    told.sort();
    told.dedup();
    told
}

/// What is told of the cases of a mixture, each by itself, if the rules that are told of them are not asked.
fn shown_otherwise(mixture: &str, cases: &[(String, Draft)]) -> Vec<String> {
    let is_in = |name: &String| mixture.split(" + ").any(|part| part == name);
    let own = cases.iter().filter(|(name, _)| is_in(name));
    own.flat_map(|(_, drawn)| accused_without(drawn, &accused(drawn)))
        .collect()
}

const SEEDS: u64 = 100;

/// What was lost accuses nobody: with fewer rows there are no other findings than with all of them.
#[test]
fn fewer_rows_accuse_nobody() {
    let cases = drawn();
    let mut created = Vec::new();
    for seed in 0..SEEDS {
        let dice = &mut Rng::with_seed(seed);
        let (name, mixed) = match seed % 2 {
            0 => cases[seed as usize / 2 % cases.len()].clone(),
            _ => mixture(dice, &cases),
        };
        let before = accused(&mixed);
        for of in [1, 2, 4] {
            let mut less = mixed.clone();
            thin(&mut less, dice, of);
            let new = accused(&less);
            let mut new: Vec<_> = new.iter().filter(|rule| !before.contains(rule)).collect();
            // What is in it is no accusation of the innocent, though it was too little beside the rest.
            new.retain(|rule| !name.contains(&format!("{rule}.fires")));
            // A server whose accept is lost is a peer like any other: the queries that it scans tables for, and what it serves one at a
            // time, are requests, one at a time.
            let serves = ["table-scan.fires", "one-request-at-a-time.fires"];
            let serves = serves.iter().any(|case| name.contains(case));
            new.retain(|rule| *rule != "round-trips" || !serves);
            // Of one cause only the most special rule speaks; with less to go by it may be another one of those that would.
            if !new.is_empty() {
                let others = accused_without(&mixed, &before);
                new.retain(|rule| !others.contains(rule));
            }
            // Nor is what one of its cases shows by itself where the more special rule is not asked: a mixture may be too long for that one.
            if !new.is_empty() {
                let shown = shown_otherwise(&name, &cases);
                new.retain(|rule| !shown.contains(rule));
            }
            if !new.is_empty() {
                created.push(format!(
                    "seed {seed}, {name}, 1 of {of}: {new:?} beside {before:?}"
                ));
            }
        }
    }
    assert!(created.is_empty(), "{created:#?}");
}

/// The order of rows says nothing.
#[test]
fn the_order_of_rows_says_nothing() {
    let cases = drawn();
    for seed in 0..SEEDS / 2 {
        let dice = &mut Rng::with_seed(seed);
        let (name, mut mixed) = mixture(dice, &cases);
        let before = told_of(&mixed.recording());
        shuffle(&mut mixed, dice);
        assert_eq!(told_of(&mixed.recording()), before, "seed {seed}, {name}");
    }
}

/// Rules of which more is not the same again: threads are held against all others, so a second batch looks otherwise;
/// items are new ones each time, and the same files flushed again are another matter. What is asked on the same connections again is
/// told as round trips.
const OF_BATCHES: [&str; 3] = ["imbalance", "flush-per-file", "responses-one-by-one"];
/// What else a program does after it comes after its end no more, and what it does twice is not its end.
const AT_THE_END: &str = "linger-at-exit";

/// Who does it twice or three times as often is accused of no less.
#[test]
fn doing_it_more_often_is_no_better() {
    let mut weaker = Vec::new();
    let again = RULES.iter().filter(|rule| !OF_BATCHES.contains(&rule.name));
    for rule in again.filter(|rule| rule.name != AT_THE_END) {
        let case = draft(&crate::cases::case(&format!("{}.fires", rule.name)));
        let mut worse = case.clone();
        let gain = |drawn: &Draft| {
            let told = told_of(&drawn.recording());
            let of_it = told.iter().filter(|(name, _)| *name == rule.name);
            of_it.map(|(_, ms)| ms).sum::<i64>()
        };
        let mut before = gain(&case);
        for times in 2..=3 {
            worse = after(worse, &case);
            let now = gain(&worse);
            if now < before {
                let told = told_of(&worse.recording());
                weaker.push(format!(
                    "{}: {now} ms {times} times, {before} ms before; told {told:?}",
                    rule.name
                ));
            }
            before = now;
        }
    }
    assert!(weaker.is_empty(), "{weaker:#?}");
}

/// What else a program does, and does well, hides nothing that it is accused of as long as that is long enough.
#[test]
fn what_else_it_does_hides_nothing() {
    let other = draft(&crate::cases::case("busy.silent-asleep"));
    let mut hidden = Vec::new();
    let accusing = RULES.iter().filter(|rule| rule.accuses());
    for rule in accusing.filter(|rule| rule.name != AT_THE_END) {
        let case = draft(&crate::cases::case(&format!("{}.fires", rule.name)));
        let told = accused(&after(case, &other));
        if !told.iter().any(|told| told == rule.name) {
            hidden.push(format!("{}: {told:?}", rule.name));
        }
    }
    assert!(hidden.is_empty(), "{hidden:#?}");
}

/// A rule that lacks what it needs says so, tells nothing, and does not fail.
#[test]
fn what_is_lacking_is_said() {
    for (name, mut drawn) in drawn() {
        drawn.calls.clear();
        drawn.call_windows.clear();
        drawn.call_errors.clear();
        drawn.lookups.clear();
        lacking(&name, &drawn, &[Need::Calls, Need::WholeCalls]);
        drawn.stacks.clear();
        drawn.samples.clear();
        lacking(
            &name,
            &drawn,
            &[Need::Calls, Need::WholeCalls, Need::Stacks],
        );
        drawn.waits.clear();
        drawn.objects.clear();
        drawn.frames.clear();
        drawn.images.clear();
        lacking(
            &name,
            &drawn,
            &[Need::Calls, Need::WholeCalls, Need::Stacks],
        );
    }
}

fn lacking(name: &str, drawn: &Draft, lacks: &[Need]) {
    let findings = findings_at_once(&drawn.recording(), &Limits::default());
    let not_asked: Vec<&str> = findings.not_asked.iter().map(|not| not.rule.name).collect();
    for rule in RULES
        .iter()
        .filter(|rule| rule.needs.iter().any(|need| lacks.contains(need)))
    {
        assert!(
            not_asked.contains(&rule.name),
            "{name}: {} was asked",
            rule.name
        );
        assert!(
            findings
                .told
                .iter()
                .all(|finding| finding.rule.name != rule.name),
            "{name}: {} is told",
            rule.name
        );
    }
}
