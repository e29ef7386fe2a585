//! When something was done, from the first time that it was seen to the last.
//!
//! Calls are seen ever more seldom (the 1st, 2nd, 4th, ...), so the last time is somewhere in the second half of them.

use timesink_recording::Nanos;

/// From the first time to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    pub from: Nanos,
    pub until: Nanos,
}

impl Phase {
    pub(crate) fn at(moment: Nanos) -> Phase {
        Phase {
            from: moment,
            until: moment,
        }
    }

    /// Both.
    pub(crate) fn with(self, other: Phase) -> Phase {
        Phase {
            from: self.from.min(other.from),
            until: self.until.max(other.until),
        }
    }

    /// Whether the one began before the other had ended, either way.
    pub(crate) fn overlaps(self, other: Phase) -> bool {
        self.from <= other.until && other.from <= self.until
    }
}
