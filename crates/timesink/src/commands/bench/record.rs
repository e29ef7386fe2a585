//! From 'is it slower' to 'why': both sides are recorded a few times in turn, for `diff` to say what differs. The recording in
//! the middle by its wall time stands for its side.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{bail, Context};
use rustix::process::{kill_process, Pid, Signal};
use timesink_capture::host::HostFacts;
use timesink_capture::launch::stat_field;
use timesink_trials::Schedule;

use super::child;
use super::runner::{failed, too_long, NoSample, Printed, Runner};
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
            record(job, command, runner, &folder)?;
            side.push(folder);
        }
    }
    Ok(sides)
}

/// Records one run. The time limit is for the command itself: timesink takes some before and after.
fn record(job: &Job, number: usize, runner: &Runner, folder: &Path) -> Result<(), NoSample> {
    let mut run = ourselves()?;
    if let Some(directory) = &job.directory {
        run.current_dir(directory);
    }
    let here = std::env::current_dir().context("the current directory")?;
    let printed = Printed::nothing()?;
    run.args(["run", "--quiet", "--output"])
        .arg(here.join(folder))
        .arg("--")
        .args(&job.words)
        .stdin(runner.input()?)
        .stdout(printed.output.try_clone().context("timesink run")?)
        .stderr(printed.errors.try_clone().context("timesink run")?);
    let mut clock = Clock::of(runner.timeout);
    let status = child::attend(&mut run, &runner.interrupt, |pid| clock.look(pid))
        .context("timesink run")?;
    let name = format!("{} ({}), while it was recorded,", label(number), job.text);
    if clock.is_over {
        return Err(too_long(&name, runner.timeout, &printed).into());
    }
    if runner.interrupt.came() {
        return Err(NoSample::Interrupted);
    }
    if !folder.exists() {
        let said = printed.shown();
        return Err(anyhow::anyhow!("{} was not recorded: {}", job.text, said.trim()).into());
    }
    if !status.success() && !runner.ignores_failure {
        return Err(failed(&name, status, &printed).into());
    }
    Ok(())
}

/// The time of a command that timesink has started to record, and that is held until all is ready.
struct Clock {
    limit: Option<Duration>,
    begun: Option<Instant>,
    is_over: bool,
}

impl Clock {
    fn of(limit: Option<Duration>) -> Clock {
        Clock {
            limit,
            begun: None,
            is_over: false,
        }
    }

    /// Whether to look again. What takes too long is killed; timesink then ends its recording.
    fn look(&mut self, timesink: Pid) -> bool {
        let Some(limit) = self.limit else {
            return false;
        };
        if self.begun.is_none() && programs(timesink).next().is_some() {
            self.begun = Some(Instant::now());
        }
        if self.begun.is_some_and(|begun| begun.elapsed() >= limit) {
            for pid in programs(timesink) {
                // Who has ended since is nobody's loss.
                let _ = kill_process(pid, Signal::KILL);
                self.is_over = true;
            }
            // Timesink may still be at work on the recording: then it ended in time.
            return self.is_over;
        }
        true
    }
}

/// What runs in the group of a timesink, and is none itself. Before it executes its program, a child is.
fn programs(timesink: Pid) -> impl Iterator<Item = Pid> {
    let own = std::fs::read_link("/proc/self/exe").ok();
    let all = std::fs::read_dir("/proc").into_iter().flatten();
    all.filter_map(move |entry| {
        let folder = entry.ok()?.path();
        let pid = Pid::from_raw(folder.file_name()?.to_str()?.parse().ok()?)?;
        if group_of(&folder)? != timesink {
            return None;
        }
        let runs = std::fs::read_link(folder.join("exe")).ok()?;
        (Some(runs) != own).then_some(pid)
    })
}

/// The process group, by a process's folder in procfs; `None` for the kernel's own, which have none.
fn group_of(folder: &Path) -> Option<Pid> {
    let stat = std::fs::read(folder.join("stat")).ok()?;
    Pid::from_raw(stat_field(&stat, 2)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::child::Interrupt;
    use std::process::Command;

    /// What runs too long is killed with its children, and what has not begun is not.
    #[test]
    fn only_the_time_of_the_command_counts() {
        let interrupt = Interrupt::watch().expect("a descriptor");
        let mut clock = Clock::of(Some(Duration::from_millis(100)));
        let mut sh = Command::new("sh");
        sh.args(["-c", "sleep 1000 & wait"]);
        let status = child::attend(&mut sh, &interrupt, |pid| clock.look(pid));
        assert!(status.is_ok_and(|status| !status.success()) && clock.is_over);
        let mut unlimited = Clock::of(None);
        let mut sh = Command::new("true");
        let status = child::attend(&mut sh, &interrupt, |pid| unlimited.look(pid));
        assert!(status.is_ok_and(|status| status.success()) && !unlimited.is_over);
    }
}
