//! What threads are at work for: a row for each stretch of time in which a thread was seen at one task.

use std::collections::HashMap;

use timesink_recording::tables::{Task, TaskSight, TaskTurn};
use timesink_recording::words::{TaskKind, TaskState};
use timesink_recording::{Nanos, ProcessId, RecordingWriter, StackId, TaskId, ThreadId};

use crate::convert::lives::Lives;
use crate::convert::stacks::StackRows;
use crate::error::Error;
use crate::probes::{self, events as e};

/// A task as it was first told of.
struct ToldTask {
    process: ProcessId,
    number: u64,
    parent: u64,
    node: u32,
    kind: TaskKind,
    name: Option<String>,
}

/// What a thread is at work for, and since when.
#[derive(Clone, Copy)]
struct AtWork {
    task: Option<TaskId>,
    since: Nanos,
}

/// How a task was when it was left.
#[derive(Clone, Copy, Default)]
struct Left {
    state: Option<TaskState>,
    at: Option<StackId>,
}

#[derive(Default)]
pub struct Tasks {
    tasks: Vec<ToldTask>,
    by_number: HashMap<(ProcessId, u64), TaskId>,
    now: HashMap<ThreadId, AtWork>,
    /// When threads executed other programs, by the probes' numbers of the threads and their clock.
    executed: HashMap<u32, Vec<u64>>,
}

impl Tasks {
    /// The program is another from here on: its threads have no tasks yet.
    pub fn executed(&mut self, event: &e::ts_exec) {
        let of_thread = self.executed.entry(event.head.thread).or_default();
        of_thread.push(event.head.t);
    }

    /// Changes of one thread come in the order of time, after all that is told of executions. What was found in memory is of no thread.
    pub fn take(
        &mut self,
        event: &e::ts_task,
        lives: &Lives,
        stacks: &StackRows,
        out: &mut RecordingWriter,
    ) -> Result<(), Error> {
        let thread = lives.thread(event.head.thread);
        let Some((thread, process)) = thread.and_then(|t| Some((t, lives.process_of(t)?))) else {
            return Ok(());
        };
        if u32::from(event.head.kind) == e::TS_SIGHT {
            let sight = self.seen(event, process, lives, stacks);
            return Ok(sight.map_or(Ok(()), |sight| out.push(sight))?);
        }
        let now = AtWork {
            task: (event.number != 0).then(|| self.known(process, event)),
            since: lives.at(event.head.t),
        };
        let executed = self.executed_since(thread, event.head.thread, lives);
        let Some(before) = self.now.insert(thread, now) else {
            return Ok(());
        };
        let left = Left {
            state: state(event.left_state).filter(|_| before.task.is_some()),
            at: stacks.of(event.left_node),
        };
        Ok(match executed.filter(|at| *at <= now.since) {
            Some(at) => out.push(turn(thread, before, at, Left::default())),
            None => out.push(turn(thread, before, lives.at(event.seen_before), left)),
        }?)
    }

    /// A task of a process as it was found in memory.
    fn seen(
        &mut self,
        event: &e::ts_task,
        process: ProcessId,
        lives: &Lives,
        stacks: &StackRows,
    ) -> Option<TaskSight> {
        let state = state(event.left_state)?;
        Some(TaskSight {
            task: self.known(process, event),
            t: lives.at(event.head.t),
            before: (event.seen_before != 0).then(|| lives.at(event.seen_before)),
            state,
            stack: stacks.of(event.left_node),
        })
    }

    /// When a thread first executed another program since it is at work for what it is.
    fn executed_since(&self, thread: ThreadId, told: u32, lives: &Lives) -> Option<Nanos> {
        let since = self.now.get(&thread)?.since;
        let moments = self.executed.get(&told)?.iter().map(|t| lives.at(*t));
        moments.filter(|at| *at >= since).min()
    }

    fn known(&mut self, process: ProcessId, event: &e::ts_task) -> TaskId {
        let key = (process, event.number);
        if let Some(&known) = self.by_number.get(&key) {
            // Its end may be told before its beginning: one was found by a thread, the other by another.
            let told = &mut self.tasks[known.index()];
            if told.node == 0 {
                (told.node, told.parent) = (event.node, event.parent);
            }
            return known;
        }
        let task = TaskId(self.tasks.len() as u32);
        self.by_number.insert(key, task);
        self.tasks.push(ToldTask {
            process,
            number: event.number,
            parent: event.parent,
            node: event.node,
            kind: match event.kind {
                e::TS_OF_PYTHON => TaskKind::Coroutine,
                e::TS_OF_TOKIO => TaskKind::Future,
                _ => TaskKind::Goroutine,
            },
            name: Some(probes::text(&event.name)).filter(|name| !name.is_empty()),
        });
        task
    }

    /// What threads were at work for at last they were until their end.
    pub fn write(
        &mut self,
        lives: &Lives,
        stacks: &StackRows,
        out: &mut RecordingWriter,
    ) -> Result<(), Error> {
        let told: Vec<u32> = self.executed.keys().copied().collect();
        let mut ends: HashMap<ThreadId, Nanos> = HashMap::new();
        for number in told {
            let thread = lives.thread(number);
            let at = thread.and_then(|thread| self.executed_since(thread, number, lives));
            ends.extend(thread.zip(at));
        }
        let mut last: Vec<_> = self.now.drain().collect();
        last.sort_unstable_by_key(|(thread, _)| *thread);
        for (thread, now) in last {
            let end = lives.threads.get(thread.index()).map(|thread| thread.end);
            let end = ends.get(&thread).copied().or(end).unwrap_or(now.since);
            out.push(turn(thread, now, end, Left::default()))?;
        }
        for (number, told) in self.tasks.iter().enumerate() {
            out.push(Task {
                task: TaskId(number as u32),
                process: told.process,
                kind: told.kind,
                number: told.number,
                parent: self.by_number.get(&(told.process, told.parent)).copied(),
                stack: stacks.of(told.node),
                name: told.name.clone(),
            })?;
        }
        Ok(())
    }
}

/// The state of a task by Go's number for it.
fn state(number: u32) -> Option<TaskState> {
    match number {
        1 | 9 => Some(TaskState::Ready),
        2 | 3 => Some(TaskState::Running),
        4 => Some(TaskState::Waiting),
        6 => Some(TaskState::Ended),
        _ => None,
    }
}

fn turn(thread: ThreadId, now: AtWork, until: Nanos, left: Left) -> TaskTurn {
    TaskTurn {
        thread,
        task: now.task,
        t0: now.since,
        t1: until.max(now.since),
        left: left.state,
        left_at: left.at,
    }
}
