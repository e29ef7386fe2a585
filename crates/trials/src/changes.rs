//! Where the level of a history of figures changed: candidates, no more. Energy statistics with a permutation test (E-divisive;
//! Matteson and James, 2014) on logarithms, in which a figure astray is no further than three deviations from its neighbours: the
//! best place of all, then the best of each side, until none is left that chance would not make. Figures of one machine are alike for days and then
//! are not, so a history in which nothing changed has more candidates than the level says: whoever reports a change has to measure
//! both sides again.

use fastrand::Rng;

use crate::summary::median;

/// How unlikely by chance the best place of a stretch has to be.
const ALPHA: f64 = 0.05;
/// Orders that are drawn to say so.
const ORDERS: usize = 999;
/// No figure is further from the median of its neighbours than so many deviations: of the normal distribution, one in 370 is.
/// From that of all figures a large step would be as far as a small one, and neither be found where it is.
const FAR: f64 = 3.0;
/// The median distance of neighbours, as a multiple of the deviation, if they are about normal.
const NEIGHBOURS: f64 = 0.954;
/// Figures on either side of a change: a single one may be astray.
const FEWEST: usize = 2;
/// Smaller changes are not worth measuring again.
const LEAST: f64 = 0.01;
/// The same history has the same candidates.
const SEED: u64 = 17;

/// A place where the level changed, perhaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The first figure of the new level.
    pub at: usize,
    /// The median after it as a multiple of that before it, each up to the next such place.
    pub ratio: f64,
    /// How often figures in a random order have a place as good.
    pub p: f64,
}

/// The best place of a stretch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub at: usize,
    /// The energy statistic of what is before it and what follows.
    pub statistic: f64,
    /// How often figures in a random order have a place as good; at least, where that is too often.
    pub p: f64,
}

/// Candidates in a history of figures above nothing, in order. Others are taken for no history.
pub fn changes(values: &[f64]) -> Vec<Change> {
    if !are_figures(values) {
        return Vec::new();
    }
    let mut random = Rng::with_seed(SEED);
    let mut found: Vec<(usize, f64)> = Vec::new();
    let mut stretches = vec![(0, values.len())];
    while let Some((from, to)) = stretches.pop() {
        let place = tested(&values[from..to], &mut random);
        if let Some(place) = place.filter(|place| place.p <= ALPHA) {
            let at = from + place.at;
            found.push((at, place.p));
            stretches.extend([(at, to), (from, at)]);
        }
    }
    found.sort_unstable_by_key(|(at, _)| *at);
    worth_telling(values, found)
}

/// The best place to cut a history of figures in two; `None` where there are too few.
pub fn best_place(values: &[f64]) -> Option<Place> {
    let best = are_figures(values).then(|| tested(values, &mut Rng::with_seed(SEED)));
    best.flatten()
}

fn are_figures(values: &[f64]) -> bool {
    values.iter().all(|x| x.is_finite() && *x > 0.0)
}

/// Without the places that hardly change anything, the least first: what is before and after them is one level then.
fn worth_telling(values: &[f64], mut found: Vec<(usize, f64)>) -> Vec<Change> {
    loop {
        let ends: Vec<usize> = found.iter().map(|(at, _)| *at).collect();
        let step = |number: usize| {
            let from = if number == 0 { 0 } else { ends[number - 1] };
            let to = ends.get(number + 1).copied().unwrap_or(values.len());
            let at = ends[number];
            (median(&values[at..to]) / median(&values[from..at])).ln()
        };
        let steps: Vec<f64> = (0..found.len()).map(step).collect();
        let least = (0..steps.len()).min_by(|a, b| steps[*a].abs().total_cmp(&steps[*b].abs()));
        match least.filter(|least| steps[*least].abs() < LEAST.ln_1p()) {
            Some(least) => found.remove(least),
            None => {
                let told = found.into_iter().zip(steps);
                let change = |((at, p), step): ((usize, f64), f64)| Change {
                    at,
                    ratio: step.exp(),
                    p,
                };
                return told.map(change).collect();
            }
        };
    }
}

/// The best place, and how likely chance makes one as good.
fn tested(values: &[f64], random: &mut Rng) -> Option<Place> {
    let mut stretch = Stretch::of(values)?;
    let (at, statistic) = stretch.best();
    // Equal sums in another order differ in their last digits.
    let as_good = statistic * (1.0 - 1e-9);
    let too_many = (ALPHA * (ORDERS + 1) as f64) as usize;
    let (mut drawn, mut found) = (0, 0);
    while drawn < ORDERS && found < too_many {
        random.shuffle(&mut stretch.order);
        drawn += 1;
        found += usize::from(stretch.best().1 >= as_good);
    }
    Some(Place {
        at,
        statistic,
        p: (found + 1) as f64 / (drawn + 1) as f64,
    })
}

/// The logarithms of figures, as far as each is to count.
fn weighed(values: &[f64]) -> Vec<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let middle = median(&logarithms);
    let steps: Vec<f64> = logarithms
        .windows(2)
        .map(|two| (two[1] - two[0]).abs())
        .collect();
    let most = match median(&steps) / NEIGHBOURS * FAR {
        // Most figures are equal to their neighbours.
        0.0 => f64::INFINITY,
        most => most,
    };
    let near = logarithms.iter().enumerate().map(|(at, value)| {
        let around = around(&logarithms, at);
        // Sums of figures near nothing lose fewer digits.
        value.clamp(around - most, around + most) - middle
    });
    near.collect()
}

/// The median of the five figures around one, at the ends of three. A level of its own is two figures there, as everywhere.
fn around(values: &[f64], at: usize) -> f64 {
    let n = values.len();
    let (from, to) = match at {
        0 | 1 => (0, 3),
        at if at + 2 >= n => (n.saturating_sub(3), n),
        at => (at - 2, at + 3),
    };
    median(&values[from..to.min(n)])
}

/// Figures in an order that can be changed.
struct Stretch {
    /// From the least to the most.
    sorted: Vec<f64>,
    /// Of each of these: the sum of its distances from all.
    distances: Vec<f64>,
    /// Half the sum of them: each pair once.
    all: f64,
    /// For each place of the order, which of the sorted ones is there.
    order: Vec<usize>,
}

impl Stretch {
    fn of(values: &[f64]) -> Option<Stretch> {
        if values.len() < 2 * FEWEST {
            return None;
        }
        let values = weighed(values);
        let mut places: Vec<usize> = (0..values.len()).collect();
        places.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let mut order = vec![0; values.len()];
        for (number, place) in places.iter().enumerate() {
            order[*place] = number;
        }
        let sorted: Vec<f64> = places.iter().map(|place| values[*place]).collect();
        let sum: f64 = sorted.iter().sum();
        let mut below = 0.0;
        let distances = sorted.iter().enumerate().map(|(number, value)| {
            let (fewer, more) = (number as f64, (sorted.len() - number) as f64);
            let distance = value * fewer - below + (sum - below) - value * more;
            below += value;
            distance
        });
        let distances: Vec<f64> = distances.collect();
        Some(Stretch {
            all: distances.iter().sum::<f64>() / 2.0,
            sorted,
            distances,
            order,
        })
    }

    /// The place with the largest statistic.
    fn best(&self) -> (usize, f64) {
        let n = self.order.len();
        let mut left = Below::of(n);
        let (mut within_left, mut from_left) = (0.0, 0.0);
        let mut best = (FEWEST, f64::NEG_INFINITY);
        for (place, &number) in self.order.iter().enumerate() {
            let value = self.sorted[number];
            within_left += left.distance(number, value);
            left.add(number, value);
            from_left += self.distances[number];
            let (before, after) = (place + 1, n - place - 1);
            if before < FEWEST || after < FEWEST {
                continue;
            }
            let between = from_left - 2.0 * within_left;
            let within_right = self.all - within_left - between;
            let (l, r) = (before as f64, after as f64);
            let energy = 2.0 * between / (l * r)
                - 2.0 * within_left / (l * l)
                - 2.0 * within_right / (r * r);
            let statistic = l * r / (l + r) * energy;
            if statistic > best.1 {
                best = (before, statistic);
            }
        }
        best
    }
}

/// Of those added so far: how many come before a number in the order of size, and their sum (a binary indexed tree).
struct Below {
    nodes: Vec<(f64, f64)>,
    all: (f64, f64),
}

impl Below {
    fn of(numbers: usize) -> Below {
        Below {
            nodes: vec![(0.0, 0.0); numbers + 1],
            all: (0.0, 0.0),
        }
    }

    fn add(&mut self, number: usize, value: f64) {
        let mut node = number + 1;
        while node < self.nodes.len() {
            self.nodes[node].0 += 1.0;
            self.nodes[node].1 += value;
            node += node & node.wrapping_neg();
        }
        self.all.0 += 1.0;
        self.all.1 += value;
    }

    /// The sum of the distances of one from all that were added.
    fn distance(&self, number: usize, value: f64) -> f64 {
        let (mut count, mut sum) = (0.0, 0.0);
        let mut node = number;
        while node > 0 {
            count += self.nodes[node].0;
            sum += self.nodes[node].1;
            node &= node - 1;
        }
        let (more, above) = (self.all.0 - count, self.all.1 - sum);
        value * count - sum + above - value * more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// About normal: the sum of twelve.
    fn normal(random: &mut Rng) -> f64 {
        (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
    }

    fn steady(random: &mut Rng, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| (0.02 * normal(random)).exp() * 0.1)
            .collect()
    }

    /// The statistic as its definition has it.
    fn defined(values: &[f64], at: usize) -> f64 {
        let values = weighed(values);
        let mean = |one: &[f64], other: &[f64]| {
            let sum: f64 = one
                .iter()
                .flat_map(|a| other.iter().map(move |b| (a - b).abs()))
                .sum();
            sum / (one.len() * other.len()) as f64
        };
        let (left, right) = values.split_at(at);
        let (l, r) = (left.len() as f64, right.len() as f64);
        l * r / (l + r) * (2.0 * mean(left, right) - mean(left, left) - mean(right, right))
    }

    #[test]
    fn the_best_place_is_that_of_the_definition() {
        let mut random = Rng::with_seed(3);
        for count in 4..40 {
            let mut values = steady(&mut random, count);
            // Some figures are equal to each other.
            values[count / 2] = values[0];
            let best = best_place(&values).expect("enough");
            let all = (FEWEST..=count - FEWEST).map(|at| defined(&values, at));
            let most = all.fold(f64::NEG_INFINITY, f64::max);
            assert!((best.statistic - most).abs() < 1e-9, "{count}: {best:?}");
            assert!((defined(&values, best.at) - most).abs() < 1e-9, "{count}");
        }
    }

    /// Changes are found where they are, up and down again; one figure astray is none.
    #[test]
    fn changes_are_found() {
        let mut random = Rng::with_seed(5);
        let (mut missed, mut astray, mut more) = (0, 0, 0);
        for _ in 0..200 {
            let mut values = steady(&mut random, 60);
            values[20..40].iter_mut().for_each(|value| *value *= 1.1);
            values[7] *= 3.0;
            let found = changes(&values);
            let near = |at: usize| found.iter().any(|one| one.at.abs_diff(at) <= 1);
            missed += usize::from(!near(20) || !near(40));
            astray += usize::from(found.iter().any(|one| (7..=8).contains(&one.at)));
            more += found.len().saturating_sub(2);
        }
        let told = format!("of 200: {missed} missed, {astray} astray, {more} more");
        assert!(missed <= 4 && astray <= 6 && more <= 60, "{told}");
    }

    /// Two steps are found, each in its place, also where one is many times the other: 40 % after four results, and six times after
    /// eight, were taken for one step in the middle.
    #[test]
    fn steps_of_very_different_size_are_found_where_they_are() {
        let measured = [
            24.0, 23.9, 24.07, 23.26, 33.8, 33.1, 34.66, 35.07, 205.7, 205.0, 204.9, 204.1,
        ];
        let places = |values: &[f64]| -> Vec<usize> {
            let found = changes(values);
            found.iter().map(|one| one.at).collect()
        };
        assert_eq!(places(&measured), [4, 8]);
        let backwards: Vec<f64> = measured.iter().rev().copied().collect();
        assert_eq!(places(&backwards), [4, 8]);
        let mut random = Rng::with_seed(11);
        let mut missed = 0;
        for (first, second) in [(1.2, 20.0), (20.0, 1.2), (0.8, 9.0), (9.0, 0.1)] {
            for _ in 0..50 {
                let mut values = steady(&mut random, 45);
                values[15..].iter_mut().for_each(|value| *value *= first);
                values[30..].iter_mut().for_each(|value| *value *= second);
                let found = places(&values);
                missed += usize::from(!found.contains(&15) || !found.contains(&30));
            }
        }
        assert!(missed <= 4, "{missed} of 200");
    }

    /// Two figures at the end are enough, if they are far out; one is not.
    #[test]
    fn a_change_is_seen_early() {
        let mut random = Rng::with_seed(7);
        let mut seen = |more: usize| {
            let mut values = steady(&mut random, 30);
            values[30 - more..]
                .iter_mut()
                .for_each(|value| *value *= 1.1);
            let found = changes(&values);
            found
                .iter()
                .any(|one| one.at.abs_diff(30 - more) <= 1 && one.ratio > 1.05)
        };
        let mut share = |more: usize| (0..200).filter(|_| seen(more)).count();
        let (one, two) = (share(1), share(2));
        assert!(one <= 20 && two >= 170, "{one} and {two} of 200");
    }

    /// Of histories in which nothing changed, one in twenty has a candidate.
    #[test]
    fn false_candidates_are_as_often_as_said() {
        let mut random = Rng::with_seed(9);
        let wrong = (0..1000).filter(|_| !changes(&steady(&mut random, 25)).is_empty());
        let wrong = wrong.count();
        assert!((25..=70).contains(&wrong), "{wrong} of 1000");
    }

    #[test]
    fn what_is_no_history_has_no_changes() {
        assert!(changes(&[]).is_empty() && changes(&[1.0; 3]).is_empty());
        assert!(changes(&[1.0; 50]).is_empty());
        assert!(changes(&[1.0, 1.0, 0.0, 5.0, 5.0, 5.0]).is_empty());
        assert!(changes(&[f64::NAN; 9]).is_empty());
        // Half a percent, however sure, is not told.
        let mut values = vec![1.0; 20];
        values.extend([1.005; 20]);
        assert!(changes(&values).is_empty());
        values.extend([1.5; 20]);
        let found = changes(&values);
        assert_eq!(found.iter().map(|one| one.at).collect::<Vec<_>>(), [40]);
    }
}
