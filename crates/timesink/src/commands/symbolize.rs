//! `timesink symbolize FILE`: the names of a recording's functions, looked for again with better debug files.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context;
use timesink_capture::convert::cache_folder;
use timesink_capture::launch::Identity;
use timesink_capture::privileges;
use timesink_capture::symbolize::{symbolize, Count, SymbolizedModule};
use timesink_capture::symbols::Symbols;

use super::read;
use crate::out;
use crate::present::names::harmless;
use crate::present::terminal::Style;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording: a directory or a packed file
    recording: PathBuf,

    /// Search this directory for debug files first (any file name, or laid out as in /usr/lib/debug); repeatable
    #[arg(long = "debug-dir", value_name = "DIR")]
    debug_folders: Vec<PathBuf>,
}

/// Names the functions and tells what changed.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    privileges::for_opening()?;
    let caller = Identity::from_sudo()?;
    let caller = caller.as_ref();
    let mut symbols = Symbols::new(cache_folder(caller));
    for folder in &arguments.debug_folders {
        let looked = Identity::acting(caller, || symbols.look_in(folder))?;
        looked.with_context(|| format!("cannot look into {}", folder.display()))?;
    }
    // One that was never finished is mended first.
    drop(read::whole(&arguments.recording)?);
    let outcomes = symbolize(&arguments.recording, &symbols, caller)?;
    out::page(&told(&outcomes), &Style::PLAIN)
}

fn told(outcomes: &[SymbolizedModule]) -> String {
    let sum = |of: fn(&SymbolizedModule) -> Count| {
        let counts = outcomes.iter().map(of);
        counts.fold(Count::default(), |sum, count| Count {
            frames: sum.frames + count.frames,
            named: sum.named + count.named,
        })
    };
    let (before, after) = (sum(|o| o.before), sum(|o| o.after));
    let mut text = format!(
        "frames of programs and libraries with names: {}\n",
        change(before, after)
    );
    let told = |o: &&SymbolizedModule| o.before != o.after || o.after.named < o.after.frames;
    for outcome in outcomes.iter().filter(told) {
        let why = match &outcome.fault {
            Some(fault) if outcome.after.named < outcome.after.frames => format!(": {fault}"),
            _ => String::new(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  {}  {} (names from: {}){}",
            change(outcome.before, outcome.after),
            harmless(&outcome.path),
            outcome.symbols,
            harmless(&why)
        );
    }
    text
}

fn change(before: Count, after: Count) -> String {
    let Count { frames, named } = after;
    format!(
        "{} of {} before, {named} of {frames} now",
        before.named, before.frames
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_recording::words::SymbolSource;

    /// What changed is told, and what has no names still, with the reason; nothing in it acts on a terminal.
    #[test]
    fn what_changed_is_told() {
        let count = |named, frames| Count { frames, named };
        let outcome = |path: &str, before, after, symbols, fault: Option<&str>| SymbolizedModule {
            path: path.into(),
            build_id: "0123".into(),
            before,
            after,
            symbols,
            fault: fault.map(str::to_owned),
        };
        let text = told(&[
            outcome(
                "/lib/c",
                count(3, 3),
                count(3, 3),
                SymbolSource::Table,
                None,
            ),
            outcome(
                "/opt/a",
                count(0, 2),
                count(5, 5),
                SymbolSource::Debug,
                None,
            ),
            outcome(
                "/opt/\x1b[2Jb",
                count(0, 4),
                count(0, 4),
                SymbolSource::None,
                Some("it is gone"),
            ),
        ]);
        assert_eq!(
            text,
            "frames of programs and libraries with names: 3 of 9 before, 8 of 12 now\n  \
             0 of 2 before, 5 of 5 now  /opt/a (names from: debug information)\n  \
             0 of 4 before, 0 of 4 now  /opt/\\x1b[2Jb (names from: none): it is gone\n"
        );
    }
}
