//! What an estimate allows to be said: changed, the same, or neither; and what a gate makes of it.

use crate::signed_rank::quantile;
use crate::{Estimate, Interval};

/// How often an effect of the smallest visible size is seen.
const POWER: f64 = 0.8;
/// More pairs than this are not promised: whatever is estimated so far away is no estimate.
const MOST_PAIRS: f64 = 10_000.0;

/// Of two commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The interval does not hold 1, and is not within the margin.
    Changed,
    /// The whole interval is within the margin.
    Same,
    /// Neither. About so many more pairs would tell; `None`: more than 10,000.
    Undecided { more: Option<usize> },
}

/// Whether a loss beyond the gate is proven, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    Lost,
    Passed,
    Undecided { more: Option<usize> },
}

/// `margin` is the share within which two commands count as the same: 0.02 for 2 %.
pub fn verdict(estimate: &Estimate, margin: f64) -> Verdict {
    let Some(interval) = estimate.interval else {
        return Verdict::Undecided {
            more: Some(fewest(estimate)),
        };
    };
    let margin = margin.max(0.0).ln_1p();
    if interval.lo.ln() >= -margin && interval.hi.ln() <= margin {
        return Verdict::Same;
    }
    if !interval.holds(1.0) {
        return Verdict::Changed;
    }
    let effect = estimate.ratio.ln().abs();
    Verdict::Undecided {
        more: more(estimate, &interval, effect.max(margin - effect)),
    }
}

/// `loss` is the share that is not to be lost: 0.05 for 5 %. The estimate has to be of a cost: less is better.
pub fn gate(estimate: &Estimate, loss: f64) -> Gate {
    let Some(interval) = estimate.interval else {
        return Gate::Undecided {
            more: Some(fewest(estimate)),
        };
    };
    let border = loss.max(0.0).ln_1p();
    if interval.lo.ln() > border {
        return Gate::Lost;
    }
    if interval.hi.ln() < border {
        return Gate::Passed;
    }
    let distance = (estimate.ratio.ln() - border).abs();
    Gate::Undecided {
        more: more(estimate, &interval, distance),
    }
}

/// The smallest ratio above 1 that would have been seen four times in five with so many pairs that scatter as these do.
pub fn smallest_visible(estimate: &Estimate) -> Option<f64> {
    let interval = estimate.interval?;
    Some((interval.half() * reach(estimate.alpha)).exp())
}

/// How far from its border an effect has to be, in halves of an interval, to be told so often.
fn reach(alpha: f64) -> f64 {
    let z = quantile(1.0 - alpha / 2.0);
    (z + quantile(POWER)) / z
}

/// Pairs that an interval at this level needs at least, beyond those that there are.
fn fewest(estimate: &Estimate) -> usize {
    let all = (1.0 - estimate.alpha.log2()).floor() as usize + 1;
    all.saturating_sub(estimate.pairs).max(1)
}

/// Pairs until a difference of this size from a border is told: the interval shrinks with the root of their number.
fn more(estimate: &Estimate, interval: &Interval, distance: f64) -> Option<usize> {
    let pairs = estimate.pairs as f64;
    let all = pairs * (interval.half() * reach(estimate.alpha) / distance).powi(2);
    // What is a hair from being decided is told as one more, not as none.
    (all < MOST_PAIRS).then(|| (all - pairs).ceil().max(1.0) as usize)
}
