//! A pool of connections, of threads that do jobs, or a semaphore that threads wait for while others have what it gives.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_recording::ids::ProcessId;

use crate::handed_over::{HandedOver, Shared};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "pool-contention",
    looks_for: "a pool of connections or of worker threads, or a semaphore, that threads wait for because everything in it is in use",
    why: "However many threads there are, only as many as it lets through make progress. What they do meanwhile, such as waiting for a response, takes place one after another.",
    advice: "allow the pool more connections or threads (or the semaphore more at a time), as many as the other side can serve at a time; or hold one only while it is used",
    wrong_if: "the limit is intended, or the other side cannot serve more at a time",
    limits: &[&limits::LEAST, &limits::WAITS, &limits::SHARE, &limits::THROUGH, &limits::FEW, &limits::WAITING, &limits::WAITED, &limits::QUEUE],
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
        means: "minimum number of waits of at least a millisecond",
    };
    /// Measured: 1.0 and more with a connection or a permit; 0.0 of Node.js's own worker threads, which have nothing to do.
    pub static LEAST: Limit = Limit {
        name: "least",
        value: 0.5,
        unit: Unit::Count,
        means: "minimum number of threads that have it while others wait, on average",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.25,
        unit: Unit::Share,
        means: "minimum share of the time during which a thread waits for it",
    };
    /// As of tasks.
    pub static THROUGH: Limit = Limit {
        name: "through",
        value: 12.0,
        unit: Unit::Count,
        means: "maximum number of threads that can go on while others wait, on average; a limit that lets more through is taken as intended",
    };
    pub static FEW: Limit = Limit {
        name: "few",
        value: 5.0,
        unit: Unit::Count,
        means: "the same, unless most of the threads wait",
    };
    pub static WAITING: Limit = Limit {
        name: "waiting",
        value: 0.7,
        unit: Unit::Share,
        means: "minimum share of the threads that wait where more than a few can go on",
    };
    pub static QUEUE: Limit = Limit {
        name: "queue",
        value: 1.0,
        unit: Unit::Count,
        means: "minimum number of threads whose jobs wait for a worker thread, on average",
    };
    pub static WAITED: Limit = Limit {
        name: "waited",
        value: 0.5,
        unit: Unit::Share,
        means: "minimum share of the time that those who go on spend in waits, such as for a response; threads that compute need CPUs, not a larger pool",
    };
}

/// With less of the machine idle, the other side may have no CPU left to serve more with. Measured: 0.06 where PostgreSQL computes for both
/// connections of a pool on two CPUs, and a larger pool saves nothing; 0.91 and 0.92 where pools are too small (2026-11-28).
const IDLE: f64 = 0.15;
/// Who sleeps for so much of it limits how often something is done.
const SLEEPS: f64 = 0.5;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let all = HandedOver::all(inquiry);
    let suspects = all.iter().filter_map(|one| suspect(inquiry, one));
    suspects.collect()
}

fn suspect(inquiry: &Inquiry<'_>, one: &HandedOver) -> Option<Suspect> {
    let waits = one.waits as f64;
    let share = one.ns() as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    let through = one.let_through();
    let (held, held_ns) = (&one.held, one.held.ns as f64);
    let sleep = held.sleeps_ns as f64 > held_ns * SLEEPS;
    if waits < RULE.limit(inquiry, &limits::WAITS)
        || through < RULE.limit(inquiry, &limits::LEAST)
        || share < RULE.limit(inquiry, &limits::SHARE)
        || through > RULE.limit(inquiry, &limits::THROUGH)
        || through > RULE.limit(inquiry, &limits::FEW)
            && 1.0 - one.through() < RULE.limit(inquiry, &limits::WAITING)
        || (held.waits_ns as f64) < held_ns * RULE.limit(inquiry, &limits::WAITED)
        || one.what == Shared::Workers && one.waiting() < RULE.limit(inquiry, &limits::QUEUE)
        || sleep && one.what == Shared::Places
    {
        return None;
    }
    let processes = BTreeSet::from([one.process]);
    let causes = inquiry.waits_on_path(|key| {
        let kind = key.detail.map(|detail| (detail, key.object));
        kind.is_some_and(|kind| held.kinds.contains(&kind))
            && inquiry.same_program(key.process, one.process)
    });
    // Jobs that sleep may be there to limit how often something is done.
    let fix = match sleep {
        true => fix(inquiry, one, &processes).or_nothing(),
        false => fix(inquiry, one, &processes),
    };
    let mut suspect = Suspect::new(title(one), fix, Weight::within(causes, one.ns()))
        .of(one.process)
        .held(inquiry, &RULE, "waits", waits, &limits::WAITS)
        .held(inquiry, &RULE, "share", share, &limits::SHARE)
        .held(inquiry, &RULE, "through", through, &limits::THROUGH)
        .figure("waiting", one.waiting(), "")
        .told(say![
            Piece::Count(one.waits),
            " waits, ",
            Piece::Time(one.waits_ns / one.waits.max(1)),
            " on average; about ",
            Piece::Count(one.waiting().round().max(1.0) as u64),
            " threads wait at a time"
        ]);
    suspect.frames = inquiry.spots(one.waits_in);
    suspect.examples = Example::first_of(inquiry, &held.waits);
    suspect.is_why_in_turn = true;
    let code = &inquiry.stacks.code;
    let spots = held.stack.map(|stack| inquiry.spots(stack));
    let mut spots = spots.unwrap_or_default().into_iter();
    let whoever = match one.what {
        Shared::Places => "threads that are let through mostly wait in ",
        Shared::Workers => "the worker threads mostly wait in ",
    };
    Some(match spots.find(|spot| code.is_of_program(spot.function)) {
        Some(spot) => suspect.told(say![whoever, spot.function]),
        None => suspect,
    })
}

fn title(one: &HandedOver) -> Sentence {
    let through = one.let_through().round().max(1.0) as u64;
    let mut title = say![
        Piece::Count(one.threads.len() as u64),
        " threads of ",
        one.process,
        " wait for a "
    ];
    title.0.extend(match one.what {
        Shared::Places => [
            "connection pool or semaphore that lets about ".into(),
            Piece::Count(through),
            " through at a time".into(),
        ],
        Shared::Workers => [
            "pool of ".into(),
            Piece::Count(through),
            match through {
                1 => " worker thread, which is always busy".into(),
                _ => " worker threads, which are always busy".into(),
            },
        ],
    });
    title
}

/// If all of them may go on, what those wait for that go on now takes place at the same time; at least for as many more as wait half of
/// the time. Where the machine's CPUs are all at work already, that may be what is waited for: then perhaps nothing is saved.
fn fix(inquiry: &Inquiry<'_>, one: &HandedOver, processes: &BTreeSet<ProcessId>) -> Fix {
    let through = one.through();
    let by = |left: f64| {
        vec![Change {
            what: What::Spans(one.held.waits.clone()),
            processes: Some(processes.clone()),
            how: How::Scale(left),
        }]
    };
    let half = by((1.0 + through) / 2.0);
    match inquiry.facts.idle_share {
        Some(share) if share < IDLE => Fix::Likely(Vec::new(), half, by(through / 2.0)),
        _ => Fix::Likely(half, by(through), by(through / 2.0)),
    }
}
