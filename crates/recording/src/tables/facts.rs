//! `facts`: the environment of the run.

use crate::table::table;
use crate::words::{FactKind, Moment};

table! {
    /// A fact about the environment of the run that only the live system knew: the machine, the kernel, limits, variables, the files
    /// that were used. Two runs can be compared by them and by what the other tables tell (`timesink env A B`).
    table facts, row Fact, since 8 {
        /// What it is about.
        kind: FactKind,
        /// Which one of its kind: a setting, a variable, a path.
        key: String,
        /// What it was. A variable that may be a secret has 16 bits of a checksum of its value here.
        value: String,
        /// When it was taken.
        moment: Moment,
    }
}

/// Keys of [`FactKind::Load`]: for how long all CPUs together had nothing to do since the machine was started, and in all, in ticks.
pub const IDLE_TICKS: &str = "CPUs idle, ticks";
pub const ALL_TICKS: &str = "CPUs in all, ticks";
