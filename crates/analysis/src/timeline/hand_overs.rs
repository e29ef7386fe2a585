//! Locks that are handed on: who lets go wakes one who waits, and that one wakes the next when it lets go in its turn.
//!
//! Waits that are too short to be recorded one by one are spans all the same, so such turns can be told where each of
//! them is only some microseconds long. Whoever takes a lock without waiting does not show.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use super::{Timeline, Waker};

/// One thing that threads of a process wait for and wake each other at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOvers {
    pub process: ProcessId,
    pub object: ObjectId,
    pub detail: Detail,
    /// Who waits for it and wakes others at it, as indexes into the timeline's threads.
    pub threads: BTreeSet<usize>,
    /// The waits that other threads of the process ended, as indexes of spans, in the order in which they ended.
    pub waits: Vec<usize>,
    /// Of these, how many were ended by the one that was woken last: what was handed to it, it handed on.
    pub in_turn: u64,
    /// How long each of those had it: on a processor or waiting for something, shortest first.
    pub held: Vec<u32>,
    /// From the first wait to the end of the last.
    pub from: Nanos,
    pub until: Nanos,
}

impl HandOvers {
    /// All that were waited for at least so often, in the order of processes and things.
    pub fn all(timeline: &Timeline, least: u64) -> Vec<HandOvers> {
        let mut waits: FxHashMap<(ProcessId, ObjectId, Detail), Vec<usize>> = FxHashMap::default();
        for (slot, thread) in timeline.threads.iter().enumerate() {
            for (index, span) in timeline.indexed(slot) {
                if let (State::Wait, Detail::Lock | Detail::Condition, Some(object), Some(_)) =
                    (span.state, span.detail, span.object(), span.waker())
                {
                    let key = (thread.process, object, span.detail);
                    waits.entry(key).or_default().push(index);
                }
            }
        }
        waits.retain(|_, waits| waits.len() as u64 >= least);
        let all = waits.into_iter();
        let all = all.filter_map(|(key, waits)| hand_overs(timeline, key, waits));
        let mut all: Vec<HandOvers> = all
            .filter(|known| known.waits.len() as u64 >= least)
            .collect();
        all.sort_unstable_by_key(|known| (known.process, known.object, known.detail));
        all
    }

    /// For how long half of them have it at most.
    pub fn usual_ns(&self) -> u64 {
        let half = self.held.get(self.held.len() / 2);
        half.map_or(0, |&ns| u64::from(ns))
    }

    /// How long it takes from one to the next.
    pub fn each_ns(&self) -> u64 {
        self.until.since(self.from) / (self.waits.len() as u64).max(1)
    }
}

fn hand_overs(
    timeline: &Timeline,
    (process, object, detail): (ProcessId, ObjectId, Detail),
    mut waits: Vec<usize>,
) -> Option<HandOvers> {
    // Each span is looked at once: of many they lie far apart.
    waits.sort_by_cached_key(|&index| timeline.span(index).map(|span| span.t1));
    let (mut threads, mut wakers) = (BTreeSet::new(), BTreeSet::new());
    let mut woken: Option<(usize, usize)> = None;
    let mut known = HandOvers {
        process,
        object,
        detail,
        threads: BTreeSet::new(),
        waits: Vec::with_capacity(waits.len()),
        in_turn: 0,
        held: Vec::new(),
        from: Nanos::MAX,
        until: Nanos(0),
    };
    for index in waits {
        let span = timeline.span(index)?;
        let Waker::Thread { slot: by, at } = timeline.waker(span) else {
            continue;
        };
        let slot = timeline.slot(span.thread)?;
        if timeline.threads[by].process != process {
            continue;
        }
        wakers.insert(by);
        threads.insert(slot);
        if let Some((_, wait)) = woken.filter(|&(last, _)| last == by) {
            known.in_turn += 1;
            let ns = busy(timeline, by, wait, at);
            known.held.push(u32::try_from(ns).unwrap_or(u32::MAX));
        }
        woken = Some((slot, index));
        known.waits.push(index);
        known.from = known.from.min(span.t0);
        known.until = known.until.max(span.t1);
    }
    known.threads = threads.intersection(&wakers).copied().collect();
    known.held.sort_unstable();
    Some(known)
}

/// How long a thread was on a processor or waited from the end of one of its waits up to a moment: what it was ready
/// meanwhile is nothing that it did.
fn busy(timeline: &Timeline, slot: usize, wait: usize, until: Nanos) -> u64 {
    let after = (wait + 1..).map_while(|index| timeline.span(index));
    let own = after.take_while(|span| span.thread == timeline.threads[slot].thread);
    let before = own.take_while(|span| span.t0 < until);
    before
        .filter(|span| matches!(span.state, State::Cpu | State::Wait))
        .map(|span| span.t1.min(until).since(span.t0))
        .sum()
}
