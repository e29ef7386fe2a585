//! `lookups`: paths that were looked up.

use crate::ids::ProcessId;
use crate::table::table;

table! {
    /// Calls by one process that name a path and either failed or have no descriptor (stat, access,
    /// unlink, ...). Counts are of calls that were actually timed.
    table lookups, row Lookup {
        /// The process.
        process: ProcessId,
        /// The call's name.
        call: String,
        /// The path as the program gave it.
        path: String,
        /// The error, such as `ENOENT`; empty for success.
        error: String,
        /// How many were seen.
        count: u64,
    }
}
