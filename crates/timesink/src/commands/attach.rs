//! `timesink attach PID...`: record processes that run already.

use std::time::{Duration, Instant};

use timesink_capture::launch::{Identity, Signals};
use timesink_capture::record::{self, Whom};

use super::recording::{choose, finish, parse_time, Meter, Shared};
use super::run::refuse;
use crate::present::names::is_hostile;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    shared: Shared,

    /// Stop after this time, such as 10s [default: until Ctrl-C or exit]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    limit: Option<Duration>,

    /// The processes to record, with all their threads and new children
    #[arg(required = true, value_name = "PID", value_parser = parse_pid)]
    pids: Vec<u32>,
}

fn parse_pid(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        "expected the number of a process, such as 1234 (`pidof NAME` prints those of a name)"
            .to_owned()
    })
}

/// Records until the time is up, they end, or the user stops it.
pub fn run(arguments: &Arguments, signals: Signals, started: Instant) -> anyhow::Result<u8> {
    let name = std::fs::read_to_string(format!("/proc/{}/comm", arguments.pids[0]));
    let name = name.map_or_else(|_| "attached".into(), |name| plain(&name));
    let whom = Whom::Processes(&arguments.pids);
    let shared = &arguments.shared;
    record_running(whom, &name, shared, arguments.limit, signals, started)
}

/// Records what runs already, into a recording of this name unless another one was given.
pub(super) fn record_running(
    whom: Whom<'_>,
    name: &str,
    shared: &Shared,
    limit: Option<Duration>,
    signals: Signals,
    started: Instant,
) -> anyhow::Result<u8> {
    let identity = match Identity::from_sudo() {
        Ok(identity) => identity,
        Err(error) => return Ok(refuse(&error.into())),
    };
    let options = shared.options(choose(&shared.output, name), identity, started);
    let mut meter = Meter::new();
    let outcome = record::attach(whom, limit, &options, signals, &mut |p| meter.show(p));
    meter.clear();
    match outcome {
        Ok(outcome) => finish(outcome, &options, shared),
        Err(error) => Ok(refuse(&error)),
    }
}

/// What a process calls itself, as the name of a folder. It may have chosen that to act on a terminal.
fn plain(name: &str) -> String {
    let hostile = |c: char| c == '/' || is_hostile(c);
    name.trim().replace(hostile, "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name instead of a number was answered with "invalid digit found in string".
    #[test]
    fn a_name_is_no_process_number() {
        assert_eq!(parse_pid("12"), Ok(12));
        for text in ["abc", "0", "-1", ""] {
            let error = parse_pid(text).expect_err("no number of a process");
            assert!(error.contains("pidof"), "{error}");
        }
    }
}
