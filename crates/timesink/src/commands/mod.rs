//! The commands, one a file.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{bail, Context};
use serde::de::DeserializeOwned;
use timesink_capture::launch::Identity;
use timesink_recording::files::NewFile;

use crate::out;

pub mod attach;
pub mod bench;
pub mod casebook;
pub mod completions;
pub mod diff;
pub mod doctor;
pub mod env;
pub mod export;
pub mod floors;
pub mod history;
pub mod last;
pub mod machine;
pub mod man;
pub mod mcp;
pub mod named;
pub mod open;
pub mod operations;
pub mod pack;
pub mod page_file;
pub mod prove;
pub mod read;
pub mod recording;
pub mod report;
pub mod round;
pub mod rounds;
pub mod rules;
pub mod run;
pub mod selection;
pub mod symbolize;
pub mod under;
pub mod whatif;
pub mod whose;
pub mod why;

/// Makes something with the rights to files of the user who called sudo, whose it is then; else with our own.
pub fn as_caller<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    Identity::acting(Identity::from_sudo()?.as_ref(), work)?
}

/// Prints an output, or writes it into a new file of the caller's.
fn print_or_write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if path.as_os_str() == "-" {
        return out::for_machines(|to| to.write_all(bytes));
    }
    as_caller(|| {
        let mut file = NewFile::at(path)?;
        file.write_all(bytes)?;
        Ok(file.keep()?)
    })
    .with_context(|| format!("cannot write {}", path.display()))
}

/// Timesink as a command of its own.
fn ourselves() -> anyhow::Result<Command> {
    let path = std::env::current_exe().context("the path of timesink")?;
    Ok(Command::new(path))
}

/// What timesink says as JSON, in a process of its own that reads recordings and may do nothing else.
fn asked<T: DeserializeOwned>(command: &str, recordings: &[impl AsRef<Path>]) -> anyhow::Result<T> {
    let mut asked = ourselves()?;
    asked.arg(command).arg("--json");
    asked.args(recordings.iter().map(AsRef::as_ref));
    let said = asked.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let said = said.with_context(|| format!("timesink {command} cannot be started"))?;
    if !said.status.success() {
        bail!("timesink {command} cannot read the recordings");
    }
    serde_json::from_slice(&said.stdout).with_context(|| format!("the JSON of timesink {command}"))
}
