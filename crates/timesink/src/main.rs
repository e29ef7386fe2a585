//! timesink: where did the time go, why, and what would it buy to fix it?

#![deny(unsafe_code)]

mod commands;
mod export;
mod out;
mod present;
mod settings;

use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};
use timesink_capture::launch::Signals;

use commands::recording::{FAILED, NOT_STARTED};

/// Where did the time go, why, and what would it buy to fix it?
///
/// timesink records a program with its children and threads, accounts for every microsecond of each
/// thread's time, and shows that its books balance with the kernel's.
#[derive(Parser)]
#[command(name = "timesink", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Record a program from its first moment to its last, and report where its time went
    ///
    /// The program runs as it would without timesink: its exit code, signals, terminal, streams and
    /// environment are its own. Under sudo it runs as the user who called sudo. The exit code is the
    /// program's (128 + the signal's number if one killed it); 125 if the recording is not whole, 126
    /// and 127 if the program cannot be executed or found, 2 if recording is not possible here.
    #[command(
        after_help = "Examples:\n  sudo timesink run -- ./nightly-import data.txt\n  \
                      sudo timesink run --follow -- curl http://localhost/slow\n  \
                      sudo timesink run --with postgres -- ./nightly-report"
    )]
    Run(commands::run::Arguments),
    /// Record processes that run already
    ///
    /// All their threads, and the children they start from now on, until they end, the time is up, or
    /// Ctrl-C. They are not disturbed by the end of the recording.
    #[command(after_help = "Example: sudo timesink attach --for 10s $(pidof nginx)")]
    Attach(commands::attach::Arguments),
    /// Show where the time of a recording went
    Report(commands::report::Arguments),
    /// Predict the wall time if something took less: a wait, a function, a thing
    ///
    /// Without a question: what each cause on the critical path would buy.
    #[command(
        after_help = "Examples:\n  timesink whatif x.timesink --cut 'flush rows.db'\n  \
                      timesink whatif x.timesink --scale func=crc32_block 0.3 --cpus 4"
    )]
    Whatif(commands::whatif::Arguments),
    /// Tell a finding in full: its evidence, calls, waits and stacks, and how to see it again
    ///
    /// Without a number all of them; without a file, those of the recording made last in this folder.
    #[command(
        after_help = "Examples:\n  timesink why 1\n  timesink why x.timesink 2\n  timesink why x.timesink --muted"
    )]
    Why(commands::why::Arguments),
    /// Tell what the rules look for that a report's WHY goes by, and by which numbers
    Rules(commands::rules::Arguments),
    /// Run old stories of slow programs, and check that the cause of each is told
    Casebook(commands::casebook::Arguments),
    /// Write a recording's stacks for other tools: flame graphs, pprof, speedscope, Firefox, Perfetto
    Export(commands::export::Arguments),
    /// Look for the names of a recording's functions again, with better debug files
    ///
    /// Only files with the build id that was recorded count. The recording is replaced in one step, and is left as it is
    /// if nothing better was found.
    #[command(after_help = "Example: timesink symbolize slow.timesink --debug-dir ~/debug-files")]
    Symbolize(commands::symbolize::Arguments),
    /// Put a recording's folder into one file
    Pack(commands::pack::Arguments),
    /// Measure what this machine does at best: flushes, round trips, starts of processes, memory
    ///
    /// Takes 25 seconds or so, on a machine that should be idle, and needs no root. The figures are kept, and go with what is
    /// recorded on this machine from then on: the report says how far from them a cause is.
    #[command(after_help = "Example: timesink floors --dir /var/lib/db --peer db.example:5432")]
    Floors(commands::floors::Arguments),
    /// Tell what this kernel and this user may do
    Doctor(commands::doctor::Arguments),
    /// Print completions for a shell
    Completions(commands::completions::Arguments),
}

fn main() -> ExitCode {
    let started = Instant::now();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return ExitCode::from(out::usage(&error)),
    };
    match run(arguments, started) {
        Ok(code) => ExitCode::from(code),
        Err((code, error)) => {
            out::tell(format_args!("{error:#}"));
            ExitCode::from(code)
        }
    }
}

/// The exit code, or the error with the exit code that goes with it.
fn run(arguments: Arguments, started: Instant) -> Result<u8, (u8, anyhow::Error)> {
    let failed = |error| (FAILED, error);
    let refused = |error: anyhow::Error| (NOT_STARTED, error);
    // Before any thread exists: see launch.
    let signals = || Signals::block().map_err(|e| refused(e.into()));
    match arguments.command {
        Command::Run(a) => commands::run::run(&a, signals()?, started).map_err(failed),
        Command::Attach(a) => commands::attach::run(&a, signals()?, started).map_err(failed),
        Command::Report(a) => commands::report::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Whatif(a) => commands::whatif::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Why(a) => commands::why::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Rules(a) => commands::rules::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Casebook(a) => commands::casebook::run(&a).map_err(|e| (1, e)),
        Command::Export(a) => commands::export::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Symbolize(a) => commands::symbolize::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Pack(a) => commands::pack::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Floors(a) => commands::floors::run(&a, signals()?).map_err(|e| (1, e)),
        Command::Doctor(a) => match commands::doctor::run(&a) {
            Ok(true) => Ok(0),
            Ok(false) => Ok(NOT_STARTED),
            Err(error) => Err((1, error)),
        },
        Command::Completions(a) => {
            commands::completions::run::<Arguments>(&a);
            Ok(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// The command line is sound, and options whose values may be left out leave the recording alone.
    #[test]
    fn the_command_line_reads_as_it_is_documented() {
        Arguments::command().debug_assert();
        for line in [
            "run --follow --with postgres --with 123 -- sh -c true",
            "run --node-maps -- node x.js",
            "attach --follow 123",
            "run --redact -- x --password y",
            "attach --redact 123",
            "report x.timesink",
            "report --top x.timesink",
            "report --tree x.timesink",
            "report x.timesink --top=5 --tree=callers --line main --thread 12 --process sh",
            "report x --tree=callees --state wait --object rows.db --cpu 1 --between 1s..2s",
            "whatif x",
            "whatif x --cut cpu --cut ready --scale func=f 0.5 --batch flush 100 --cpus 4",
            "whatif x --keep-first func=load --overlap sleep",
            "floors",
            "floors --json --dir /tmp --dir . --peer db:5432 --peer [::1]:80",
            "why",
            "why 1",
            "why x.timesink 1",
            "why x --muted",
            "symbolize x",
            "symbolize x --debug-dir a --debug-dir b",
            "export x --to folded",
            "export x --to pprof -o y --weights wait --state cpu --between ..2s",
            "export x --to perfetto --weights both --thread main",
        ] {
            let words = std::iter::once("timesink").chain(line.split(' '));
            assert!(Arguments::try_parse_from(words).is_ok(), "{line}");
        }
        for line in [
            "run --with -- true",
            "run --node-maps --no-runtime-flags -- true",
            "attach --with postgres 123",
            "report x --top=many",
            "report x --json --top",
            "report x --tree=sideways --state asleep",
            "report x --top --between 2s..1s",
            "whatif",
            "whatif x --scale func=f",
            "floors --peer db",
            "floors --peer db:port",
            "why x y",
            "why x 1 2",
            "export x",
            "export x --to svg",
        ] {
            let words = std::iter::once("timesink").chain(line.split(' '));
            assert!(Arguments::try_parse_from(words).is_err(), "{line}");
        }
    }
}
