//! `timesink run -- CMD...`: record a program from its first moment to its last.

use std::ffi::OsString;
use std::time::Instant;

use timesink_capture::launch::{Identity, Signals};
use timesink_capture::record::{self, Options};

use super::recording::{choose, code_of, finish, Meter, Shared};
use crate::out;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    shared: Shared,

    /// Record this process too, which runs already, or all that have this name; with their threads, and the children that
    /// they start from now on. May be given several times
    #[arg(long, value_name = "PID|NAME")]
    with: Vec<String>,

    /// Leave the environment as it is: stacks then end where they pass through compiled methods of Java
    #[arg(long)]
    no_runtime_flags: bool,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Runs the program; its exit code is ours.
pub fn run(arguments: &Arguments, signals: Signals, started: Instant) -> anyhow::Result<u8> {
    let identity = match Identity::from_sudo() {
        Ok(identity) => identity,
        Err(error) => return Ok(refuse(&error.into())),
    };
    let name = arguments.command[0].to_string_lossy();
    let folder = choose(&arguments.shared.output, &name);
    let options = Options {
        runtime_flags: !arguments.no_runtime_flags,
        with: arguments.with.clone(),
        ..arguments.shared.options(folder, identity, started)
    };
    let mut meter = Meter::new();
    let outcome = record::run(arguments.command.clone(), &options, signals, &mut |p| {
        meter.show(p)
    });
    meter.clear();
    match outcome {
        Ok(outcome) => finish(outcome, &options, &arguments.shared),
        Err(error) => Ok(refuse(&error)),
    }
}

/// One sentence, and the code that says that nothing was started.
pub fn refuse(error: &timesink_capture::Error) -> u8 {
    out::tell(error);
    code_of(error)
}
