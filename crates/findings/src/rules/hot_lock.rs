//! One lock that a thread waits for again and again, while another one holds it.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::waits::WaitGroup;
use timesink_recording::words::{Detail, State};

use crate::inquiry::{examples, Inquiry};
use crate::rule::{Figure, Fix, Limit, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "hot-lock",
    looks_for: "a lock that is waited for again and again",
    why: "Whoever waits for a lock does nothing until its holder lets go of it, so threads run one after the other.",
    advice: "hold the lock for less long, split what it protects, or give each thread its own",
    wrong_if: "what is done under the lock can only be done by one at a time",
    limits: &[
        Limit { name: "waits", value: 10.0, means: "at least so many" },
        Limit { name: "share", value: 0.6, means: "of all waits for locks in the process at least this share" },
    ],
    is_innocent: false,
    needs: &[],
    ask,
};

fn ask(of: &Inquiry<'_>) -> Vec<Suspect> {
    let locks = of
        .waits()
        .iter()
        .filter(|group| group.detail == Detail::Lock);
    locks.filter_map(|group| suspect(of, group)).collect()
}

fn suspect(of: &Inquiry<'_>, group: &WaitGroup) -> Option<Suspect> {
    let object = group.object?;
    let all = of
        .waits()
        .iter()
        .filter(|other| other.detail == Detail::Lock && other.process == group.process);
    let all: u64 = all.map(|other| other.ns).sum();
    let share = group.ns as f64 / all.max(1) as f64;
    if (group.count() as f64) < RULE.limit("waits") || share < RULE.limit("share") {
        return None;
    }
    let mut told = vec![say![
        Piece::Count(group.count()),
        " waits of ",
        Piece::Time(group.quantile(0.5)),
        ", at most ",
        Piece::Time(group.quantile(1.0))
    ]];
    let holder = of.frames(group.waker_stack);
    let own = holder
        .iter()
        .find(|&&function| !of.stacks.code.is_system(function));
    if let Some(&function) = own {
        told.push(say!["it is let go of in ", function]);
    }
    Some(Suspect {
        title: say![
            group.process,
            " waits for the lock ",
            object,
            " ",
            Piece::Count(group.count()),
            " times"
        ],
        told,
        figures: vec![
            Figure {
                what: "waits",
                value: group.count() as f64,
                unit: "",
                limit: Some(RULE.limit("waits")),
            },
            Figure {
                what: "share of waits for locks",
                value: share,
                unit: "",
                limit: Some(RULE.limit("share")),
            },
        ],
        examples: examples(group),
        process: Some(group.process),
        object: Some(object),
        frames: of.frames(group.stack),
        advice: None,
        fix: Fix::Changes(vec![Change {
            what: What::Waits {
                detail: Some(Detail::Lock),
                objects: Some(BTreeSet::from([object])),
            },
            processes: Some(BTreeSet::from([group.process])),
            how: How::Scale(0.0),
        }]),
        // The path goes on to who held it, so such waits are not on it.
        weight: Weight::within(of.causes(|key| key.state != State::Lost), group.ns),
    })
}
