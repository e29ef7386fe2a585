//! Runs of the commands that are measured, and of what prepares them. What a command prints goes to memory, so that no pipe
//! that somebody has to read is part of the measurement.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{bail, Context};
use regex_lite::Regex;
use rustix::fs::{memfd_create, MemfdFlags};
use timesink_capture::launch::Identity;

use super::child::{self, End, Ended, Interrupt};
use super::memory_groups::Place;
use super::start::Start;
use crate::bench::{label, Job, MemoryOf, Sample};
use crate::commands::casebook::running::printed;

/// The variable that makes the environment longer or shorter from run to run: where a program's stack begins depends on
/// that, and some programs' speed on where the stack begins.
const PADDING: &str = "TIMESINK_BENCH_PADDING";
/// A page: what lies beyond it is where it was.
pub const MOST_PADDING: usize = 4096;

/// Why there is no sample.
pub enum NoSample {
    /// We are to end.
    Interrupted,
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for NoSample {
    fn from(error: anyhow::Error) -> NoSample {
        NoSample::Failed(error)
    }
}

/// How commands are run.
pub struct Runner {
    pub identity: Option<Identity>,
    pub interrupt: Interrupt,
    /// Where each run that is measured gets a control group; `None`: nowhere, or nobody looks at its memory.
    pub groups: Option<Place>,
    pub input: Option<PathBuf>,
    pub timeout: Option<Duration>,
    pub ignores_failure: bool,
    /// What is to be said to who did not ask for that; empty where it cannot be asked for.
    pub failure_hint: &'static str,
    pub same_output: bool,
    pub metric: Option<Regex>,
    /// What the first run printed, for each choice of parameters, if all must print the same.
    pub expected: BTreeMap<Vec<(String, String)>, Vec<u8>>,
}

/// What a process printed.
pub struct Printed {
    pub output: File,
    pub errors: File,
}

impl Printed {
    pub fn nothing() -> anyhow::Result<Printed> {
        let memory = || -> anyhow::Result<File> {
            let memory = memfd_create("timesink-bench", MemfdFlags::CLOEXEC);
            Ok(File::from(
                memory.context("memory for what commands print")?,
            ))
        };
        Ok(Printed {
            output: memory()?,
            errors: memory()?,
        })
    }

    /// The end of it, for people.
    pub fn shown(&self) -> String {
        let has_errors = self.errors.metadata().is_ok_and(|about| about.len() > 0);
        match has_errors {
            true => printed(&self.errors),
            false => printed(&self.output),
        }
    }

    pub fn bytes(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.output.rewind()?;
        self.output.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Runner {
    /// Runs a command line of the user's by a shell, where its job runs. It is not measured, but has to succeed, and is ended if it takes
    /// longer than that.
    pub fn prepare(
        &self,
        what: &str,
        line: &str,
        job: &Job,
        limit: Option<Duration>,
    ) -> Result<(), NoSample> {
        let by_sh = Job {
            words: ["sh", "-c", line].map(str::to_owned).to_vec(),
            ..job.clone()
        };
        let printed = Printed::nothing()?;
        let name = format!("--{what} {line}{}", place(job));
        match self.start(&by_sh, None, &printed, None, limit)? {
            End::Ended(ended) if ended.status.success() => Ok(()),
            End::Ended(ended) => Err(failed(&name, ended.status, &printed).into()),
            End::TimedOut => Err(too_long(&name, limit, &printed).into()),
            End::Interrupted => Err(NoSample::Interrupted),
        }
    }

    /// What memory is measured of.
    pub fn memory_of(&self) -> MemoryOf {
        match self.groups {
            Some(_) => MemoryOf::Group,
            None => MemoryOf::Process,
        }
    }

    /// One run of a command, with an environment that is so much longer.
    pub fn run(
        &mut self,
        job: &Job,
        number: usize,
        padding: Option<usize>,
    ) -> Result<Sample, NoSample> {
        let mut printed = Printed::nothing()?;
        let name = format!("{} ({})", label(number), job.text);
        let groups = self.groups.as_ref();
        let ended = match self.start(job, padding, &printed, groups, self.timeout)? {
            End::Ended(ended) => ended,
            End::Interrupted => return Err(NoSample::Interrupted),
            End::TimedOut => return Err(too_long(&name, self.timeout, &printed).into()),
        };
        if !ended.status.success() && !self.ignores_failure {
            let failed = failed(&name, ended.status, &printed);
            let told = format!("{failed}\n{}", self.failure_hint);
            return Err(anyhow::anyhow!("{}", told.trim_end()).into());
        }
        if self.same_output {
            self.compare(job, &name, printed.bytes()?)?;
        }
        let metric = match &self.metric {
            Some(metric) => Some(own_figure(metric, &name, &mut printed)?),
            None => None,
        };
        Ok(sample(&ended, self.memory_of(), metric))
    }

    fn start(
        &self,
        job: &Job,
        padding: Option<usize>,
        printed: &Printed,
        groups: Option<&Place>,
        limit: Option<Duration>,
    ) -> anyhow::Result<End> {
        let (program, arguments) = job.words.split_first().context("no command")?;
        let mut start = Start::of(program, arguments);
        let command = &mut start.command;
        if let Some(user) = &self.identity {
            user.runs(command);
        }
        command
            .stdin(self.input()?)
            .stdout(printed.output.try_clone()?)
            .stderr(printed.errors.try_clone()?);
        if let Some(directory) = &job.directory {
            command.current_dir(directory);
        }
        if let Some(padding) = padding {
            command.env(PADDING, "x".repeat(padding));
        }
        child::run(start, groups, limit, &self.interrupt)
            .with_context(|| format!("{program} cannot be started{}", place(job)))
    }

    /// Standard input of a command.
    pub fn input(&self) -> anyhow::Result<Stdio> {
        let Some(path) = &self.input else {
            return Ok(Stdio::null());
        };
        let file = File::open(path);
        Ok(file
            .with_context(|| format!("cannot read {}", path.display()))?
            .into())
    }

    fn compare(&mut self, job: &Job, name: &str, output: Vec<u8>) -> anyhow::Result<()> {
        let Some(expected) = self.expected.get(&job.parameters) else {
            self.expected.insert(job.parameters.clone(), output);
            return Ok(());
        };
        if *expected == output {
            return Ok(());
        }
        let lines = |bytes: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(bytes);
            text.lines().map(str::to_owned).collect()
        };
        let (expected, output) = (lines(expected), lines(&output));
        let longer = expected.len().max(output.len());
        let at = (0..longer).find(|at| expected.get(*at) != output.get(*at));
        let at = at.unwrap_or(0);
        let line = |lines: &[String]| match lines.get(at) {
            Some(line) => line.chars().take(200).collect(),
            None => "(no such line)".to_owned(),
        };
        bail!(
            "{name} printed something else than the first run, from line {} on:\n  first run: {}\n  this run:  {}",
            at + 1,
            line(&expected),
            line(&output)
        )
    }
}

/// Where a job runs, where that was said.
fn place(job: &Job) -> String {
    let directory = job.directory.as_ref();
    directory.map_or(String::new(), |path| format!(" (in {})", path.display()))
}

/// The sentence about a command that was ended because of --timeout.
pub fn too_long(name: &str, limit: Option<Duration>, printed: &Printed) -> anyhow::Error {
    let seconds = limit.unwrap_or_default().as_secs_f64();
    let shown = printed.shown();
    anyhow::anyhow!("{name} took longer than {seconds} s and was ended{shown}")
}

/// The sentence about a command that failed, with what it printed last.
pub fn failed(name: &str, status: ExitStatus, printed: &Printed) -> anyhow::Error {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "failed".to_owned(),
    };
    anyhow::anyhow!("{name} {how}{}", printed.shown())
}

/// The figure that a command printed: what the first group of the expression holds, or all of it.
fn own_figure(metric: &Regex, name: &str, printed: &mut Printed) -> anyhow::Result<f64> {
    let bytes = printed.bytes()?;
    let text = String::from_utf8_lossy(&bytes);
    let Some(found) = metric.captures(&text) else {
        bail!(
            "{name} printed nothing that --metric {metric} matches{}",
            printed.shown()
        );
    };
    let figure = found
        .get(1)
        .or(found.get(0))
        .map_or("", |group| group.as_str());
    let value = figure.replace(',', "").parse::<f64>();
    match value {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ if metric.captures_len() == 1 => bail!(
            "{name} printed {figure:?} where --metric {metric} matches: put parentheses around what is the figure, as in 'q/s: ([0-9.]+)'"
        ),
        _ => bail!("{name} printed {figure:?}, which is no figure above 0, where --metric {metric} matches"),
    }
}

fn sample(ended: &Ended, memory_of: MemoryOf, metric: Option<f64>) -> Sample {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let usage = &ended.usage;
    let code = ended
        .status
        .code()
        .unwrap_or_else(|| 128 + ended.status.signal().unwrap_or(0));
    Sample {
        wall_ns: ns(ended.wall),
        user_ns: ns(usage.user),
        system_ns: ns(usage.system),
        memory_bytes: ended.memory_bytes,
        memory_of,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        exit_code: u8::try_from(code).unwrap_or(u8::MAX),
        metric,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner() -> Runner {
        Runner {
            identity: None,
            interrupt: Interrupt::watch().expect("a descriptor"),
            groups: None,
            input: None,
            timeout: None,
            ignores_failure: false,
            same_output: true,
            metric: None,
            failure_hint: "",
            expected: BTreeMap::new(),
        }
    }

    fn job(line: &str) -> Job {
        Job {
            text: line.to_owned(),
            words: ["sh", "-c", line].map(str::to_owned).to_vec(),
            parameters: Vec::new(),
            directory: None,
            reference: None,
        }
    }

    fn told(result: Result<Sample, NoSample>) -> String {
        match result {
            Ok(_) => "a sample".to_owned(),
            Err(NoSample::Interrupted) => "interrupted".to_owned(),
            Err(NoSample::Failed(error)) => format!("{error:#}"),
        }
    }

    /// What a run did is known of it, its children included, and a figure that it printed is read.
    #[test]
    fn a_run_is_measured() {
        let mut runner = runner();
        runner.metric = Regex::new("rate: ([0-9.,]+)").ok();
        let run = runner.run(&job("echo rate: 1,250.5; sh -c true; exit 0"), 0, Some(100));
        let Ok(sample) = run else {
            panic!("{}", told(run));
        };
        assert_eq!((sample.metric, sample.exit_code), (Some(1250.5), 0));
        assert!(sample.wall_ns > 0 && sample.minor_faults > 0);
        assert!(
            sample.memory_bytes > Some(0),
            "a shell's memory is known, however large we are: {sample:?}"
        );
        let told = told(runner.run(&job("echo rate: 1,250.5; echo more"), 1, None));
        assert!(
            told.contains("from line 2 on") && told.contains("this run:  more"),
            "{told}"
        );
    }

    /// A command that fails, is killed, hangs or is not there says so, with what it printed.
    #[test]
    fn what_goes_wrong_is_said() {
        let mut runner = runner();
        let text = told(runner.run(&job("echo no disk >&2; exit 3"), 0, None));
        assert!(
            text.contains("exit code 3") && text.contains("no disk"),
            "{text}"
        );
        let text = told(runner.run(&job("kill -9 $$"), 0, None));
        assert!(text.contains("killed by signal 9"), "{text}");
        runner.timeout = Some(Duration::from_millis(50));
        let text = told(runner.run(&job("sleep 1000"), 1, None));
        assert!(
            text.starts_with("B (sleep 1000) took longer than 0.05 s"),
            "{text}"
        );
        let text = runner.prepare("prepare", "sleep 1000", &job(""), runner.timeout);
        assert!(
            matches!(text, Err(NoSample::Failed(ref error)) if error.to_string().starts_with("--prepare sleep 1000 took longer than 0.05 s"))
        );
        let mut missing = job("x");
        missing.words = vec!["/no/such/program".to_owned()];
        let text = told(runner.run(&missing, 0, None));
        assert!(
            text.starts_with("/no/such/program cannot be started"),
            "{text}"
        );
        runner.ignores_failure = true;
        let run = runner.run(&job("exit 3"), 0, None);
        assert!(matches!(run, Ok(sample) if sample.exit_code == 3));
    }
}
