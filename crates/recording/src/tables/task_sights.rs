//! `task_sights`: tasks as they were found while no thread was at work for them.

use crate::ids::{StackId, TaskId};
use crate::table::table;
use crate::units::Nanos;
use crate::words::TaskState;

table! {
    /// A goroutine was found in another state or place than when it was looked at before. All goroutines of a process are looked at
    /// now and then, in its memory: so those are known that wait and were never seen at work. What a goroutine did between two looks is
    /// not known from here.
    table task_sights, row TaskSight, since 13 {
        /// The task.
        task: TaskId,
        /// When it was looked at, nanoseconds since the start of the recording.
        t: Nanos,
        /// When it was looked at before, or would have been, if it was not there yet: it came into this state since. Null: never.
        before: Option<Nanos>,
        /// How it was then.
        state: TaskState,
        /// Where it stood, in the runtime, with its callers, 64 functions at most; null unless it waited or was ready.
        stack: Option<StackId>,
    }
}
