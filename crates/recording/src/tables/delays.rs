//! `delays`: the times ready at or above the threshold, one by one, with where in the code they were.

use crate::ids::{StackId, ThreadId};
use crate::table::table;
use crate::units::Nanos;
use crate::words::Detail;

table! {
    /// A time runnable (waiting for a CPU), at or above the threshold (`threshold_ns` in recording.json). Its span
    /// has the same thread, `t0` and `t1`. Sorted by thread, then `t0`.
    table delays, row Delay, since 3 {
        /// The thread, as numbered in `threads`.
        thread: ThreadId,
        /// Start, nanoseconds since the start of the recording.
        t0: Nanos,
        /// End, nanoseconds since the start of the recording.
        t1: Nanos,
        /// Why it was ready, as in `spans`.
        detail: Detail,
        /// Where the thread was in its program when it lost the CPU, without the kernel's part, or
        /// where it had waited before; null if no stack was taken.
        stack: Option<StackId>,
    }
}
