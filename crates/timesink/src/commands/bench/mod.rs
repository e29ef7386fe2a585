//! `timesink bench A B ...`: is it really faster? Commands in rounds, each round once each in random order, until there is a
//! verdict or all rounds are run.

pub mod child;
mod file;
mod formats;
mod grid;
pub mod history;
mod imported;
pub mod memory_groups;
mod others;
pub mod pairs;
mod record;
pub mod runner;
mod start;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{bail, Context};
use regex_lite::Regex;
use timesink_capture::floors::LoadWatch;
use timesink_capture::launch::Identity;
use timesink_trials::{doubling, per_look, rounds, Flow, Gate, Round, Schedule, Stopped};

use super::recording::parse_time;
use super::{as_caller, diff};
use crate::bench::outcome::ALPHA;
use crate::bench::resumed::Before;
use crate::bench::{rounds_in_a_minute, Figure, Job, Metric, Outcome, Question, Sample};
use crate::out;
use crate::present::bench::Bench;
use crate::present::terminal;
use child::Interrupt;
use formats::{print, Formats};
use grid::{filled, jobs, parse_parameter, Parameter};
use memory_groups::Place;
use others::Others;
use runner::{NoSample, Runner, MOST_PADDING};

/// A loss beyond the gate is proven.
const LOST: u8 = 1;
/// A command failed, or nothing could be measured: 1 is for a proven loss.
pub const NOT_MEASURED: u8 = 2;
/// With a gate: neither a loss nor its absence is proven.
const UNDECIDED: u8 = 3;
/// Ended by Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// Rounds where nobody says how many: what fits into a minute, between these. Fewer than ten say little, and of thirty
/// pairs that scatter by 5 % a difference of 2.6 % is seen.
const ROUNDS: (usize, usize) = (10, 30);
/// The most rounds until it is decided: four looks before the last.
const MOST_ROUNDS: usize = 160;
/// Progress is shown no more often than this.
const SHOWN_EVERY: Duration = Duration::from_millis(250);

/// To results that others have measured, only this applies.
const OF_IMPORTED: [&str; 2] = ["import", "gate"];

/// The command line of bench, on which all that says how to measure, or what to write of it, is refused with results of others.
pub fn command_line(command: clap::Command) -> clap::Command {
    let all = command.get_arguments().map(|argument| argument.get_id());
    let refused = all.filter(|id| !OF_IMPORTED.contains(&id.as_str()));
    let refused: Vec<clap::Id> = refused.cloned().collect();
    command.mut_arg("import", |import| import.conflicts_with_all(refused))
}

#[derive(clap::Args)]
pub struct Arguments {
    /// The commands, each in quotes; they are run without a shell [default: those of bench.toml, with its options]
    #[arg(value_name = "CMD")]
    commands: Vec<String>,

    /// Read commands and options from this file; those on the command line take precedence
    #[arg(long, value_name = "FILE", conflicts_with = "commands")]
    file: Option<PathBuf>,

    /// Continue after the rounds in this file, which --json=FILE has written for the same commands
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,

    /// Compare the results in hyperfine's JSON files, and run nothing; of the other options, only --gate applies
    #[arg(long, value_name = "FILE", num_args = 1..)]
    import: Vec<PathBuf>,

    /// Values for {NAME} in the commands; several parameters make a grid
    #[arg(short, long = "parameter", value_name = "NAME=A,B,...", value_parser = parse_parameter)]
    parameters: Vec<Parameter>,

    /// Run the commands in this directory; in several, each command is held against itself in the first
    #[arg(long = "in", value_name = "DIR")]
    directories: Vec<PathBuf>,

    /// Rounds to run: each holds every command once [default: what fits into a minute, from 10 to 30]
    #[arg(short, long, visible_alias = "runs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=2000))]
    rounds: Option<u16>,

    /// Stop as soon as there is a verdict. Results are examined after fixed numbers of rounds, at a stricter significance level;
    /// --rounds is the maximum [default: 160]
    #[arg(long)]
    until_decided: bool,

    /// Rounds to run first without measuring. Slow first runs are detected and left out in any case
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    warmup: u16,

    /// Run this with sh before the first run of each command
    #[arg(long, value_name = "CMD")]
    setup: Option<String>,

    /// Run this with sh before each run, without measuring it
    #[arg(long, value_name = "CMD")]
    prepare: Option<String>,

    /// Run this with sh after the last run of each command, whatever happened
    #[arg(long, value_name = "CMD")]
    cleanup: Option<String>,

    /// Run the commands with sh -c; the start of the shell is measured, too
    #[arg(long)]
    shell: bool,

    /// Standard input of the commands [default: none]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// All runs must print the same on standard output
    #[arg(long)]
    same_output: bool,

    /// Also measure commands that fail
    #[arg(long)]
    ignore_failure: bool,

    /// Kill a run that takes longer than this, or what --setup, --prepare or --cleanup runs, and stop. Of a recorded run, the time of
    /// the command itself counts
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    timeout: Option<Duration>,

    /// Leave the environment as it is; by default each run gets one more variable, of random length
    #[arg(long)]
    same_environment: bool,

    /// The figure that decides the verdict
    #[arg(
        long,
        value_name = "FIGURE",
        default_value = "wall",
        conflicts_with = "metric"
    )]
    by: Figure,

    /// Decide by a figure that the commands print: the first group of a regular expression, such as 'queries/s: ([0-9.]+)'
    #[arg(long, value_name = "REGEX", value_parser = parse_metric)]
    metric: Option<Regex>,

    /// Higher values of the metric are better
    #[arg(long, requires = "metric")]
    higher_is_better: bool,

    /// Smaller differences count as none
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = parse_share)]
    margin: f64,

    /// Exit with 1 if a loss beyond this is proven, with 0 if it is proven that there is none, else with 3
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    gate: Option<f64>,

    /// Keep the results in the project's history: .timesink/history
    #[arg(long, conflicts_with = "resume")]
    history: bool,

    /// Number that decides the order of the runs within each round; the same number repeats the same order [default: another
    /// one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Then record both commands three times each, and print what differs (needs root)
    #[arg(long)]
    record: bool,

    #[command(
        flatten,
        next_help_heading = "Output formats (printed instead of the report, or written to a new file)"
    )]
    formats: Formats,
}

pub fn parse_share(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err("expected more than 0% and at most 100%".to_owned()),
    }
}

fn parse_metric(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| error.to_string())
}

/// How many rounds there are to be.
enum Amount {
    Fixed(usize),
    /// What fits into a minute.
    Fitting,
    /// Until it is decided, at these looks.
    Looks(Vec<usize>),
}

impl Amount {
    fn of(arguments: &Arguments) -> Amount {
        let wanted = arguments.rounds.map(usize::from);
        match (arguments.until_decided, wanted) {
            (true, most) => Amount::Looks(doubling(most.unwrap_or(MOST_ROUNDS))),
            (false, Some(rounds)) => Amount::Fixed(rounds),
            (false, None) => Amount::Fitting,
        }
    }

    /// How many at most, as far as that is known after the first rounds.
    fn most(&self, one: Duration) -> usize {
        match self {
            Amount::Fixed(rounds) => *rounds,
            Amount::Fitting => rounds_in_a_minute(one, ROUNDS),
            Amount::Looks(looks) => looks.last().copied().unwrap_or(MOST_ROUNDS),
        }
    }
}

/// Measures, prints, and says with its exit code what the gate wants to know.
pub fn run(arguments: &Arguments) -> anyhow::Result<u8> {
    if !arguments.import.is_empty() {
        return imported::compare(&arguments.import, arguments.gate);
    }
    if !arguments.commands.is_empty() {
        return measure(arguments);
    }
    let file = arguments.file.as_deref();
    let arguments = file::arguments(file.unwrap_or(Path::new(file::NAME)))?;
    if arguments.commands.is_empty() {
        bail!("the file has no commands = [...]");
    }
    measure(&arguments)
}

fn measure(arguments: &Arguments) -> anyhow::Result<u8> {
    arguments.formats.check()?;
    let plan = Plan::of(arguments)?;
    let state = arguments
        .history
        .then(|| history::State::now(&arguments.directories))
        .transpose()?;
    let interrupt = Interrupt::watch().context("signals")?;
    let others = Others::announce();
    let load = LoadWatch::start();
    let measured = plan.run(interrupt)?;
    let done = measured.rounds;
    let is_stopped = matches!(measured.stopped, Some(NoSample::Interrupted));
    let failed = match measured.stopped {
        Some(NoSample::Failed(error)) if done.is_empty() => return Err(error),
        Some(NoSample::Failed(error)) => {
            Some(error.context(format!("stopped in round {}", done.len() + 1)))
        }
        Some(NoSample::Interrupted) if done.is_empty() => return Ok(INTERRUPTED),
        _ => None,
    };
    // Ctrl-C in the recordings comes after all rounds: nothing that is printed lacks anything.
    let was_interrupted = failed.is_some() || is_stopped;
    let outcome = Outcome::of(&plan.jobs, &done, &plan.question);
    let bench = Bench {
        jobs: &plan.jobs,
        rounds: &done,
        question: &plan.question,
        outcome: &outcome,
        load: plan.before.with(load.end(), done.len()),
        is_alone: !others.came(),
        was_interrupted,
        looked_at: matches!(plan.amount, Amount::Looks(_)),
        seed: plan.seed,
    };
    let faults = print(&arguments.formats, &bench);
    faults
        .iter()
        .for_each(|fault| out::tell(format_args!("{fault:#}")));
    if let Some(error) = failed {
        return Err(error);
    }
    if was_interrupted {
        return Ok(INTERRUPTED);
    }
    if let Some(state) = state {
        state.keep(arguments, &bench)?;
    }
    match measured.failed_after {
        Some(NoSample::Failed(error)) => return Err(error),
        Some(NoSample::Interrupted) => return Ok(INTERRUPTED),
        None => {}
    }
    if let Some([first, second]) = measured.recordings {
        diff::show(first, second)?;
    }
    // Told above; who reads the file must not take it for the verdict.
    if !faults.is_empty() {
        return Ok(NOT_MEASURED);
    }
    Ok(outcome.gate().map_or(0, status))
}

/// The exit status that says what a gate does.
fn status(gate: Gate) -> u8 {
    match gate {
        Gate::Lost => LOST,
        Gate::Undecided { .. } => UNDECIDED,
        Gate::Passed => 0,
    }
}

/// What is to be measured.
struct Plan<'a> {
    arguments: &'a Arguments,
    jobs: Vec<Job>,
    question: Question,
    amount: Amount,
    seed: u64,
    before: Before,
}

impl<'a> Plan<'a> {
    fn of(arguments: &'a Arguments) -> anyhow::Result<Plan<'a>> {
        let jobs = jobs(
            &arguments.commands,
            &arguments.parameters,
            &arguments.directories,
            arguments.shell,
        )?;
        if arguments.record {
            record::is_possible(&jobs)?;
        }
        if arguments.gate.is_some() && jobs.len() < 2 {
            bail!("--gate needs two commands: the first is what the others are held against");
        }
        let amount = Amount::of(arguments);
        let question = question(arguments, &jobs, &amount);
        let before = match &arguments.resume {
            Some(file) => before(file, &jobs, &question)?,
            None => Before::default(),
        };
        Ok(Plan {
            arguments,
            jobs,
            question,
            amount,
            seed: arguments.seed.unwrap_or_else(some_seed),
            before,
        })
    }

    fn run(&self, interrupt: Interrupt) -> anyhow::Result<Measured> {
        let mut runner = runner(self.arguments, interrupt)?;
        let before = self
            .before
            .rounds_with_memory_of(runner.memory_of(), self.question.figure)?;
        let mut schedule = Schedule::new(self.jobs.len(), self.seed);
        let measurement = Measurement {
            arguments: self.arguments,
            jobs: &self.jobs,
            question: &self.question,
            amount: &self.amount,
        };
        let measured = measurement.run(&mut runner, &mut schedule, before);
        out::progress("");
        Ok(measured)
    }
}

/// A seed that is another one each time, and that a person can type.
fn some_seed() -> u64 {
    const SEEDS: u128 = 1_000_000;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let us = now.map_or(0, |since| since.as_micros());
    u64::try_from(us % SEEDS).unwrap_or(0)
}

/// The rounds that another time measured and was ended in.
fn before(file: &Path, jobs: &[Job], question: &Question) -> anyhow::Result<Before> {
    let text = as_caller(|| imported::text(file));
    let before = text.and_then(|text| crate::bench::resumed::before(&text, jobs, question));
    let before = before.with_context(|| file.display().to_string())?;
    out::note(format_args!(
        "going on after {}",
        terminal::units::plural(before.rounds.len() as u64, "round", "rounds")
    ));
    Ok(before)
}

fn question(arguments: &Arguments, jobs: &[Job], amount: &Amount) -> Question {
    let comparisons = jobs.iter().filter(|job| job.reference.is_some()).count();
    let alpha = ALPHA / comparisons.max(1) as f64;
    let alpha = match amount {
        Amount::Looks(looks) => per_look(looks, alpha),
        Amount::Fixed(_) | Amount::Fitting => alpha,
    };
    let metric = arguments.metric.as_ref().map(|metric| Metric {
        name: Metric::name_in(metric.as_str()),
        higher_is_better: arguments.higher_is_better,
    });
    Question {
        figure: match metric {
            Some(_) => Figure::Metric,
            None => arguments.by,
        },
        metric,
        margin: arguments.margin,
        gate: arguments.gate,
        alpha,
    }
}

fn runner(arguments: &Arguments, interrupt: Interrupt) -> anyhow::Result<Runner> {
    Ok(Runner {
        identity: Identity::from_sudo()?,
        interrupt,
        groups: Place::find(),
        input: arguments.input.clone(),
        timeout: arguments.timeout,
        ignores_failure: arguments.ignore_failure,
        same_output: arguments.same_output,
        metric: arguments.metric.clone(),
        failure_hint: "(--ignore-failure measures commands that fail, too)",
        expected: BTreeMap::new(),
    })
}

/// What is measured, and how.
struct Measurement<'a> {
    arguments: &'a Arguments,
    jobs: &'a [Job],
    question: &'a Question,
    amount: &'a Amount,
}

/// What came of it.
struct Measured {
    rounds: Vec<Round<Sample>>,
    /// Why it ended before it should; whole rounds are kept.
    stopped: Option<NoSample>,
    /// What went wrong with recordings or cleaning, which takes nothing away from the rounds.
    failed_after: Option<NoSample>,
    recordings: Option<[Vec<PathBuf>; 2]>,
}

impl Measurement<'_> {
    /// Set-up, warm-up, rounds, recordings, and cleaning whatever happened.
    fn run(
        &self,
        runner: &mut Runner,
        schedule: &mut Schedule,
        before: Vec<Round<Sample>>,
    ) -> Measured {
        let mut measured = Measured {
            rounds: before,
            stopped: None,
            failed_after: None,
            recordings: None,
        };
        measured.stopped = self.measure(runner, schedule, &mut measured.rounds).err();
        if self.arguments.record && measured.stopped.is_none() {
            match self.record(runner, schedule) {
                Ok(recordings) => measured.recordings = Some(recordings),
                Err(why) => measured.failed_after = Some(why),
            }
        }
        runner.interrupt.heeded();
        let cleaned = self.for_each_job(runner, "cleanup", &self.arguments.cleanup);
        measured.failed_after = measured.failed_after.or(cleaned.err());
        measured
    }

    /// Set-up, warm-up, and rounds until they are enough.
    fn measure(
        &self,
        runner: &mut Runner,
        schedule: &mut Schedule,
        measured: &mut Vec<Round<Sample>>,
    ) -> Result<(), NoSample> {
        self.for_each_job(runner, "setup", &self.arguments.setup)?;
        for _ in 0..self.arguments.warmup {
            for command in schedule.next_round() {
                self.one(runner, command, schedule)?;
            }
        }
        let mut look = Look::new(self.jobs, self.question, self.amount);
        let run = |command: usize, schedule: &mut Schedule| self.one(runner, command, schedule);
        let before = std::mem::take(measured);
        look.before = before.len();
        let (done, stopped) = rounds(schedule, before, run, |done| look.at(done));
        *measured = done;
        match stopped {
            Stopped::Failed(why) => Err(why),
            Stopped::Enough => Ok(()),
        }
    }

    /// Recordings of both sides, in turn.
    fn record(
        &self,
        runner: &Runner,
        schedule: &mut Schedule,
    ) -> Result<[Vec<PathBuf>; 2], NoSample> {
        record::both(self.jobs, schedule, runner, |runner, job| {
            self.of_user(runner, "prepare", &self.arguments.prepare, job)
        })
    }

    /// A run of a command, after what prepares it.
    fn one(
        &self,
        runner: &mut Runner,
        command: usize,
        schedule: &mut Schedule,
    ) -> Result<Sample, NoSample> {
        let job = &self.jobs[command];
        self.of_user(runner, "prepare", &self.arguments.prepare, job)?;
        let padding = (!self.arguments.same_environment).then(|| schedule.draw(MOST_PADDING));
        runner.run(job, command, padding)
    }

    fn for_each_job(
        &self,
        runner: &Runner,
        what: &str,
        line: &Option<String>,
    ) -> Result<(), NoSample> {
        let mut jobs = self.jobs.iter();
        jobs.try_for_each(|job| self.of_user(runner, what, line, job))
    }

    /// A command line of the user's, if there is one.
    fn of_user(
        &self,
        runner: &Runner,
        what: &str,
        line: &Option<String>,
        job: &Job,
    ) -> Result<(), NoSample> {
        match line {
            Some(line) => {
                let line = filled(line, &job.parameters);
                runner.prepare(what, &line, job, runner.timeout)
            }
            None => Ok(()),
        }
    }
}

/// Looks at rounds as they come: whether they are enough, and what to show meanwhile.
struct Look<'a> {
    jobs: &'a [Job],
    question: &'a Question,
    amount: &'a Amount,
    /// So many rounds were run another time.
    before: usize,
    begun: Instant,
    shown: Option<Instant>,
}

impl<'a> Look<'a> {
    fn new(jobs: &'a [Job], question: &'a Question, amount: &'a Amount) -> Look<'a> {
        Look {
            jobs,
            question,
            amount,
            before: 0,
            begun: Instant::now(),
            shown: None,
        }
    }

    fn at(&mut self, done: &[Round<Sample>]) -> Flow {
        let here = done.len() - self.before;
        let one = self.begun.elapsed() / u32::try_from(here).unwrap_or(1).max(1);
        let most = self.amount.most(one);
        if done.len() >= most {
            return Flow::Enough;
        }
        let is_look = match self.amount {
            Amount::Looks(looks) => looks.contains(&done.len()),
            Amount::Fixed(_) | Amount::Fitting => false,
        };
        let is_due = self.shown.is_none_or(|at| at.elapsed() >= SHOWN_EVERY);
        if is_look || (is_due && out::is_progress_shown()) {
            self.shown = Some(Instant::now());
            let outcome = Outcome::of(self.jobs, done, self.question);
            if is_look && outcome.is_decided() {
                return Flow::Enough;
            }
            let left = one * u32::try_from(most - done.len()).unwrap_or(u32::MAX);
            out::progress(&terminal::bench_progress(&outcome, most, left));
        }
        Flow::On
    }
}
