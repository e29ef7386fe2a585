//! `losses`: what is known to be missing.

use crate::table::table;
use crate::words::LossKind;

table! {
    /// Something that was lost, by kind. An empty table means that nothing was lost.
    table losses, row Loss {
        /// What was lost.
        kind: LossKind,
        /// How many.
        count: u64,
        /// The consequence for the recording, in a sentence.
        note: String,
    }
}
