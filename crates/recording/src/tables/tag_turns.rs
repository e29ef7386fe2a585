//! `tag_turns`: which thread had which tag, and when.

use crate::ids::{TagId, ThreadId};
use crate::table::table;
use crate::units::Nanos;

table! {
    /// A stretch of time in which a thread was seen to have one tag and no other. It is looked at when it leaves a CPU, when a
    /// call returns and when it is sampled: between the end of one row and the start of the thread's next one it changed from
    /// one tag to the other, but when is not known. A thread without rows had no tag.
    table tag_turns, row TagTurn, since 10 {
        /// The thread.
        thread: ThreadId,
        /// The tag; null for none.
        tag: Option<TagId>,
        /// When it was first seen to have it, nanoseconds since the start of the recording.
        t0: Nanos,
        /// When it was last seen.
        t1: Nanos,
    }
}
