//! `call_sites`: from where system calls were made.

use crate::ids::{ObjectId, StackId, ThreadId};
use crate::table::table;
use crate::units::Nanos;

table! {
    /// The stack of a system call at its 1st, 2nd, 4th, 8th, ... occurrence, by thread, call, object (or path) and error. Of calls
    /// on many different objects the first on the 1st, 2nd, 4th, 8th, ... object are there, others are left out. Counts are in
    /// `calls`; here is where they come from.
    table call_sites, row CallSite, since 6 {
        /// The thread.
        thread: ThreadId,
        /// The call's name.
        call: String,
        /// The object it was made on.
        object: Option<ObjectId>,
        /// The path as the program gave it, of a call that has a row in `lookups`; else empty.
        path: String,
        /// The error, such as `ENOENT`; empty for success.
        error: String,
        /// Which one it was. Counting begins anew where a thread makes calls on many other objects in between, or calls
        /// were not timed.
        occurrence: u64,
        /// When it returned.
        t: Nanos,
        /// From where it was made; null if that was lost.
        stack: Option<StackId>,
    }
}
