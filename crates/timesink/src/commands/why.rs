//! `timesink why FILE N`: a finding in full, with all that it rests on.

use std::path::{Path, PathBuf};

use anyhow::bail;
use timesink_analysis::operations::Wanted;
use timesink_story::Story;

use super::last;
use super::read::{open, question, Named};
use super::whose::{nobody, Whose};
use crate::out;
use crate::present::{json, terminal, Report};
use crate::settings::Settings;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording [default: the latest in the current directory]
    #[arg(value_name = "FILE")]
    first: Option<String>,

    /// The number of the finding in the report [default: all]
    #[arg(value_name = "N")]
    number: Option<usize>,

    /// Show the findings muted by .timesink-ignore.toml
    #[arg(long, conflicts_with = "json")]
    muted: bool,

    #[command(flatten)]
    whose: Whose,

    /// Print as JSON, with the same fields as in `report --json` (documented in docs/json.md)
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// The recording, and which of its findings.
    fn wanted(&self) -> anyhow::Result<(PathBuf, Option<usize>)> {
        let named = self.first.as_deref().filter(|first| {
            self.number.is_some() || first.parse::<usize>().is_err() || Path::new(first).exists()
        });
        if let Some(named) = named {
            return Ok((named.into(), self.number));
        }
        let last = last::or_last(None)?;
        let number = self.first.as_ref().and_then(|first| first.parse().ok());
        Ok((last, number))
    }
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (path, number) = arguments.wanted()?;
    let settings = Settings::told();
    let recording = open(&path)?;
    let question = question(&settings, Wanted::Served, true);
    let loaded = arguments.whose.loaded(&recording)?;
    let story = Story::of(&loaded, &question)?;
    let Some(findings) = &story.findings else {
        bail!(nobody(&recording));
    };
    let there = match arguments.muted {
        true => findings.muted.len(),
        false => findings.told.len(),
    };
    if number.is_some_and(|number| number == 0 || number > there) {
        match there {
            0 => bail!("this recording has no findings"),
            1 => bail!("there is no such finding: this recording has only one"),
            _ => bail!("there is no such finding: this recording has {there}, numbered from 1"),
        }
    }
    let named = Named::of(&recording);
    let report = Report::of(&story, named.shown(), &settings);
    if arguments.json {
        return out::for_machines(|to| json::findings(&report, number, to));
    }
    let style = out::style();
    let page = terminal::findings(&report, number, arguments.muted, &style);
    out::page(&page, &style)
}
