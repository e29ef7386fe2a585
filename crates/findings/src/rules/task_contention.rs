//! A lock, a semaphore or a pool of connections of a runtime's own that tasks wait for while others have it.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::tasks::{GroupKind, Parking};

use crate::contended::{Contended, Held};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "task-contention",
    looks_for: "a lock, a semaphore or a connection pool that goroutines or asyncio tasks wait for while others hold it",
    why: "However many tasks there are, only as many as it lets through make progress. What they do while they hold it, such as waiting for a response, takes place one after another.",
    advice: "hold it only where the shared data is used, not while waiting for a response, a disk or a timer; or let more tasks through at a time",
    wrong_if: "it limits on purpose how much is asked of somebody at a time, or what is done while it is held cannot be done side by side",
    limits: &[&limits::WAITS, &limits::SHARE, &limits::THROUGH, &limits::FEW, &limits::WAITING],
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
    /// Measured 2026-11-27: with 20 places, where more of them would save 15 %, 19 go on.
    pub static THROUGH: Limit = Limit {
        name: "through",
        value: 12.0,
        unit: Unit::Count,
        means: "maximum number of tasks that can go on while others wait, on average; a limit that lets more through is taken as intended",
    };
    /// Measured 2026-11-27: 1 to 4 of locks, semaphores and pools that were at fault; 7 and 9 of fixed ones with 10 and 8 places, for which
    /// 13 and 7 tasks wait.
    pub static FEW: Limit = Limit {
        name: "few",
        value: 5.0,
        unit: Unit::Count,
        means: "the same, unless most of the tasks wait",
    };
    pub static WAITING: Limit = Limit {
        name: "waiting",
        value: 0.8,
        unit: Unit::Share,
        means: "minimum share of the tasks that wait where more than a few can go on",
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
        || through > RULE.limit(inquiry, &limits::FEW)
            && 1.0 - contended.through() < RULE.limit(inquiry, &limits::WAITING)
    {
        return None;
    }
    // Who takes the lock and sleeps limits how often something is done.
    let holders = contended.holders;
    let of_lock = holders.filter(|_| contended.gate == Parking::Lock);
    if of_lock.is_some_and(|holders| holders.limit_rate) {
        return None;
    }
    let held = contended.held(inquiry);
    let mut causes = inquiry.causes(|key| held.causes.contains(key));
    if !held.cpu.is_empty() {
        causes.extend(inquiry.busy(contended.process));
    }
    let weight = Weight::within(causes, contended.ns());
    // So may one that sleeps in a function of its own.
    let fix = match of_lock.is_some_and(|holders| holders.sleep) {
        true => fix(inquiry, contended, &held).or_nothing(),
        false => fix(inquiry, contended, &held),
    };
    let mut suspect = Suspect::new(title(contended), fix, weight).of(contended.process);
    suspect.frames = inquiry.spots(contended.waits_in);
    suspect.examples = Example::first_of(inquiry, &held.waits);
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
            " tasks wait at a time"
        ])
        .advised(advice(contended).to_owned());
    let code = &inquiry.stacks.code;
    let spots = holders.map(|holders| inquiry.spots(holders.stack));
    let mut spots = spots.unwrap_or_default().into_iter();
    let own = spots.find(|spot| code.is_of_program(spot.function));
    let whoever = match contended.gate {
        Parking::Lock => "the task that holds the lock is mostly in ",
        Parking::Semaphore | Parking::Send => "tasks that hold the semaphore are mostly in ",
        _ => "tasks that have a connection are mostly in ",
    };
    Some(match own {
        Some(spot) => suspect.told(say![whoever, spot.function]),
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
        Parking::Send => [
            " contend for a channel used as a semaphore that lets about ".into(),
            through,
            " through at a time".into(),
        ],
        Parking::Connection => [
            " wait for a pool of about ".into(),
            through,
            " connections".into(),
        ],
        _ => [
            " contend for a lock: about ".into(),
            waiting,
            " wait at a time".into(),
        ],
    });
    title
}

fn advice(contended: &Contended) -> &'static str {
    let computes = contended.holders.is_some_and(|holders| holders.compute);
    match contended.gate {
        Parking::Semaphore => {
            "raise the limit of the semaphore, to as many requests as the other side can serve at a time"
        }
        Parking::Send => {
            "make the channel's buffer larger, for as many requests as the other side can serve at a time"
        }
        Parking::Connection => {
            "allow the pool more connections, as many as the other side can serve at a time; or hold one only while it is used"
        }
        _ if computes => {
            "compute before the lock is taken or after it is released; or split what it protects"
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
    // Who has no CPU left does not go on any faster.
    let full = match contended.kind {
        GroupKind::Goroutine => held.cpu_share,
        _ => 0.0,
    };
    let by = |left: f64| {
        let scaled = |spans: &BTreeSet<usize>, factor: f64| Change {
            what: What::Spans(spans.clone()),
            processes: None,
            how: How::Scale(factor),
        };
        let left = left.max(full);
        let mut changes = vec![scaled(&held.waits, left)];
        if contended.kind == GroupKind::Goroutine && !held.cpu.is_empty() && least_cpu < 1.0 {
            changes.push(scaled(&held.cpu, left.max(least_cpu)));
        }
        changes
    };
    Fix::Likely(by((1.0 + through) / 2.0), by(through), by(through / 2.0))
}
