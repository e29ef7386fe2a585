//! All rules. The order is who speaks first: the special before the general, what a child did before who waited for it.

use crate::rule::Rule;
use crate::rules::*;

pub static RULES: &[&Rule] = &[
    &replace_per_item::RULE,
    &flush_per_record::RULE,
    &synchronous_writes::RULE,
    &sleep_polling::RULE,
    &close_storm::RULE,
    &fork_copies_large::RULE,
    &repeated_start_up::RULE,
    &shell_between::RULE,
    &child_per_item::RULE,
    &long_holder::RULE,
    &false_pool::RULE,
    &one_after_another::RULE,
    &one_thread_bound::RULE,
    &imbalance::RULE,
    &round_trips::RULE,
    &ping_pong::RULE,
    &expired_timeouts::RULE,
    &fixed_delay::RULE,
    &hot_lock::RULE,
    &failed_lookups::RULE,
    &repeated_stat::RULE,
    &rewritten_whole::RULE,
    &file_read_again::RULE,
    &open_per_record::RULE,
    &line_flushed_output::RULE,
    &small_transfers::WRITES,
    &small_transfers::READS,
    &thundering_herd::RULE,
    &throttled::RULE,
    &pinned::RULE,
    &no_processor::RULE,
    &busy::RULE,
];
