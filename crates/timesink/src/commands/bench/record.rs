//! From 'is it slower' to 'why': both sides are recorded a few times in turn, for `diff` to say what differs. The recording in
//! the middle by its wall time stands for its side.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{bail, Context};
use timesink_capture::host::HostFacts;
use timesink_trials::Schedule;

use super::runner::{NoSample, Runner};
use crate::bench::{label, Job};
use crate::commands::{ourselves, recording};
use crate::out;

/// Recordings of each side: the least that says how far two runs of the same lie apart.
const RECORDINGS: usize = 3;

/// Whether this can be done, before anything is measured.
pub fn is_possible(jobs: &[Job]) -> anyhow::Result<()> {
    if jobs.len() != 2 {
        bail!("--record is for two commands: it records both, and says what differs");
    }
    Ok(HostFacts::gather().check()?)
}

/// Records both commands in turn, into folders here.
pub fn both(
    jobs: &[Job],
    schedule: &mut Schedule,
    runner: &Runner,
    prepare: impl Fn(&Runner, &Job) -> Result<(), NoSample>,
) -> Result<[Vec<PathBuf>; 2], NoSample> {
    let mut sides: [Vec<PathBuf>; 2] = [Vec::new(), Vec::new()];
    for round in 0..RECORDINGS {
        for command in schedule.next_round() {
            let (Some(side), Some(job)) = (sides.get_mut(command), jobs.get(command)) else {
                continue;
            };
            if runner.interrupt.came() {
                return Err(NoSample::Interrupted);
            }
            let name = format!("bench-{}", label(command).to_lowercase());
            out::progress(&format!("recording {name}, {} of {RECORDINGS}", round + 1));
            prepare(runner, job)?;
            let folder = recording::choose(&None, &name);
            record(job, runner.input()?, &folder)?;
            side.push(folder);
        }
    }
    Ok(sides)
}

fn record(job: &Job, input: Stdio, folder: &Path) -> anyhow::Result<()> {
    let mut run = ourselves()?;
    if let Some(directory) = &job.directory {
        run.current_dir(directory);
    }
    let here = std::env::current_dir().context("the current directory")?;
    let done = run
        .args(["run", "--quiet", "--output"])
        .arg(here.join(folder))
        .arg("--")
        .args(&job.words)
        .stdin(input)
        .output()
        .context("timesink run")?;
    if !folder.exists() {
        let said = String::from_utf8_lossy(&done.stderr);
        bail!("{} was not recorded: {}", job.text, said.trim());
    }
    Ok(())
}
