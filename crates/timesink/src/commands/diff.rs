//! `timesink diff A B`: what differs between two recordings, and which difference explains how much.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context};
use timesink_analysis::operations::Wanted;
use timesink_analysis::outlook::Patience;
use timesink_comparison::{Branch, Comparison, Digest, Weights};
use timesink_recording::Recording;
use timesink_story::{Loaded, Question, Story};

use super::env;
use super::page_file::write_page;
use super::read::{self, open_all};
use crate::export::folded;
use crate::out;
use crate::present::compared::Compared;
use crate::present::json;
use crate::present::terminal::{self, Amount, Style};
use crate::settings::Settings;

#[derive(clap::Args)]
pub struct Arguments {
    /// The two recordings, or all of the first side: folders or packed files
    #[arg(required = true, value_name = "A")]
    first: Vec<PathBuf>,
    /// The recordings of the second side, where a side has several
    #[arg(last = true, value_name = "B")]
    second: Vec<PathBuf>,
    /// Print all differences, threads and findings, not only one screen
    #[arg(long)]
    full: bool,
    /// Print system calls whose count or time differs
    #[arg(long, conflicts_with = "full")]
    calls: bool,
    /// Print operations of servers and their clients, and loops: how many, and how long one takes
    #[arg(long, conflicts_with_all = ["full", "calls"])]
    operations: bool,
    /// Print threads grouped by what they are for: how many there are, and how their time differs
    #[arg(long, conflicts_with_all = ["full", "calls", "operations"])]
    threads: bool,
    /// Print who called whom, down to where the time of all threads differs
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "both",
          conflicts_with_all = ["full", "calls", "operations", "threads"])]
    tree: Option<Time>,
    /// Print everything as JSON, or the whole tree with --tree (documented in docs/json.md)
    #[arg(long, conflicts_with_all = ["full", "calls", "operations", "threads"])]
    json: bool,
    /// Write the page of both into one file, which opens in any browser, offline; must not exist
    #[arg(long, value_name = "FILE", conflicts_with_all = ["full", "calls", "operations", "threads", "tree", "json", "folded"])]
    html: Option<PathBuf>,
    /// Print stacks of both, each with its time in A and in B in nanoseconds: the input of differential flame graphs
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "both",
          conflicts_with_all = ["full", "calls", "operations", "threads", "tree", "json"])]
    folded: Option<Time>,
}

/// Which time stacks are of.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Time {
    Cpu,
    Waits,
    Both,
}

impl From<Time> for Weights {
    fn from(time: Time) -> Weights {
        match time {
            Time::Cpu => Weights::Cpu,
            Time::Waits => Weights::Waits,
            Time::Both => Weights::Both,
        }
    }
}

impl Arguments {
    /// Whether what is asked can be answered, before anything is read.
    pub fn check(&self) -> anyhow::Result<()> {
        let sides = self.sides()?;
        let is_of_two = self.tree.is_some() || self.folded.is_some();
        if is_of_two && !matches!(sides, ([_], [_])) {
            bail!("--tree and --folded take one recording of each side");
        }
        Ok(())
    }

    /// The recordings of both sides.
    fn sides(&self) -> anyhow::Result<(&[PathBuf], &[PathBuf])> {
        match (self.first.as_slice(), self.second.as_slice()) {
            ([_, _], []) => Ok(self.first.split_at(1)),
            (_, []) => bail!(
                "diff needs two recordings: give both, or several of each side with -- between them"
            ),
            (first, second) => Ok((first, second)),
        }
    }
}

/// Reads the recordings one after the other and prints what differs.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let style = out::style();
    let (first, second) = arguments.sides()?;
    let paths: Vec<&Path> = first.iter().chain(second).map(PathBuf::as_path).collect();
    if let Some(file) = &arguments.html {
        return write_page(&paths, first.len(), false, file);
    }
    let recordings = open_all(&paths)?;
    let settings = Settings::told();
    let question = question(&settings);
    if let Some(time) = arguments.folded.or(arguments.tree) {
        let [a, b] = recordings.as_slice() else {
            bail!("--tree and --folded take one recording of each side");
        };
        let tree = beside(a, b, time.into(), &question)?;
        drop(recordings);
        return print_tree(&tree, arguments, time.into(), &style);
    }
    let mut digests = Vec::new();
    for recording in &recordings {
        digests.push(told(recording, &question, |_| ())?.0);
    }
    drop(recordings);
    let others = digests.split_off(first.len());
    let comparison = Comparison::of(digests, others).context("nothing to compare")?;
    let names = |paths: &[PathBuf]| -> Vec<String> {
        let names = paths.iter().map(|path| path.to_string_lossy().into_owned());
        names.collect()
    };
    let (a, b) = (names(first), names(second));
    let compared = Compared {
        comparison: &comparison,
        environment: &comparison.environments(),
        a: &a,
        b: &b,
    };
    if arguments.json {
        return out::for_machines(|to| json::comparison(&compared, to));
    }
    let page = match arguments {
        Arguments { calls: true, .. } => terminal::compared_calls(&compared, &style),
        Arguments {
            operations: true, ..
        } => terminal::compared_operations(&compared, &style),
        Arguments { threads: true, .. } => terminal::compared_threads(&compared, &style),
        Arguments { full: true, .. } => terminal::comparison(&compared, Amount::All, &style),
        _ => terminal::comparison(&compared, Amount::Screen, &style),
    };
    out::page(&page, &style)
}

/// Prints on one screen what differs between two sides.
pub fn show(first: Vec<PathBuf>, second: Vec<PathBuf>) -> anyhow::Result<()> {
    run(&Arguments {
        first,
        second,
        full: false,
        calls: false,
        operations: false,
        threads: false,
        tree: None,
        json: false,
        folded: None,
        html: None,
    })
}

/// What recordings are asked to be compared.
pub fn question(settings: &Settings) -> Question<'_> {
    Question {
        patience: Patience::FINDINGS,
        ..read::question(settings, Wanted::Served, false)
    }
}

/// What one recording says, and what else is asked of its story, without keeping the recording.
pub fn told<T>(
    recording: &Recording,
    question: &Question<'_>,
    more: impl FnOnce(&Story<'_>) -> T,
) -> anyhow::Result<(Digest, T)> {
    let loaded = Loaded::of(recording)?;
    let story = Story::of(&loaded, question)?;
    Ok((digest(&loaded, &story)?, more(&story)))
}

/// What a recording is compared by, with where it was made.
pub fn digest(loaded: &Loaded<'_>, story: &Story<'_>) -> anyhow::Result<Digest> {
    let recording = loaded.recording;
    let path = recording.path().display();
    let digest = Digest::of(story)
        .with_context(|| format!("{path} has no main thread, so no critical path"));
    Ok(Digest {
        environment: env::of(recording, &loaded.facts)?,
        ..digest?
    })
}

/// The tree of one recording beside that of the other.
fn beside(
    a: &Recording,
    b: &Recording,
    weights: Weights,
    question: &Question<'_>,
) -> anyhow::Result<Branch> {
    let (digest, tree) = told(a, question, |story| Branch::of(story, weights))?;
    let (other, others) = told(b, question, |story| Branch::of(story, weights))?;
    let comparison = Comparison::of(vec![digest], vec![other]).context("nothing to compare")?;
    Ok(tree.beside(others, &comparison.aligned))
}

fn print_tree(
    tree: &Branch,
    arguments: &Arguments,
    weights: Weights,
    style: &Style,
) -> anyhow::Result<()> {
    if arguments.folded.is_none() && !arguments.json {
        return out::page(&terminal::compared_tree(tree, weights, style), style);
    }
    let mut out = out::machines();
    let written = match arguments.json {
        true => json::tree(tree, weights, &mut out),
        false => folded::beside(tree, &mut out),
    };
    out::written(written.and_then(|()| out.flush()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// What cannot be answered is wrong usage, whatever the recordings hold: it is said before they are read.
    #[test]
    fn wrong_usage_is_said_before_anything_is_read() {
        let is_right = |line: &str| {
            let words = std::iter::once("diff").chain(line.split(' '));
            let alone = Alone::try_parse_from(words).unwrap_or_else(|_| panic!("{line}"));
            alone.arguments.check().is_ok()
        };
        for right in [
            "a b",
            "a b c -- d",
            "a -- b c",
            "--tree a b",
            "--folded a -- b",
        ] {
            assert!(is_right(right), "{right}");
        }
        for wrong in ["a", "a b c", "--tree a b -- c", "--folded a -- b c"] {
            assert!(!is_right(wrong), "{wrong}");
        }
    }
}
