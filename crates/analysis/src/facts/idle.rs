//! How much of the machine had nothing to do while it was recorded: by its own counts before and after.

use timesink_recording::tables::facts::{ALL_TICKS, IDLE_TICKS};
use timesink_recording::tables::Fact;
use timesink_recording::words::{FactKind, Moment};

/// With fewer ticks the share is not known well.
const LEAST_TICKS: u64 = 20;

/// The share of the time of all CPUs in which they had nothing to do.
pub(super) fn idle_share(facts: &[Fact]) -> Option<f64> {
    let ticks = |key: &str, moment: Moment| {
        let mut facts = facts.iter();
        let fact = facts
            .find(|fact| fact.kind == FactKind::Load && fact.key == key && fact.moment == moment);
        fact?.value.parse::<u64>().ok()
    };
    let passed = |key| ticks(key, Moment::End)?.checked_sub(ticks(key, Moment::Begin)?);
    let (idle, all) = (passed(IDLE_TICKS)?, passed(ALL_TICKS)?);
    (all >= LEAST_TICKS).then(|| (idle as f64 / all as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(key: &str, value: &str, moment: Moment) -> Fact {
        Fact {
            kind: FactKind::Load,
            key: key.to_owned(),
            value: value.to_owned(),
            moment,
        }
    }

    fn share(idle: [&str; 2], all: [&str; 2]) -> Option<f64> {
        let moments = [Moment::Begin, Moment::End];
        let of_key = |key: &'static str, values: [&str; 2]| {
            let both = values.into_iter().zip(moments);
            both.map(|(value, moment)| fact(key, value, moment))
                .collect::<Vec<_>>()
        };
        idle_share(&[of_key(IDLE_TICKS, idle), of_key(ALL_TICKS, all)].concat())
    }

    #[test]
    fn idle_is_what_passed_in_between() {
        assert_eq!(share(["1000", "1050"], ["9000", "9200"]), Some(0.25));
        // Counts that go back, too few of them, and what is no number say nothing.
        assert_eq!(share(["1000", "990"], ["9000", "9200"]), None);
        assert_eq!(share(["1000", "1002"], ["9000", "9004"]), None);
        assert_eq!(share(["1000", ""], ["9000", "9200"]), None);
        assert_eq!(idle_share(&[]), None);
    }
}
