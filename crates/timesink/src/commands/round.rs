//! `timesink round NAME -- CMD`: measures and records a command as one round of an optimisation, and keeps both.
//!
//! Measuring, recording and reading are timesink's own commands, each in a process of its own with no more rights than it needs.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{bail, Context};
use serde::Deserialize;
use timesink_capture::launch::Identity;
use timesink_recording::files::Folder;

use super::bench::child::{self, Interrupt};
use super::bench::runner::Printed;
use super::bench::INTERRUPTED;
use super::{as_caller, asked, ourselves};
use crate::out;
use crate::present::terminal;
use crate::project::source::Git;
use crate::project::Project;
use crate::rounds::{
    keep, keep_text, Begun, FirstCause, Job, Predicted, Round, CHANGES, RECORDING, VERSION,
};

const RUNS: u16 = 10;
/// What is in the folder of a recording until it is finished.
const SPOOL: &str = "spool.bin";

#[derive(clap::Args)]
pub struct Arguments {
    /// What was tried, in a few words
    name: String,
    /// The command [default: that of the round before, with its options]
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,

    /// Runs to measure [default: 10]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(4..=50))]
    runs: Option<u16>,

    /// Run this by sh once before
    #[arg(long, value_name = "CMD")]
    build: Option<String>,

    /// Run this by sh before each run, without measuring it
    #[arg(long, value_name = "CMD")]
    prepare: Option<String>,

    /// Measure a figure that the command prints: the first group of a regular expression, such as 'queries/s: ([0-9.]+)'
    #[arg(long, value_name = "REGEX")]
    metric: Option<String>,

    /// More of the metric is better
    #[arg(long, requires = "metric")]
    higher_is_better: bool,

    /// Also measure runs that fail
    #[arg(long)]
    ignore_failure: bool,
}

/// The exit status, where nothing went wrong or what was measured could be kept.
pub fn run(arguments: &Arguments) -> anyhow::Result<u8> {
    let here = std::env::current_dir().context("the current directory")?;
    let project = Project::find(&here);
    let mut rounds = as_caller(|| project.rounds())?;
    let job = job(arguments, &project, &here, rounds.last())?;
    let number = rounds.last().map_or(1, |last| last.number + 1);
    let Begun { folder, lock } = as_caller(|| project.begin(number))?;
    let place = Place {
        project: &project,
        folder: &folder,
        number,
    };
    let interrupt = Interrupt::watch().context("signals")?;
    let measured = round(&arguments.name, &place, job, rounds.last(), &interrupt);
    let (mut measured, changes) = match measured {
        Ok(Some(measured)) => measured,
        nothing => {
            as_caller(|| Ok(folder.clear()?))?;
            return match nothing {
                Err(error) if !interrupt.came() => Err(error),
                _ => Ok(INTERRUPTED),
            };
        }
    };
    let kept = as_caller(|| keep_figures(&folder, &mut measured, changes.as_deref()));
    drop(lock);
    rounds.push(measured);
    let style = out::style();
    out::page(&terminal::rounds(&rounds, &style), &style)?;
    kept.with_context(|| format!("round {number} was measured, and is not kept"))?;
    Ok(if interrupt.came() { INTERRUPTED } else { 0 })
}

/// Keeps a round. Where the disk has no room for all of it, the recording makes way for the figures.
fn keep_figures(folder: &Folder, round: &mut Round, changes: Option<&[u8]>) -> anyhow::Result<()> {
    let Err(error) = keep(folder, round) else {
        return Ok(());
    };
    without_recording(folder, changes)?;
    round.not_recorded = Some(format!("it made way for the figures: {error:#}"));
    forget_recording(round);
    keep(folder, round)
}

/// Nothing is known of where a round ran and why it took so long without its recording.
fn forget_recording(round: &mut Round) {
    (round.first, round.predicted) = (None, None);
    (round.facts_differ, round.facts_checksum) = (None, None);
}

/// All that is in the folder of a round goes but what was not committed.
fn without_recording(folder: &Folder, changes: Option<&[u8]>) -> anyhow::Result<()> {
    folder.clear()?;
    match changes {
        Some(changes) => keep_text(folder, CHANGES, changes),
        None => Ok(()),
    }
}

/// What is run: as told, else as in the round before.
fn job(
    arguments: &Arguments,
    project: &Project,
    here: &Path,
    before: Option<&Round>,
) -> anyhow::Result<Job> {
    let inherited = match (arguments.command.is_empty(), before) {
        (true, None) => bail!("the first round needs a command: timesink round NAME -- CMD"),
        (true, Some(before)) => before.job.clone(),
        (false, _) => Job {
            command: arguments.command.clone(),
            directory: here
                .strip_prefix(&project.root)
                .unwrap_or(here)
                .to_string_lossy()
                .into_owned(),
            build: None,
            prepare: None,
            runs: RUNS,
            metric: None,
            higher_is_better: false,
            ignore_failure: false,
        },
    };
    Ok(Job {
        build: arguments.build.clone().or(inherited.build),
        prepare: arguments.prepare.clone().or(inherited.prepare),
        runs: arguments.runs.unwrap_or(inherited.runs),
        higher_is_better: match arguments.metric {
            Some(_) => arguments.higher_is_better,
            None => inherited.higher_is_better,
        },
        metric: arguments.metric.clone().or(inherited.metric),
        ignore_failure: arguments.ignore_failure || inherited.ignore_failure,
        ..inherited
    })
}

/// Where a round is kept.
struct Place<'a> {
    project: &'a Project,
    folder: &'a Folder,
    number: u32,
}

/// What was measured, with what was not committed; `None`: we were to end before there was anything.
type Found = Option<(Round, Option<Vec<u8>>)>;

fn round(
    name: &str,
    place: &Place<'_>,
    job: Job,
    before: Option<&Round>,
    interrupt: &Interrupt,
) -> anyhow::Result<Found> {
    let Place {
        project,
        folder,
        number,
    } = *place;
    let identity = Identity::from_sudo()?;
    let directory = project.root.join(&job.directory);
    if let Some(line) = &job.build {
        by_sh("build", line, &directory, identity.as_ref())?;
    }
    let git = Git {
        folder: &project.root,
        identity: identity.as_ref(),
    };
    let source = git.source();
    let changes = git.changes();
    if let Some(changes) = &changes {
        as_caller(|| keep_text(folder, CHANGES, changes))?;
    }
    if interrupt.came() {
        return Ok(None);
    }
    let figures = figures(&job, &directory, interrupt)?;
    if figures.is_empty() {
        return Ok(None);
    }
    let mut round = Round {
        version: VERSION,
        number,
        name: name.to_owned(),
        measured_unix_s: SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        job,
        figures,
        not_recorded: None,
        first: None,
        predicted: None,
        facts_differ: None,
        facts_checksum: None,
        source,
    };
    let recorded = recorded(&mut round, place, &directory, before, interrupt);
    round.not_recorded = match recorded {
        _ if interrupt.came() => Some("stopped by Ctrl-C".to_owned()),
        recorded => recorded.err().map(|why| format!("{why:#}")),
    };
    if round.not_recorded.is_some() {
        // What there is of it helps nobody, and takes room on a disk that may be full.
        as_caller(|| without_recording(folder, changes.as_deref()))?;
        forget_recording(&mut round);
    }
    Ok(Some((round, changes)))
}

/// Records a round, and what its recording says.
fn recorded(
    round: &mut Round,
    place: &Place<'_>,
    directory: &Path,
    before: Option<&Round>,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    if interrupt.came() {
        return Ok(());
    }
    if let Some(line) = &round.job.prepare {
        by_sh("prepare", line, directory, Identity::from_sudo()?.as_ref())?;
    }
    let recording = place.folder.path_of(RECORDING);
    record(&round.job, directory, &recording, interrupt)?;
    if interrupt.came() {
        return Ok(());
    }
    round.first = first_cause(&recording)?;
    round.facts_checksum = Some(asked::<Surroundings>("env", &[&recording])?.checksum());
    let earlier = before.map(|before| place.project.folder_of(before.number).join(RECORDING));
    if let Some(earlier) = earlier.filter(|earlier| earlier.exists()) {
        let diff: Diff = asked("diff", &[&earlier, &recording])?;
        round.predicted = diff.prediction();
        round.facts_differ = Some(diff.environment.differ);
    }
    Ok(())
}

/// Has sh run a line as the caller.
pub fn by_sh(
    what: &str,
    line: &str,
    directory: &Path,
    identity: Option<&Identity>,
) -> anyhow::Result<()> {
    out::progress(line);
    let mut sh = Command::new("sh");
    if let Some(user) = identity {
        user.runs(&mut sh);
    }
    let done = sh
        .args(["-c", line])
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .context("sh cannot be started")?;
    out::progress("");
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        bail!("--{what} {line} failed: {}", said.trim());
    }
    Ok(())
}

/// What `timesink bench --json` says, as far as it is needed.
#[derive(Deserialize)]
struct Bench {
    commands: Vec<Benched>,
}

#[derive(Deserialize)]
struct Benched {
    runs: Vec<BenchedRun>,
}

#[derive(Deserialize)]
struct BenchedRun {
    wall_ns: f64,
    metric: Option<f64>,
}

/// The figure of each run; fewer than were asked for, or none, if we are to end.
pub fn figures(job: &Job, directory: &Path, interrupt: &Interrupt) -> anyhow::Result<Vec<f64>> {
    let words = job.command.iter().map(String::as_str);
    let command = shlex::try_join(words).context("the command has a zero byte in it")?;
    let mut bench = ourselves()?;
    bench.args(["bench", "--json", "--rounds", &job.runs.to_string()]);
    for (option, value) in [("--prepare", &job.prepare), ("--metric", &job.metric)] {
        if let Some(value) = value {
            bench.arg(option).arg(value);
        }
    }
    if job.higher_is_better {
        bench.arg("--higher-is-better");
    }
    if job.ignore_failure {
        bench.arg("--ignore-failure");
    }
    bench.arg("--").arg(command).current_dir(directory);
    let mut printed = Printed::nothing()?;
    let output = printed.output.try_clone().context("timesink bench")?;
    bench.stdin(Stdio::null()).stdout(output);
    let status = child::attend(&mut bench, interrupt, |_| false).context("timesink bench")?;
    let said = printed.bytes()?;
    if status.code() == Some(INTERRUPTED.into()) && said.is_empty() {
        return Ok(Vec::new());
    }
    if !status.success() && status.code() != Some(INTERRUPTED.into()) {
        bail!("the command could not be measured");
    }
    let bench: Bench = serde_json::from_slice(&said).context("the JSON of timesink bench")?;
    let runs = bench.commands.into_iter().flat_map(|one| one.runs);
    Ok(runs.map(|run| run.metric.unwrap_or(run.wall_ns)).collect())
}

fn record(
    job: &Job,
    directory: &Path,
    recording: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    out::progress("recording");
    let printed = Printed::nothing()?;
    let mut run = ourselves()?;
    run.args(["run", "--quiet", "--output"])
        .arg(recording)
        .arg("--")
        .args(&job.command)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(printed.output.try_clone().context("timesink run")?)
        .stderr(printed.errors.try_clone().context("timesink run")?);
    let ended = child::attend(&mut run, interrupt, |_| false);
    out::progress("");
    ended.context("timesink run")?;
    // With a spool in it, it could not be finished.
    let said = printed.shown();
    let said = said.trim().trim_start_matches("timesink: ");
    if recording.join(SPOOL).exists() {
        // Before that stand where it was and how to finish it: it does not stay.
        let why = said.rsplit(": ").next().unwrap_or(said);
        bail!("the recording could not be finished: {why}");
    }
    if !recording.exists() {
        bail!("{said}");
    }
    Ok(())
}

/// What `timesink report --json` says, as far as it is needed.
#[derive(Deserialize)]
struct Told {
    wall_ns: u64,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    rule: String,
    title: String,
    gain: Gain,
}

#[derive(Deserialize)]
struct Gain {
    lo_ns: f64,
    hi_ns: f64,
}

fn first_cause(recording: &Path) -> anyhow::Result<Option<FirstCause>> {
    let told: Told = asked("report", &[recording])?;
    let wall_ns = told.wall_ns.max(1) as f64;
    let first = told.findings.into_iter().next();
    Ok(first.map(|first| FirstCause {
        rule: first.rule,
        title: first.title,
        saves_lo: first.gain.lo_ns / wall_ns,
        saves_hi: first.gain.hi_ns / wall_ns,
    }))
}

/// What `timesink diff --json` says, as far as it is needed.
#[derive(Deserialize)]
struct Diff {
    a: Side,
    b: Side,
    prediction: Option<Prediction>,
    environment: Environment,
}

#[derive(Deserialize)]
struct Side {
    wall_ns: f64,
}

#[derive(Deserialize)]
struct Prediction {
    lo_ns: f64,
    hi_ns: f64,
    measured_ns: f64,
}

#[derive(Deserialize)]
struct Environment {
    differ: u64,
}

/// Where a recording was made, as `timesink env` tells it.
#[derive(Deserialize)]
struct Surroundings {
    facts: Vec<Known>,
}

#[derive(Deserialize)]
struct Known {
    kind: String,
    key: String,
    begin: Option<String>,
    end: Option<String>,
    varies: String,
}

impl Surroundings {
    /// Of what does not move by itself.
    fn checksum(&self) -> String {
        let mut sum = crc32fast::Hasher::new();
        let stays = |fact: &&Known| matches!(fact.varies.as_str(), "fixed" | "tunable");
        for fact in self.facts.iter().filter(stays) {
            let value = fact.begin.as_ref().or(fact.end.as_ref());
            for text in [&fact.kind, &fact.key, value.unwrap_or(&String::new())] {
                sum.update(text.as_bytes());
                sum.update(&[0]);
            }
        }
        format!("{:08x}", sum.finalize())
    }
}

impl Diff {
    /// It speaks of the slower of the two: where that is the later one, of what going back would save.
    fn prediction(&self) -> Option<Predicted> {
        let wall_ns = self.a.wall_ns.max(1.0);
        let prediction = self.prediction.as_ref();
        let prediction = prediction.filter(|_| self.a.wall_ns >= self.b.wall_ns);
        prediction.map(|one| Predicted {
            saves_lo: one.lo_ns / wall_ns,
            saves_hi: one.hi_ns / wall_ns,
            saved: one.measured_ns / wall_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum of where a round ran changes with what was set there, and not with what moves by itself.
    #[test]
    fn checksums_of_where_rounds_ran() {
        let told = |nice: &str, load: &str| {
            let fact = |kind: &str, value: &str, varies: &str| serde_json::json!({"kind": kind, "key": "k", "begin": value, "end": null, "varies": varies});
            let facts = [
                fact("affinity", nice, "tunable"),
                fact("load", load, "moves"),
            ];
            let page = serde_json::json!({ "facts": facts });
            let read: Surroundings = serde_json::from_value(page).expect("facts");
            read.checksum()
        };
        assert_eq!(told("0", "1.5"), told("0", "0.1"));
        assert_ne!(told("0", "1.5"), told("5", "1.5"));
    }
}
