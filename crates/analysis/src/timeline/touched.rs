//! What a change is about, told by state, kind and thing: how often, how long, the lengths, and where to see it.
//!
//! A prediction rests on exactly these spans, so whoever doubts it can look at them.

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use super::Timeline;

/// So many of the longest are kept as examples.
const EXAMPLES: usize = 3;

/// Spans that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    pub process: ProcessId,
    pub state: State,
    pub detail: Detail,
    pub object: Option<ObjectId>,
    pub ns: u64,
    /// How long each was, shortest first.
    pub lengths: Vec<u64>,
    /// The longest ones, longest first.
    pub examples: Vec<Stretch>,
}

/// A stretch of a thread's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub thread: ThreadId,
    pub t0: Nanos,
    pub t1: Nanos,
}

impl Stretch {
    pub fn ns(&self) -> u64 {
        self.t1.since(self.t0)
    }
}

impl Touched {
    pub fn count(&self) -> u64 {
        self.lengths.len() as u64
    }

    fn add(&mut self, stretch: Stretch, ns: u64) {
        self.ns = self.ns.saturating_add(ns);
        self.lengths.push(ns);
        let shorter = |kept: &Stretch| kept.ns() < stretch.ns();
        let at = self.examples.iter().position(shorter);
        let at = at.unwrap_or(self.examples.len());
        if at < EXAMPLES {
            self.examples.insert(at, stretch);
            self.examples.truncate(EXAMPLES);
        }
    }
}

/// The spans that these factors change, longest sum first. Of a span that is scaled in part only that part counts.
/// Processes that `first` takes for one are told as one. That a runtime's own threads wait less often for their timers in a shorter
/// run is nothing that anybody asked about.
pub fn touched(
    timeline: &Timeline,
    factors: &[f32],
    first: impl Fn(ProcessId) -> ProcessId,
) -> Vec<Touched> {
    type Key = (ProcessId, State, Detail, Option<ObjectId>);
    let mut sums: FxHashMap<Key, Touched> = FxHashMap::default();
    for (slot, thread) in timeline.threads.iter().enumerate() {
        let process = first(thread.process);
        let is_housekeeping = timeline.is_housekeeping(slot);
        for (index, span) in timeline.indexed(slot) {
            if is_housekeeping && span.state == State::Wait {
                continue;
            }
            let factor = f64::from(factors.get(index).copied().unwrap_or(1.0));
            let stretch = Stretch {
                thread: thread.thread,
                t0: span.t0,
                t1: span.t1,
            };
            let ns = (stretch.ns() as f64 * (1.0 - factor)) as u64;
            if ns == 0 {
                continue;
            }
            let object = span.object().filter(|_| span.state == State::Wait);
            let sum = sums
                .entry((process, span.state, span.detail, object))
                .or_insert_with(|| Touched {
                    process,
                    state: span.state,
                    detail: span.detail,
                    object,
                    ns: 0,
                    lengths: Vec::new(),
                    examples: Vec::new(),
                });
            sum.add(stretch, ns);
        }
    }
    let mut sums: Vec<Touched> = sums.into_values().collect();
    for sum in &mut sums {
        sum.lengths.sort_unstable();
    }
    sums.sort_by_key(|sum| {
        (
            std::cmp::Reverse(sum.ns),
            sum.process,
            sum.detail,
            sum.object,
        )
    });
    sums
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use timesink_recording::notation::recording;

    /// Of a JVM the waits of its own threads for their next timer stood first of what a fix removes.
    #[test]
    fn timers_of_a_runtime_are_not_told() {
        let drawn = recording(
            "process 1 java
             thread 1.1 tid 1 java
             thread 1.2 tid 2 watcher
             1.1: cpu 0..20us | wait +10us network receive f
             1.2: cpu 0..1us | wait +29us condition lock",
        );
        let mut timeline = Timeline::of(&drawn).expect("it reads");
        let factors = [1.0, 0.0, 1.0, 0.5];
        let states = |timeline: &Timeline| -> Vec<u64> {
            let touched = touched(timeline, &factors, |process| process);
            touched.iter().map(|one| one.ns).collect()
        };
        assert_eq!(states(&timeline), [14_500, 10_000]);
        let watcher = BTreeSet::from([timeline.threads[1].thread]);
        timeline.set_housekeeping(&watcher);
        assert_eq!(states(&timeline), [10_000]);
    }

    /// What is not changed is not told, what is changed in part counts in part, and the longest stand as examples.
    #[test]
    fn changed_spans_are_told_by_kind_and_thing() {
        let drawn = recording(
            "process 1 a
             thread 1.1 tid 1 a
             1.1: cpu 0..10us | wait +1us flush f | wait +4us flush f | wait +2us flush f | wait +3us flush f
                | wait +9us flush g | cpu +6us",
        );
        let timeline = Timeline::of(&drawn).expect("it reads");
        let factors = [0.5, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0];
        let touched = touched(&timeline, &factors, |process| process);
        let told: Vec<_> = touched
            .iter()
            .map(|one| (one.state, one.ns, one.count()))
            .collect();
        assert_eq!(told, [(State::Wait, 10_000, 4), (State::Cpu, 5_000, 1)]);
        assert_eq!(touched[0].lengths, [1_000, 2_000, 3_000, 4_000]);
        let examples: Vec<u64> = touched[0].examples.iter().map(Stretch::ns).collect();
        assert_eq!(examples, [4_000, 3_000, 2_000]);
    }
}
