//! When to look at the rounds: it is enough once each fact is decided, or when as many are run as were announced.

use std::time::Duration;

use timesink_trials::{doubling, per_look, Flow};

use crate::bench::outcome::ALPHA;
use crate::bench::rounds_in_a_minute;

/// The most rounds where nobody says how many: what fits into a minute, between these.
const MOST_ROUNDS: (usize, usize) = (20, 80);

/// After how many rounds to look, set before the first: who looks whenever he likes is wrong more often than he says.
pub struct Looks(Vec<usize>);

impl Looks {
    /// `round` is about how long one takes.
    pub fn of(wanted: Option<u16>, round: Duration) -> Looks {
        let fitting = || rounds_in_a_minute(round, MOST_ROUNDS);
        Looks(doubling(wanted.map_or_else(fitting, usize::from)))
    }

    pub fn most(&self) -> usize {
        self.0.last().copied().unwrap_or(0)
    }

    /// The level of each interval with which all looks at so many facts together are as seldom wrong as one would be.
    pub fn alpha(&self, facts: usize) -> f64 {
        per_look(&self.0, ALPHA / facts.max(1) as f64)
    }

    /// Whether there is to be another round after so many.
    pub fn after(&self, done: usize, is_decided: impl FnOnce() -> bool) -> Flow {
        match done >= self.most() || (self.0.contains(&done) && is_decided()) {
            true => Flow::Enough,
            false => Flow::On,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds_run(looks: &Looks, decided_after: usize) -> usize {
        let enough = |done: &usize| looks.after(*done, || *done >= decided_after) == Flow::Enough;
        (1..).find(enough).expect("it ends")
    }

    /// A fact that is undecided where one more round would tell gets more of them, up to what was announced; nobody looks in
    /// between, and who asks for few gets these.
    #[test]
    fn what_is_undecided_gets_more_rounds() {
        let second = Duration::from_secs(1);
        let looks = Looks::of(Some(80), second);
        assert_eq!(
            [10, 11, 20, 21].map(|at| rounds_run(&looks, at)),
            [10, 20, 20, 40]
        );
        assert_eq!(rounds_run(&looks, usize::MAX), 80);
        assert_eq!(rounds_run(&Looks::of(Some(8), second), 1), 8);
        assert!(looks.alpha(2) < Looks::of(Some(8), second).alpha(2));
    }

    /// Without a number it is what fits into a minute, but not so few that nothing can be told.
    #[test]
    fn as_many_as_fit_into_a_minute() {
        let most = |ms| Looks::of(None, Duration::from_millis(ms)).most();
        assert_eq!([1, 750, 1000, 2000, 60_000].map(most), [80, 80, 60, 30, 20]);
    }
}
