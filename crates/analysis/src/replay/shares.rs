//! How much of each span is in a function, from samples and from the stacks of waits.

use rustc_hash::FxHashMap;
use timesink_recording::ids::ThreadId;
use timesink_recording::tables::Span;
use timesink_recording::words::State;
use timesink_recording::Nanos;

use crate::ledger::Account;
use crate::stacks::{StackIx, Stacks};

/// So many samples tell the share of a span; where fewer are in it, those around it help.
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
    /// In all threads together: for those too short to be sampled.
    overall: f64,
}

/// The share in the spans of one thread.
pub(super) struct InThread<'a> {
    of: Option<&'a Of>,
    overall: f64,
}

impl Shares {
    /// `weight`: how much of the time in a function of that name counts.
    pub(super) fn of(stacks: &Stacks, weight: impl Fn(&str) -> f64) -> Shares {
        let mut known: FxHashMap<StackIx, f64> = FxHashMap::default();
        let mut weight_of = |stack: StackIx| {
            *known.entry(stack).or_insert_with(|| {
                let functions = stacks.code.functions_of(stack);
                let names = functions.iter().map(|&f| &stacks.code.function(f).name);
                names.map(|name| weight(name)).fold(0.0, f64::max)
            })
        };
        let mut threads: FxHashMap<ThreadId, Of> = FxHashMap::default();
        let (mut whole, mut part) = (0u64, 0u64);
        for event in &stacks.events {
            let weight = weight_of(event.stack);
            let of = threads.entry(event.thread).or_default();
            if event.account != Account::Cpu {
                if weight > 0.0 {
                    of.waits.push(event.at);
                }
                continue;
            }
            let ns = (event.ns as f64 * weight) as u64;
            of.moments.push(event.at);
            let sums = (
                of.all.last().copied().unwrap_or(0),
                of.inside.last().copied().unwrap_or(0),
            );
            of.all.push(sums.0.saturating_add(event.ns));
            of.inside.push(sums.1.saturating_add(ns));
            whole = whole.saturating_add(event.ns);
            part = part.saturating_add(ns);
        }
        Shares {
            threads,
            overall: if whole == 0 {
                0.0
            } else {
                part as f64 / whole as f64
            },
        }
    }

    pub(super) fn thread(&self, thread: ThreadId) -> InThread<'_> {
        InThread {
            of: self.threads.get(&thread),
            overall: self.overall,
        }
    }
}

impl InThread<'_> {
    pub(super) fn of(&self, span: &Span) -> f64 {
        match (span.state, self.of) {
            (State::Cpu, Some(of)) if !of.moments.is_empty() => of.share(span.t0, span.t1),
            (State::Cpu, _) => self.overall,
            (State::Wait, Some(of)) => {
                f64::from(u8::from(of.waits.binary_search(&span.t0).is_ok()))
            }
            _ => 0.0,
        }
    }
}

impl Of {
    fn share(&self, t0: Nanos, t1: Nanos) -> f64 {
        let mut from = self.moments.partition_point(|&at| at < t0);
        let mut to = self.moments.partition_point(|&at| at <= t1);
        if to - from < ENOUGH {
            let lacking = (ENOUGH - (to - from)).div_ceil(2);
            from = from.saturating_sub(lacking);
            to = (to + lacking).min(self.moments.len());
        }
        let between = |sums: &[u64]| {
            let before = from.checked_sub(1).map_or(0, |at| sums[at]);
            let until = to.checked_sub(1).map_or(0, |at| sums[at]);
            until.saturating_sub(before)
        };
        match between(&self.all) {
            0 => 0.0,
            all => between(&self.inside) as f64 / all as f64,
        }
    }
}
