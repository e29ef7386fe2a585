//! `waits`: the waits above the threshold, one by one, with the arguments that matter.

use crate::ids::{ObjectId, StackId, ThreadId};
use crate::table::table;
use crate::units::Nanos;
use crate::words::Detail;

table! {
    /// A wait at or above the threshold (`threshold_ns` in recording.json). Its span has the same
    /// thread, `t0` and `t1`. Sorted by thread, then `t0`.
    table waits, row Wait {
        /// The thread, as numbered in `threads`.
        thread: ThreadId,
        /// Start, nanoseconds since the start of the recording.
        t0: Nanos,
        /// End, nanoseconds since the start of the recording.
        t1: Nanos,
        /// The kind of wait, as in `spans`.
        detail: Detail,
        /// The object waited for.
        object: Option<ObjectId>,
        /// The system call it happened in; empty outside of one (page faults).
        call: String,
        /// The kernel function in which the thread slept; empty where the kernel does not report it.
        function: String,
        /// The timeout or length of sleep that the caller requested, nanoseconds.
        asked_ns: Option<u64>,
        /// Whether that time expired (true) or something else ended the wait first (false).
        expired: Option<bool>,
        /// Bytes requested, for calls that move data.
        bytes: Option<u64>,
        /// The call's flags or operation word (futex operation, open flags, wait options); for poll, how many
        /// descriptors it waits for.
        flags: Option<u64>,
        /// The call's result where it is known: bytes, a descriptor, a process id, or minus errno.
        result: Option<i64>,
        /// For poll, select and epoll: the first descriptor found ready.
        woken_fd: Option<u32>,
        /// For poll, select and epoll: the object behind `woken_fd`.
        woken_object: Option<ObjectId>,
        /// For a lock: the thread that held it when the wait began, where the lock's memory shows it.
        owner: Option<ThreadId>,
        /// Where the thread waited, its kernel frames innermost; null if no stack was taken.
        stack: Option<StackId>,
        /// Where the thread that ended the wait was then.
        waker_stack: Option<StackId>,
        /// The socket that the thread last sent something on since its wait before in this table; null if it sent nothing,
        /// or calls were not timed.
        sent_object: Option<ObjectId>,
    }
}
