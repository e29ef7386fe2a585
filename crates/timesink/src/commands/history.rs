//! `timesink history`: results of benchmarks over commits and days; where they changed, measured again.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path};

use anyhow::{bail, Context};
use timesink_capture::launch::Identity;
use timesink_capture::privileges;
use timesink_trials::Verdict as Decided;

use super::bench::child::Interrupt;
use super::bench::history::unix_s;
use super::bench::pairs::{compare, Asked, Compared};
use super::bench::NOT_MEASURED;
use super::ourselves;
use crate::bench::Figure;
use crate::history::{store, Candidate, Confirmation, History, Series, Verdict};
use crate::out;
use crate::present::{history as present, json, terminal};
use crate::project::source::Git;
use crate::project::work_tree::WorkTree;
use crate::project::Project;

/// Ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only benchmarks whose command has this text in it
    text: Option<String>,

    /// The figure whose level is looked at [default: the metric, or wall time]
    #[arg(long, value_name = "FIGURE")]
    by: Option<Figure>,

    /// Measure both sides of each candidate again, in pairs, in work trees of their own, and keep what comes of it. It runs commands
    /// that the history names
    #[arg(long, conflicts_with_all = ["json", "markdown", "atom"])]
    confirm: bool,

    /// Pairs to run at most for each candidate; it stops as soon as there is a verdict
    #[arg(long, value_name = "N", default_value_t = 80, requires = "confirm", value_parser = clap::value_parser!(u16).range(10..=2000))]
    rounds: u16,

    #[command(flatten)]
    format: Format,
}

#[derive(clap::Args)]
#[group(multiple = false)]
struct Format {
    /// Print everything as JSON (documented in docs/json.md)
    #[arg(long)]
    json: bool,
    /// Print what was confirmed as Markdown
    #[arg(long)]
    markdown: bool,
    /// Print what was confirmed as an Atom feed
    #[arg(long)]
    atom: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<u8> {
    match arguments.confirm {
        true => as_the_caller()?,
        false => privileges::for_reading()?,
    }
    let here = std::env::current_dir().context("the current directory")?;
    let project = Project::find(&here);
    let mut history = read(&project, arguments)?;
    let mut code = 0;
    if arguments.confirm {
        code = confirm(&project, &history, arguments)?;
        history = read(&project, arguments)?;
    }
    print(&history, arguments)?;
    Ok(code)
}

/// Nothing here needs more rights than those of the user who called sudo: we begin anew as them.
fn as_the_caller() -> anyhow::Result<()> {
    let Some(user) = Identity::from_sudo()? else {
        return Ok(());
    };
    let mut own = ourselves()?;
    user.runs(&mut own);
    let error = own.args(std::env::args_os().skip(1)).exec();
    Err(error)
        .context("timesink cannot be started as the user who called sudo: call it without sudo")
}

fn read(project: &Project, arguments: &Arguments) -> anyhow::Result<History> {
    let Some(mut history) = project.history()? else {
        bail!(
            "no history in {}: timesink bench --history CMD begins one",
            project.kept().display()
        );
    };
    if let Some(text) = &arguments.text {
        history
            .series
            .retain(|series| series.what.command.contains(text));
        if history.series.is_empty() {
            bail!("no benchmark in the history has {text:?} in its command");
        }
    }
    Ok(history)
}

fn print(history: &History, arguments: &Arguments) -> anyhow::Result<()> {
    let format = &arguments.format;
    let mut text = Vec::new();
    if format.json {
        json::history(history, arguments.by, &mut text)?;
    } else if format.markdown {
        text = present::markdown(history).into_bytes();
    } else if format.atom {
        text = present::atom(history).into_bytes();
    } else {
        let style = out::style();
        return out::page(&terminal::history(history, arguments.by, &style), &style);
    }
    out::for_machines(|to| to.write_all(&text))
}

/// Measures all candidates that were not decided yet, the latest of each benchmark first. One that fails leaves the others.
fn confirm(project: &Project, history: &History, arguments: &Arguments) -> anyhow::Result<u8> {
    let interrupt = Interrupt::watch().context("signals")?;
    let (mut failed, mut measured) = (false, 0);
    for series in &history.series {
        let figure = arguments.by.unwrap_or(series.own_figure());
        for candidate in series.candidates(figure, &history.places).iter().rev() {
            let known = series.confirmation(candidate, figure);
            if known.is_some_and(|one| one.verdict != Verdict::Undecided) {
                continue;
            }
            // The page says why it cannot be measured.
            let Some((old, new)) = &candidate.ends else {
                continue;
            };
            let task = Task {
                project,
                series,
                figure,
                old,
                new,
                most_rounds: arguments.rounds,
            };
            out::note(task.announced(candidate));
            match task.confirm(&interrupt) {
                Ok(Ended::Interrupted) => return Ok(INTERRUPTED),
                Ok(Ended::Measured) => measured += 1,
                Err(error) => {
                    out::tell(format_args!("{}: {error:#}", series.what.command));
                    failed = true;
                }
            }
        }
    }
    if !failed && measured == 0 {
        out::note("nothing to confirm");
    }
    Ok(if failed { NOT_MEASURED } else { 0 })
}

enum Ended {
    Measured,
    Interrupted,
}

/// One candidate to be measured.
struct Task<'a> {
    project: &'a Project,
    series: &'a Series,
    figure: Figure,
    old: &'a str,
    new: &'a str,
    most_rounds: u16,
}

impl Task<'_> {
    /// What is about to be run, and for how long at most.
    fn announced(&self, candidate: &Candidate) -> String {
        let recent = self.series.recent();
        let both = [recent.get(candidate.at - 1), recent.get(candidate.at)];
        let walls = both.map(|one| one.and_then(|one| one.median(Figure::Wall)).unwrap_or(0.0));
        let most = walls.iter().sum::<f64>() * f64::from(self.most_rounds);
        let setup = self.series.setup.as_ref();
        format!(
            "{}: measuring {} and {} again, up to {} pairs, {} or less{}",
            self.series.what.command,
            present::short(self.old),
            present::short(self.new),
            self.most_rounds,
            terminal::units::time(most as u64),
            setup.map_or(String::new(), |line| format!(", after {line}")),
        )
    }

    /// Measures both sides, and keeps what is known, also when we are to end meanwhile.
    fn confirm(&self, interrupt: &Interrupt) -> anyhow::Result<Ended> {
        let directory = &self.series.what.directory;
        if !is_within(directory) {
            bail!("the history names a directory outside of the project: {directory}");
        }
        let tree = |commit: &str| WorkTree::make(self.project, "history", commit, None);
        let trees = tree(self.old).and_then(|old| Ok([old, tree(self.new)?]));
        if interrupt.came() {
            return Ok(Ended::Interrupted);
        }
        let trees = trees?;
        let asked = Asked {
            what: &self.series.what,
            setup: self.series.setup.as_deref(),
            cleanup: self.series.cleanup.as_deref(),
            figure: self.figure,
            folders: [trees[0].project.clone(), trees[1].project.clone()],
            here: &self.project.root,
            most_rounds: self.most_rounds,
        };
        let found = compare(&asked, interrupt.clone()).context(
            "not measured again (a work tree has only what git knows: what bench --history --setup CMD makes is made there, too)",
        )?;
        if !found.pairs.is_empty() {
            let confirmation = self.confirmation(&found);
            self.project
                .add_to_history(|to| store::add_confirmation(to, self.series.id, &confirmation))?;
        }
        Ok(match found.was_interrupted {
            true => Ended::Interrupted,
            false => Ended::Measured,
        })
    }

    fn confirmation(&self, found: &Compared) -> Confirmation {
        let git = Git {
            folder: &self.project.root,
            identity: None,
        };
        let interval = found.estimate.and_then(|one| one.interval);
        Confirmation {
            confirmed_unix_s: unix_s(),
            figure: self.figure.word().to_owned(),
            old: self.old.to_owned(),
            new: self.new.to_owned(),
            commits: git.between(self.old, self.new),
            verdict: match found.verdict {
                Decided::Changed => Verdict::Changed,
                Decided::Same => Verdict::Same,
                Decided::Undecided { .. } => Verdict::Undecided,
            },
            ratio: found.estimate.map_or(1.0, |one| one.ratio),
            interval: interval.map(|one| (one.lo, one.hi)),
            pairs: found.pairs.clone(),
        }
    }
}

/// Whether a directory is below the folder that it is told from.
fn is_within(directory: &str) -> bool {
    let mut parts = Path::new(directory).components();
    parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the history says may be anybody's: it does not lead out of the work trees.
    #[test]
    fn directories_lead_nowhere_else() {
        assert!(is_within("") && is_within("sub/a b"));
        for wrong in ["/", "..", "sub/../..", "./../x", "/etc"] {
            assert!(!is_within(wrong), "{wrong}");
        }
    }
}
