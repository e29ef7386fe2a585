//! A lock that is handed from one waiting thread to the next, thousands of times, and is held for moments each time.

use std::collections::BTreeSet;

use timesink_analysis::ledger::{Account, Kind};
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::timeline::hand_overs::HandOvers;
use timesink_recording::words::Detail;

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "lock-convoy",
    looks_for: "a lock handed from one waiting thread to the next, thousands of times, and held only briefly each time",
    why: "A thread that is handed a lock has to be woken first, and meanwhile nobody can take it: each hand-over costs a sleep and a wake-up, which take longer than the work done under the lock. Once threads have queued up, the queue does not drain, because each thread that comes back queues behind all others.",
    advice: "use a lock that whoever comes first may take (a plain mutex, not a fair one, no ticket lock, no priority inheritance) and that spins briefly before it sleeps; or hold it for many items at a time, or split what it protects",
    wrong_if: "the order must be kept, or a high-priority thread must not wait behind others",
    limits: &[&limits::TIMES, &limits::IN_TURN, &limits::HELD, &limits::THREADS],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static TIMES: Limit = Limit {
        name: "times",
        value: 1000.0,
        unit: Unit::Count,
        means: "minimum number of hand-overs",
    };
    pub static IN_TURN: Limit = Limit {
        name: "in turn",
        value: 0.95,
        unit: Unit::Share,
        means: "minimum share of hand-overs by the thread that received the lock last: nobody else can take it in between",
    };
    pub static HELD: Limit = Limit {
        name: "held",
        value: 50_000.0,
        unit: Unit::Nanoseconds,
        means: "maximum median time that the lock is held, on CPU or waiting",
    };
    pub static THREADS: Limit = Limit {
        name: "threads",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of threads in the queue where the object is not known to be a lock: two threads may be answering each other",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let all = HandOvers::all(inquiry.timeline, RULE.limit(inquiry, &limits::TIMES) as u64);
    all.into_iter()
        .filter_map(|it| suspect(inquiry, it))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, it: HandOvers) -> Option<Suspect> {
    let count = it.waits.len() as u64;
    let share = it.in_turn as f64 / count.max(1) as f64;
    let threads = it.threads.len() as f64;
    let enough = match it.detail {
        Detail::Lock => 2.0,
        _ => RULE.limit(inquiry, &limits::THREADS),
    };
    if share < RULE.limit(inquiry, &limits::IN_TURN)
        || it.usual_ns() as f64 > RULE.limit(inquiry, &limits::HELD)
        || threads < enough
    {
        return None;
    }
    let title = say![
        Piece::Count(it.threads.len() as u64),
        " threads of ",
        it.process,
        " hand each other the lock ",
        it.object,
        " ",
        Piece::Count(count),
        " times, each time to a sleeping thread"
    ];
    let fix = fix(inquiry, &it);
    let group = inquiry.waits().iter().find(|group| {
        group.process == it.process && group.object == Some(it.object) && group.detail == it.detail
    });
    let causes = inquiry.all_of(&BTreeSet::from([it.process]));
    let weight = Weight::within(causes, it.until.since(it.from));
    let suspect = Suspect::new(title, fix, weight)
        .of(it.process)
        .about(Some(it.object))
        .seen_in(inquiry, group)
        .held(inquiry, &RULE, "times", count as f64, &limits::TIMES)
        .held(inquiry, &RULE, "in turn", share, &limits::IN_TURN)
        .held(inquiry, &RULE, "held", it.usual_ns() as f64, &limits::HELD)
        .figure("threads", threads, "")
        .figure("from one to the next", it.each_ns() as f64, "ns")
        .told(say!["it is held for ", Piece::Time(it.usual_ns()), " (median) and handed on every ", Piece::Time(it.each_ns())])
        .told(say!["in ", Piece::Percent(share * 100.0), " of the hand-overs, the thread woken last wakes the next: nobody takes the lock without having slept"]);
    Some(suspect.shown_at(inquiry, it.waits.iter().copied()))
}

/// At least the line stays, but to hand over takes no time, nor the calls that it is made of.
fn fix(inquiry: &Inquiry<'_>, it: &HandOvers) -> Fix {
    /// To scale a wait to nothing would be to do without what it waits for: another thread's end, say.
    const NEXT_TO_NOTHING: f64 = 1e-3;
    let threads = inquiry.facts.ledger.threads.iter();
    let own = threads.filter(|thread| thread.row.process == it.process);
    let waits = own.flat_map(|thread| &thread.causes).filter(|cause| {
        let details = [Detail::Lock, Detail::Condition, Detail::Join];
        cause.key.account == Account::Wait
            && details
                .iter()
                .any(|&detail| cause.key.kind == Kind::As(detail))
    });
    let all: u64 = waits.map(|cause| cause.count).sum();
    let share = it.waits.len() as f64 / all.max(1) as f64;
    let processes = BTreeSet::from([it.process]);
    let line = Change {
        what: What::Waits {
            detail: Some(it.detail),
            objects: Some(BTreeSet::from([it.object])),
        },
        processes: Some(processes.clone()),
        how: How::HandOver,
    };
    let calls = Change {
        what: What::Calls(BTreeSet::from(["futex"])),
        processes: Some(processes),
        how: How::Scale((1.0 - share).max(NEXT_TO_NOTHING)),
    };
    // At most there is no line at all: whoever comes finds the lock free.
    let free = Change {
        how: How::Never,
        ..line.clone()
    };
    Fix::AtLeast(vec![line, calls.clone()], vec![free, calls])
}
