//! Conversations with one peer over several connections.

use timesink_recording::notation::recording;

use crate::cases::case;
use crate::drawn::told_of;

/// A pool of three connections that are taken by turns was told three times, with a third of what it costs each.
#[test]
fn a_pool_is_one_cause() {
    let told = told_of(&recording(&case("round-trips.fires-pool")));
    let saved: Vec<i64> = told
        .iter()
        .filter(|(rule, _)| *rule == "round-trips")
        .map(|(_, saved_ms)| *saved_ms)
        .collect();
    // Of 120 waits of 20 ms one is left.
    assert!(matches!(saved.as_slice(), [2370..=2390]), "{told:?}");
}
