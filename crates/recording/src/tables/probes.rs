//! `probes`: what was asked of this kernel, and what it granted.

use crate::table::table;

table! {
    /// A probe: whether it was attached, and if not, why and what is missing without it.
    table probes, row Probe {
        /// The probe's name, such as `scheduling`.
        probe: String,
        /// Whether it was attached.
        attached: bool,
        /// Why not; empty if it was.
        reason: String,
        /// What the recording lacks without it; empty if it was attached.
        without: String,
    }
}
