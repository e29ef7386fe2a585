//! One thread that is busy all the time, and others that wait for what it hands them.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::timeline::pools::{over, Pool};
use timesink_recording::ids::ThreadId;
use timesink_recording::words::State;
use timesink_recording::Nanos;

use crate::alike::is_managed;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "one-thread-bound",
    looks_for: "one thread that is busy all the time while others wait for the work it hands out",
    why: "Threads that wait to be handed work are as fast as the thread that hands it out, however many they are.",
    advice: "move part of its work to the other threads, or let several threads do it",
    wrong_if: "its work must be done by one thread, in order",
    limits: &[&limits::BUSY, &limits::IDLE, &limits::OTHERS, &limits::SHARE, &limits::WAITS],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static BUSY: Limit = Limit {
        name: "busy",
        value: 0.9,
        unit: Unit::Share,
        means: "minimum share of the time in which it is on CPU or runnable",
    };
    pub static IDLE: Limit = Limit {
        name: "idle",
        value: 0.5,
        unit: Unit::Share,
        means: "maximum share of the time in which each of the others is",
    };
    pub static OTHERS: Limit = Limit {
        name: "others",
        value: 2.0,
        unit: Unit::Count,
        means: "minimum number of other threads",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.6,
        unit: Unit::Share,
        means: "minimum share of the waiting time of each that this thread ended",
    };
    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 20.0,
        unit: Unit::Count,
        means: "minimum number of these waits",
    };
}

/// Who does less than this part of its time has no work, rather than too little of it.
const PART: f64 = 0.01;

/// Who is handed work.
struct Handed {
    thread: ThreadId,
    waits: u64,
    /// The first of them, as an index of a span.
    first: usize,
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    if is_managed(inquiry) {
        return Vec::new();
    }
    let pools = Pool::all(inquiry.timeline).into_iter();
    let threads = pools.filter(|pool| !pool.is_processes);
    threads.filter_map(|pool| suspect(inquiry, &pool)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, pool: &Pool) -> Option<Suspect> {
    let process = pool.process(inquiry.timeline);
    let from = pool.rows(inquiry.timeline).map(|row| row.start).min()?;
    let until = pool.rows(inquiry.timeline).map(over).max()?;
    let whole = until.since(from);
    // It may be the one that started them, or one of them.
    let near = pool.members.iter().chain([&pool.parent]);
    let (busy_ns, bound) = near
        .map(|&slot| (at_work(inquiry, slot, from, until), slot))
        .max()?;
    let busy = busy_ns as f64 / whole.max(1) as f64;
    if busy < RULE.limit(inquiry, &limits::BUSY) {
        return None;
    }
    let others = pool.members.iter().filter(|&&slot| slot != bound);
    let handed: Vec<Handed> = others
        .filter_map(|&slot| handed(inquiry, slot, bound))
        .collect();
    let waits: u64 = handed.iter().map(|handed| handed.waits).sum();
    if (handed.len() as f64) < RULE.limit(inquiry, &limits::OTHERS)
        || (waits as f64) < RULE.limit(inquiry, &limits::WAITS)
    {
        return None;
    }
    let row = &inquiry.timeline.threads[bound];
    let title = say![
        row.thread,
        " is busy all the time while ",
        Piece::Count(handed.len() as u64),
        " threads wait for its work"
    ];
    let threads = handed
        .iter()
        .map(|handed| handed.thread)
        .chain([row.thread]);
    let fix = Fix::Change(Change {
        what: What::Threads(threads.collect()),
        processes: Some(BTreeSet::from([process])),
        how: How::Even,
    });
    let work: u64 = handed
        .iter()
        .filter_map(|handed| inquiry.timeline.slot(handed.thread))
        .map(|slot| inquiry.timeline.threads[slot].cpu_ns)
        .sum();
    let mut suspect = Suspect::new(title, fix, Weight::within(inquiry.busy(process), busy_ns))
        .shown_at(inquiry, handed.iter().map(|handed| handed.first))
        .of(process)
        .held(inquiry, &RULE, "busy", busy, &limits::BUSY)
        .held(
            inquiry,
            &RULE,
            "others",
            handed.len() as f64,
            &limits::OTHERS,
        )
        .held(inquiry, &RULE, "waits", waits as f64, &limits::WAITS)
        .told(say![
            "it is busy for ",
            Piece::Percent(busy * 100.0),
            " of the time; the others are on CPU for ",
            Piece::Time(work),
            " in all"
        ])
        .told(say!["they waited for it ", Piece::Count(waits), " times"]);
    suspect.frames = inquiry.mostly_in(row.thread);
    Some(suspect)
}

/// How long a thread was on a processor or ready between two moments.
fn at_work(inquiry: &Inquiry<'_>, slot: usize, from: Nanos, until: Nanos) -> u64 {
    let spans = inquiry.timeline.between(slot, from, until);
    let works = spans.filter(|(span, _)| matches!(span.state, State::Cpu | State::Ready));
    works.map(|(_, ns)| ns).sum()
}

/// Whether a thread does little, and waits for that one to hand it something.
fn handed(inquiry: &Inquiry<'_>, slot: usize, bound: usize) -> Option<Handed> {
    let row = &inquiry.timeline.threads[slot];
    let life = over(row).since(row.start).max(1) as f64;
    let works = row.cpu_ns.saturating_add(row.ready_ns) as f64 / life;
    if works > RULE.limit(inquiry, &limits::IDLE) || (row.cpu_ns as f64) < life * PART {
        return None;
    }
    let by = inquiry.timeline.threads[bound].thread;
    let waits = inquiry
        .timeline
        .indexed(slot)
        .filter(|(_, span)| span.state == State::Wait && span.waker() == Some(by));
    let (mut count, mut ns, mut first) = (0, 0u64, None);
    for (index, span) in waits {
        count += 1;
        ns = ns.saturating_add(span.t1.since(span.t0));
        first = first.or(Some(index));
    }
    let enough = ns as f64 >= row.wait_ns as f64 * RULE.limit(inquiry, &limits::SHARE);
    first.filter(|_| enough).map(|first| Handed {
        thread: row.thread,
        waits: count,
        first,
    })
}
