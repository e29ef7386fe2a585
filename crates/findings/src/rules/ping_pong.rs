//! Two threads that hand each other something again and again, and do next to nothing in between.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::exchanges::Exchange;
use timesink_analysis::replay::{Change, How, What};
use timesink_recording::ids::{ProcessId, ThreadId};
use timesink_recording::Nanos;

use crate::inquiry::Inquiry;
use crate::rule::{Fix, Limit, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "ping-pong",
    looks_for: "two threads that wait for each other in turn, thousands of times, and do next to nothing in between",
    why: "To wake a thread and to fall asleep takes microseconds each time. Who hands over work that takes no longer mostly hands over.",
    advice: "hand over many things at a time, or do both parts in one thread",
    wrong_if: "each thing must be answered before the next one is known",
    limits: &[
        Limit { name: "turns", value: 1000.0, means: "at least so many each" },
        Limit { name: "burst", value: 50_000.0, means: "nanoseconds on a processor in a turn, half of them at most" },
    ],
    is_innocent: false,
    needs: &[],
    ask,
};

fn ask(of: &Inquiry<'_>) -> Vec<Suspect> {
    let exchanges = Exchange::all(of.timeline, RULE.limit(of, "turns") as u64);
    exchanges
        .iter()
        .filter_map(|exchange| suspect(of, exchange, &exchanges))
        .collect()
}

/// The stretches in which the two hand over, and those with whom either of them does: a loop of events has its work done
/// by now the one, now the other thread of a pool.
fn stretches(
    of: &Inquiry<'_>,
    exchange: &Exchange,
    all: &[Exchange],
) -> BTreeMap<ThreadId, (Nanos, Nanos)> {
    let shares = |other: &&Exchange| other.pair.iter().any(|slot| exchange.pair.contains(slot));
    let mut stretches: BTreeMap<ThreadId, (Nanos, Nanos)> = BTreeMap::new();
    for other in all.iter().filter(shares) {
        for (thread, (from, until)) in other.stretches(of.timeline) {
            let known = stretches.entry(thread).or_insert((from, until));
            *known = (known.0.min(from), known.1.max(until));
        }
    }
    stretches
}

fn suspect(of: &Inquiry<'_>, exchange: &Exchange, all: &[Exchange]) -> Option<Suspect> {
    let turns = exchange.turns();
    let bursts = exchange.bursts();
    if (turns as f64) < RULE.limit(of, "turns")
        || bursts
            .iter()
            .any(|&burst| burst as f64 > RULE.limit(of, "burst"))
    {
        return None;
    }
    let [one, other] = exchange.pair.map(|slot| &of.timeline.threads[slot]);
    let title = say![
        one.thread,
        " and ",
        other.thread,
        " wait for each other in turn, ",
        Piece::Count(turns),
        " times"
    ];
    let processes: BTreeSet<ProcessId> = BTreeSet::from([one.process, other.process]);
    let causes = of.all_of(&processes);
    let objects = exchange.objects();
    let about = exchange.objects().first().copied();
    let group = of.waits().iter().find(|group| {
        processes.contains(&group.process)
            && group.object.is_some_and(|object| objects.contains(&object))
    });
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
        what: What::Stretches(stretches(of, exchange, all)),
        processes: None,
        how: How::Scale(0.0),
    };
    let fix = Fix::AtLeast(vec![hand_over.clone()], vec![hand_over, meanwhile]);
    let suspect = Suspect::new(title, fix, Weight::within(causes, exchange.ns()))
        .of(one.process)
        .about(about)
        .seen_in(of, group)
        .held(of, &RULE, "turns", turns as f64, "turns")
        .held(
            of,
            &RULE,
            "on a processor in a turn",
            bursts[0] as f64,
            "burst",
        )
        .told(say![
            "in a turn the one is on a processor for ",
            Piece::Time(bursts[0]),
            ", the other one for ",
            Piece::Time(bursts[1])
        ])
        .told(say![
            "a turn takes ",
            Piece::Time(exchange.ns() / turns.max(1)),
            " in all"
        ]);
    Some(suspect.shown_at(of, exchange.examples.iter().copied()))
}
