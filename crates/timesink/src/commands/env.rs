//! `timesink env A [B]`: where a recording was made, and what of that differs from another.

use std::path::{Path, PathBuf};

use anyhow::Context;
use timesink_analysis::facts::Facts;
use timesink_analysis::operations::Wanted;
use timesink_analysis::outlook::Patience;
use timesink_comparison::{Comparison, Environment, Sources};
use timesink_recording::Recording;
use timesink_story::Question;

use super::diff;
use super::read::{open, open_all, question};
use crate::out;
use crate::present::json;
use crate::present::terminal::{self, Amount};
use crate::settings::Settings;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording
    #[arg(value_name = "A")]
    first: PathBuf,
    /// Another one: what differs between the two is printed
    #[arg(value_name = "B")]
    second: Option<PathBuf>,
    /// Print all facts that differ, not only one screen
    #[arg(long, requires = "second")]
    full: bool,
    /// Print everything as JSON (documented in docs/json.md)
    #[arg(long, conflicts_with = "full")]
    json: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    match &arguments.second {
        None => show(&arguments.first, arguments.json),
        Some(second) => compare(arguments, second),
    }
}

/// The facts of a recording, whose other tables were read before.
pub fn of(recording: &Recording, facts: &Facts) -> anyhow::Result<Environment> {
    Ok(Environment::of(&Sources {
        about: recording.about(),
        noted: &recording.rows()?,
        modules: &recording.rows()?,
        facts,
    }))
}

fn show(path: &Path, as_json: bool) -> anyhow::Result<()> {
    let style = out::style();
    let recording = open(path)?;
    let environment = of(&recording, &Facts::of(&recording)?)?;
    match as_json {
        true => out::for_machines(|to| json::environment(&environment, to)),
        false => out::page(&terminal::environment(&environment, &style), &style),
    }
}

fn compare(arguments: &Arguments, second: &Path) -> anyhow::Result<()> {
    let style = out::style();
    let recordings = open_all(&[arguments.first.as_path(), second])?;
    let settings = Settings::told();
    let question = Question {
        patience: Patience::SHORT,
        ..question(&settings, Wanted::Served, false)
    };
    let told = |recording: &Recording| diff::told(recording, &question, |_| ());
    let [a, b] = recordings.as_slice() else {
        unreachable!("two were opened")
    };
    let comparison = Comparison::of(vec![told(a)?.0], vec![told(b)?.0]);
    let comparison = comparison.context("nothing to compare")?;
    let found = comparison.environments();
    match arguments.json {
        true => out::for_machines(|to| json::environments(&found, to)),
        false => {
            let amount = match arguments.full {
                true => Amount::All,
                false => Amount::Screen,
            };
            out::page(&terminal::environments(&found, amount, &style), &style)
        }
    }
}
