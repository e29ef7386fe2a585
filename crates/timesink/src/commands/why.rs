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
    second: Option<String>,

    /// Show the findings muted by .timesink-ignore.toml
    #[arg(long, conflicts_with = "json")]
    muted: bool,

    #[command(flatten)]
    whose: Whose,

    /// Print as JSON, with the same fields as in `report --json` (documented in docs/json.md)
    #[arg(long)]
    json: bool,
}

/// The recording, and which of its findings; who names them the other way round is understood.
fn wanted(first: Option<&str>, second: Option<&str>) -> anyhow::Result<(PathBuf, Option<usize>)> {
    let number = |text: &str| text.parse::<usize>().ok();
    let (Some(first), Some(second)) = (first, second) else {
        let named = first.filter(|first| number(first).is_none() || Path::new(first).exists());
        return match named {
            Some(named) => Ok((named.into(), None)),
            None => Ok((last::or_last(None)?, first.and_then(number))),
        };
    };
    match (number(second), number(first)) {
        (Some(number), _) => Ok((first.into(), Some(number))),
        (None, Some(number)) => Ok((second.into(), Some(number))),
        (None, None) => bail!("{second} is no number of a finding"),
    }
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (first, second) = (arguments.first.as_deref(), arguments.second.as_deref());
    let (path, number) = wanted(first, second)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recording_and_number_may_be_swapped() {
        let told = |first, second| wanted(Some(first), Some(second)).expect("both are given");
        assert_eq!(told("a.timesink", "2"), ("a.timesink".into(), Some(2)));
        assert_eq!(told("2", "a.timesink"), ("a.timesink".into(), Some(2)));
        assert_eq!(told("1", "2"), ("1".into(), Some(2)));
        assert!(wanted(Some("a.timesink"), Some("b.timesink")).is_err());
    }
}
