//! Moments in time. A length of time is a plain number of nanoseconds; only moments have a type,
//! so that a moment is never added to a moment. How times are shown to people is not decided here.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// A moment, in nanoseconds since the start of the recording. Negative before it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub i64);

impl Nanos {
    /// The start of the recording.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than any moment of a recording.
    pub const MAX: Nanos = Nanos(i64::MAX);

    /// How long after `earlier` this is, in nanoseconds; 0 if it is not after it.
    pub fn since(self, earlier: Nanos) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

/// The signed distance between two moments. It saturates: moments that came from a damaged
/// recording must not be able to overflow.
impl Sub for Nanos {
    type Output = i64;
    fn sub(self, earlier: Nanos) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<i64> for Nanos {
    type Output = Nanos;
    fn add(self, ns: i64) -> Nanos {
        Nanos(self.0.saturating_add(ns))
    }
}

impl AddAssign<i64> for Nanos {
    fn add_assign(&mut self, ns: i64) {
        *self = *self + ns;
    }
}

impl Sub<i64> for Nanos {
    type Output = Nanos;
    fn sub(self, ns: i64) -> Nanos {
        Nanos(self.0.saturating_sub(ns))
    }
}

impl SubAssign<i64> for Nanos {
    fn sub_assign(&mut self, ns: i64) {
        *self = *self - ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments far apart do not overflow, and `since` never goes below zero.
    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Nanos(i64::MAX) - Nanos(i64::MIN), i64::MAX);
        assert_eq!(Nanos(5).since(Nanos(7)), 0);
        assert_eq!(Nanos(7).since(Nanos(5)), 2);
        assert_eq!(Nanos(7) + 3 - 1, Nanos(9));
    }
}
