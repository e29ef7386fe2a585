//! Threads that do the same work in rounds, and wait for each other at the end of each: one of them has more to do in every round.
//!
//! Where the others are done for good while one goes on, `imbalance` tells of it. Here all live to the end: they wait at a barrier, or until
//! the next parallel loop.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::{Code, StackIx};
use timesink_analysis::timeline::{Span, Waker};
use timesink_recording::ids::{ProcessId, ThreadId};
use timesink_recording::words::State;
use timesink_recording::Nanos;

use crate::alike::{is_managed, Work, Works};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "uneven-rounds",
    looks_for: "threads that do the same work in rounds, one of which has more to do in each while the others wait for it",
    why: "A round is over when the last thread has done its part. The others wait for it, each time.",
    advice: "divide each round evenly, or into small parts that threads fetch when they are done with one (schedule(dynamic) or guided in OpenMP)",
    wrong_if: "the work of the busiest one cannot be divided",
    limits: &[&limits::RATIO, &limits::BUSY, &limits::ENDED, &limits::WAITS],
    blames: Blames::Program,
    needs: &[Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static RATIO: Limit = Limit {
        name: "ratio",
        value: 1.3,
        unit: Unit::Ratio,
        means: "minimum ratio of the work of the busiest one to the average",
    };
    pub static BUSY: Limit = Limit {
        name: "busy",
        value: 0.9,
        unit: Unit::Share,
        means: "minimum share of the time in which the busiest one is on CPU or runnable",
    };
    pub static ENDED: Limit = Limit {
        name: "ended",
        value: 0.6,
        unit: Unit::Share,
        means: "minimum share of the time for which the others wait that the busiest one ends",
    };
    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 2.0,
        unit: Unit::Count,
        means: "minimum number of these waits of each of the others",
    };
}

/// Who does less of what the busiest does than this part was hardly meant to share it.
const PART: f64 = 0.01;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    // Which thread does what is the runtime's choice there.
    if is_managed(inquiry) {
        return Vec::new();
    }
    let mut works = Works::new(inquiry);
    let mut processes: BTreeMap<ProcessId, Vec<(usize, Work)>> = BTreeMap::new();
    for (slot, thread) in inquiry.timeline.threads.iter().enumerate() {
        if let Some(work) = works.of_thread(thread.thread) {
            let own = processes.entry(thread.process).or_default();
            own.push((slot, work));
        }
    }
    let each = processes.into_iter();
    each.filter_map(|(process, threads)| suspect(inquiry, process, &threads))
        .collect()
}

/// How long a thread was on a CPU, and how long it was that or ready, from one moment to another.
fn at_work(inquiry: &Inquiry<'_>, slot: usize, from: Nanos, until: Nanos) -> (u64, u64) {
    let during = inquiry.timeline.between(slot, from, until);
    during.fold((0, 0), |(cpu, busy), (span, ns)| match span.state {
        State::Cpu => (cpu + ns, busy + ns),
        State::Ready => (cpu, busy + ns),
        _ => (cpu, busy),
    })
}

/// The waits of a thread at a barrier that another one ended, with how long they and all between the first and the last of them took.
struct Ended {
    count: u64,
    ns: u64,
    all_ns: u64,
    from: Nanos,
    until: Nanos,
}

/// Whether threads wait there for all others to be done: at a barrier, or in a library of OpenMP, which does at the end of each parallel loop. Who
/// waits for messages may be in the same loop as who sends them, and has other work: so were the loops of a storage engine, one for each core.
fn is_barrier(code: &Code, stack: StackIx) -> bool {
    const LIBRARIES: [&str; 3] = ["libgomp", "libomp", "libiomp"];
    let functions = code.functions_of(stack).into_iter();
    let mut functions = functions.map(|function| code.function(function));
    functions.any(|function| {
        let file = code.file_of(function).unwrap_or_default();
        function.name.to_lowercase().contains("barrier")
            || LIBRARIES.iter().any(|library| file.starts_with(library))
    })
}

fn ended_by(inquiry: &Inquiry<'_>, slot: usize, by: usize) -> Option<Ended> {
    let stacks = inquiry.stacks;
    let events = stacks.events_of(inquiry.timeline.threads[slot].thread);
    let waits = events.iter().filter(|event| event.account == Account::Wait);
    let mut known: BTreeMap<StackIx, bool> = BTreeMap::new();
    let at_barrier = waits.filter(|event| {
        let is_known = known.entry(event.stack);
        *is_known.or_insert_with(|| is_barrier(&stacks.code, event.stack))
    });
    let at_barrier: BTreeSet<Nanos> = at_barrier.map(|event| event.at).collect();
    let spans = inquiry.timeline.spans_of(slot).iter();
    let waits = || spans.clone().filter(|span| span.state == State::Wait);
    let is_ended = |span: &Span| {
        let waker = inquiry.timeline.waker(span);
        matches!(waker, Waker::Thread { slot, .. } if slot == by) && at_barrier.contains(&span.t0)
    };
    let ended = || waits().filter(|span| is_ended(span));
    let from = ended().map(|span| span.t0).min()?;
    let until = ended().map(|span| span.t1).max()?;
    let within = waits().filter(|span| span.t0 >= from && span.t1 <= until);
    Some(Ended {
        count: ended().count() as u64,
        ns: ended().map(|span| span.t1.since(span.t0)).sum(),
        all_ns: within.map(|span| span.t1.since(span.t0)).sum(),
        from,
        until,
    })
}

fn suspect(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    threads: &[(usize, Work)],
) -> Option<Suspect> {
    let timeline = inquiry.timeline;
    let row = |slot: usize| &timeline.threads[slot];
    let (busiest, work) = threads.iter().max_by_key(|(slot, _)| row(*slot).cpu_ns)?;
    let least = row(*busiest).cpu_ns as f64 * PART;
    let others = threads.iter().filter(|(slot, other)| {
        slot != busiest && row(*slot).cpu_ns as f64 > least && work.has_part_in(other)
    });
    let others: Vec<usize> = others.map(|(slot, _)| *slot).collect();
    let all = || others.iter().copied().chain([*busiest]);
    let waits = others.iter().map(|&slot| ended_by(inquiry, slot, *busiest));
    let waits: Vec<Ended> = waits.collect::<Option<_>>()?;
    let from = waits.iter().map(|ended| ended.from).min()?;
    let until = waits.iter().map(|ended| ended.until).max()?;
    let (cpu_ns, busy_ns) = at_work(inquiry, *busiest, from, until);
    let busy = busy_ns as f64 / until.since(from).max(1) as f64;
    let works: BTreeMap<ThreadId, u64> = all()
        .map(|slot| (row(slot).thread, at_work(inquiry, slot, from, until).0))
        .collect();
    let mean = works.values().sum::<u64>() as f64 / works.len() as f64;
    let ratio = cpu_ns as f64 / mean.max(1.0);
    let fewest = waits.iter().map(|ended| ended.count).min()?;
    let ended: u64 = waits.iter().map(|ended| ended.ns).sum();
    let waited: u64 = waits.iter().map(|ended| ended.all_ns).sum();
    let ended = ended as f64 / waited.max(1) as f64;
    if ratio < RULE.limit(inquiry, &limits::RATIO)
        || busy < RULE.limit(inquiry, &limits::BUSY)
        || ended < RULE.limit(inquiry, &limits::ENDED)
        || (fewest as f64) < RULE.limit(inquiry, &limits::WAITS)
    {
        return None;
    }
    let title = say![
        row(*busiest).thread,
        " does most of the work of ",
        Piece::Count(works.len() as u64),
        " threads, which wait for it at a barrier"
    ];
    // From the first round to the last each does as much as the others.
    let even = |(thread, work): (&ThreadId, &u64)| Change {
        what: What::Stretches(BTreeMap::from([(*thread, (from, until))])),
        processes: Some(BTreeSet::from([process])),
        how: How::Scale(mean / (*work).max(1) as f64),
    };
    let fix = Fix::Changes(works.iter().map(even).collect());
    let alone_ns = (cpu_ns as f64 - mean) as u64;
    let mut suspect = Suspect::new(title, fix, Weight::within(inquiry.busy(process), alone_ns))
        .of(process)
        .held(inquiry, &RULE, "of the average", ratio, &limits::RATIO)
        .held(inquiry, &RULE, "ended by it", ended, &limits::ENDED)
        .told(say![
            "it is on CPU for ",
            Piece::Time(cpu_ns),
            "; the average of all is ",
            Piece::Time(mean as u64)
        ])
        .told(say![
            "it ends ",
            Piece::Percent(ended * 100.0),
            " of the time for which the others wait"
        ]);
    suspect.frames = inquiry.mostly_in(row(*busiest).thread);
    Some(suspect)
}
