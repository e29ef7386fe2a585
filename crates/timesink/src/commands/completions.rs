//! `timesink completions SHELL`: what a shell needs to complete timesink's arguments.

use clap::CommandFactory;

use crate::out;

#[derive(clap::Args)]
pub struct Arguments {
    /// The shell to print completions for
    shell: clap_complete::Shell,
}

/// Prints the completions.
pub fn run<C: CommandFactory>(arguments: &Arguments) {
    clap_complete::generate(
        arguments.shell,
        &mut C::command(),
        "timesink",
        &mut out::machines(),
    );
}
