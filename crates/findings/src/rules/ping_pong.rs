//! Two threads that hand each other something again and again, and do next to nothing in between.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::futures::is_of_worker;
use timesink_analysis::stacks::{CallSite, Spot};
use timesink_analysis::timeline::exchanges::Exchange;
use timesink_recording::ids::{ProcessId, ThreadId};
use timesink_recording::Nanos;

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "ping-pong",
    looks_for: "two threads that wait for each other in turn, thousands of times, with almost no work in between",
    why: "Waking a thread and going to sleep take microseconds each time. Threads that hand over work shorter than that spend most of their time on the hand-over.",
    advice: "hand over many items at a time, or do both parts in one thread",
    wrong_if: "each item must be answered before the next one is known",
    limits: &[&limits::TURNS, &limits::BURST],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static TURNS: Limit = Limit {
        name: "turns",
        value: 1000.0,
        unit: Unit::Count,
        means: "minimum number of turns of each thread",
    };
    pub static BURST: Limit = Limit {
        name: "burst",
        value: 50_000.0,
        unit: Unit::Nanoseconds,
        means: "maximum median time on CPU in a turn",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let exchanges = Exchange::all(inquiry.timeline, RULE.limit(inquiry, &limits::TURNS) as u64);
    exchanges
        .iter()
        .filter_map(|exchange| suspect(inquiry, exchange, &exchanges))
        .collect()
}

/// The stretches in which the two hand over, and those with whom either of them does: a loop of events has its work done
/// by now the one, now the other thread of a pool.
fn stretches(
    inquiry: &Inquiry<'_>,
    exchange: &Exchange,
    all: &[Exchange],
) -> BTreeMap<ThreadId, (Nanos, Nanos)> {
    let shares = |other: &&Exchange| other.pair.iter().any(|slot| exchange.pair.contains(slot));
    let mut stretches: BTreeMap<ThreadId, (Nanos, Nanos)> = BTreeMap::new();
    for other in all.iter().filter(shares) {
        for (thread, (from, until)) in other.stretches(inquiry.timeline) {
            let known = stretches.entry(thread).or_insert((from, until));
            *known = (known.0.min(from), known.1.max(until));
        }
    }
    stretches
}

fn suspect(inquiry: &Inquiry<'_>, exchange: &Exchange, all: &[Exchange]) -> Option<Suspect> {
    let turns = exchange.turns();
    let bursts = exchange.bursts();
    if exchange.is_one_way() {
        return None;
    }
    if (turns as f64) < RULE.limit(inquiry, &limits::TURNS)
        || bursts
            .iter()
            .any(|&burst| burst as f64 > RULE.limit(inquiry, &limits::BURST))
    {
        return None;
    }
    let [one, other] = exchange.pair.map(|slot| &inquiry.timeline.threads[slot]);
    let processes: BTreeSet<ProcessId> = BTreeSet::from([one.process, other.process]);
    let causes = inquiry.all_of(&processes);
    let objects = exchange.objects();
    let about = exchange.objects().first().copied();
    let group = inquiry.waits().iter().find(|group| {
        processes.contains(&group.process)
            && group.object.is_some_and(|object| objects.contains(&object))
    });
    let waits = inquiry.frames(group.and_then(|group| group.stack));
    let wakes = inquiry.frames(group.and_then(|group| group.waker_stack));
    if inquiry.stacks.code.is_go_alone(&waits) || is_of_tokio(inquiry, exchange) {
        return None;
    }
    let hand_over = Change {
        what: What::Waits {
            detail: None,
            objects: Some(objects.clone()),
        },
        processes: Some(processes.clone()),
        how: How::HandOver,
    };
    // At most all goes that they do meanwhile: to hand over a thing is mostly more work than the thing.
    let meanwhile = Change {
        what: What::Stretches(stretches(inquiry, exchange, all)),
        processes: None,
        how: How::Scale(0.0),
    };
    let fix = Fix::AtLeast(vec![hand_over.clone()], vec![hand_over, meanwhile]);
    let suspect = Suspect::new(
        title([one.thread, other.thread], turns),
        fix,
        Weight::within(causes, exchange.ns()),
    )
    .of(one.process)
    .about(about)
    .held(inquiry, &RULE, "turns", turns as f64, &limits::TURNS)
    .held(
        inquiry,
        &RULE,
        "on a processor in a turn",
        bursts[0] as f64,
        &limits::BURST,
    )
    .told(say![
        "time on CPU per turn: ",
        Piece::Time(bursts[0]),
        " and ",
        Piece::Time(bursts[1])
    ])
    .told(say![
        "a turn takes ",
        Piece::Time(exchange.ns() / turns.max(1)),
        " in all"
    ]);
    let suspect = suspect.shown_at(inquiry, exchange.examples.iter().copied());
    let frames = place(inquiry, &processes, waits, wakes);
    Some(Suspect { frames, ..suspect })
}

fn title([one, other]: [ThreadId; 2], turns: u64) -> Sentence {
    say![
        one,
        " and ",
        other,
        " wait for each other ",
        Piece::Count(turns),
        " times, in turn"
    ]
}

/// Where it is done. A pool's thread waits in its own loop: who gives it work tells more.
fn place(
    inquiry: &Inquiry<'_>,
    processes: &BTreeSet<ProcessId>,
    waits: Vec<Spot>,
    wakes: Vec<Spot>,
) -> Vec<Spot> {
    let code = &inquiry.stacks.code;
    let is_own = |frames: &[Spot]| {
        let own = code.own_of(frames).into_iter();
        own.map(|spot| spot.function).any(|f| !code.is_standard(f))
    };
    match (is_own(&waits), is_own(&wakes)) {
        (true, _) => waits,
        (false, true) => wakes,
        (false, false) => {
            let threads = inquiry.threads_of(processes);
            let gives =
                |site: &CallSite| site.call == "futex" && is_own(&inquiry.spots(site.stack));
            let site = inquiry.stacks.usual_site(&threads, gives);
            site.map_or(waits, |site| inquiry.spots(site.stack))
        }
    }
}

/// So many stacks of a thread tell what it is.
const STACKS: usize = 100;

/// Whether both are threads of tokio's that take tasks from each other: they wake each other as there is one, which is no doing of the
/// program. What one of them gives to a thread for what blocks is.
fn is_of_tokio(inquiry: &Inquiry<'_>, exchange: &Exchange) -> bool {
    exchange.pair.iter().all(|&slot| {
        let thread = inquiry.timeline.threads[slot].thread;
        let events = inquiry.stacks.events_of(thread).iter().take(STACKS);
        let mut stacks = events.map(|event| event.stack);
        stacks.any(|stack| is_of_worker(&inquiry.stacks.code, stack))
    })
}
