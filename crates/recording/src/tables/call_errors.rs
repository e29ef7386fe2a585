//! `call_errors`: failed calls by errno.

use crate::ids::{ObjectId, ThreadId};
use crate::table::table;

table! {
    /// Failed calls of one kind by one thread on one object with one error. Counts are of calls
    /// that were actually timed.
    table call_errors, row CallError {
        /// The thread.
        thread: ThreadId,
        /// The call's name.
        call: String,
        /// The object it was made on.
        object: Option<ObjectId>,
        /// The error, such as `ENOENT`.
        error: String,
        /// How many were seen.
        count: u64,
    }
}
