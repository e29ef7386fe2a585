//! `tasks`: what threads are at work for, where a runtime divides them among its own units.

use crate::ids::{ProcessId, StackId, TaskId};
use crate::table::table;
use crate::words::TaskKind;

table! {
    /// A task: a unit of work that a runtime runs on its threads in turn, such as a goroutine. Only those that were seen
    /// are here: at work, which is in `task_turns`, or waiting, which is in `task_sights`.
    table tasks, row Task, since 9 {
        /// The task.
        task: TaskId,
        /// The process it is of.
        process: ProcessId,
        /// What it is.
        kind: TaskKind,
        /// The runtime's own number for it; if it has none, a number that no other task of the process has.
        number: u64,
        /// The task that started it; null if it is not known or was never seen at work.
        parent: Option<TaskId>,
        /// Its first function, under the place where it was started; null if that is not known.
        stack: Option<StackId>,
        /// What the program calls it, if it does. Since version 12 of the format.
        name: Option<String>,
    }
}
