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
