//! `task_turns`: which thread was at work for which task, and when.

use crate::ids::{StackId, TaskId, ThreadId};
use crate::table::table;
use crate::units::Nanos;
use crate::words::TaskState;

table! {
    /// A stretch of time in which a thread was seen at work for one task and no other. It is looked at when it leaves a CPU,
    /// when a call returns and when it is sampled; what it did for others in between, unseen, is not known. Between the end of one
    /// row and the start of the thread's next one it switched from one task to the other. A row without length, between two of the
    /// runtime itself, is of a task of asyncio that was found then to have been at work since it was last looked at (since 2026-11-27).
    table task_turns, row TaskTurn, since 9 {
        /// The thread.
        thread: ThreadId,
        /// The task; null for the runtime itself, such as its scheduler when nothing is to be done.
        task: Option<TaskId>,
        /// When it was first seen at work for it, nanoseconds since the start of the recording.
        t0: Nanos,
        /// When it was last seen.
        t1: Nanos,
        /// How the task was when the thread was first seen at something else; null for the runtime itself, for the last row of a
        /// thread, and where it is not known. Since version 11 of the format.
        left: Option<TaskState>,
        /// Where its code was left then, in the runtime, with the callers as far as they are known: those of a task that runs again
        /// are not. Of goroutines 64 functions at most (6 until 2026-11-26), of coroutines 6. Since version 11 of the
        /// format.
        left_at: Option<StackId>,
    }
}
