//! `tags`: what programs say that their threads are at work for.

use crate::ids::{ProcessId, TagId};
use crate::table::table;

table! {
    /// A tag: what a program says itself that a thread of it is at work for, by `sdk/c/timesink.h`. Only those that were seen
    /// are here. Which thread had which, and when, is in `tag_turns`.
    table tags, row Tag, since 10 {
        /// The tag.
        tag: TagId,
        /// The process it is of.
        process: ProcessId,
        /// Its path, from the outermost module to the innermost, with a slash between them; at most 256 bytes. `?` if its text was
        /// lost.
        path: String,
    }
}
