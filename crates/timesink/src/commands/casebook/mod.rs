//! `timesink casebook`: old stories of slow programs that still run, and whether the tool tells the cause of each.

pub(in crate::commands) mod case;
mod difference;
pub(in crate::commands) mod guard;
mod kin;
pub(in crate::commands) mod running;
mod stage;
mod tagged;
mod trial;

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use anyhow::{bail, Context};

use case::{book, name, Case};
use difference::DifferenceOutcome;
use guard::{guarded, is_ending};
use stage::Stage;
use timesink_capture::host::HostFacts;
use timesink_recording::files::place;
use trial::{FactOutcome, GainOutcome, TrialOutcome};

use super::as_caller;
use super::recording::code_of;
use crate::out;
use crate::present::terminal::Style;

/// Of the measured gains at least this share has to be within what was predicted.
const WITHIN: f64 = 0.8;
/// The machines that this runs on are shared: what was not told at first, or not with the gain that was measured, may be
/// at the next try. The best of them counts.
const TRIES: usize = 3;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
    /// The directory of the cases [default: casebook, here or in the source tree]
    #[arg(long, global = true, value_name = "FOLDER")]
    book: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum What {
    /// List the cases
    List,
    /// Run one case and print the findings for each of its forms
    Run {
        /// The name of the case
        case: String,
    },
    /// Run all cases and check that each fault is found and healthy programs are not accused
    Verify {
        /// Save the results to this file as JSON
        #[arg(long, value_name = "FILE")]
        keep: Option<PathBuf>,
        /// Only these cases
        cases: Vec<String>,
    },
}

/// The exit code. To be called while there is one thread.
pub fn run(arguments: &Arguments) -> anyhow::Result<u8> {
    let folders = book(&arguments.book.clone().unwrap_or_else(usual))?;
    if let What::List = arguments.what {
        return list(&folders).map(|()| 0);
    }
    // Before anything is made ready: what could not be recorded would be run in vain.
    if let Err(error) = HostFacts::gather().check() {
        out::tell(&error);
        return Ok(code_of(&error));
    }
    guarded(|| match work(arguments, &folders) {
        // Who was ended is not told what went wrong by it.
        Err(_) if is_ending() => Ok(1),
        worked => worked.map(|()| 0),
    })
}

fn work(arguments: &Arguments, folders: &[PathBuf]) -> anyhow::Result<()> {
    match &arguments.what {
        What::List => list(folders),
        What::Run { case } => {
            let folder = one(folders, case)?;
            let case = Case::read(folder)?;
            let outcome = ready(&case).and_then(|stage| trial(&case, &stage));
            let outcome = outcome.with_context(|| case.name.clone())?;
            print(&told(&outcome))?;
            failed(outcome.problems.len())
        }
        What::Verify { keep, cases: only } => {
            let chosen = match only.is_empty() {
                true => folders.iter().collect(),
                false => {
                    let chosen = only.iter().map(|name| one(folders, name));
                    chosen.collect::<anyhow::Result<Vec<_>>>()?
                }
            };
            let (outcomes, faults) = verify(&chosen);
            if is_ending() {
                bail!("ended by a signal");
            }
            print(&table(&outcomes))?;
            // Once more at the end: of a long log people often have only that.
            for fault in &faults {
                out::note(indented(fault));
            }
            if let Some(file) = keep {
                let kept = serde_json::to_string_pretty(&Kept::now(&outcomes))?;
                as_caller(|| keep_in(file, &(kept + "\n")))?;
            }
            failed(faults.len())
        }
    }
}

/// What came out, where and when.
#[derive(serde::Serialize)]
struct Kept<'a> {
    measured_unix: u64,
    kernel: String,
    processors: usize,
    cases: &'a [TrialOutcome],
}

impl Kept<'_> {
    fn now(cases: &[TrialOutcome]) -> Kept<'_> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease");
        Kept {
            measured_unix: now.map_or(0, |now| now.as_secs()),
            kernel: kernel.unwrap_or_default().trim().to_owned(),
            processors: std::thread::available_parallelism().map_or(0, |many| many.get()),
            cases,
        }
    }
}

/// Where the book is if nobody says so: in this folder, or in that of the project that the binary was built in.
fn usual() -> PathBuf {
    let here = PathBuf::from("casebook");
    let built = std::env::current_exe()
        .ok()
        .and_then(|path| Some(path.parent()?.join("../../casebook")));
    match built {
        Some(built) if !here.exists() && built.exists() => built,
        _ => here,
    }
}

fn one<'a>(folders: &'a [PathBuf], case: &str) -> anyhow::Result<&'a PathBuf> {
    let found = folders.iter().find(|folder| name(folder) == case);
    found.with_context(|| {
        format!("there is no case {case}: timesink casebook list says which there are")
    })
}

/// Puts the outcomes into a file, in place of those of before.
fn keep_in(file: &Path, text: &str) -> anyhow::Result<()> {
    let (folder, name) = place(file)?;
    let mut new = name.clone();
    new.push(".new");
    Ok(folder.replace(&name, &new, text.as_bytes())?)
}

fn failed(faults: usize) -> anyhow::Result<()> {
    match faults {
        0 => Ok(()),
        1 => bail!("1 thing is not as it should be"),
        many => bail!("{many} things are not as they should be"),
    }
}

fn print(text: &str) -> anyhow::Result<()> {
    out::page(
        &format!("{}\n", text.strip_suffix('\n').unwrap_or(text)),
        &Style::PLAIN,
    )
}

/// Lines that stand below what they belong to.
fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}

fn list(folders: &[PathBuf]) -> anyhow::Result<()> {
    let width = folders.iter().map(|folder| name(folder).len()).max();
    let width = width.unwrap_or(0);
    let line = |folder: &PathBuf| {
        let title = Case::read(folder).map_or_else(
            |error| format!("CANNOT BE READ: {error:#}"),
            |case| case.title,
        );
        format!("{:width$}  {}\n", name(folder), indented(title.trim_end()))
    };
    print(&folders.iter().map(line).collect::<String>())
}

/// A line on a terminal that says what is being done; nothing: it is over.
fn say(case: &Case, what: &str) {
    match what {
        "" => out::progress(""),
        what => out::progress(&format!("{}: {what}", case.name)),
    }
}

fn ready(case: &Case) -> anyhow::Result<Stage> {
    say(case, "set-up");
    let stage = Stage::set(case);
    say(case, "");
    stage
}

fn trial(case: &Case, stage: &Stage) -> anyhow::Result<TrialOutcome> {
    let outcome = trial::of(case, stage, &mut |what| say(case, what));
    say(case, "");
    outcome
}

/// How much of an outcome is not as it should be: what is told, and gains outside of what was predicted.
fn wrong(outcome: &TrialOutcome) -> (usize, usize) {
    let gains = gains(std::slice::from_ref(outcome));
    let outside = gains.filter(|gain| !gain.within).count();
    (outcome.problems.len(), outside)
}

/// Runs a case until all is as it should be, but not for ever. What is not there for it at first will not be later.
fn best(folder: &Path) -> anyhow::Result<TrialOutcome> {
    let case = Case::read(folder)?;
    let mut best = trial(&case, &ready(&case)?);
    for number in 1..TRIES {
        let known = best.as_ref().map(wrong).ok();
        if known == Some((0, 0)) || is_ending() {
            break;
        }
        note_try(&case.name, number, &best);
        let next = ready(&case).and_then(|stage| trial(&case, &stage));
        let is_better = match (&next, known) {
            (Ok(next), Some(known)) => wrong(next) < known,
            (_, None) => true,
            (Err(_), Some(_)) => false,
        };
        if is_better {
            best = next;
        }
    }
    best
}

/// Says what a try came to that is not the last: what fails now and then must not be hidden by what came after it.
fn note_try(case: &str, number: usize, tried: &anyhow::Result<TrialOutcome>) {
    let said = match tried {
        Ok(outcome) => {
            let outside = gains(std::slice::from_ref(outcome)).filter(|gain| !gain.within);
            let outside = outside.map(|gain| {
                let measured = percent(gain.measured);
                format!("predicted {}, measured {measured}", predicted(gain))
            });
            let said: Vec<String> = outcome.problems.iter().cloned().chain(outside).collect();
            said.join("\n")
        }
        Err(error) => format!("{error:#}"),
    };
    out::note(format_args!(
        "{case:24} try {number}: {}",
        indented(said.trim_end())
    ));
}

/// A case at its best, and a line that says how it went; an error: it could not be run.
fn verified(folder: &Path) -> Result<TrialOutcome, String> {
    let case = name(folder);
    let since = Instant::now();
    let outcome = best(folder);
    let took = since.elapsed().as_secs_f64();
    match outcome {
        Ok(outcome) => {
            let verdict = if outcome.problems.is_empty() {
                "told"
            } else {
                "NOT TOLD"
            };
            out::note(format_args!("{case:24} {verdict} ({took:.1} s)"));
            for problem in &outcome.problems {
                out::note(format_args!("    {}", indented(problem)));
            }
            Ok(outcome)
        }
        Err(error) => {
            let said = format!("{case:24} FAILED: {error:#}");
            let said = said.trim_end().to_owned();
            if !is_ending() {
                out::note(indented(&said));
            }
            Err(said)
        }
    }
}

/// All cases, one line each as they end; what came out, and what is not as it should be.
fn verify(folders: &[&PathBuf]) -> (Vec<TrialOutcome>, Vec<String>) {
    let mut outcomes: Vec<TrialOutcome> = Vec::new();
    let mut faults = Vec::new();
    for folder in folders.iter().take_while(|_| !is_ending()) {
        match verified(folder) {
            Ok(outcome) => outcomes.push(outcome),
            Err(fault) => faults.push(fault),
        }
    }
    let within = |outcomes: &[TrialOutcome]| {
        let within = gains(outcomes).filter(|gain| gain.within).count();
        let all = gains(outcomes).count();
        (within, all, within as f64 >= all as f64 * WITHIN)
    };
    // What takes processors away, such as the host of a virtual machine, may go on for minutes: those that it met
    // are looked at once more at the end.
    for folder in folders {
        let met =
            |outcome: &&mut TrialOutcome| outcome.case == name(folder) && wrong(outcome).1 > 0;
        if within(&outcomes).2 || is_ending() {
            break;
        }
        if let Some(outcome) = outcomes.iter_mut().find(met) {
            match verified(folder) {
                Ok(again) if wrong(&again) < wrong(outcome) => *outcome = again,
                _ => {}
            }
        }
    }
    for outcome in &outcomes {
        let case = &outcome.case;
        let problems = outcome.problems.iter();
        faults.extend(problems.map(|problem| format!("{case:24} {problem}")));
    }
    if let (within, all, false) = within(&outcomes) {
        faults.push(format!(
            "only {within} of {all} measured gains are within what was predicted"
        ));
    }
    (outcomes, faults)
}

fn gains(outcomes: &[TrialOutcome]) -> impl Iterator<Item = &GainOutcome> {
    let forms = outcomes.iter().flat_map(|outcome| &outcome.forms);
    forms.filter_map(|form| form.gain.as_ref())
}

fn seconds(s: f64) -> String {
    crate::present::terminal::units::time((s.max(0.0) * 1e9) as u64)
}

fn percent(share: f64) -> String {
    crate::present::terminal::units::percent(share * 100.0)
}

fn predicted(gain: &GainOutcome) -> String {
    let (likely, lo, hi) = (percent(gain.predicted), percent(gain.lo), percent(gain.hi));
    format!("{likely} ({lo} .. {hi})")
}

/// A figure of the source beside ours.
fn compared(fact: &FactOutcome) -> String {
    let FactOutcome { says, source, .. } = fact;
    let ours = match fact.unit {
        "s" => seconds(fact.ours),
        unit => format!("{:.1} {unit}", fact.ours),
    };
    format!("{says}: {source} in the source, {ours} here")
}

/// What is told of each form of a case.
fn told(outcome: &TrialOutcome) -> String {
    let mut text = format!("{}\n", outcome.title);
    for form in &outcome.forms {
        let rate = form
            .rate
            .as_ref()
            .map(|(rate, unit)| format!(", {rate:.0} {unit}/s"));
        text += &format!(
            "\n{}: {}{}\n",
            form.name,
            seconds(form.seconds),
            rate.unwrap_or_default()
        );
        text += &form.why;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        if let Some(gain) = &form.gain {
            let within = if gain.within { "within" } else { "NOT within" };
            text += &format!(
                "    predicted to save {}; {} saves {}, {within} that\n",
                predicted(gain),
                gain.fixed,
                percent(gain.measured)
            );
        }
        if let Some(difference) = &form.difference {
            text += &format!(
                "    beside {}, {}\n",
                difference.fixed,
                first_row(difference)
            );
        }
    }
    for fact in &outcome.facts {
        text += &format!("\n{}\n", compared(fact));
        if let Some(difference) = &fact.difference {
            text += &format!("    {}\n", first_row(difference));
        }
    }
    for problem in &outcome.problems {
        text += &format!("\nNOT AS IT SHOULD BE: {problem}\n");
    }
    text
}

/// What `diff` says first of two forms.
fn first_row(difference: &DifferenceOutcome) -> String {
    let share = percent(difference.first_share);
    format!(
        "diff says first: {} ({share} of the difference)",
        difference.first
    )
}

/// A line for each form with a cause.
fn table(outcomes: &[TrialOutcome]) -> String {
    let head = [
        "case",
        "form",
        "told first",
        "predicted to save",
        "measured",
        "",
    ]
    .map(str::to_owned);
    let mut rows = vec![head];
    for outcome in outcomes {
        for form in &outcome.forms {
            let first = form.told.as_ref().map_or("-", |told| told.rule.as_str());
            let gain = form.gain.as_ref();
            rows.push([
                outcome.case.clone(),
                format!("{}, {}", form.name, seconds(form.seconds)),
                first.to_owned(),
                gain.map_or(String::new(), predicted),
                gain.map_or(String::new(), |gain| percent(gain.measured)),
                gain.map_or("", |gain| if gain.within { "within" } else { "not within" })
                    .to_owned(),
            ]);
        }
    }
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..6).map(width).collect();
    let line = |row: &[String; 6]| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut text: String = rows.iter().map(line).collect();
    let (all, within) = (
        gains(outcomes).count(),
        gains(outcomes).filter(|gain| gain.within).count(),
    );
    text += &format!("\n{within} of {all} measured gains are within what was predicted.\n");
    for outcome in outcomes {
        for fact in &outcome.facts {
            text += &format!("{}: {}\n", outcome.case, compared(fact));
        }
    }
    text
}
