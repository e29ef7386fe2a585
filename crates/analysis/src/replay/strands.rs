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
    /// Of each task, in the order of time; no two of one task are at the same time.
    of_tasks: Vec<Vec<Stretch>>,
    /// The same of what each thread that carries tasks does for none of them.
    of_threads: FxHashMap<usize, Vec<Stretch>>,
    /// Of each thread that carries tasks, when it came to which strand.
    changes: FxHashMap<usize, Vec<(Nanos, usize)>>,
}

impl Strands {
    pub(super) fn of(timeline: &Timeline) -> Strands {
        let mut strands = Strands {
            threads: timeline.threads.len(),
            ..Strands::default()
        };
        let mut known: FxHashMap<TaskId, usize> = FxHashMap::default();
        for slot in timeline.carried().slots() {
            let own = own(timeline, slot);
            if own.is_empty() {
                continue;
            }
            for turn in timeline.carried().turns(slot) {
                let Some(task) = turn.task else {
                    continue;
                };
                let next = strands.of_tasks.len();
                let strand = *known.entry(task).or_insert(next);
                if strand == next {
                    strands.of_tasks.push(Vec::new());
                }
                strands.of_tasks[strand].push(Stretch::of(slot, turn));
            }
            strands.of_threads.insert(slot, own);
        }
        for stretches in &mut strands.of_tasks {
            stretches.sort_by_key(|stretch| (stretch.from, stretch.until));
            for rest in one_after_another(stretches) {
                strands.of_threads.entry(rest.slot).or_default().push(rest);
            }
        }
        for stretches in strands.of_threads.values_mut() {
            stretches.sort_by_key(|stretch| (stretch.from, stretch.until));
        }
        strands.note_changes();
        strands
    }

    /// Of threads alone, whatever they carry.
    pub(super) fn of_threads(timeline: &Timeline) -> Strands {
        Strands {
            threads: timeline.threads.len(),
            ..Strands::default()
        }
    }

    fn note_changes(&mut self) {
        let of_tasks = self.of_tasks.iter().enumerate();
        let of_tasks = of_tasks.map(|(task, stretches)| (self.threads + task, stretches));
        let of_threads = self.of_threads.iter();
        let of_threads = of_threads.map(|(&slot, stretches)| (slot, stretches));
        for (strand, stretches) in of_tasks.chain(of_threads) {
            for stretch in stretches {
                let changes = self.changes.entry(stretch.slot).or_default();
                changes.push((stretch.from, strand));
            }
        }
        self.changes
            .values_mut()
            .for_each(|all| all.sort_unstable());
    }

    pub(super) fn count(&self) -> usize {
        self.threads + self.of_tasks.len()
    }

    /// The strand that a thread is in just before a moment.
    pub(super) fn before(&self, slot: usize, moment: Nanos) -> usize {
        let changes = self.changes.get(&slot).map_or(&[][..], Vec::as_slice);
        let begun = changes.partition_point(|&(from, _)| from < moment);
        let last = begun.checked_sub(1).and_then(|last| changes.get(last));
        last.map_or(slot, |&(_, strand)| strand)
    }

    /// The stretches of the strand of a task, or of what a thread that carries tasks does for none; none of another thread.
    pub(super) fn stretches(&self, strand: usize) -> Option<&[Stretch]> {
        let stretches = match strand.checked_sub(self.threads) {
            Some(task) => self.of_tasks.get(task),
            None => self.of_threads.get(&strand),
        };
        stretches.map(Vec::as_slice)
    }
}

/// What a thread that carries tasks does for none; nothing of one that carries none.
fn own(timeline: &Timeline, slot: usize) -> Vec<Stretch> {
    let turns = timeline.carried().turns(slot);
    let first = turns.iter().find(|turn| turn.task.is_some());
    let (Some(first), Some(last)) = (first, turns.last()) else {
        return Vec::new();
    };
    let own = turns.iter().filter(|turn| turn.task.is_none());
    let mut stretches: Vec<Stretch> = own.map(|turn| Stretch::of(slot, turn)).collect();
    let thread = &timeline.threads[slot];
    let of_thread = |from: Nanos, until: Nanos| Stretch {
        slot,
        from,
        until,
        resumes: Resumes::Thread,
    };
    // Before it was seen at work for anything it did nothing for any task, and so it is after it was seen last.
    match stretches.first_mut() {
        Some(stretch) if stretch.from < first.t0 => stretch.from = stretch.from.min(thread.start),
        _ => stretches.insert(0, of_thread(thread.start, first.t0)),
    }
    if last.t1 < thread.end {
        stretches.push(of_thread(last.t1, thread.end));
    }
    stretches
}

/// Nobody is at work in two places: from where a task is seen next, its thread does nothing for it any more. A thread was seen at its
/// next task, or at none, later than that, and what it did meanwhile is its own: were it the task's, the task would wait there for what
/// comes after what it does elsewhere. `stretches`: of one task, in order.
fn one_after_another(stretches: &mut [Stretch]) -> Vec<Stretch> {
    let mut rests = Vec::new();
    for at in 1..stretches.len() {
        let next = stretches[at].from;
        let stretch = &mut stretches[at - 1];
        if stretch.until > next {
            rests.push(Stretch {
                from: next,
                resumes: Resumes::Thread,
                ..*stretch
            });
            stretch.until = next;
        }
    }
    rests
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
