//! Runs of one command in a few figures.

/// Where runs lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub runs: usize,
    pub median: f64,
    pub mean: f64,
    /// The standard deviation of a sample; nothing for one run.
    pub deviation: f64,
    pub least: f64,
    pub most: f64,
    /// A quarter of the runs is below the first, a quarter above the second.
    pub quartiles: (f64, f64),
}

impl Summary {
    /// `None` for no runs.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (sorted.first()?, sorted.last()?);
        let runs = sorted.len();
        let mean = sorted.iter().sum::<f64>() / runs as f64;
        let squares: f64 = sorted.iter().map(|x| (x - mean).powi(2)).sum();
        Some(Summary {
            runs,
            median: quantile(&sorted, 0.5),
            mean,
            deviation: (squares / (runs.max(2) - 1) as f64).sqrt(),
            least: *first,
            most: *last,
            quartiles: (quantile(&sorted, 0.25), quantile(&sorted, 0.75)),
        })
    }
}

/// Of values in order, with what lies between two of them drawn as a line.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// The median of values in any order; nothing for none.
pub(crate) fn median(values: &[f64]) -> f64 {
    Summary::of(values).map_or(0.0, |summary| summary.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures are those that everybody computes.
    #[test]
    fn figures_of_runs() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0]).expect("runs");
        assert_eq!((summary.median, summary.mean), (2.5, 2.5));
        assert_eq!(summary.quartiles, (1.75, 3.25));
        assert!((summary.deviation - 1.290_994_448_7).abs() < 1e-9);
        assert_eq!(Summary::of(&[7.0]).expect("a run").deviation, 0.0);
        assert_eq!(Summary::of(&[]), None);
    }
}
