//! Verdicts on drawn samples: how often they are wrong, and how often they see what is there.

use fastrand::Rng;

use super::*;

const ALPHA: f64 = 0.05;

/// About normal: the sum of twelve.
fn normal(random: &mut Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

/// Runs on a machine that is slow for a while now and then, with some that went astray: what a round has in common is as
/// large as what tells two runs of it apart.
fn pairs(random: &mut Rng, n: usize, scatter: f64, effect: f64) -> Vec<(f64, f64)> {
    let mut machine = 0.0;
    let pairs = (0..n).map(|_| {
        machine = 0.7 * machine + 0.1 * normal(random);
        let mut run = || {
            let astray = if random.f64() < 0.05 { 0.5 } else { 0.0 };
            (machine + scatter * normal(random) + astray).exp()
        };
        (run(), run() * effect)
    });
    pairs.collect()
}

fn shares(n: usize, scatter: f64, effect: f64, margin: f64) -> (f64, f64) {
    const COMPARISONS: usize = 2000;
    let mut random = Rng::with_seed(11);
    let (mut changed, mut same) = (0, 0);
    for _ in 0..COMPARISONS {
        let pairs = pairs(&mut random, n, scatter, effect);
        let estimate = Estimate::of(&pairs, ALPHA).expect("a ratio");
        match verdict(&estimate, margin) {
            Verdict::Changed => changed += 1,
            Verdict::Same => same += 1,
            Verdict::Undecided { .. } => {}
        }
    }
    let share = |count: usize| count as f64 / COMPARISONS as f64;
    (share(changed), share(same))
}

/// Two commands that are the same are told as different one time in twenty.
#[test]
fn false_verdicts_are_as_often_as_said() {
    for n in [10, 30, 80, 110] {
        let (changed, _) = shares(n, 0.05, 1.0, 0.0);
        assert!((0.03..0.065).contains(&changed), "{n} pairs: {changed}");
    }
}

/// Five percent more are seen in 80 pairs that scatter by 5 %, and seldom taken for the same.
#[test]
fn what_is_there_is_seen() {
    let (changed, same) = shares(80, 0.05, 1.05, 0.02);
    assert!(changed > 0.95, "{changed}");
    assert_eq!(same, 0.0);
}

/// With little scatter two commands that are the same are told so.
#[test]
fn sameness_is_proven() {
    let (changed, same) = shares(80, 0.02, 1.0, 0.02);
    assert!(same > 0.95 && changed < 0.01, "{same} {changed}");
}

/// All looks together are wrong as often as one would be; looking after every second pair at the usual level is wrong
/// far more often.
#[test]
fn looking_often_is_paid_for() {
    let looks = doubling(80);
    let level = per_look(&looks, ALPHA);
    let every: Vec<usize> = (10..=80).step_by(2).collect();
    let mut random = Rng::with_seed(2);
    let (mut honest, mut greedy) = (0, 0);
    const COMPARISONS: usize = 600;
    for _ in 0..COMPARISONS {
        let pairs = pairs(&mut random, 80, 0.05, 1.0);
        let found = |looks: &[usize], alpha: f64| {
            looks.iter().any(|look| {
                let estimate = Estimate::of(&pairs[..*look], alpha).expect("a ratio");
                estimate.interval.is_some_and(|one| !one.holds(1.0))
            })
        };
        honest += usize::from(found(&looks, level));
        greedy += usize::from(found(&every, ALPHA));
    }
    let share = |count: usize| count as f64 / COMPARISONS as f64;
    assert!(share(honest) < 0.07, "{}", share(honest));
    assert!(share(greedy) > 0.15, "{}", share(greedy));
}

/// The gate lets through what is the same, stops what is twice as slow as allowed, and never without proof.
#[test]
fn the_gate_needs_proof() {
    let mut random = Rng::with_seed(4);
    let mut stopped = 0;
    for _ in 0..1000 {
        let same = Estimate::of(&pairs(&mut random, 30, 0.05, 1.0), ALPHA).expect("a ratio");
        stopped += usize::from(gate(&same, 0.05) == Gate::Lost);
    }
    assert!(stopped <= 2, "{stopped} of 1000");
    let slower = Estimate::of(&pairs(&mut random, 80, 0.02, 1.10), ALPHA).expect("a ratio");
    assert_eq!(gate(&slower, 0.05), Gate::Lost);
    assert_eq!(gate(&slower.inverse(), 0.05), Gate::Passed);
    let few = Estimate::of(&pairs(&mut random, 4, 0.02, 2.0), ALPHA).expect("a ratio");
    assert_eq!(gate(&few, 0.05), Gate::Undecided { more: Some(2) });
    assert_eq!(verdict(&few, 0.02), Verdict::Undecided { more: Some(2) });
}

/// What is undecided says how many pairs are missing: about as many as then decide it.
#[test]
fn how_many_more() {
    let mut random = Rng::with_seed(8);
    let undecided = std::iter::repeat_with(|| {
        let pairs = pairs(&mut random, 20, 0.05, 1.02);
        Estimate::of(&pairs, ALPHA).expect("a ratio")
    });
    let mut asked: Vec<usize> = Vec::new();
    for estimate in undecided.take(200) {
        if let Verdict::Undecided { more: Some(more) } = verdict(&estimate, 0.01) {
            asked.push(more);
            let visible = smallest_visible(&estimate).expect("an interval");
            assert!(visible > 1.02, "{visible}");
        }
    }
    asked.sort_unstable();
    let middle = asked[asked.len() / 2];
    assert!((20..800).contains(&middle), "{middle}");
}

/// Figures that have no ratio have none, and equal ones have an interval of no width.
#[test]
fn what_has_no_ratio() {
    assert_eq!(Estimate::of(&[], ALPHA), None);
    assert_eq!(Estimate::of(&[(0.0, 1.0)], ALPHA), None);
    let equal = Estimate::of(&[(2.0, 2.0); 10], ALPHA).expect("a ratio");
    assert_eq!(verdict(&equal, 0.0), Verdict::Same);
    assert_eq!((equal.ratio, equal.p), (1.0, 1.0));
}
