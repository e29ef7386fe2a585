//! How much of each span is in a function, from samples and from the stacks of waits.

use rustc_hash::FxHashMap;
use timesink_recording::ids::ThreadId;
use timesink_recording::tables::Thread;
use timesink_recording::words::State;
use timesink_recording::Nanos;

use super::Recorded;
use crate::ledger::Account;
use crate::stacks::{FunctionIx, StackIx};
use crate::timeline::Span;

/// Samples that stand for half of a span tell its share, and so do so many; else those around it help.
const ENOUGH: usize = 8;

/// The samples and waits of one thread.
#[derive(Clone, Debug, Default)]
struct Of {
    moments: Vec<Nanos>,
    /// Running sums of the samples' time, and of that in the function.
    all: Vec<u64>,
    inside: Vec<u64>,
    /// Starts of waits in the function.
    waits: Vec<Nanos>,
}

/// The share of a function in all spans.
pub(super) struct Shares {
    threads: FxHashMap<ThreadId, Of>,
    /// In all threads of a name together: for those too short to be sampled.
    by_name: FxHashMap<String, (u64, u64)>,
}

/// The share in the spans of one thread.
pub(super) struct InThread<'a> {
    known: Option<&'a Of>,
    otherwise: f64,
}

impl Shares {
    /// `weight`: how much of the time in a function of that name counts.
    pub(super) fn of(recorded: &Recorded<'_>, weight: impl Fn(&str) -> f64) -> Shares {
        let code = &recorded.stacks.code;
        Shares::of_stacks(recorded, |functions| {
            let each = functions.iter().map(|&f| weight(&code.function(f).name));
            each.fold(0.0, f64::max)
        })
    }

    /// The same, asked for all functions of a stack.
    pub(super) fn of_stacks(
        recorded: &Recorded<'_>,
        weight: impl Fn(&[FunctionIx]) -> f64,
    ) -> Shares {
        let stacks = recorded.stacks;
        let mut known: FxHashMap<StackIx, f64> = FxHashMap::default();
        let mut weight_of = |stack: StackIx| {
            *known
                .entry(stack)
                .or_insert_with(|| weight(&stacks.code.functions_of(stack)))
        };
        let mut threads: FxHashMap<ThreadId, Of> = FxHashMap::default();
        for event in &stacks.events {
            let weight = weight_of(event.stack);
            let recorded = threads.entry(event.thread).or_default();
            if event.account != Account::Cpu {
                if weight > 0.0 {
                    recorded.waits.push(event.at);
                }
                continue;
            }
            let ns = (event.ns as f64 * weight) as u64;
            recorded.moments.push(event.at);
            let sums = (
                recorded.all.last().copied().unwrap_or(0),
                recorded.inside.last().copied().unwrap_or(0),
            );
            recorded.all.push(sums.0.saturating_add(event.ns));
            recorded.inside.push(sums.1.saturating_add(ns));
        }
        let mut by_name: FxHashMap<String, (u64, u64)> = FxHashMap::default();
        for thread in &recorded.timeline.threads {
            if let Some(found) = threads.get(&thread.thread) {
                let last = |sums: &[u64]| sums.last().copied().unwrap_or(0);
                let (part, whole) = by_name.entry(thread.name.clone()).or_default();
                *part = part.saturating_add(last(&found.inside));
                *whole = whole.saturating_add(last(&found.all));
            }
        }
        Shares { threads, by_name }
    }

    pub(super) fn thread(&self, thread: &Thread) -> InThread<'_> {
        let alike = self
            .by_name
            .get(&thread.name)
            .filter(|(_, whole)| *whole > 0);
        InThread {
            known: self.threads.get(&thread.thread),
            otherwise: alike.map_or(0.0, |&(part, whole)| part as f64 / whole as f64),
        }
    }
}

impl InThread<'_> {
    pub(super) fn of(&self, span: &Span) -> f64 {
        match (span.state, self.known) {
            (State::Cpu, Some(of)) if !of.moments.is_empty() => of.share(span.t0, span.t1),
            (State::Cpu, _) => self.otherwise,
            (State::Wait, Some(known)) => {
                f64::from(u8::from(known.waits.binary_search(&span.t0).is_ok()))
            }
            _ => 0.0,
        }
    }
}

impl Of {
    fn share(&self, t0: Nanos, t1: Nanos) -> f64 {
        let mut from = self.moments.partition_point(|&at| at < t0);
        let mut to = self.moments.partition_point(|&at| at <= t1);
        let half = t1.since(t0) / 2;
        if to - from < ENOUGH && between(&self.all, from, to) < half {
            let lacking = (ENOUGH - (to - from)).div_ceil(2);
            from = from.saturating_sub(lacking);
            to = (to + lacking).min(self.moments.len());
        }
        match between(&self.all, from, to) {
            0 => 0.0,
            all => between(&self.inside, from, to) as f64 / all as f64,
        }
    }
}

/// The part of a running sum that is from these.
fn between(sums: &[u64], from: usize, to: usize) -> u64 {
    let until = |end: usize| end.checked_sub(1).map_or(0, |at| sums[at]);
    until(to).saturating_sub(until(from))
}
