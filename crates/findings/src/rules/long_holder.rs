//! A lock that is held shortly as a rule, and for long now and then, while others wait.

use std::collections::BTreeSet;

use timesink_analysis::replay::What;
use timesink_analysis::timeline::locks::{Hold, Lock};

use crate::holding::{Holding, Sampling};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Held, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "long-holder",
    looks_for: "a lock that is sometimes held much longer than usual",
    why: "Every thread that wants the lock waits for the whole of it, though it has nothing to do with that work.",
    advice: "do the long part without the lock: copy what is needed under the lock, release it, do the work, and store the result",
    wrong_if: "the long part needs all that the lock protects to stay unchanged until it is done",
    limits: &[&limits::HOLDS, &limits::LONG, &limits::TIMES, &limits::LEAST, &limits::SHARE],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static HOLDS: Limit = Limit {
        name: "holds",
        value: 20.0,
        unit: Unit::Count,
        means: "minimum number of holds seen",
    };
    pub static LONG: Limit = Limit {
        name: "long holds",
        value: 5.0,
        unit: Unit::Count,
        means: "minimum number of long holds",
    };
    pub static TIMES: Limit = Limit {
        name: "ratio",
        value: 10.0,
        unit: Unit::Ratio,
        means: "minimum ratio of a long hold to the median",
    };
    pub static LEAST: Limit = Limit {
        name: "length",
        value: 1e6,
        unit: Unit::Nanoseconds,
        means: "minimum length of a long hold",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.5,
        unit: Unit::Share,
        means: "minimum share of the time waited for the lock that is behind long holds",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let locks = &inquiry.timeline.locks().0;
    if locks.is_empty() {
        return Vec::new();
    }
    let sampling = Sampling::of(inquiry);
    let suspect = |lock| suspect(inquiry, &sampling, lock);
    locks.iter().filter_map(suspect).collect()
}

fn suspect(inquiry: &Inquiry<'_>, sampling: &Sampling<'_>, lock: &Lock) -> Option<Suspect> {
    if (lock.holds.len() as f64) < RULE.limit(inquiry, &limits::HOLDS) {
        return None;
    }
    // Who loses its processor meanwhile, to other threads or to the machine's host, does nothing for long.
    let own = |hold: &Hold| Hold {
        own_ns: sampling.own_ns(hold),
        ..*hold
    };
    let holds: Vec<Hold> = lock.holds.iter().map(own).collect();
    let mut lengths: Vec<u64> = holds.iter().map(|hold| hold.own_ns).collect();
    lengths.sort_unstable();
    let usual = *lengths.get(lengths.len() / 2)?;
    let is_long = (usual as f64 * RULE.limit(inquiry, &limits::TIMES))
        .max(RULE.limit(inquiry, &limits::LEAST));
    let long = holds.into_iter();
    let long: Vec<Hold> = long.filter(|hold| hold.own_ns as f64 >= is_long).collect();
    if (long.len() as f64) < RULE.limit(inquiry, &limits::LONG) {
        return None;
    }
    let waits = behind(inquiry, lock, &long);
    let spans = waits.iter().filter_map(|&at| inquiry.timeline.span(at));
    let behind_ns: u64 = spans.map(|span| span.t1.since(span.t0)).sum();
    let share = behind_ns as f64 / lock.wait_ns.max(1) as f64;
    if share < RULE.limit(inquiry, &limits::SHARE) {
        return None;
    }
    let holding = Holding::of(inquiry, &long);
    let long_ns: u64 = long.iter().map(|hold| hold.own_ns).sum();
    let count = long.len() as u64;
    let title = title(lock, long_ns, count);
    let causes = inquiry.all_of(&BTreeSet::from([lock.process]));
    // Threads that meet at a lock for moments keep each other's pace only because somebody stays: with the long ones
    // gone the short ones are nothing, so the lock is replayed as one that nobody waits for.
    let all = What::Spans(lock.waits.iter().copied().collect());
    let fix = Fix::without(all, BTreeSet::from([lock.process]));
    let mut suspect = Suspect::new(title, fix, Weight::within(causes, long_ns))
        .of(lock.process)
        .about(Some(lock.object))
        .held_all(
            inquiry,
            &RULE,
            [
                Held::new("holds", lengths.len() as f64, &limits::HOLDS),
                Held::new("long ones", count as f64, &limits::LONG),
                Held::new("long", is_long, &limits::LEAST),
                Held::new("share of the waiting", share, &limits::SHARE),
            ],
        )
        .figure("half of them at most", usual as f64, "ns")
        .told(say![
            "median of ",
            Piece::Count(lengths.len() as u64),
            " holds: ",
            Piece::Time(usual),
            "; ",
            Piece::Count(waits.len() as u64),
            " waits are behind the long ones"
        ]);
    let examples = long.iter().take(3).map(|hold| Example {
        thread: inquiry.timeline.threads[hold.holder].thread,
        at: hold.from,
    });
    suspect.examples = examples.collect();
    match holding {
        Some(holding) => {
            suspect.frames.clone_from(&holding.frames);
            Some(suspect.told(holding.told(inquiry)))
        }
        None => Some(suspect),
    }
}

/// Which lock is held for long, how long on average, and how often.
fn title(lock: &Lock, long_ns: u64, count: u64) -> Sentence {
    say![
        "the lock ",
        lock.object,
        " in ",
        lock.process,
        " is held for ",
        Piece::Time(long_ns / count.max(1)),
        " ",
        Piece::Count(count),
        " times, much longer than usual"
    ]
}

/// The waits that lie mostly behind these stretches, as indexes of spans.
fn behind(inquiry: &Inquiry<'_>, lock: &Lock, long: &[Hold]) -> BTreeSet<usize> {
    let waits = lock.waits.iter().copied();
    waits
        .filter(|&at| {
            let Some(span) = inquiry.timeline.span(at) else {
                return false;
            };
            let first = long.partition_point(|hold| hold.until <= span.t0);
            let during = long[first..].iter().take_while(|hold| hold.from < span.t1);
            let ns: u64 = during
                .map(|hold| hold.until.min(span.t1).since(hold.from.max(span.t0)))
                .sum();
            ns * 2 >= span.t1.since(span.t0)
        })
        .collect()
}
