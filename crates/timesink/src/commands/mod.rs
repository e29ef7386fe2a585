//! The commands, one a file.

use timesink_capture::launch::Identity;

pub mod attach;
pub mod bench;
pub mod casebook;
pub mod completions;
pub mod diff;
pub mod doctor;
pub mod env;
pub mod export;
pub mod floors;
pub mod last;
pub mod man;
pub mod named;
pub mod operations;
pub mod pack;
pub mod prove;
pub mod read;
pub mod recording;
pub mod report;
pub mod rules;
pub mod run;
pub mod selection;
pub mod symbolize;
pub mod under;
pub mod whatif;
pub mod why;

/// Makes something with the rights to files of the user who called sudo, whose it is then; else with our own.
fn as_caller<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    Identity::acting(Identity::from_sudo()?.as_ref(), work)?
}
