//! `images`: how processes came to be and what that cost: fork, exec, tear-down.

use crate::ids::{ProcessId, ThreadId};
use crate::table::table;
use crate::units::Nanos;
use crate::words::ImageEvent;

table! {
    /// One step in the life of a process image: a fork, an exec or an exit.
    table images, row Image {
        /// The process that was created, changed or ended.
        process: ProcessId,
        /// The thread that did it: the parent for a fork, a thread of the process itself for exec and exit.
        thread: Option<ThreadId>,
        /// `fork`, `vfork`, `exec` or `exit`.
        event: ImageEvent,
        /// When it completed, nanoseconds since the start of the recording.
        t: Nanos,
        /// Its duration: the call in the parent until the child's creation (fork), the call until
        /// the new image (exec), from exit to the last switch (exit). Null while calls were not timed.
        cost_ns: Option<u64>,
        /// Resident bytes: of the parent at a fork, of the new image at exec, of the process at exit. The
        /// kernel adds them up in batches: a small process can show 0.
        resident_bytes: u64,
        /// For exec: the executable's path.
        executable: String,
        /// For exec: the arguments, separated by NUL, cut at 480 bytes.
        arguments: String,
    }
}
