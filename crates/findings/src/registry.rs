//! All rules. The order is who speaks first: the special before the general, what a child did before who waited for it.

use crate::rule::Rule;
use crate::rules::*;

pub static RULES: &[&Rule] = &[
    &flush_per_record::RULE,
    &sleep_polling::RULE,
    &child_per_item::RULE,
    &round_trips::RULE,
    &expired_timeouts::RULE,
    &fixed_delay::RULE,
    &hot_lock::RULE,
    &failed_lookups::RULE,
    &small_transfers::WRITES,
    &small_transfers::READS,
    &no_processor::RULE,
    &busy::RULE,
];
