//! One rule, one file; two where the same question is asked in two directions.

pub mod busy;
pub mod child_per_item;
pub mod expired_timeouts;
pub mod failed_lookups;
pub mod fixed_delay;
pub mod flush_per_record;
pub mod hot_lock;
pub mod no_processor;
pub mod round_trips;
pub mod sleep_polling;
pub mod small_transfers;
