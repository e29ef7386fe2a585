//! A lock, a semaphore or a pool of connections of a runtime's own that tasks wait for while others have it.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::tasks::{GroupKind, Parking};

use crate::contended::{Contended, Held};
use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Fix, Rule, Suspect};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "task-contention",
    looks_for: "a lock, a semaphore or a connection pool that goroutines or asyncio tasks wait for while others hold it",
    why: "However many tasks there are, only as many as it lets through make progress. What they do under it, such as waiting for a response, takes place one after another.",
    advice: "hold it only where the shared data is used, not while waiting for a response, a disk or a timer; or let more tasks through at a time",
    wrong_if: "it limits on purpose how much is asked of somebody at a time, or what is done under it cannot be done side by side",
    limits: &[&limits::WAITS, &limits::SHARE, &limits::THROUGH],
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
        value: 0.25,
        unit: Unit::Share,
        means: "minimum share of the time during which a task waits for it",
    };
    /// Measured 2026-11-27: 1 of locks and of a pool with one connection, 2 of a semaphore with two places; with 20 places, where
    /// more of them would save 15 %, 19.
    pub static THROUGH: Limit = Limit {
        name: "through",
        value: 12.0,
        unit: Unit::Count,
        means: "maximum number of tasks that can go on while others wait, on average; who lets more through limits on purpose",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let all = Contended::all(inquiry);
    all.iter()
        .filter_map(|contended| suspect(inquiry, contended))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, contended: &Contended) -> Option<Suspect> {
    let waits = contended.waits as f64;
    let share = contended.ns() as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    let through = contended.let_through();
    if waits < RULE.limit(inquiry, &limits::WAITS)
        || share < RULE.limit(inquiry, &limits::SHARE)
        || through > RULE.limit(inquiry, &limits::THROUGH)
    {
        return None;
    }
    let held = contended.held(inquiry);
    let spans = held.waits.iter().copied();
    let picked = Picked::of(inquiry, contended.process, spans);
    let mut suspect = picked.suspect(inquiry, title(contended), 0.0);
    suspect.fix = fix(inquiry, contended, &held);
    suspect.frames = inquiry.spots(contended.waits_in);
    if !held.cpu.is_empty() {
        suspect
            .weight
            .causes
            .extend(inquiry.busy(contended.process));
    }
    suspect.weight.at_most_ns = contended.ns();
    suspect.is_why_in_turn = true;
    let suspect = suspect
        .held(inquiry, &RULE, "waits", waits, &limits::WAITS)
        .held(inquiry, &RULE, "share", share, &limits::SHARE)
        .held(inquiry, &RULE, "through", through, &limits::THROUGH)
        .figure("waiting", contended.waiting(), "")
        .told(say![
            Piece::Count(contended.waits),
            " waits, ",
            Piece::Time(contended.waits_ns / contended.waits.max(1)),
            " on average; about ",
            Piece::Count(whole(contended.waiting())),
            " tasks wait at a time while ",
            Piece::Count(whole(through)),
            " can go on"
        ])
        .advised(advice(contended.gate).to_owned());
    let code = &inquiry.stacks.code;
    let spots = contended.held_in.map(|stack| inquiry.spots(stack));
    let mut spots = spots.unwrap_or_default().into_iter();
    let holder = spots.find(|spot| code.is_of_program(spot.function));
    Some(match holder {
        Some(spot) => suspect.told(say!["whoever can go on is mostly in ", spot.function]),
        None => suspect,
    })
}

/// As a number of tasks; where there are some there is one.
fn whole(average: f64) -> u64 {
    average.round().max(1.0) as u64
}

fn title(contended: &Contended) -> Sentence {
    let tasks = match contended.kind {
        GroupKind::Goroutine => " goroutines of ",
        _ => " tasks of ",
    };
    let count = Piece::Count(contended.tasks.len() as u64);
    let of_process = [count, tasks.into(), contended.process.into()];
    let mut title = Sentence(of_process.into());
    let waiting = Piece::Count(whole(contended.waiting()));
    let through = Piece::Count(whole(contended.let_through()));
    title.0.extend(match contended.gate {
        Parking::Semaphore => [
            " contend for a semaphore that lets about ".into(),
            through,
            " through at a time".into(),
        ],
        Parking::Connection => [
            " contend for a connection pool that lets about ".into(),
            through,
            " through at a time".into(),
        ],
        _ => [
            " contend for a lock: about ".into(),
            waiting,
            " wait at a time".into(),
        ],
    });
    title
}

fn advice(gate: Parking) -> &'static str {
    match gate {
        Parking::Semaphore => {
            "give the semaphore more places, as many as whoever is asked can serve at a time"
        }
        Parking::Connection => {
            "allow the pool more connections, as many as the peer can serve at a time; or hold one only while it is used"
        }
        _ => {
            "hold the lock only where the shared data is used, not while waiting for a response, a disk or a timer; or split what it protects"
        }
    }
}

/// If all of them may go on it takes as long as those take that go on now; at least as many more as wait for it half of the time. Goroutines
/// then also compute side by side, as far as there are CPUs for that.
fn fix(inquiry: &Inquiry<'_>, contended: &Contended, held: &Held) -> Fix {
    let through = contended.through();
    let processors = f64::from(inquiry.outlook.processors.max(1));
    let least_cpu = held.cpu_share.max(1.0 / processors);
    let by = |left: f64| {
        let scaled = |spans: &BTreeSet<usize>, factor: f64| Change {
            what: What::Spans(spans.clone()),
            processes: Some(BTreeSet::from([contended.process])),
            how: How::Scale(factor),
        };
        let mut changes = vec![scaled(&held.waits, left)];
        if contended.kind == GroupKind::Goroutine && !held.cpu.is_empty() && least_cpu < 1.0 {
            changes.push(scaled(&held.cpu, left.max(least_cpu)));
        }
        changes
    };
    Fix::Likely(by((1.0 + through) / 2.0), by(through), by(through / 2.0))
}
