//! What `run` and `attach` have in common: the options, where the recording goes, progress while it
//! is made, and the report at the end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use timesink_capture::launch::Identity;
use timesink_capture::record::{Options, Outcome, Progress};
use timesink_capture::{convert, privileges, Error};
use timesink_recording::{About, Recording};

use super::read::make_room;
use super::report;
use crate::out;
use crate::present::names::is_hostile;

/// What timesink itself exits with when recording failed although the program ran: as `env`,
/// `timeout` and their like have it.
pub const FAILED: u8 = 125;
/// When nothing was started: wrong usage, no permission, a kernel that will not do.
pub const NOT_STARTED: u8 = 2;

/// The options that both commands take.
#[derive(clap::Args)]
pub struct Shared {
    /// The recording to create; must not exist [default: NAME.timesink or NAME-N.timesink]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Record waits of this length or longer individually, with arguments and stacks
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = parse_time)]
    pub threshold: Duration,

    /// Limit the recording overhead: beyond it, only a sample of system calls is timed (marked ~)
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = parse_percent, conflicts_with = "exact")]
    pub budget: f64,

    /// Time every system call, regardless of the overhead
    #[arg(long)]
    pub exact: bool,

    /// Samples per second on each CPU
    #[arg(long, value_name = "HZ", default_value = "499", value_parser = clap::value_parser!(u64).range(1..=20000))]
    pub rate: u64,

    /// Also record processes on this machine that a recorded one talks to
    #[arg(long)]
    pub follow: bool,

    /// Remove what looks like a secret from recorded command lines
    #[arg(long)]
    pub redact: bool,
    /// Keep the text of small files that were used, so that `timesink env` shows which lines differ. What looks like a secret is
    /// left out
    #[arg(long)]
    pub keep_files: bool,

    /// Do not print the report
    #[arg(short, long)]
    pub quiet: bool,
}

/// `50us`, `1.5ms`, `10s` as a length of time.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
    let number: f64 = digits
        .parse()
        .map_err(|_| "expected a time such as 50us, 1ms or 2s".to_string())?;
    let scale = match &text[digits.len()..] {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        unit => return Err(format!("unknown unit {unit}: use ns, us, ms, s, m or h")),
    };
    Duration::try_from_secs_f64(number * scale).map_err(|e| e.to_string())
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number: f64 = text
        .trim_end_matches('%')
        .parse()
        .map_err(|_| "expected a percentage such as 5%".to_string())?;
    if number > 0.0 && number <= 100.0 {
        Ok(number)
    } else {
        Err("expected more than 0% and at most 100%".into())
    }
}

/// A folder that is not there yet, named after what is recorded.
pub fn choose(output: &Option<PathBuf>, name: &str) -> PathBuf {
    if let Some(output) = output {
        return output.clone();
    }
    let name = Path::new(name)
        .file_name()
        .map(|n| n.to_string_lossy().into_owned());
    let name = name
        .filter(|n| !n.is_empty())
        .unwrap_or_else(|| "recording".into());
    let name = fit_for_a_folder(&name);
    let first = PathBuf::from(format!("{name}.timesink"));
    (2..10_000)
        .map(|n| PathBuf::from(format!("{name}-{n}.timesink")))
        .fold(first, |taken, next| {
            if taken.symlink_metadata().is_ok() {
                next
            } else {
                taken
            }
        })
}

/// A program may call itself what it likes, but its name becomes one that is seen in full and is no option of a command.
fn fit_for_a_folder(name: &str) -> String {
    let plain = |c: char| if is_hostile(c) || c == '/' { '_' } else { c };
    let name: String = name.chars().map(plain).collect();
    match name.strip_prefix('-') {
        Some(rest) => format!("_{rest}"),
        None => name,
    }
}

impl Shared {
    pub fn options(
        &self,
        folder: PathBuf,
        identity: Option<Identity>,
        started: Instant,
    ) -> Options {
        Options {
            folder,
            threshold_ns: u64::try_from(self.threshold.as_nanos()).unwrap_or(u64::MAX),
            rate_hz: self.rate,
            budget_pct: (!self.exact).then_some(self.budget),
            runtime_flags: false,
            with: Vec::new(),
            follow: self.follow,
            redact: self.redact,
            keep_files: self.keep_files,
            identity,
            started,
        }
    }
}

/// Progress on standard error, where that is a terminal.
pub struct Meter {
    shown: bool,
}

impl Meter {
    pub fn new() -> Meter {
        Meter { shown: false }
    }

    pub fn show(&mut self, p: &Progress) {
        self.say(&format!(
            "recording {:.1} s, {} events, {:.1} MB",
            p.elapsed.as_secs_f64(),
            p.events,
            p.bytes as f64 / 1e6
        ));
    }

    /// Shows this line in place of the one before.
    pub fn say(&mut self, line: &str) {
        out::progress(line);
        self.shown = true;
    }

    pub fn clear(&mut self) {
        if self.shown {
            out::progress("");
            self.shown = false;
        }
    }
}

/// After the program's end: make the recording and print its report. The exit code is the
/// program's, unless the recording failed.
pub fn finish(outcome: Outcome, options: &Options, shared: &Shared) -> anyhow::Result<u8> {
    let code = outcome.status.map_or(0, |s| s.exit_code() as u8);
    let made = make(&outcome, options);
    // From here on there is nothing that a signal could leave unfinished.
    drop(outcome.ending);
    match made {
        Ok(_) => {}
        Err(error) => {
            let folder = options.folder.display();
            return Err(error).context(format!(
                "what was recorded is kept in {folder}, but the recording could not be finished; \
                 `timesink report {folder}` tries again"
            ));
        }
    }
    if !shared.quiet {
        let recording = Recording::of(&outcome.folder)?;
        make_room(&recording);
        privileges::for_reading()?;
        report::show(&recording)?;
    }
    if let Some(why) = outcome.without_floors.as_ref().filter(|_| !shared.quiet) {
        out::tell(why);
    }
    if let Some(why) = &outcome.failure {
        out::tell(format_args!("the recording ends early: {why}"));
        return Ok(FAILED);
    }
    Ok(code)
}

fn make(outcome: &Outcome, options: &Options) -> Result<About, Error> {
    let identity = options.identity.as_ref();
    let cache = convert::cache_folder(identity);
    convert::convert(&outcome.folder, identity, cache, outcome.ending.patience())
}

/// The code with which timesink exits when it could not record.
pub fn code_of(error: &Error) -> u8 {
    match error {
        Error::Launch(launch) => launch
            .command_exit_code()
            .and_then(|c| u8::try_from(c).ok())
            .unwrap_or(NOT_STARTED),
        _ => NOT_STARTED,
    }
}
