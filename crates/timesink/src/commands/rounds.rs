//! `timesink rounds`: the rounds of a project so far; one of them again, from its commit.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{bail, Context};
use timesink_capture::launch::Identity;

use super::bench::child::Interrupt;
use super::{as_caller, print_or_write, round};
use crate::out;
use crate::present::charts;
use crate::present::terminal::{self, Style};
use crate::project::source::Git;
use crate::project::work_tree::WorkTree;
use crate::project::Project;
use crate::rounds::{Round, CHANGES};

#[derive(clap::Args)]
pub struct Arguments {
    /// Measure a round again, from its commit in a work tree of its own (with what was not committed)
    #[arg(long, value_name = "N")]
    again: Option<u32>,

    /// Print all that is kept of the rounds as JSON (documented in docs/json.md)
    #[arg(long, conflicts_with = "again")]
    json: bool,

    /// Write a page with a chart of the rounds, which opens in any browser, offline; without FILE print it
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-", conflicts_with = "json")]
    html: Option<PathBuf>,

    /// Write the chart as SVG; without FILE print it
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-", conflicts_with_all = ["json", "html"])]
    svg: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let here = std::env::current_dir().context("the current directory")?;
    let project = Project::find(&here);
    let mut rounds = as_caller(|| project.rounds())?;
    if let Some(number) = arguments.again {
        let found = rounds.iter().find(|round| round.number == number);
        let before = found.with_context(|| format!("there is no round {number}"))?;
        let again = again(&project, before)?;
        rounds = vec![before.clone(), again];
    }
    if arguments.json {
        let mut to = out::machines();
        serde_json::to_writer_pretty(&mut to, &rounds)?;
        return out::written(to.write_all(b"\n").and_then(|()| to.flush()));
    }
    if rounds.is_empty() {
        bail!(
            "no rounds in {}: timesink round NAME -- CMD makes the first",
            project.folder().display()
        );
    }
    let made = arguments.html.as_deref().or(arguments.svg.as_deref());
    if let Some(path) = made {
        let mut chart = Vec::new();
        charts::rounds::chart(&rounds, &mut chart)?;
        if arguments.html.is_some() {
            let text = terminal::rounds(&rounds, &Style::PLAIN);
            let title = rounds.last().map_or(String::new(), |round| {
                format!("Rounds of {}", round.job.command.join(" "))
            });
            let page = charts::html::page(&title, &chart, &text);
            chart = page.into_bytes();
        }
        return print_or_write(path, &chart);
    }
    let style = out::style();
    out::page(&terminal::rounds(&rounds, &style), &style)
}

/// The round's command on the round's source.
fn again(project: &Project, before: &Round) -> anyhow::Result<Round> {
    let Some(source) = &before.source else {
        bail!(
            "round {} was not measured in a git repository",
            before.number
        );
    };
    let identity = Identity::from_sudo()?;
    let checked_out = WorkTree::make(project, "again", &source.commit, identity.as_ref())?;
    let changes = project.folder_of(before.number).join(CHANGES);
    if changes.exists() {
        let git = Git {
            folder: &checked_out.folder,
            identity: identity.as_ref(),
        };
        git.apply(&changes)?;
    }
    let directory = checked_out.project.join(&before.job.directory);
    if let Some(line) = &before.job.build {
        round::by_sh("build", line, &directory, identity.as_ref())?;
    }
    let interrupt = Interrupt::watch().context("signals")?;
    let figures = round::figures(&before.job, &directory, &interrupt)
        .context("in the work tree, which has only what git knows: --build makes the rest")?;
    if figures.is_empty() {
        bail!("stopped before a run was measured");
    }
    Ok(Round {
        name: format!("{} (again)", before.name),
        figures,
        first: None,
        not_recorded: None,
        predicted: None,
        facts_differ: None,
        facts_checksum: None,
        ..before.clone()
    })
}
