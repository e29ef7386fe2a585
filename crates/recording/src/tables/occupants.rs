//! `occupants`: who was on the processor while a thread was ready and had none.

use crate::ids::ThreadId;
use crate::table::table;
use crate::units::Nanos;

table! {
    /// For a `ready` span (same thread and `t0`): one row per thread that ran meanwhile on the
    /// CPU it was queued for, at most eight, the latest kept. Sorted by thread, then `t0`.
    table occupants, row Occupant {
        /// The runnable thread.
        thread: ThreadId,
        /// Start of the `ready` span.
        t0: Nanos,
        /// The thread that ran, if it is recorded.
        occupant: Option<ThreadId>,
        /// The kernel's thread id of the one that ran, if it is not recorded; see `outsiders`.
        occupant_outsider: Option<u32>,
        /// How long it ran within the span, nanoseconds.
        ns: u64,
    }
}
