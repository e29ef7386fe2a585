//! The same length of sleep again and again, in no loop that waits for another thread.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::waits::WaitGroup;
use timesink_recording::words::Detail;

use crate::inquiry::{examples, Inquiry};
use crate::rule::{Figure, Fix, Limit, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "fixed-delay",
    looks_for: "sleeps of the same length, again and again",
    why: "A sleep of a fixed length waits for nothing: whatever it was put there for has mostly happened long before.",
    advice: "wait for what the delay is meant to bridge, or make it shorter",
    wrong_if: "the pace is wanted: a rate limit, or politeness towards a peer",
    limits: &[
        Limit { name: "sleeps", value: 10.0, means: "at least so many" },
        Limit { name: "alike", value: 0.02, means: "nine of ten asked for the same, or differ by this share at most" },
    ],
    is_innocent: false,
    needs: &[],
    ask,
};

fn ask(of: &Inquiry<'_>) -> Vec<Suspect> {
    let sleeps = of
        .waits()
        .iter()
        .filter(|group| group.detail == Detail::Sleep);
    sleeps.filter_map(|group| suspect(of, group)).collect()
}

/// The length that a group of sleeps has, if they have one.
fn length(group: &WaitGroup) -> Option<u64> {
    const MOST: f64 = 0.9;
    let count = group.count() as f64;
    if count < RULE.limit("sleeps") {
        return None;
    }
    if let Some((asked, often)) = group.asked_ns {
        if often as f64 >= count * MOST {
            return Some(asked);
        }
    }
    let (low, high) = (group.quantile(0.05), group.quantile(0.95));
    ((high - low) as f64 <= high as f64 * RULE.limit("alike")).then(|| group.quantile(0.5))
}

fn suspect(of: &Inquiry<'_>, group: &WaitGroup) -> Option<Suspect> {
    let length = length(group)?;
    let count = group.count();
    let mut told = vec![say![
        Piece::Count(count),
        " sleeps of ",
        Piece::Time(length),
        " each, in ",
        Piece::Name(group.call.clone())
    ]];
    let late = (group.quantile(0.5) as f64 - length as f64) / length.max(1) as f64;
    if late > RULE.limit("alike") {
        told.push(say![
            "they take ",
            Piece::Time(group.quantile(0.5)),
            " in truth"
        ]);
    }
    Some(Suspect {
        title: say![
            group.process,
            " sleeps for ",
            Piece::Time(length),
            " ",
            Piece::Count(count),
            " times"
        ],
        told,
        figures: vec![
            Figure {
                what: "sleeps",
                value: count as f64,
                unit: "",
                limit: Some(RULE.limit("sleeps")),
            },
            Figure {
                what: "length",
                value: length as f64,
                unit: "ns",
                limit: None,
            },
        ],
        examples: examples(group),
        process: Some(group.process),
        object: None,
        frames: of.frames(group.stack),
        advice: None,
        fix: Fix::Changes(vec![Change {
            what: What::Waits {
                detail: Some(Detail::Sleep),
                objects: None,
            },
            processes: Some(BTreeSet::from([group.process])),
            how: How::Scale(0.0),
        }]),
        weight: Weight::within(
            of.waits_on_path(|key| {
                key.detail == Some(Detail::Sleep) && of.same_program(key.process, group.process)
            }),
            group.ns,
        ),
    })
}
