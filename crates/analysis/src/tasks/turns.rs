//! What each thread was at work for, in the order of time.

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{TaskId, ThreadId};
use timesink_recording::tables::TaskTurn;
use timesink_recording::{Nanos, Recording};

/// The turns of each thread.
#[derive(Clone, Debug, Default)]
pub struct TaskTurns {
    by_thread: FxHashMap<ThreadId, Vec<TaskTurn>>,
}

impl TaskTurns {
    pub fn of(recording: &Recording) -> timesink_recording::Result<TaskTurns> {
        let mut by_thread: FxHashMap<ThreadId, Vec<TaskTurn>> = FxHashMap::default();
        recording.scan(|rows: &[TaskTurn]| {
            for row in rows {
                by_thread.entry(row.thread).or_default().push(row.clone());
            }
        })?;
        for turns in by_thread.values_mut() {
            turns.sort_by_key(|turn| (turn.t0, turn.t1));
        }
        Ok(TaskTurns { by_thread })
    }

    /// Those of threads that have none yet.
    pub fn add(&mut self, turns: Vec<(ThreadId, Vec<TaskTurn>)>) {
        self.by_thread.extend(turns);
    }

    /// The turns of all threads.
    pub fn all(&self) -> impl Iterator<Item = &TaskTurn> {
        self.by_thread.values().flatten()
    }

    /// What threads did for these tasks they did for none.
    pub fn are_of_none(&mut self, tasks: &FxHashSet<TaskId>) {
        for turn in self.by_thread.values_mut().flatten() {
            turn.task = turn.task.filter(|task| !tasks.contains(task));
        }
    }

    /// The threads that were seen at work, in their order.
    pub fn threads(&self) -> Vec<ThreadId> {
        let mut threads: Vec<ThreadId> = self.by_thread.keys().copied().collect();
        threads.sort_unstable();
        threads
    }

    /// The threads that were seen at work for any of these.
    pub fn running(&self, tasks: &FxHashSet<TaskId>) -> FxHashSet<ThreadId> {
        let is_one = |turn: &TaskTurn| turn.task.is_some_and(|task| tasks.contains(&task));
        let running = self
            .by_thread
            .iter()
            .filter(|(_, turns)| turns.iter().any(is_one));
        running.map(|(thread, _)| *thread).collect()
    }

    /// From when each task of a thread was last seen to when the next one was, with nothing else seen in between.
    pub fn between_tasks(&self, thread: ThreadId) -> impl Iterator<Item = (Nanos, Nanos)> + '_ {
        let pairs = self.turns(thread).windows(2);
        let pairs = pairs.filter(|pair| pair.iter().all(|turn| turn.task.is_some()));
        pairs.map(|pair| (pair[0].t1, pair[1].t0.max(pair[0].t1)))
    }

    /// Whether a thread was ever seen at work.
    pub fn has(&self, thread: ThreadId) -> bool {
        self.by_thread.contains_key(&thread)
    }

    fn turns(&self, thread: ThreadId) -> &[TaskTurn] {
        self.by_thread.get(&thread).map_or(&[], Vec::as_slice)
    }

    /// The last turn that had begun by a moment.
    pub fn at(&self, thread: ThreadId, moment: Nanos) -> Option<&TaskTurn> {
        let turns = self.turns(thread);
        let begun = turns.partition_point(|turn| turn.t0 <= moment);
        turns.get(begun.checked_sub(1)?)
    }

    /// The turns, each made as long as it probably was: from one task to the next a thread changed half way between seeing the
    /// one for the last time and the other for the first.
    pub fn stretches(&self, thread: ThreadId) -> impl Iterator<Item = TaskTurn> + '_ {
        let turns = self.turns(thread);
        let half_way = |a: &TaskTurn, b: &TaskTurn| Nanos(a.t1.0 + (b.t0.0 - a.t1.0) / 2);
        turns.iter().enumerate().map(move |(index, turn)| {
            let before = index.checked_sub(1).map(|before| &turns[before]);
            let after = turns.get(index + 1);
            TaskTurn {
                t0: before.map_or(turn.t0, |before| half_way(before, turn)),
                t1: after.map_or(turn.t1, |after| half_way(turn, after)),
                ..turn.clone()
            }
        })
    }
}
