//! `timesink prove A B`: which of the facts that differ makes the difference? The command of A is run in pairs, as it was and with
//! one fact of B's at a time.
//!
//! The recordings are read by a process of their own, which may do nothing else; what it says is shown before anything is run.

mod groups;
mod looks;
pub mod setting;
mod texts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{bail, Context};
use serde::Deserialize;
use timesink_capture::launch::Identity;
use timesink_trials::{rounds, Schedule};

use super::asked;
use super::bench::child::Interrupt;
use super::bench::runner::{NoSample, Runner};
use super::recording::parse_time;
use crate::bench::{Figure, Job, Outcome, Question, MINUTE};
use crate::out;
use crate::present::{json, terminal};
use crate::proof::{FactVerdict, Proof, Tried};
use groups::MadeGroups;
use looks::Looks;
use setting::{Setting, Settings, Variable, PRELOAD};
use texts::Texts;

/// Ended by Ctrl-C.
const INTERRUPTED: u8 = 130;
/// So many facts are tried if nobody names any: those that come first in `timesink env`.
const MOST: usize = 6;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording whose command is run: the baseline
    #[arg(value_name = "A")]
    first: PathBuf,
    /// The recording whose facts are tried, one at a time
    #[arg(value_name = "B")]
    second: PathBuf,
    /// Run this instead of the recorded command
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,

    /// Only try facts whose name contains this; repeatable
    #[arg(long = "fact", value_name = "TEXT")]
    facts: Vec<String>,

    /// Maximum number of rounds: each runs the command once as in A, and once with each fact of B. It stops as soon as every
    /// fact is decided; results are examined after fixed numbers of rounds, at a stricter significance level [default: what
    /// fits into a minute, from 20 to 80]
    #[arg(short, long, visible_alias = "runs", value_name = "N",
          value_parser = clap::value_parser!(u16).range(6..=2000))]
    rounds: Option<u16>,

    /// Run this with sh before each run, without measuring it
    #[arg(long, value_name = "CMD")]
    prepare: Option<String>,

    /// Kill a run that takes longer than this, or what --prepare runs, and stop
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    timeout: Option<Duration>,

    /// Smaller effects count as none: percent of a run as in A, or of the difference if that is longer
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = super::bench::parse_share)]
    margin: f64,

    /// Run even if that takes more than a minute, or a recording is packed
    #[arg(long)]
    yes: bool,

    /// Number that decides the order of the runs within each round; the same number repeats the same order
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Print everything as JSON (documented in docs/json.md)
    #[arg(long)]
    json: bool,
}

/// The kind of facts that are variables.
const ALLOCATOR: &str = "allocator";
const VARIABLE: &str = "environment variable";

/// What `timesink diff --json` says, as far as it is needed.
#[derive(Deserialize)]
struct Told {
    a: Side,
    b: Side,
    environment: Environment,
}

#[derive(Deserialize)]
struct Side {
    command: Vec<String>,
    directory: String,
    wall_ns: u64,
}

impl Side {
    /// The program that was started, by the file's name.
    fn program(&self) -> Option<&str> {
        let program = self.command.first()?;
        program.rsplit('/').next()
    }
}

#[derive(Deserialize)]
struct Environment {
    differences: Vec<Differing>,
}

/// A fact that differs.
#[derive(Clone, Default, Deserialize)]
pub struct Differing {
    pub kind: String,
    pub key: String,
    pub a: Option<String>,
    pub b: Option<String>,
    pub touched: bool,
    /// The run that lacks it may have used it unseen.
    #[serde(default)]
    pub may_be_unseen: bool,
}

impl Differing {
    pub fn name(&self) -> String {
        format!("{} {}", self.kind, self.key)
    }
}

pub fn run(arguments: &Arguments) -> anyhow::Result<u8> {
    let told: Told = asked("diff", &[&arguments.first, &arguments.second])?;
    let command = command(arguments, &told)?;
    is_same_program(arguments, &told)?;
    let texts = Texts::of(&arguments.first, &arguments.second)?;
    let Chosen {
        tried,
        untried,
        kept,
    } = chosen(arguments, &told, &texts);
    if tried.is_empty() {
        let proof = Proof {
            difference_ns: difference(&told),
            recorded_ns: told.a.wall_ns,
            is_recorded: arguments.command.is_empty(),
            rounds: 0,
            run_ns: told.a.wall_ns as f64,
            facts: untried,
        };
        return show(&proof, arguments);
    }
    let baseline = Settings::baseline(&tried, kept);
    let groups = MadeGroups::default();
    let directory = Path::new(&told.a.directory);
    let jobs = jobs(&command, directory, &tried, &baseline, &groups)?;
    let run = match arguments.command.is_empty() {
        true => Duration::from_nanos(told.a.wall_ns.max(told.b.wall_ns)),
        // What the recordings took says nothing of another command.
        false => one_run(arguments, &jobs[0])?,
    };
    let round = run * (tried.len() as u32 + 1);
    let looks = Looks::of(arguments.rounds, round);
    let asked = round * looks.most() as u32;
    out::note(format_args!(
        "Up to {} rounds of {} runs of {} take about {}",
        looks.most(),
        tried.len() + 1,
        command.join(" "),
        terminal::units::time(asked.as_nanos() as u64)
    ));
    let packed = [&arguments.first, &arguments.second]
        .iter()
        .any(|path| path.is_file());
    if (asked > MINUTE || packed) && !arguments.yes {
        let why = match packed {
            true => {
                "what a packed recording says may come from somebody else; look at timesink env"
            }
            false => "that is more than a minute",
        };
        bail!("{why}: add --yes to run it, or choose facts with --fact or fewer --rounds");
    }
    let code = measured(arguments, &told, &looks, &jobs, tried, untried);
    drop((texts, groups));
    code
}

fn runner(arguments: &Arguments) -> anyhow::Result<Runner> {
    Ok(Runner {
        identity: Identity::from_sudo()?,
        interrupt: Interrupt::watch().context("signals")?,
        groups: None,
        input: None,
        timeout: arguments.timeout,
        ignores_failure: false,
        same_output: false,
        metric: None,
        failure_hint: "",
        expected: BTreeMap::new(),
    })
}

/// How long a run takes, by one of them.
fn one_run(arguments: &Arguments, job: &Job) -> anyhow::Result<Duration> {
    let mut runner = runner(arguments)?;
    let run = arguments
        .prepare
        .iter()
        .try_for_each(|line| runner.prepare("prepare", line, job, arguments.timeout))
        .and_then(|()| runner.run(job, 0, None));
    let sample = match run {
        Ok(sample) => sample,
        Err(NoSample::Failed(error)) => return Err(error),
        Err(NoSample::Interrupted) => bail!("interrupted"),
    };
    let ns = Figure::Wall.of(&sample).unwrap_or_default();
    Ok(Duration::from_nanos(ns as u64))
}

fn measured(
    arguments: &Arguments,
    told: &Told,
    looks: &Looks,
    jobs: &[Job],
    tried: Vec<(Differing, Setting)>,
    untried: Vec<Tried>,
) -> anyhow::Result<u8> {
    let mut runner = runner(arguments)?;
    let question = Question {
        figure: Figure::Wall,
        metric: None,
        margin: margin(arguments.margin, told),
        gate: None,
        alpha: looks.alpha(tried.len()),
    };
    let mut schedule = Schedule::new(jobs.len(), arguments.seed);
    let run = |number: usize, _: &mut Schedule| {
        if let Some(line) = &arguments.prepare {
            runner.prepare("prepare", line, &jobs[number], arguments.timeout)?;
        }
        runner.run(&jobs[number], number, None)
    };
    let most = looks.most();
    let (done, stopped) = rounds(&mut schedule, Vec::new(), run, |done| {
        out::progress(&format!("round {} of at most {most}", done.len()));
        looks.after(done.len(), || {
            Outcome::of(jobs, done, &question).is_decided()
        })
    });
    out::progress("");
    let interrupted = match stopped {
        timesink_trials::Stopped::Failed(NoSample::Failed(error)) => return Err(error),
        timesink_trials::Stopped::Failed(NoSample::Interrupted) => true,
        timesink_trials::Stopped::Enough => false,
    };
    let outcome = Outcome::of(jobs, &done, &question);
    let run_ns = outcome.commands.first().and_then(|one| one.deciding);
    let run_ns = run_ns.map_or(told.a.wall_ns as f64, |summary| summary.median);
    let verdicts = outcome.comparisons.iter().map(|one| verdict(one, run_ns));
    let names = tried.iter().map(|(fact, _)| fact.name());
    let facts = names.zip(verdicts);
    let mut facts: Vec<Tried> = facts
        .map(|(name, verdict)| Tried { name, verdict })
        .collect();
    facts.extend(untried);
    let proof = Proof {
        difference_ns: difference(told),
        recorded_ns: told.a.wall_ns,
        is_recorded: arguments.command.is_empty(),
        rounds: done.len(),
        run_ns,
        facts,
    };
    if interrupted {
        out::note(format_args!(
            "stopped after {} of at most {most} rounds",
            proof.rounds
        ));
    }
    show(&proof, arguments)?;
    Ok(if interrupted { INTERRUPTED } else { 0 })
}

/// What counts as no effect, as a share of a run: of what is to be explained, too, so that a run that became ten times as long is
/// not measured until its last millisecond is explained.
fn margin(share: f64, told: &Told) -> f64 {
    let apart = difference(told).unsigned_abs() as f64;
    share * (apart / told.a.wall_ns.max(1) as f64).max(1.0)
}

fn difference(told: &Told) -> i64 {
    let wall = |side: &Side| i64::try_from(side.wall_ns).unwrap_or(i64::MAX);
    wall(&told.b).saturating_sub(wall(&told.a))
}

fn show(proof: &Proof, arguments: &Arguments) -> anyhow::Result<u8> {
    if arguments.json {
        out::for_machines(|to| json::proof(proof, to))?;
        return Ok(0);
    }
    let style = out::style();
    out::page(&terminal::proof(proof, &style), &style)?;
    Ok(0)
}

fn verdict(compared: &crate::bench::Comparison, run_ns: f64) -> FactVerdict {
    use timesink_trials::Verdict;
    let Some(estimate) = compared.estimate else {
        return FactVerdict::Undecided { more: None };
    };
    match (compared.verdict, estimate.interval) {
        (Verdict::Changed, Some(interval)) => FactVerdict::Confirmed {
            ns: (estimate.ratio - 1.0) * run_ns,
            lo_ns: (interval.lo - 1.0) * run_ns,
            hi_ns: (interval.hi - 1.0) * run_ns,
        },
        (Verdict::Same, Some(interval)) => FactVerdict::Excluded {
            ns: (interval.lo - 1.0).abs().max((interval.hi - 1.0).abs()) * run_ns,
        },
        (Verdict::Undecided { more }, _) => FactVerdict::Undecided { more },
        (_, None) => FactVerdict::Undecided { more: None },
    }
}

fn command(arguments: &Arguments, told: &Told) -> anyhow::Result<Vec<String>> {
    if !arguments.command.is_empty() {
        return Ok(arguments.command.clone());
    }
    let command = told.a.command.clone();
    if command.is_empty() {
        bail!("A was attached to and has no command: give it after --");
    }
    if command
        .iter()
        .any(|word| word.contains(timesink_capture::REDACTED))
    {
        bail!("the recorded command lacks what was redacted: give it after --");
    }
    Ok(command)
}

/// Facts of B are set for the command of A: that tells something of why B took another time only if both did the same work.
fn is_same_program(arguments: &Arguments, told: &Told) -> anyhow::Result<()> {
    if !arguments.command.is_empty() || told.a.command == told.b.command {
        return Ok(());
    }
    match (told.a.program(), told.b.program()) {
        (Some(a), Some(b)) if a != b => bail!(
            "A is a recording of {a} and B of {b}: prove runs one command with the facts of both, which says nothing of two programs. \
             timesink diff shows what differs between them, timesink bench which is faster. To try B's facts on a command all the \
             same, give it after --"
        ),
        (Some(_), Some(_)) => {
            out::note(format_args!(
                "A and B were started with different arguments, which may be the difference. A's command is run: {}",
                told.a.command.join(" ")
            ));
            Ok(())
        }
        _ => Ok(()),
    }
}

#[derive(Default)]
struct Chosen {
    /// The facts that are tried, each with what sets it.
    tried: Vec<(Differing, Setting)>,
    /// The others, each with why not.
    untried: Vec<Tried>,
    /// Those of the others that are as in A in all runs.
    kept: Vec<Setting>,
}

fn chosen(arguments: &Arguments, told: &Told, texts: &Texts) -> Chosen {
    let mut chosen = Chosen::default();
    let mut variables: Vec<Variable> = Vec::new();
    let differences = &told.environment.differences;
    let is_preloaded = differences
        .iter()
        .any(|fact| fact.kind == VARIABLE && fact.key == PRELOAD);
    for fact in differences {
        let name = fact.name();
        let is_named = arguments
            .facts
            .iter()
            .any(|text| name.contains(text.as_str()));
        if !arguments.facts.is_empty() && !is_named {
            chosen.kept.extend(Setting::kept(fact, texts));
            continue;
        }
        // Only the program knows which variables it reads: those that differ are tried, all of them in one.
        if !is_named && !fact.touched && fact.kind == VARIABLE {
            if let Ok(Setting::Variables(one)) = Setting::of(fact, texts) {
                variables.extend(one);
                continue;
            }
        }
        let why_not = match (is_named, fact.touched) {
            (false, false) => Some("the run did not use it, as far as is known (--fact tries it)"),
            (false, true) if fact.kind == ALLOCATOR && is_preloaded => {
                Some("LD_PRELOAD chooses it, which is tried")
            }
            (false, true) if chosen.tried.len() >= MOST => {
                Some("others come first (--fact tries it)")
            }
            _ => None,
        };
        let setting = match why_not {
            Some(why) => Err(why.to_owned()),
            None => Setting::of(fact, texts),
        };
        match setting {
            Ok(setting) => chosen.tried.push((fact.clone(), setting)),
            Err(why) => {
                chosen.kept.extend(Setting::kept(fact, texts));
                chosen.untried.push(Tried {
                    name,
                    verdict: FactVerdict::NotTested { why },
                });
            }
        }
    }
    if !variables.is_empty() {
        chosen
            .tried
            .push((together(&variables), Setting::Variables(variables)));
    }
    chosen
}

/// Variables that are tried together, as one fact.
fn together(variables: &[Variable]) -> Differing {
    const NAMED: usize = 3;
    let names = variables.iter().take(NAMED).map(|one| one.name.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    let (kind, key) = match variables.len() {
        1 => (VARIABLE.to_owned(), names),
        n if n <= NAMED => (format!("{VARIABLE}s"), format!("{names} (together)")),
        n => (
            format!("{VARIABLE}s"),
            format!("{names} and {} more (together)", n - NAMED),
        ),
    };
    Differing {
        kind,
        key,
        a: None,
        b: None,
        touched: false,
        may_be_unseen: false,
    }
}

/// The command as it was, and with each fact.
fn jobs(
    command: &[String],
    directory: &Path,
    tried: &[(Differing, Setting)],
    baseline: &Settings,
    groups: &MadeGroups,
) -> anyhow::Result<Vec<Job>> {
    let own = std::env::current_exe().context("the path of timesink")?;
    let own = own.to_str().context("the path of timesink is no text")?;
    let mut jobs = Vec::new();
    let directory = match directory.is_dir() {
        true => directory.to_string_lossy().into_owned(),
        false => ".".to_owned(),
    };
    let flipped = (0..tried.len()).map(Some);
    for flip in std::iter::once(None).chain(flipped) {
        let settings = baseline.with(flip.and_then(|at| tried.get(at)));
        let mut words = vec![own.to_owned(), "under".to_owned()];
        words.extend(["--directory".to_owned(), directory.clone()]);
        words.extend(settings.words());
        for group in groups.make(&settings.limits())? {
            words.extend(["--group".to_owned(), group.to_string_lossy().into_owned()]);
        }
        words.push("--".to_owned());
        words.extend_from_slice(command);
        let name = flip
            .and_then(|at| tried.get(at))
            .map(|(fact, _)| fact.name());
        jobs.push(Job {
            text: name.unwrap_or_else(|| "as in A".to_owned()),
            words,
            parameters: Vec::new(),
            directory: None,
            reference: flip.map(|_| 0),
        });
    }
    Ok(jobs)
}
