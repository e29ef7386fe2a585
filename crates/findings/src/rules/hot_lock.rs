//! One lock that a thread waits for again and again, while another one holds it.

use std::collections::BTreeSet;

use timesink_analysis::replay::What;
use timesink_analysis::timeline::locks::{Hold, Lock};
use timesink_analysis::waits::WaitGroup;
use timesink_recording::words::{Detail, State};

use crate::holding::{no_processor, Holding};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "hot-lock",
    looks_for: "a lock that is waited for again and again",
    why: "A thread that waits for a lock does nothing until the holder releases it, so the threads run one after the other.",
    advice: "hold the lock for a shorter time, split what it protects, or give each thread its own",
    wrong_if: "what is done under the lock can only be done by one thread at a time",
    limits: &[&limits::WAITS, &limits::SHARE],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of waits",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.6,
        unit: Unit::Share,
        means: "minimum share of all lock waits in the process",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let locks = inquiry
        .waits()
        .iter()
        .filter(|group| group.detail == Detail::Lock);
    locks.filter_map(|group| suspect(inquiry, group)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, group: &WaitGroup) -> Option<Suspect> {
    let object = group.object?;
    let all = inquiry
        .waits()
        .iter()
        .filter(|other| other.detail == Detail::Lock && other.process == group.process);
    let all: u64 = all.map(|other| other.ns).sum();
    let share = group.ns as f64 / all.max(1) as f64;
    if (group.count() as f64) < RULE.limit(inquiry, &limits::WAITS)
        || share < RULE.limit(inquiry, &limits::SHARE)
    {
        return None;
    }
    let lock = inquiry.timeline.locks().find(group.process, object);
    let holds: &[Hold] = lock.map_or(&[], |lock| &lock.holds);
    if no_processor(inquiry, holds) {
        return None;
    }
    let holding = Holding::of(inquiry, holds);
    let title = say![
        group.process,
        " waits ",
        Piece::Count(group.count()),
        " times for the lock ",
        object
    ];
    let what = What::Waits {
        detail: Some(Detail::Lock),
        objects: Some(BTreeSet::from([object])),
    };
    // The path goes on to who held it, so such waits are not on it.
    let held_ns = lock.map_or(group.ns, Lock::held_ns).min(group.ns);
    let weight = Weight::within(inquiry.causes(|key| key.state != State::Lost), held_ns);
    let fix = Fix::without(what, BTreeSet::from([group.process]));
    let suspect = Suspect::new(title, fix, weight)
        .of(group.process)
        .about(Some(object))
        .seen_in(inquiry, Some(group))
        .held(
            inquiry,
            &RULE,
            "waits",
            group.count() as f64,
            &limits::WAITS,
        )
        .held(
            inquiry,
            &RULE,
            "share of waits for locks",
            share,
            &limits::SHARE,
        )
        .told(say![
            Piece::Count(group.count()),
            " waits, median ",
            Piece::Time(group.quantile(0.5)),
            ", max ",
            Piece::Time(group.quantile(1.0))
        ]);
    let suspect = match holding {
        Some(holding) => suspect.told(holding.told(inquiry)),
        None => suspect,
    };
    let holder = inquiry.frames(group.waker_stack);
    let mut functions = holder.iter().map(|spot| spot.function);
    Some(
        match functions.find(|&f| !inquiry.stacks.code.is_system(f)) {
            Some(function) => suspect.told(say!["it is released in ", function]),
            None => suspect,
        },
    )
}
