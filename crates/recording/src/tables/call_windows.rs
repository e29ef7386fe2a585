//! `call_windows`: when system calls were being timed.

use crate::table::table;
use crate::units::Nanos;

table! {
    /// An interval in which system calls were timed. One row spans the whole recording unless
    /// timing was switched off at times to stay within the budget.
    table call_windows, row CallWindow {
        /// Start, nanoseconds since the start of the recording.
        t0: Nanos,
        /// End, nanoseconds since the start of the recording.
        t1: Nanos,
    }
}
