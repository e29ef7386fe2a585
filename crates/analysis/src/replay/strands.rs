//! What runs in its own order in a replay: each thread, and each task that threads carry. Of a thread that carries tasks there is
//! left what it does for none of them.

use rustc_hash::FxHashMap;
use timesink_recording::ids::TaskId;
use timesink_recording::Nanos;

use crate::timeline::carried::{CarriedTurn, Resumes};
use crate::timeline::Timeline;

/// A part of a strand: what a thread did from one moment to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) slot: usize,
    pub(super) from: Nanos,
    pub(super) until: Nanos,
    pub(super) resumes: Resumes,
}

/// The strands: those of threads by their slots, then those of tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct Strands {
    threads: usize,
    of_task: FxHashMap<TaskId, usize>,
    /// Of each task, in the order of time.
    stretches: Vec<Vec<Stretch>>,
}

impl Strands {
    pub(super) fn of(timeline: &Timeline) -> Strands {
        let mut strands = Strands {
            threads: timeline.threads.len(),
            ..Strands::default()
        };
        for slot in timeline.carried().slots() {
            for turn in timeline.carried().turns(slot) {
                let Some(task) = turn.task else {
                    continue;
                };
                let next = strands.stretches.len();
                let strand = *strands.of_task.entry(task).or_insert(next);
                if strand == next {
                    strands.stretches.push(Vec::new());
                }
                strands.stretches[strand].push(Stretch::of(slot, turn));
            }
        }
        for stretches in &mut strands.stretches {
            stretches.sort_by_key(|stretch| (stretch.from, stretch.until));
        }
        strands
    }

    pub(super) fn count(&self) -> usize {
        self.threads + self.stretches.len()
    }

    /// The strand that a thread is in just before a moment.
    pub(super) fn before(&self, timeline: &Timeline, slot: usize, moment: Nanos) -> usize {
        let turn = timeline.carried().before(slot, moment);
        let task = turn.and_then(|turn| turn.task);
        let strand = task.and_then(|task| self.of_task.get(&task));
        strand.map_or(slot, |strand| self.threads + strand)
    }

    /// The stretches of the strand of a task, or of what a thread that carries tasks does for none; none of another thread.
    pub(super) fn stretches(&self, timeline: &Timeline, strand: usize) -> Option<Vec<Stretch>> {
        if let Some(task) = strand.checked_sub(self.threads) {
            return self.stretches.get(task).cloned();
        }
        let turns = timeline.carried().turns(strand);
        let first = turns.iter().find(|turn| turn.task.is_some())?;
        let own = turns.iter().filter(|turn| turn.task.is_none());
        let mut stretches: Vec<Stretch> = own.map(|turn| Stretch::of(strand, turn)).collect();
        // Before it was seen at work for anything it did nothing for any task.
        let start = timeline.threads[strand].start;
        match stretches.first_mut() {
            Some(stretch) if stretch.from < first.t0 => stretch.from = stretch.from.min(start),
            _ => stretches.insert(
                0,
                Stretch {
                    slot: strand,
                    from: start,
                    until: first.t0,
                    resumes: Resumes::Thread,
                },
            ),
        }
        Some(stretches)
    }
}

impl Stretch {
    fn of(slot: usize, turn: &CarriedTurn) -> Stretch {
        Stretch {
            slot,
            from: turn.t0,
            until: turn.t1,
            resumes: turn.resumes,
        }
    }
}
