//! One process that starts a thread for each of many small pieces of work.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::{Change, How, What};
use timesink_recording::ids::ProcessId;
use timesink_recording::words::{Detail, State};

use crate::inquiry::Inquiry;
use crate::placed::MAKES_THREADS;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "thread-per-item",
    looks_for: "a thread started for each of many small pieces of work",
    why: "Starting a thread takes a system call and a stack, and ending it gives both back, however little it does in between.",
    advice: "keep a few threads that take the work from a queue (a thread pool), or do small pieces where they arise",
    wrong_if: "each thread waits a long time for something else, so that a pool would need as many",
    limits: &[&limits::THREADS, &limits::SHARE, &limits::WAITS],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static THREADS: Limit = Limit {
        name: "threads",
        value: 200.0,
        unit: Unit::Count,
        means: "minimum number of threads started and ended by one process",
    };
    /// Threads with 10 to 50 us of work have 0.35 (Java), 0.42 (Python) and 0.51 (C); with 1 ms of it, 0.04 (C) (2026-11-27).
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.2,
        unit: Unit::Share,
        means: "minimum share of the threads' CPU time and of their starts that is starting and ending them",
    };
    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 0.5,
        unit: Unit::Share,
        means: "maximum share of the threads' time that they wait",
    };
}

/// What else the C library and runtimes do as a thread begins and ends: its stack, its signals, its name.
const SETS_UP: [&str; 10] = [
    "madvise",
    "mmap",
    "mprotect",
    "munmap",
    "prctl",
    "rseq",
    "rt_sigprocmask",
    "sched_getaffinity",
    "set_robust_list",
    "sigaltstack",
];
/// At most so many of one of these calls are for one thread. (Java: 8 `rt_sigprocmask`, 2 `mmap`; of a program with a thread for each
/// 10 us of work `clone3` is 7 % of the CPU time, these 9 %, the ends 4 %. C: 3 `rt_sigprocmask`.)
const FOR_ONE: u64 = 8;

/// A runtime's own threads stay: those that pass live for this share of the recording at most.
const LONGEST: f64 = 0.1;

/// The threads of a process that came and went, as indexes into the timeline's.
fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let longest = (inquiry.outlook.wall_ns as f64 * LONGEST) as u64;
    let mut passing: BTreeMap<ProcessId, Vec<usize>> = BTreeMap::new();
    for (slot, thread) in inquiry.timeline.threads.iter().enumerate() {
        let passes = !thread.born_before && !thread.alive_at_end && thread.parent.is_some();
        if passes && thread.end.since(thread.start) <= longest {
            passing.entry(thread.process).or_default().push(slot);
        }
    }
    let passing = passing.into_iter();
    passing
        .filter_map(|(process, mut slots)| {
            slots.retain(|&slot| !is_first(inquiry, slot));
            suspect(inquiry, process, &slots)
        })
        .collect()
}

/// Whether a thread is the one that its process began with.
fn is_first(inquiry: &Inquiry<'_>, slot: usize) -> bool {
    let thread = &inquiry.timeline.threads[slot];
    let process = inquiry.facts.ledger.process(thread.process);
    process.is_none_or(|process| process.row.pid == thread.tid)
}

/// What starting and ending threads took.
struct Cost {
    /// Making them, in the threads that did.
    made_ns: u64,
    /// Setting them up and taking them down, in themselves.
    own_ns: u64,
    /// The calls that do the first two, and which share of each.
    calls: Vec<(&'static str, f64)>,
    /// The spans in which they are taken down.
    ends: BTreeSet<usize>,
}

impl Cost {
    fn of(inquiry: &Inquiry<'_>, process: ProcessId, slots: &[usize]) -> Cost {
        let threads = slots.len() as u64;
        let mut calls = Vec::new();
        let mut part = |name: &'static str, most: u64| {
            let calls_of = inquiry.facts.calls.iter();
            let calls_of = calls_of.filter(|c| c.process == Some(process) && c.call == name);
            let (count, ns) = calls_of.fold((0u64, 0u64), |(count, ns), call| {
                (count + call.count, ns.saturating_add(call.ns))
            });
            // The same calls start its child processes, and do other things.
            let share = (most as f64 / count.max(1) as f64).min(1.0);
            calls.push((name, share));
            (ns as f64 * share) as u64
        };
        let made_ns = MAKES_THREADS.iter().map(|name| part(name, threads)).sum();
        let set_up = SETS_UP.iter().map(|name| part(name, threads * FOR_ONE));
        let mut own_ns: u64 = set_up.sum();
        let mut ends = BTreeSet::new();
        for &slot in slots {
            for (at, span) in inquiry.timeline.indexed(slot) {
                if span.state == State::Cpu && span.detail == Detail::Exit {
                    ends.insert(at);
                    own_ns = own_ns.saturating_add(span.t1.since(span.t0));
                }
            }
        }
        Cost {
            made_ns,
            own_ns,
            calls,
            ends,
        }
    }

    fn ns(&self) -> u64 {
        self.made_ns.saturating_add(self.own_ns)
    }

    /// That there are no such threads.
    fn fix(&self, process: ProcessId) -> Fix {
        let change = |what, kept| Change {
            what,
            processes: Some(BTreeSet::from([process])),
            how: How::Scale(kept),
        };
        let calls = self.calls.iter();
        let mut changes: Vec<Change> = calls
            .map(|&(name, share)| change(What::Calls(BTreeSet::from([name])), 1.0 - share))
            .collect();
        changes.push(change(What::Spans(self.ends.clone()), 0.0));
        Fix::Changes(changes)
    }
}

fn suspect(inquiry: &Inquiry<'_>, process: ProcessId, slots: &[usize]) -> Option<Suspect> {
    let count = slots.len() as u64;
    if (count as f64) < RULE.limit(inquiry, &limits::THREADS) {
        return None;
    }
    let sum = |ns: &dyn Fn(usize) -> u64| {
        let each = slots.iter().map(|&slot| ns(slot));
        each.fold(0u64, u64::saturating_add)
    };
    let row = |slot: usize| &inquiry.timeline.threads[slot];
    let cpu_ns = sum(&|slot| row(slot).cpu_ns);
    let wait_ns = sum(&|slot| waited_ns(inquiry, slot));
    let cost = Cost::of(inquiry, process, slots);
    let share = cost.ns() as f64 / cpu_ns.saturating_add(cost.made_ns).max(1) as f64;
    let waiting = wait_ns as f64 / cpu_ns.saturating_add(wait_ns).max(1) as f64;
    if share < RULE.limit(inquiry, &limits::SHARE) || waiting > RULE.limit(inquiry, &limits::WAITS)
    {
        return None;
    }
    let title = say![
        process,
        " starts ",
        Piece::Count(count),
        " threads, which are on CPU for ",
        Piece::Time(cpu_ns / count),
        " each"
    ];
    let busy = inquiry.busy(process);
    let suspect = Suspect::new(title, cost.fix(process), Weight::within(busy, cost.ns()))
        .of(process)
        .with_what_is_around(BTreeSet::from([process]), &[&MAKES_THREADS])
        .or_seen_at(inquiry, process, &MAKES_THREADS, &BTreeSet::new())
        .held(inquiry, &RULE, "threads", count as f64, &limits::THREADS)
        .held(
            inquiry,
            &RULE,
            "share of starting and ending",
            share,
            &limits::SHARE,
        )
        .held(inquiry, &RULE, "share of waiting", waiting, &limits::WAITS)
        .told(say![
            "starting one takes ",
            Piece::Time(cost.made_ns / count),
            " in the thread that starts it; setting it up and ending it take ",
            Piece::Time(cost.own_ns / count)
        ]);
    Some(suspect)
}

/// How long a thread waited for something of its own.
fn waited_ns(inquiry: &Inquiry<'_>, slot: usize) -> u64 {
    let spans = inquiry.timeline.spans_of(slot).iter();
    let waits = spans.filter(|span| {
        span.state == State::Wait && !matches!(span.detail, Detail::Creation | Detail::Exit)
    });
    waits.map(|span| span.t1.since(span.t0)).sum()
}
