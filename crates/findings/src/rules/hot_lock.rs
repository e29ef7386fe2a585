//! One lock that a thread waits for again and again, while another one holds it.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::timeline::locks::{Hold, Lock};
use timesink_analysis::timeline::Span;
use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::{Detail, Language, State};

use crate::holding::{no_processor, Holding};
use crate::inquiry::Inquiry;
use crate::interpreter_lock::turns_beside;
use crate::rule::{Blames, Fix, Limit, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{waits_told, Piece};

pub static RULE: Rule = Rule {
    name: "hot-lock",
    looks_for: "a lock that is waited for again and again",
    why: "A thread that waits for a lock does nothing until the holder releases it, so the threads run one after the other.",
    advice: "hold the lock for a shorter time, split what it protects, or give each thread its own",
    wrong_if: "what is done under the lock can only be done by one thread at a time",
    limits: &[&limits::WAITS, &limits::FEW, &limits::SHARE, &limits::HOLDS],
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
    /// Eight tests of Rust, each of which holds a lock for 150 ms: seven waits, for 4.2 s of 1.37 (2026-11-30).
    pub static FEW: Limit = Limit {
        name: "few waits",
        value: 5.0,
        unit: Unit::Count,
        means: "minimum number of waits where they take longer, all together, than the program",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.6,
        unit: Unit::Share,
        means: "minimum share of all lock waits in the process",
    };
    /// Programs that hold a lock for 20 us, on a machine whose processors are taken away for up to 16 ms: 1 or 2 of their holds are
    /// half of it. Of a drawn one that is held for 10 ms each time 20 are.
    pub static HOLDS: Limit = Limit {
        name: "holds",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of holds, longest first, that add up to half of the time it is held while others wait",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let locks = inquiry
        .waits()
        .iter()
        .filter(|group| group.detail == Detail::Lock);
    locks.filter_map(|group| suspect(inquiry, group)).collect()
}

/// Whether the threads of most of these waits of a process hold a lock that others wait for meanwhile: then they come one after
/// the other because of the lock. Who does not want to hear of locks hears of the waits.
pub fn are_under_one(inquiry: &Inquiry<'_>, process: ProcessId, waits: &BTreeSet<usize>) -> bool {
    if inquiry.limits.is_off(RULE.name) {
        return false;
    }
    let groups = inquiry.waits().iter();
    let locks = groups.filter(|group| group.detail == Detail::Lock && group.process == process);
    let locks = locks.filter(|group| is_hot(inquiry, group));
    let mut locks = locks.filter_map(|group| {
        let lock = inquiry.timeline.locks().find(process, group.object?)?;
        let is_apart = || !interpreters_waits(inquiry, group, lock).is_empty();
        (!is_interpreted(inquiry, group) || is_apart()).then_some(lock)
    });
    let spans = || waits.iter().filter_map(|at| inquiry.timeline.span(*at));
    let all_ns: u64 = spans().map(|span| span.t1.since(span.t0)).sum();
    locks.any(|lock| {
        let under_ns: u64 = spans().map(|span| under_ns(inquiry, lock, span)).sum();
        under_ns as f64 > all_ns as f64 * MOSTLY
    })
}

/// Whether it is a lock of Python or Ruby, which have one of their own besides.
fn is_interpreted(inquiry: &Inquiry<'_>, group: &WaitGroup) -> bool {
    let mut functions = inquiry.functions(group.stack);
    functions.any(|function| matches!(function.language, Language::Python | Language::Ruby))
}

/// The waits for the interpreter's own lock by those who want this one, if hardly any time goes there. Who gets the one wants the other
/// at once: a replay that leaves it in place keeps the threads in turn. Of four threads of Python that ask a peer under a lock it saved
/// nothing so, where 70 % are saved (2026-11-27).
fn interpreters_waits(inquiry: &Inquiry<'_>, group: &WaitGroup, lock: &Lock) -> BTreeSet<usize> {
    if !is_interpreted(inquiry, group) {
        return BTreeSet::new();
    }
    let waits = lock.waits.iter();
    let waits = waits.filter_map(|&at| inquiry.timeline.span(at));
    let waiting: BTreeSet<usize> = waits
        .filter_map(|span| inquiry.timeline.slot(span.thread))
        .collect();
    let is_other = |span: &Span| span.object() != group.object;
    turns_beside(inquiry, &waiting, is_other, lock.wait_ns)
}

/// So much of the waits is under the lock: who gets it first is not known to hold it until another one wants it.
const MOSTLY: f64 = 0.5;

/// For how long of a wait its own thread is known to hold the lock.
fn under_ns(inquiry: &Inquiry<'_>, lock: &Lock, span: &Span) -> u64 {
    let slot = inquiry.timeline.slot(span.thread);
    let first = lock.holds.partition_point(|hold| hold.until <= span.t0);
    let holds = lock.holds[first..].iter();
    let holds = holds.take_while(|hold| hold.from < span.t1);
    let own = holds.filter(|hold| Some(hold.holder) == slot);
    let within = own.map(|hold| hold.until.min(span.t1).since(hold.from.max(span.t0)));
    within.sum()
}

/// Whether it is waited for often enough, and most of all locks of its process.
fn is_hot(inquiry: &Inquiry<'_>, group: &WaitGroup) -> bool {
    let least = RULE.limit(inquiry, least_waits(inquiry, group));
    group.count() as f64 >= least && share(inquiry, group) >= RULE.limit(inquiry, &limits::SHARE)
}

/// So many of them are told: fewer where they take longer, all together, than the program.
fn least_waits(inquiry: &Inquiry<'_>, group: &WaitGroup) -> &'static Limit {
    let are_many = group.count() as f64 >= RULE.limit(inquiry, &limits::WAITS);
    match !are_many && group.ns > inquiry.outlook.wall_ns {
        true => &limits::FEW,
        false => &limits::WAITS,
    }
}

/// How many holds, the longest first, add up to half of the time; `None`: nobody is known to have held it.
fn holds_of_half(holds: &[Hold]) -> Option<usize> {
    let mut lengths: Vec<u64> = holds.iter().map(Hold::ns).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let all = lengths.iter().fold(0u64, |all, ns| all.saturating_add(*ns));
    let mut sum = 0u64;
    let first = lengths.iter().position(|ns| {
        sum = sum.saturating_add(*ns);
        sum >= all / 2
    });
    first.map(|last| last + 1)
}

/// Its share of all waits for locks of its process.
fn share(inquiry: &Inquiry<'_>, group: &WaitGroup) -> f64 {
    let all = inquiry
        .waits()
        .iter()
        .filter(|other| other.detail == Detail::Lock && other.process == group.process);
    let all: u64 = all.map(|other| other.ns).sum();
    group.ns as f64 / all.max(1) as f64
}

/// That nobody waits for it, nor in turn for the interpreter's own.
fn without_waiting(
    inquiry: &Inquiry<'_>,
    group: &WaitGroup,
    waits: What,
    lock: Option<&Lock>,
) -> Fix {
    let own = BTreeSet::from([group.process]);
    let mut changes = Fix::without(waits, own.clone()).changes();
    let beside = lock.map(|lock| interpreters_waits(inquiry, group, lock));
    if let Some(beside) = beside.filter(|beside| !beside.is_empty()) {
        changes.push(Change {
            what: What::Spans(beside),
            processes: Some(own),
            how: How::Never,
        });
    }
    Fix::Changes(changes)
}

/// By which figures it is told.
fn measured(
    inquiry: &Inquiry<'_>,
    group: &WaitGroup,
    of_half: Option<usize>,
    suspect: Suspect,
) -> Suspect {
    let (waits, share) = (group.count() as f64, share(inquiry, group));
    let limit = least_waits(inquiry, group);
    let suspect = suspect.held(inquiry, &RULE, "waits", waits, limit).held(
        inquiry,
        &RULE,
        "share of waits for locks",
        share,
        &limits::SHARE,
    );
    match of_half {
        Some(of_half) => suspect.held(
            inquiry,
            &RULE,
            "holds for half the time",
            of_half as f64,
            &limits::HOLDS,
        ),
        None => suspect,
    }
}

fn suspect(inquiry: &Inquiry<'_>, group: &WaitGroup) -> Option<Suspect> {
    let object = group.object?;
    if !is_hot(inquiry, group) {
        return None;
    }
    let lock = inquiry.timeline.locks().find(group.process, object);
    let holds: &[Hold] = lock.map_or(&[], |lock| &lock.holds);
    // Once or twice is not again and again. Where nobody is known to have held it, nothing speaks against that.
    let least = RULE.limit(inquiry, &limits::HOLDS);
    let of_half = holds_of_half(holds);
    if of_half.is_some_and(|of_half| (of_half as f64) < least) || no_processor(inquiry, holds) {
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
    let fix = without_waiting(inquiry, group, what, lock);
    let suspect = Suspect::new(title, fix, weight)
        .of(group.process)
        .about(Some(object))
        .seen_in(inquiry, Some(group));
    let suspect = measured(inquiry, group, of_half, suspect);
    let suspect = suspect.told(waits_told(&group.lengths));
    let suspect = match holding {
        Some(holding) => suspect.told(holding.told(inquiry)),
        None => suspect,
    };
    let releaser = inquiry
        .stacks
        .code
        .own_of(&inquiry.frames(group.waker_stack));
    Some(match releaser.first() {
        Some(spot) => suspect.told(say!["it is released in ", spot.function]),
        None => suspect,
    })
}
