//! Pairs of threads that wake each other in turn: how often, and how much each does in between.
//!
//! It does not ask what they hand to each other.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use super::Timeline;

/// So many waits are kept as examples.
const EXAMPLES: usize = 3;

/// What one of two threads does.
#[derive(Clone, Debug, Default)]
struct Side {
    /// Waits that the other one ended.
    turns: u64,
    /// Of these, those for room to write into.
    writes: u64,
    /// From the end of such a wait to the beginning of the next: on a processor.
    bursts: Vec<u32>,
    /// What it waited for.
    objects: BTreeSet<ObjectId>,
    /// From the first such wait to the last.
    first: Option<usize>,
    last: Option<usize>,
    examples: Vec<usize>,
}

/// Two threads that wake each other.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// As indexes into the timeline's threads.
    pub pair: [usize; 2],
    sides: [Side; 2],
    ns: u64,
    /// Some of the waits, as indexes of spans.
    pub examples: Vec<usize>,
}

impl Exchange {
    /// All pairs of threads that wake each other at least so often, in pipes, unix sockets, conditions and events.
    pub fn all(timeline: &Timeline, least: u64) -> Vec<Exchange> {
        let mut sides: FxHashMap<(usize, usize), Side> = FxHashMap::default();
        for (slot, thread) in timeline.threads.iter().enumerate() {
            if thread.switches_voluntary >= least {
                turns_of(timeline, slot, &mut sides);
            }
        }
        let pairs: BTreeSet<(usize, usize)> = sides
            .iter()
            .filter(|(_, side)| side.turns >= least)
            .map(|(&(one, other), _)| (one.min(other), one.max(other)))
            .collect();
        let both = pairs.into_iter().filter_map(|(one, other)| {
            let sides = [sides.remove(&(one, other))?, sides.remove(&(other, one))?];
            let time = |side: &Side| {
                let first = timeline.span(side.first?)?;
                let last = timeline.span(side.last?)?;
                Some(last.t1.since(first.t0))
            };
            Some(Exchange {
                pair: [one, other],
                ns: sides.iter().filter_map(time).max()?,
                examples: sides[0].examples.clone(),
                sides,
            })
        });
        both.filter(|exchange| exchange.turns() >= least).collect()
    }

    /// How often each woke the other one, at least.
    pub fn turns(&self) -> u64 {
        self.sides[0].turns.min(self.sides[1].turns)
    }

    /// Whether one of them mostly waits for the other one to read what it writes: much is handed over, and one way.
    pub fn is_one_way(&self) -> bool {
        let mostly = |side: &Side| 2 * side.writes > side.turns;
        self.sides.iter().any(mostly)
    }

    /// What each does on a processor in half of its turns at most.
    pub fn bursts(&self) -> [u64; 2] {
        self.sides.each_ref().map(|side| {
            let mut bursts = side.bursts.clone();
            bursts.sort_unstable();
            bursts.get(bursts.len() / 2).map_or(0, |&ns| u64::from(ns))
        })
    }

    /// What they waited for.
    pub fn objects(&self) -> BTreeSet<ObjectId> {
        let objects = self.sides.iter().flat_map(|side| &side.objects);
        objects.copied().collect()
    }

    /// From the first turn to the last.
    pub fn ns(&self) -> u64 {
        self.ns
    }

    /// The same for each of the two, as moments.
    pub fn stretches(&self, timeline: &Timeline) -> BTreeMap<ThreadId, (Nanos, Nanos)> {
        let stretch = |side: &Side| {
            let first = timeline.span(side.first?)?;
            let last = timeline.span(side.last?)?;
            Some((first.thread, (first.t0, last.t1)))
        };
        self.sides.iter().filter_map(stretch).collect()
    }
}

/// The turns of one thread, by who ended its waits.
fn turns_of(timeline: &Timeline, slot: usize, sides: &mut FxHashMap<(usize, usize), Side>) {
    let mut woken_by: Option<usize> = None;
    let mut busy_ns = 0u64;
    for (index, span) in timeline.indexed(slot) {
        match span.state {
            State::Cpu => busy_ns = busy_ns.saturating_add(span.t1.since(span.t0)),
            State::Wait => {
                let by = span.waker().and_then(|waker| timeline.slot(waker));
                let by = by.filter(|&by| by != slot);
                let same =
                    |by: usize| timeline.threads[by].process == timeline.threads[slot].process;
                let by = by.filter(|&by| match span.detail {
                    Detail::PipeRead
                    | Detail::PipeWrite
                    | Detail::UnixReceive
                    | Detail::UnixSend
                    | Detail::Condition
                    | Detail::Event => true,
                    // A loop of events that its own threads wake; others ask it something.
                    Detail::Poll => same(by),
                    _ => false,
                });
                if let Some(by) = by {
                    let side = sides.entry((slot, by)).or_default();
                    side.turns += 1;
                    let writes = matches!(span.detail, Detail::PipeWrite | Detail::UnixSend);
                    side.writes += u64::from(writes);
                    side.objects.extend(span.object());
                    side.first = side.first.or(Some(index));
                    side.last = Some(index);
                    if woken_by == Some(by) {
                        side.bursts.push(u32::try_from(busy_ns).unwrap_or(u32::MAX));
                    }
                    if side.examples.len() < EXAMPLES {
                        side.examples.push(index);
                    }
                }
                (woken_by, busy_ns) = (by, 0);
            }
            State::Ready | State::Lost => {}
        }
    }
}
