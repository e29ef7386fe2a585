//! `call_histograms`: how long calls took and how much they moved, in powers of two.

use crate::ids::{ObjectId, ThreadId};
use crate::table::table;
use crate::words::HistogramKind;

table! {
    /// One bucket of one histogram of calls. Counts are of calls that were actually timed.
    table call_histograms, row CallHistogram {
        /// The thread.
        thread: ThreadId,
        /// The call's name.
        call: String,
        /// The object it was made on.
        object: Option<ObjectId>,
        /// `duration` (nanoseconds) or `size` (bytes moved).
        kind: HistogramKind,
        /// The bucket holds values from 2^bucket to 2^(bucket+1) - 1; bucket 0 also holds 0.
        bucket: u32,
        /// How many were seen.
        count: u64,
    }
}
