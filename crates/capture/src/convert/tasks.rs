//! What threads are at work for: a row for each stretch of time in which a thread was seen at one task.

use std::collections::HashMap;

use timesink_recording::tables::task_turns::TaskTurn;
use timesink_recording::tables::tasks::Task;
use timesink_recording::words::TaskKind;
use timesink_recording::{Nanos, ProcessId, RecordingWriter, TaskId, ThreadId};

use crate::convert::lives::Lives;
use crate::convert::stacks::StackRows;
use crate::error::Error;
use crate::probes::events as e;

/// A task as it was first told of.
struct ToldTask {
    process: ProcessId,
    number: u64,
    parent: u64,
    node: u32,
}

#[derive(Default)]
pub struct Tasks {
    tasks: Vec<ToldTask>,
    by_number: HashMap<(ProcessId, u64), TaskId>,
    /// What each thread is at work for, and since when.
    now: HashMap<ThreadId, (Option<TaskId>, Nanos)>,
}

impl Tasks {
    /// Changes of one thread come in the order of time.
    pub fn take(
        &mut self,
        event: &e::ts_task,
        lives: &Lives,
        out: &mut RecordingWriter,
    ) -> Result<(), Error> {
        let thread = lives.thread(event.head.thread);
        let Some((thread, process)) = thread.and_then(|t| Some((t, lives.process_of(t)?))) else {
            return Ok(());
        };
        let task = (event.number != 0).then(|| self.known(process, event));
        let now = (task, lives.at(event.head.t));
        if let Some(before) = self.now.insert(thread, now) {
            out.push(turn(thread, before, lives.at(event.seen_before)))?;
        }
        Ok(())
    }

    /// The program is another from here on: its threads have no tasks yet.
    pub fn executed(
        &mut self,
        event: &e::ts_exec,
        lives: &Lives,
        out: &mut RecordingWriter,
    ) -> Result<(), Error> {
        let now = lives.thread(event.head.thread);
        let now = now.and_then(|thread| Some((thread, self.now.remove(&thread)?)));
        now.map_or(Ok(()), |(thread, now)| {
            Ok(out.push(turn(thread, now, lives.at(event.head.t)))?)
        })
    }

    fn known(&mut self, process: ProcessId, event: &e::ts_task) -> TaskId {
        let key = (process, event.number);
        if let Some(&known) = self.by_number.get(&key) {
            return known;
        }
        let task = TaskId(self.tasks.len() as u32);
        self.by_number.insert(key, task);
        self.tasks.push(ToldTask {
            process,
            number: event.number,
            parent: event.parent,
            node: event.node,
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
        let mut last: Vec<_> = self.now.drain().collect();
        last.sort_unstable_by_key(|(thread, _)| *thread);
        for (thread, now) in last {
            let end = lives.threads.get(thread.index()).map(|thread| thread.end);
            out.push(turn(thread, now, end.unwrap_or(now.1)))?;
        }
        for (number, told) in self.tasks.iter().enumerate() {
            out.push(Task {
                task: TaskId(number as u32),
                process: told.process,
                kind: TaskKind::Goroutine,
                number: told.number,
                parent: self.by_number.get(&(told.process, told.parent)).copied(),
                stack: stacks.of(told.node),
            })?;
        }
        Ok(())
    }
}

fn turn(thread: ThreadId, (task, t0): (Option<TaskId>, Nanos), until: Nanos) -> TaskTurn {
    TaskTurn {
        thread,
        task,
        t0,
        t1: until.max(t0),
    }
}
