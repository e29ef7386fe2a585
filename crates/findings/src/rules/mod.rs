//! One rule, one file; two where the same question is asked in two directions.

pub mod busy;
pub mod child_per_item;
pub mod expired_timeouts;
pub mod failed_lookups;
pub mod false_pool;
pub mod file_read_again;
pub mod fixed_delay;
pub mod flush_per_record;
pub mod fork_copies_large;
pub mod hot_lock;
pub mod imbalance;
pub mod long_holder;
pub mod no_processor;
pub mod one_after_another;
pub mod one_thread_bound;
pub mod ping_pong;
pub mod pinned;
pub mod open_per_record;
pub mod repeated_start_up;
pub mod rewritten_whole;
pub mod round_trips;
pub mod shell_between;
pub mod sleep_polling;
pub mod small_transfers;
pub mod throttled;
pub mod thundering_herd;
