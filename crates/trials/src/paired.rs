//! The ratio of two commands, from runs of the same rounds: the Hodges-Lehmann median of the logarithms of the ratios, with
//! the interval that inverts Wilcoxon's signed-rank test. A few runs that went astray move neither.

use crate::signed_rank;

/// B as a multiple of A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub ratio: f64,
    /// `None`: too few pairs for any at this level (six are needed at 5 %).
    pub interval: Option<Interval>,
    pub pairs: usize,
    /// How likely the interval misses the truth.
    pub alpha: f64,
    /// The two-sided p value that the ratio is 1.
    pub p: f64,
}

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub lo: f64,
    pub hi: f64,
}

impl Interval {
    /// Half its width, as a logarithm.
    pub(crate) fn half(&self) -> f64 {
        (self.hi.ln() - self.lo.ln()) / 2.0
    }

    pub fn holds(&self, ratio: f64) -> bool {
        (self.lo..=self.hi).contains(&ratio)
    }
}

impl Estimate {
    /// Of pairs of a run of A and one of B in the same round. `None` where there is no ratio: no pairs, or figures that are
    /// not above nothing.
    pub fn of(pairs: &[(f64, f64)], alpha: f64) -> Option<Estimate> {
        let is_figure = |x: f64| x.is_finite() && x > 0.0;
        if pairs.is_empty() || !pairs.iter().all(|(a, b)| is_figure(*a) && is_figure(*b)) {
            return None;
        }
        let differences: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
        let n = differences.len();
        let mut walsh = Vec::with_capacity(n * (n + 1) / 2);
        for (at, one) in differences.iter().enumerate() {
            walsh.extend(differences[at..].iter().map(|other| (one + other) / 2.0));
        }
        walsh.sort_unstable_by(f64::total_cmp);
        let half = walsh.len() / 2;
        let middle = match walsh.len() % 2 {
            1 => walsh[half],
            _ => (walsh[half - 1] + walsh[half]) / 2.0,
        };
        let interval = signed_rank::critical(n, alpha).map(|place| Interval {
            lo: walsh[place - 1].exp(),
            hi: walsh[walsh.len() - place].exp(),
        });
        Some(Estimate {
            ratio: middle.exp(),
            interval,
            pairs: n,
            alpha,
            p: signed_rank::p_value(&differences),
        })
    }

    /// The same with A and B changed over.
    pub fn inverse(&self) -> Estimate {
        Estimate {
            ratio: 1.0 / self.ratio,
            interval: self.interval.map(|one| Interval {
                lo: 1.0 / one.hi,
                hi: 1.0 / one.lo,
            }),
            ..*self
        }
    }
}
