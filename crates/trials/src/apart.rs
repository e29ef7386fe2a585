//! The ratio of two commands from runs that were not made in turn: the Hodges-Lehmann median of all logarithms of ratios, with
//! the interval that inverts the Mann-Whitney test. What the machine did otherwise in the meantime is in the ratio, too:
//! runs in rounds say more.

use crate::paired::Interval;
use crate::summary::median;
use crate::Gate;

/// B as a multiple of A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    pub ratio: f64,
    /// `None`: too few runs for any at this level (four and four are enough at 5 %).
    pub interval: Option<Interval>,
}

impl Apart {
    /// `None` where there is no ratio: no runs, or figures that are not above nothing.
    pub fn of(a: &[f64], b: &[f64], alpha: f64) -> Option<Apart> {
        let is_figure = |x: &f64| x.is_finite() && *x > 0.0;
        if a.is_empty() || b.is_empty() || !a.iter().chain(b).all(is_figure) {
            return None;
        }
        let mut differences: Vec<f64> = Vec::with_capacity(a.len() * b.len());
        for one in a {
            differences.extend(b.iter().map(|other| (other / one).ln()));
        }
        differences.sort_unstable_by(f64::total_cmp);
        let interval = critical(a.len(), b.len(), alpha).map(|place| Interval {
            lo: differences[place - 1].exp(),
            hi: differences[differences.len() - place].exp(),
        });
        Some(Apart {
            ratio: median(&differences).exp(),
            interval,
        })
    }

    /// Whether a loss beyond `loss` (0.05 for 5 %) of a cost is proven, or that there is none. How many more runs would tell is not
    /// known: their machine was another one.
    pub fn gate(&self, loss: f64) -> Gate {
        let border = 1.0 + loss.max(0.0);
        match self.interval {
            Some(interval) if interval.lo > border => Gate::Lost,
            Some(interval) if interval.hi < border => Gate::Passed,
            _ => Gate::Undecided { more: None },
        }
    }
}

/// The place, from 1, of the difference at which the interval begins: the most that leaves no more than half of `alpha` below
/// it. `None`: even the first leaves more.
fn critical(m: usize, n: usize, alpha: f64) -> Option<usize> {
    let ways = ways(m, n);
    let all: f64 = ways.iter().sum();
    let mut below = 0.0;
    let fit = ways.iter().take_while(|ways| {
        below += **ways;
        below / all <= alpha / 2.0
    });
    Some(fit.count()).filter(|places| *places > 0)
}

/// In how many orders of `m` and `n` runs each number of pairs has B below A, if nothing is different.
fn ways(m: usize, n: usize) -> Vec<f64> {
    // With so many of A: for each number of runs of B.
    let mut with: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for more in 1..=m {
        let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
        for runs in 1..=n {
            // The last of the order is one of A, which `runs` of B are below, or one of B.
            let mut sum = vec![0.0; more * runs + 1];
            for (at, ways) in with[runs].iter().enumerate() {
                sum[at + runs] += ways;
            }
            for (at, ways) in next[runs - 1].iter().enumerate() {
                sum[at] += ways;
            }
            next.push(sum);
        }
        with = next;
    }
    with.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As tables of the test have it: the most that U may be for a two-sided level of 5 %, plus one.
    #[test]
    fn places_are_those_of_the_tables() {
        for (m, n, most) in [(4, 4, 0), (5, 5, 2), (6, 8, 8), (10, 10, 23), (20, 20, 127)] {
            assert_eq!(critical(m, n, 0.05), Some(most + 1), "{m} and {n}");
        }
        assert_eq!(critical(3, 3, 0.05), None);
        assert_eq!(critical(0, 5, 0.05), None);
    }

    #[test]
    fn all_orders_are_counted_once() {
        assert_eq!(ways(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        assert_eq!(ways(5, 5).iter().sum::<f64>(), 252.0);
    }

    /// Twice as long is twice as long, whatever scatters, and one run astray moves nothing.
    #[test]
    fn a_ratio_is_found() {
        let a = [1.0, 1.1, 1.05, 0.95, 1.02, 0.98, 1.01, 30.0];
        let b: Vec<f64> = a.iter().rev().map(|x| x * 2.0).collect();
        let found = Apart::of(&a, &b, 0.05).expect("figures");
        let interval = found.interval.expect("enough runs");
        assert!((found.ratio - 2.0).abs() < 0.1, "{found:?}");
        assert!(interval.holds(2.0) && !interval.holds(1.5), "{found:?}");
        assert_eq!(Apart::of(&[], &b, 0.05), None);
        assert_eq!(Apart::of(&[0.0], &b, 0.05), None);
        assert_eq!(
            (found.gate(0.05), found.gate(1.5)),
            (Gate::Lost, Gate::Passed)
        );
        assert_eq!(found.gate(1.0), Gate::Undecided { more: None });
        let one = Apart::of(&[1.0], &[3.0], 0.05).expect("figures");
        assert_eq!(one.gate(0.05), Gate::Undecided { more: None });
        assert!((one.ratio - 3.0).abs() < 1e-9 && one.interval.is_none());
    }
}
