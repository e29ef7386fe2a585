//! Which tasks threads carried, in the order of time, and which turns of a task go on where another thread left it: after a call
//! that blocked, in which another task was given the processor of the runtime's, or after the runtime itself took that away.
//!
//! All other turns go on after what their thread did before: who was at work there gave it up to them, or somebody woke the thread for them.
//! How long a task could go on before it did is not told of these: what was seen of a task between two turns is not all that it did.

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{ProcessId, StackId, TaskId, ThreadId};
use timesink_recording::tables::{Task, TaskSight, TaskTurn};
use timesink_recording::words::{Detail, State, TaskKind, TaskState};
use timesink_recording::{Nanos, Recording};

use super::between::Coroutines;
use super::placed::{self, Seen};
use super::Spans;

/// A stretch of time in which a thread carried one task, or the runtime itself. Those of a thread follow each other without
/// holes; `placed.rs` says when it changed from one to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedTurn {
    pub task: Option<TaskId>,
    pub t0: Nanos,
    pub t1: Nanos,
    pub resumes: Resumes,
    /// Where the task was left at its end, as far as that was seen.
    pub left_at: Option<StackId>,
}

impl CarriedTurn {
    /// For how long the task could have gone on before it did.
    pub fn queued_ns(&self) -> u64 {
        let left = self.resumes.left();
        left.map_or(0, |left| self.t0.since(left.at))
    }
}

/// A moment of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// As an index into [`Spans::threads`].
    pub slot: usize,
    pub at: Nanos,
}

/// What a turn of a task comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumes {
    /// After what the thread itself did before.
    Thread,
    /// The task was left there as it came back from a call, with this wait by its span, and could have gone on: another one had its
    /// processor of the runtime's by then.
    Called { left: Place, call: usize },
    /// The task was left there in the midst of its work, and could have gone on: the runtime gave its processor to another one.
    Preempted { left: Place },
}

impl Resumes {
    pub fn is_called(self) -> bool {
        matches!(self, Resumes::Called { .. })
    }

    /// Where the task was left.
    pub fn left(self) -> Option<Place> {
        match self {
            Resumes::Thread => None,
            Resumes::Called { left, .. } | Resumes::Preempted { left } => Some(left),
        }
    }
}

/// What is told by stacks.
pub trait Told {
    /// Whether a task that was left in such a stack had come back from a call.
    fn comes_back(&self, stack: StackId) -> bool;
    /// Whether a task that was left in such a stack was in the midst of its work.
    fn preempted(&self, stack: StackId) -> bool;
    /// Whether a thread that began to sleep then had looked for something that could go on, and found nothing.
    fn looks(&self, thread: ThreadId, at: Nanos) -> bool;
    /// Which of these tasks, of which all turns are given, run the threads of the runtime.
    fn schedulers<'t>(
        &self,
        tasks: &[Task],
        turns: impl Iterator<Item = &'t TaskTurn>,
    ) -> FxHashSet<TaskId>;
}

/// The turns of all threads that carry tasks.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// By the slots of their threads.
    turns: FxHashMap<usize, Vec<CarriedTurn>>,
    /// The tasks that event loops run, each with its first function.
    coroutines: Coroutines,
    /// What was found when tasks of a process were looked at, in the order of tasks and time.
    sights: FxHashMap<ProcessId, Vec<TaskSight>>,
}

/// When threads were at work for a task, turn by turn.
#[derive(Default)]
struct Worked {
    /// When they were last seen so.
    last_seen: Vec<Nanos>,
    /// It was told of the last turn that the task ended.
    ended: bool,
}

fn worked(rows: &Seen) -> FxHashMap<TaskId, Worked> {
    let mut worked: FxHashMap<TaskId, Worked> = FxHashMap::default();
    for row in rows.values().flatten() {
        if let Some(task) = row.task {
            let of_task = worked.entry(task).or_default();
            of_task.last_seen.push(row.t1);
            of_task.ended |= row.left == Some(TaskState::Ended);
        }
    }
    for of_task in worked.values_mut() {
        of_task.last_seen.sort_unstable();
    }
    worked
}

fn sights(
    recording: &Recording,
    spans: &Spans,
    processes: &FxHashMap<TaskId, ProcessId>,
    worked: &FxHashMap<TaskId, Worked>,
) -> timesink_recording::Result<FxHashMap<ProcessId, Vec<TaskSight>>> {
    let mut of_process: FxHashMap<ProcessId, Vec<TaskSight>> = FxHashMap::default();
    recording.scan(|all: &[TaskSight]| {
        for row in all {
            if let Some(process) = processes.get(&row.task) {
                of_process.entry(*process).or_default().push(row.clone());
            }
        }
    })?;
    let none = Worked::default();
    for (process, sights) in &mut of_process {
        let threads = spans.threads.iter();
        let end = threads.filter(|thread| thread.process == *process);
        let end = end.map(|thread| thread.end).max().unwrap_or_default();
        sights.sort_unstable_by_key(|sight| (sight.task, sight.t));
        let of_tasks = sights.chunk_by(|one, other| one.task == other.task);
        let placed = of_tasks.flat_map(|all| {
            let worked = worked.get(&all[0].task).unwrap_or(&none);
            let last = all
                .last()
                .filter(|last| last.state == TaskState::Waiting && last.t < end && !worked.ended);
            let at_end = last.map(|last| TaskSight {
                t: end,
                before: None,
                ..last.clone()
            });
            let placed = all.iter().filter_map(|sight| placed_sight(sight, worked));
            placed.chain(at_end).collect::<Vec<TaskSight>>()
        });
        *sights = placed.collect();
    }
    Ok(of_process)
}

/// What was found, where it probably changed: when a thread was last seen at work for the task since it was looked at before, else half
/// way. That a task runs or has ended threads tell better, where one was at work for it since.
fn placed_sight(sight: &TaskSight, worked: &Worked) -> Option<TaskSight> {
    let before = sight.before.unwrap_or(sight.t);
    let seen = &worked.last_seen;
    let until = seen.partition_point(|at| *at <= sight.t);
    let last = until.checked_sub(1).map(|last| seen[last]);
    let last = last.filter(|at| *at > before);
    if last.is_some() && matches!(sight.state, TaskState::Running | TaskState::Ended) {
        return None;
    }
    let half_way = || Nanos(before.0 + (sight.t.0 - before.0) / 2);
    Some(TaskSight {
        t: last.unwrap_or_else(half_way),
        ..sight.clone()
    })
}

/// Who begins to sleep so shortly after a task could go on may have looked before.
const LOOKS_NS: i64 = 50_000;

/// The last turn of a task so far, by where it stands.
#[derive(Clone, Copy)]
struct LastTurn {
    slot: usize,
    index: usize,
}

/// A turn as its thread was seen: how it was left.
#[derive(Clone, Copy)]
struct LeftAs {
    state: Option<TaskState>,
    at: Option<StackId>,
}

impl Carried {
    /// Of an open recording.
    pub fn of(
        recording: &Recording,
        spans: &Spans,
        told: &impl Told,
    ) -> timesink_recording::Result<Carried> {
        let mut rows = Seen::default();
        recording.scan(|all: &[TaskTurn]| {
            for row in all {
                if let Some(slot) = spans.slot(row.thread) {
                    rows.entry(slot).or_default().push(row.clone());
                }
            }
        })?;
        let mut carried = Carried::default();
        let mut futures: Vec<Task> = Vec::new();
        let mut processes: FxHashMap<TaskId, ProcessId> = FxHashMap::default();
        recording.scan(|all: &[Task]| {
            processes.extend(all.iter().map(|row| (row.task, row.process)));
            let some = all.iter().filter(|row| row.kind == TaskKind::Future);
            futures.extend(some.cloned());
            let coroutines = all.iter().filter(|row| row.kind == TaskKind::Coroutine);
            let coroutines = coroutines.map(|row| (row.task, row.stack));
            carried.coroutines.extend(coroutines);
        })?;
        carried.sights = sights(recording, spans, &processes, &worked(&rows))?;
        // Older recordings do not tell how goroutines were left: where one went on after what is not known then. Of tokio's tasks that
        // is never told, and they come back from calls on the thread that they made them on.
        let is_told = |rows: &Vec<TaskTurn>| rows.iter().any(|row| row.left.is_some());
        if futures.is_empty() && !rows.values().any(is_told) {
            return Ok(Carried {
                sights: carried.sights,
                ..Carried::default()
            });
        }
        let mut left: FxHashMap<usize, Vec<LeftAs>> = FxHashMap::default();
        let schedulers = told.schedulers(&futures, rows.values().flatten());
        for rows in rows.values_mut() {
            for row in rows.iter_mut() {
                row.task = row.task.filter(|task| !schedulers.contains(task));
            }
            rows.sort_by_key(|turn| (turn.t0, turn.t1));
        }
        let starts = placed::starts(recording, spans, &rows, &carried.coroutines)?;
        for (slot, rows) in rows {
            let (turns, as_left) = stretched(&rows, &starts[&slot]);
            carried.turns.insert(slot, turns);
            left.insert(slot, as_left);
        }
        carried.link(spans, &left, told);
        Ok(carried)
    }

    /// What was found when the tasks of a process were looked at, in the order of tasks and time. One that waited to the end is found
    /// once more then: had anything become of it, it would have been seen.
    pub fn sights(&self, process: ProcessId) -> &[TaskSight] {
        self.sights.get(&process).map_or(&[], Vec::as_slice)
    }

    /// The same of all processes.
    pub fn all_sights(&self) -> impl Iterator<Item = &TaskSight> {
        self.sights.values().flatten()
    }

    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// The turns of a thread, in order; none if it carries no tasks.
    pub fn turns(&self, slot: usize) -> &[CarriedTurn] {
        self.turns.get(&slot).map_or(&[], Vec::as_slice)
    }

    /// The turns of a thread that runs an event loop, in order; none of other threads.
    pub fn turns_of_loop(&self, slot: usize) -> &[CarriedTurn] {
        let turns = self.turns(slot);
        let is_one = |turn: &CarriedTurn| turn.task.is_some_and(|task| self.is_coroutine(task));
        match turns.iter().any(is_one) {
            true => turns,
            false => &[],
        }
    }

    /// Whether an event loop runs a task.
    pub fn is_coroutine(&self, task: TaskId) -> bool {
        self.coroutines.contains_key(&task)
    }

    /// The first function of a task that an event loop runs.
    pub fn coroutine(&self, task: TaskId) -> Option<StackId> {
        self.coroutines.get(&task).copied().flatten()
    }

    /// Whether a thread carries tasks.
    pub fn has(&self, slot: usize) -> bool {
        self.turns.contains_key(&slot)
    }

    /// The turn that a thread is in just before a moment.
    pub fn before(&self, slot: usize, moment: Nanos) -> Option<&CarriedTurn> {
        let turns = self.turns(slot);
        turns.get(self.index_before(slot, moment)?)
    }

    fn index_before(&self, slot: usize, moment: Nanos) -> Option<usize> {
        let begun = self.turns(slot).partition_point(|turn| turn.t0 < moment);
        begun.checked_sub(1)
    }

    /// The slots of the threads, in order.
    pub fn slots(&self) -> Vec<usize> {
        let mut slots: Vec<usize> = self.turns.keys().copied().collect();
        slots.sort_unstable();
        slots
    }

    /// Finds the turns of tasks that came back from calls and went on elsewhere.
    fn link(&mut self, spans: &Spans, left: &FxHashMap<usize, Vec<LeftAs>>, told: &impl Told) {
        let mut all: Vec<(Nanos, usize, usize)> = Vec::new();
        for slot in self.slots() {
            let turns = self.turns(slot).iter().enumerate();
            all.extend(turns.map(|(index, turn)| (turn.t0, slot, index)));
        }
        all.sort_unstable();
        let idle = Idle::of(self, spans, told);
        let mut last: FxHashMap<TaskId, LastTurn> = FxHashMap::default();
        for (_, slot, index) in all {
            let turn = self.turns(slot)[index];
            let now = LastTurn { slot, index };
            let before = turn.task.and_then(|task| last.insert(task, now));
            let resumes = before.and_then(|before| {
                let as_left = left.get(&before.slot)?.get(before.index)?;
                let was = self.turns(before.slot)[before.index];
                let left = Place {
                    slot: before.slot,
                    at: was.t1.min(turn.t0),
                };
                let process = spans.threads[slot].process;
                let waited = (left.at < turn.t0 || left.slot != slot)
                    && !idle.between(process, left.at, turn.t0);
                match as_left.how(told) {
                    _ if !waited => None,
                    Left::Called => {
                        let call = last_wait(spans, before.slot, was.t0, left.at)?;
                        Some(Resumes::Called { left, call })
                    }
                    Left::Preempted if !self.is_coroutine(turn.task?) => {
                        Some(Resumes::Preempted { left })
                    }
                    Left::Preempted | Left::Otherwise => None,
                }
            });
            let turn = self.turns.get_mut(&slot).and_then(|t| t.get_mut(index));
            if let (Some(resumes), Some(turn)) = (resumes, turn) {
                turn.resumes = resumes;
            }
        }
    }
}

/// How a task was left that could go on.
enum Left {
    /// It had come back from a call.
    Called,
    Preempted,
    /// In another way, or it could not go on.
    Otherwise,
}

impl LeftAs {
    fn how(&self, told: &impl Told) -> Left {
        let could = matches!(self.state, Some(TaskState::Ready | TaskState::Running));
        match self.at.filter(|_| could) {
            Some(stack) if told.comes_back(stack) => Left::Called,
            Some(stack) if told.preempted(stack) => Left::Preempted,
            _ => Left::Otherwise,
        }
    }
}

/// When threads of each process began to sleep because there was nothing that could go on.
struct Idle(FxHashMap<ProcessId, Vec<Nanos>>);

impl Idle {
    fn of(carried: &Carried, spans: &Spans, told: &impl Told) -> Idle {
        let mut of_process: FxHashMap<ProcessId, Vec<Nanos>> = FxHashMap::default();
        for slot in carried.slots() {
            let thread = &spans.threads[slot];
            let moments = of_process.entry(thread.process).or_default();
            let turns = carried.turns(slot).iter();
            for turn in turns.filter(|turn| turn.task.is_none()) {
                let waits = spans.between(slot, turn.t0, turn.t1);
                let waits = waits.map(|(span, _)| span);
                let waits = waits.filter(|span| span.state == State::Wait && span.t0 >= turn.t0);
                let idle = waits.filter(|span| told.looks(thread.thread, span.t0));
                moments.extend(idle.map(|span| span.t0));
            }
        }
        for moments in of_process.values_mut() {
            moments.sort_unstable();
        }
        Idle(of_process)
    }

    /// Whether one did in between: what could go on had a thread then.
    fn between(&self, process: ProcessId, from: Nanos, until: Nanos) -> bool {
        let from = Nanos(from.0.saturating_add(LOOKS_NS));
        let until = Nanos(until.0.saturating_sub(LOOKS_NS));
        let moments = self.0.get(&process).map_or(&[][..], Vec::as_slice);
        let next = moments.partition_point(|at| *at <= from);
        moments.get(next).is_some_and(|at| *at < until)
    }
}

/// The last wait of a thread that ended between two moments, by its span.
fn last_wait(spans: &Spans, slot: usize, from: Nanos, until: Nanos) -> Option<usize> {
    let all = spans.spans_of(slot);
    let begun = all.partition_point(|span| span.t0 < until);
    let mut before = all[..begun].iter().rev();
    let last = before.find(|span| span.state == State::Wait || span.t1 <= from)?;
    let is_it = last.state == State::Wait && last.t1 > from && last.detail != Detail::Creation;
    spans.wait_at(slot, last.t0).filter(|_| is_it)
}

/// Each made as long as it probably was.
fn stretched(rows: &[TaskTurn], starts: &[Nanos]) -> (Vec<CarriedTurn>, Vec<LeftAs>) {
    let turns = rows
        .iter()
        .zip(starts)
        .enumerate()
        .map(|(index, (row, &t0))| {
            let next = starts.get(index + 1).copied();
            CarriedTurn {
                task: row.task,
                t0,
                t1: next.unwrap_or(row.t1).max(t0),
                resumes: Resumes::Thread,
                left_at: row.left_at,
            }
        });
    let left = rows.iter().map(|row| LeftAs {
        state: row.left,
        at: row.left_at,
    });
    (turns.collect(), left.collect())
}
