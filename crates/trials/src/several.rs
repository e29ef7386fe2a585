//! Several figures at once: of twenty that did not change, one does by chance. P values adjusted by Benjamini and Hochberg,
//! so that of those told as changed the wanted share at most is wrong.

/// The adjusted values, in the order given: those up to 0.05 stand.
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    let mut all = vec![1.0; p.len()];
    let mut least: f64 = 1.0;
    for (larger, &at) in order.iter().enumerate() {
        let rank = p.len() - larger;
        least = least.min(p[at] * p.len() as f64 / rank as f64);
        all[at] = least;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As R's p.adjust(method = "BH") and SciPy's false_discovery_control have it.
    #[test]
    fn as_others_adjust() {
        let ours = adjusted(&[0.01, 0.04, 0.03, 0.005]);
        let wanted = [0.02, 0.04, 0.04, 0.02];
        assert!(
            ours.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12),
            "{ours:?}"
        );
        assert!(adjusted(&[]).is_empty());
    }
}
