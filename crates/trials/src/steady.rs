//! Whether runs are of one kind: slow ones at the start (warm-up), and a level that changes on the way.

use crate::summary::median;

/// How unlikely by chance what is told here has to be.
const ALPHA: f64 = 0.01;
/// The first run alone is told from so many median deviations on: of normal runs, one in 2,700 is as slow.
const FAR: f64 = 5.0;
/// Median deviations are taken to be no less than this share: of figures that are all alike, a hair more is not far.
const LEAST: f64 = 0.01;
/// One run in so many may belong to the start.
const START: usize = 4;
/// Smaller shifts are not worth a sentence.
const SHIFT: f64 = 0.05;

/// The level of a series changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The first run of the new level.
    pub at: usize,
    /// The new level as a multiple of the old.
    pub ratio: f64,
    pub p: f64,
}

/// How many runs at the start are slower than all the others, and not by chance: of n runs, the first k are the k slowest
/// one time in n over k. The first alone has to be far out, besides. More than a quarter of the runs is no start.
pub fn slow_start(values: &[f64]) -> usize {
    let most = values.len() / START;
    let mut found = 0;
    while let Some(more) = (1..=most - found).find(|k| starts_slow(&values[found..], *k)) {
        found += more;
    }
    found
}

fn starts_slow(values: &[f64], k: usize) -> bool {
    let (start, rest) = values.split_at(k);
    let slowest = rest.iter().copied().fold(0.0, f64::max);
    if !start.iter().all(|value| *value > slowest) {
        return false;
    }
    if k > 1 {
        return 1.0 / over(values.len(), k) < ALPHA;
    }
    let middle = median(rest);
    let deviations: Vec<f64> = rest.iter().map(|value| (value - middle).abs()).collect();
    start[0] - middle > FAR * median(&deviations).max(LEAST * middle)
}

/// How many ways there are to choose k of n.
fn over(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product()
}

/// Where the level of a series of positive figures changed, if it did (Pettitt's test, 1979).
pub fn shift(values: &[f64]) -> Option<Shift> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mut sum = 0.0;
    let (mut at, mut largest) = (0, 0.0);
    for split in 1..n {
        let one = values[split - 1];
        // What one value more on the left adds: all others are held against it.
        sum += values.iter().map(|other| sign(other - one)).sum::<f64>();
        if sum.abs() > largest {
            (at, largest) = (split, sum.abs());
        }
    }
    let n = n as f64;
    let p = (2.0 * (-6.0 * largest * largest / (n * n * n + n * n)).exp()).min(1.0);
    let ratio = median(&values[at..]) / median(&values[..at]);
    let is_told = at > 0
        && p < ALPHA
        && ratio.is_finite()
        && ratio > 0.0
        && ratio.ln().abs() >= SHIFT.ln_1p();
    is_told.then_some(Shift { at, ratio, p })
}

fn sign(difference: f64) -> f64 {
    match difference {
        d if d > 0.0 => 1.0,
        d if d < 0.0 => -1.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    fn steady(random: &mut Rng, n: usize) -> Vec<f64> {
        (0..n).map(|_| 1.0 + 0.1 * random.f64()).collect()
    }

    /// Slow first runs are found, one or several; of steady ones seldom any.
    #[test]
    fn a_slow_start_is_found() {
        let mut random = Rng::with_seed(3);
        let mut wrong = 0;
        for _ in 0..1000 {
            let mut runs = steady(&mut random, 30);
            wrong += usize::from(slow_start(&runs) > 0);
            runs[0] = 2.0;
            wrong += usize::from(slow_start(&runs) != 1);
            runs[1] = 1.5;
            runs[2] = 1.3;
            wrong += usize::from(slow_start(&runs) != 3);
        }
        assert!(wrong <= 45, "{wrong} of 3000");
        assert_eq!(slow_start(&[]), 0);
        assert_eq!(slow_start(&[1.04, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 0);
        assert_eq!(slow_start(&[3.0, 1.0, 1.0]), 0);
    }

    /// A level that changes half way is found where it changed; of steady runs seldom any.
    #[test]
    fn a_shift_is_found() {
        let mut random = Rng::with_seed(5);
        let mut wrong = 0;
        for _ in 0..1000 {
            let mut runs = steady(&mut random, 30);
            wrong += usize::from(shift(&runs).is_some());
            runs[14..].iter_mut().for_each(|run| *run *= 1.5);
            let found = shift(&runs).expect("a shift");
            assert!((13..=15).contains(&found.at), "{found:?}");
            assert!((1.4..1.6).contains(&found.ratio), "{found:?}");
        }
        assert!(wrong <= 15, "{wrong} of 1000");
        assert_eq!(shift(&[1.0]), None);
    }
}
