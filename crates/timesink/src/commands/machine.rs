//! `timesink machine`: record all programs of the machine, for a while.

use std::time::{Duration, Instant};

use timesink_capture::launch::Signals;
use timesink_capture::record::Whom;

use super::attach::record_running;
use super::recording::{parse_time, Shared};

/// Of all programs of a machine shorter waits are too many: at 20,000 switches a second half of what recording took were stacks of waits of
/// 0.1 ms, and the machine kept 0.93 of its work, with this threshold 0.96 (2026-11-29, docs/machine.md).
const THRESHOLD: &str = "1ms";

#[derive(clap::Args)]
#[command(mut_arg("threshold", |threshold| threshold.default_value(THRESHOLD)))]
pub struct Arguments {
    #[command(flatten)]
    shared: Shared,

    /// Stop after this time, such as 10s [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    limit: Option<Duration>,
}

/// Records until the time is up or the user stops it.
pub fn run(arguments: &Arguments, signals: Signals, started: Instant) -> anyhow::Result<u8> {
    let (shared, limit) = (&arguments.shared, arguments.limit);
    record_running(Whom::Everybody, "machine", shared, limit, signals, started)
}
