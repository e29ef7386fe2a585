//! Looking more than once, honestly. Who looks after every pair and stops at p < 0.05 is wrong one time in four. Here the
//! moments to look are set before the start, and at each the same, stricter level holds (Pocock, 1977), so that all looks together
//! are wrong as seldom as one would be. Pocock's table is for looks at equal distances; these double, so the level is
//! computed for the looks that there are (Armitage, McPherson and Rowe, 1969): the density of the sum of what has been seen
//! is carried from look to look, without the part that crossed the border.

use crate::signed_rank::{below, quantile};

/// Points of the density between the borders; with 101 the level is right to four digits (compared with 401).
const POINTS: usize = 101;
/// The first look, in pairs: an interval at these levels needs eight.
const FIRST: usize = 10;

/// When to look if there are to be at most so many pairs: at the end, and before that at halves of it.
pub fn doubling(most: usize) -> Vec<usize> {
    let mut looks = vec![most];
    let mut next = most / 2;
    while next >= FIRST {
        looks.push(next);
        next /= 2;
    }
    looks.reverse();
    looks
}

/// The two-sided level of each look with which all of them together have the level `alpha`.
pub fn per_look(looks: &[usize], alpha: f64) -> f64 {
    if looks.len() < 2 {
        return alpha;
    }
    // Between no correction and Bonferroni's.
    let (mut low, mut high) = (
        quantile(1.0 - alpha / 2.0),
        quantile(1.0 - alpha / (2.0 * looks.len() as f64)),
    );
    for _ in 0..30 {
        let middle = (low + high) / 2.0;
        match crossed(looks, middle) > alpha {
            true => low = middle,
            false => high = middle,
        }
    }
    2.0 * below(-high)
}

/// How likely the border is crossed at any look, if there is nothing to see.
fn crossed(looks: &[usize], border: f64) -> f64 {
    let mut density: Vec<(f64, f64)> = Vec::new();
    let mut before = 0.0;
    let mut within = 1.0;
    for &look in looks {
        let pairs = look as f64;
        let edge = border * pairs.sqrt();
        let spread = (pairs - before).sqrt();
        let step = 2.0 * edge / (POINTS - 1) as f64;
        let points = (0..POINTS).map(|at| {
            let sum = -edge + step * at as f64;
            let arrives = |from: f64| {
                let z = (sum - from) / spread;
                (-z * z / 2.0).exp() / (spread * (2.0 * std::f64::consts::PI).sqrt())
            };
            let height = match before == 0.0 {
                true => arrives(0.0),
                false => density
                    .iter()
                    .map(|(from, weight)| weight * arrives(*from))
                    .sum(),
            };
            (sum, height * step * simpson(at))
        });
        density = points.collect();
        within = density.iter().map(|(_, weight)| weight).sum();
        before = pairs;
    }
    1.0 - within
}

/// The weight of a point in Simpson's rule.
fn simpson(at: usize) -> f64 {
    match at {
        0 => 1.0 / 3.0,
        at if at == POINTS - 1 => 1.0 / 3.0,
        at if at % 2 == 1 => 4.0 / 3.0,
        _ => 2.0 / 3.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At equal distances the levels are those of Pocock's table.
    #[test]
    fn levels_are_those_of_pocock() {
        for (looks, level) in [(2, 0.0294), (3, 0.0221), (4, 0.0182), (5, 0.0158)] {
            let looks: Vec<usize> = (1..=looks).map(|look| look * 20).collect();
            let ours = per_look(&looks, 0.05);
            assert!((ours - level).abs() < 0.0001, "{looks:?}: {ours}");
        }
        assert_eq!(per_look(&[30], 0.05), 0.05);
    }

    /// Looks that double know less of each other than looks at equal distances, so their level is stricter; Bonferroni's is
    /// stricter still.
    #[test]
    fn looks_that_double_are_stricter() {
        assert_eq!(doubling(80), [10, 20, 40, 80]);
        assert_eq!(doubling(15), [15]);
        let level = per_look(&doubling(80), 0.05);
        assert!((0.0125..0.0182).contains(&level), "{level}");
    }
}
