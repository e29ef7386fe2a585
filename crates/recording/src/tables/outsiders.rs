//! `outsiders`: threads that are not recorded but woke or held up one that is.

use crate::table::table;

table! {
    /// A thread outside the recording that appears as a waker or an occupant.
    table outsiders, row Outsider {
        /// The kernel's thread id.
        tid: u32,
        /// Its name (comm) when it was first seen; empty where not known.
        name: String,
        /// The kernel's id of its process, which has a row of its own; null if it was gone before it was looked for. Since version 13 of the format.
        pid: Option<u32>,
    }
}
