//! Threads that wait for one condition and are woken by one thread: how many of them find something to do.
//!
//! Whether they were woken one by one or all at once is for who knows the waker's calls.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use timesink_recording::ids::ObjectId;
use timesink_recording::words::{Detail, State};

use super::Timeline;

/// Those that one thread wakes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Herd {
    /// Who wakes them, as an index into the timeline's threads.
    pub waker: usize,
    /// Who is woken, likewise.
    pub woken: BTreeSet<usize>,
    pub wakes: u64,
    pub objects: BTreeSet<ObjectId>,
    /// From a wake-up to the next wait for such a condition, with nothing but little work in between: what that is,
    /// as indexes of spans.
    pub in_vain: Vec<Range<usize>>,
    /// On a processor meanwhile, one by one.
    pub in_vain_ns: Vec<u64>,
    /// Longer ones, or with other waits in between.
    pub not_in_vain: u64,
}

impl Herd {
    /// All herds; at work for less than `quick_ns` is in vain.
    pub fn all(timeline: &Timeline, quick_ns: u64) -> Vec<Herd> {
        let mut herds: BTreeMap<usize, Herd> = BTreeMap::new();
        for slot in 0..timeline.threads.len() {
            rounds(timeline, slot, quick_ns, &mut herds);
        }
        herds.into_values().collect()
    }
}

/// What one thread did each time it was woken.
fn rounds(timeline: &Timeline, slot: usize, quick_ns: u64, herds: &mut BTreeMap<usize, Herd>) {
    let mut woken: Option<(usize, usize)> = None;
    let mut busy_ns = 0u64;
    for (index, span) in timeline.indexed(slot) {
        match (span.state, span.detail) {
            (State::Cpu, _) => {
                let whole = span.t1.since(span.t0);
                let own = whole.saturating_sub(span.taken_ns());
                busy_ns = busy_ns.saturating_add(own);
            }
            // All that are woken at once stand at the same lock first.
            (State::Wait, Detail::Lock) => {}
            (State::Wait, detail) => {
                if let Some((by, from)) = woken.take() {
                    let herd = herds.entry(by).or_default();
                    if detail == Detail::Condition && busy_ns < quick_ns {
                        herd.in_vain.push(from..index);
                        herd.in_vain_ns.push(busy_ns);
                    } else {
                        herd.not_in_vain += 1;
                    }
                }
                let by = span.waker().filter(|_| detail == Detail::Condition);
                let by = by.and_then(|waker| timeline.slot(waker));
                if let Some(by) = by.filter(|&by| by != slot) {
                    let herd = herds.entry(by).or_default();
                    herd.waker = by;
                    herd.woken.insert(slot);
                    herd.wakes += 1;
                    herd.objects.extend(span.object());
                    woken = Some((by, index + 1));
                }
                busy_ns = 0;
            }
            _ => {}
        }
    }
}
