//! Several recordings of each side: how far those of one side lie apart, beside how far the sides do.

/// From the smallest to the largest of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub lo_ns: u64,
    pub hi_ns: u64,
    pub recordings: usize,
}

impl Range {
    pub(crate) fn of(values: impl Iterator<Item = u64>) -> Range {
        let mut range = Range {
            lo_ns: u64::MAX,
            hi_ns: 0,
            recordings: 0,
        };
        for value in values {
            range.lo_ns = range.lo_ns.min(value);
            range.hi_ns = range.hi_ns.max(value);
            range.recordings += 1;
        }
        range.lo_ns = range.lo_ns.min(range.hi_ns);
        range
    }

    /// Whether the sides are no further apart than the recordings of a side may be. One recording of each says nothing of that.
    pub fn overlaps(&self, other: &Range) -> bool {
        let several = self.recordings > 1 || other.recordings > 1;
        several && self.lo_ns <= other.hi_ns && other.lo_ns <= self.hi_ns
    }
}

/// The recording in the middle by its wall time; of two, the shorter one.
pub fn middle(walls: &[u64]) -> usize {
    let mut order: Vec<usize> = (0..walls.len()).collect();
    order.sort_by_key(|&at| (walls[at], at));
    order
        .get(order.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sides that overlap are not called different; one recording a side is no spread.
    #[test]
    fn overlap() {
        let range = |values: &[u64]| Range::of(values.iter().copied());
        assert!(range(&[10, 12, 14]).overlaps(&range(&[13, 16])));
        assert!(!range(&[10, 12]).overlaps(&range(&[13, 16])));
        assert!(!range(&[10]).overlaps(&range(&[10])));
        assert!(range(&[10]).overlaps(&range(&[9, 11])));
        assert_eq!(middle(&[30, 10, 20]), 2);
        assert_eq!(middle(&[30, 10]), 1);
    }
}
