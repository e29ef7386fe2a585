//! `calls`: system calls, summed by thread, call and object.

use crate::ids::{ObjectId, ThreadId};
use crate::table::table;

table! {
    /// All calls of one kind by one thread on one object.
    table calls, row Call {
        /// The thread.
        thread: ThreadId,
        /// The call's name, such as `read`.
        call: String,
        /// The object it was made on.
        object: Option<ObjectId>,
        /// How many there were. Where `estimated`, scaled up from those that were timed.
        count: u64,
        /// Their total time from entry to return, nanoseconds, scaled in the same way.
        ns: u64,
        /// Bytes moved, scaled in the same way.
        bytes: u64,
        /// How many failed, scaled in the same way.
        errors: u64,
        /// How many were actually timed.
        seen: u64,
        /// Timing was switched off for part of the thread's life to keep within the budget, so
        /// count, ns, bytes and errors are estimates.
        estimated: bool,
    }
}
