//! Tries timesink on other kernels, in an emulator: boots Debian's kernels, has it record programs whose truth is known, and judges
//! what came out. `make test-kernels` runs it; `--nightly` means every minor version that the mirror has, and more repetitions.

mod debian;
mod disk;
mod judge;
mod machine;
mod results;
mod root;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use debian::{Debian, Kernel};
use judge::Scene;
use machine::Machine;
use results::Results;

/// What keeps the tests from being made.
#[derive(Debug)]
pub struct Failure(pub String);

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure(error.to_string())
    }
}

/// Without names: one that is too old, the stable ones, one between, and the newest.
const USUAL: [&str; 5] = ["5.10", "6.1", "6.12", "oldest-7", "newest"];
/// The oldest kernel that can be recorded on.
const OLDEST: (u32, u32) = (5, 15);
/// So many guests run at the same time: each keeps one processor busy.
const AT_ONCE: usize = 2;
/// How often a scene is tried at most.
const ATTEMPTS: u32 = 3;

/// One boot of a kernel.
struct Visit {
    kernel: Kernel,
    /// What it is for, in a word, and its folder's name.
    what: &'static str,
    append: &'static str,
    scenes: Vec<&'static Scene>,
}

/// What is tried on these kernels, what takes longest first.
fn visits(kernels: &[Kernel]) -> Vec<Visit> {
    let visit = |kernel: &Kernel, what, append, scenes| Visit {
        kernel: kernel.clone(),
        what,
        append,
        scenes,
    };
    let (old, able): (Vec<_>, Vec<_>) = kernels.iter().partition(|k| k.minor() < OLDEST);
    let everywhere = || judge::EVERYWHERE.iter().collect();
    let mut all: Vec<Visit> = able
        .iter()
        .map(|k| visit(k, "programs", "", everywhere()))
        .collect();
    if let Some(kernel) = able.last() {
        all.push(visit(
            kernel,
            "weather",
            "",
            judge::WEATHER.iter().collect(),
        ));
        let (integrity, confidentiality) = ("lockdown=integrity", "lockdown=confidentiality");
        all.push(visit(
            kernel,
            "integrity",
            integrity,
            vec![&judge::INTEGRITY],
        ));
        all.push(visit(
            kernel,
            "confidentiality",
            confidentiality,
            vec![&judge::CONFIDENTIALITY],
        ));
    }
    all.extend(
        old.iter()
            .map(|k| visit(k, "refusal", "", vec![&judge::TOO_OLD])),
    );
    all
}

/// Where everything is, and how much is tried.
struct Plan {
    /// A folder for each boot, as it was left.
    runs: PathBuf,
    initramfs: PathBuf,
    debian: Debian,
    /// How often timesink is killed, and how often a process ends as it is attached to.
    repetitions: (u32, u32),
}

/// What came of a visit.
#[derive(Default)]
struct Verdict {
    problems: Vec<String>,
    /// What is worth knowing although nothing is wrong.
    notes: Vec<String>,
}

impl Plan {
    /// What a busy machine disturbs is tried again, as in the live tests: one good recording shows that timesink is right, and a wrong
    /// timesink is wrong each time. A kernel that comes down is not tried again.
    fn visit(&self, visit: &Visit) -> Result<Verdict, Failure> {
        let mut verdict = Verdict::default();
        let mut reports = Vec::new();
        let mut left = visit.scenes.clone();
        for attempt in 1..=ATTEMPTS {
            let place = self.boot(visit, &left, attempt, &mut verdict)?;
            let mut problems = Vec::new();
            left.retain(|scene| {
                let results = Results::of(&place.join(scene.name));
                let wrong = scene.problems(&results);
                if wrong.is_empty() {
                    reports.extend(results.reports());
                    verdict.notes.extend(results.clocks());
                }
                problems.extend(wrong.iter().map(|wrong| format!("{}: {wrong}", scene.name)));
                !wrong.is_empty()
            });
            if left.is_empty() {
                break;
            }
            if attempt == ATTEMPTS || !verdict.problems.is_empty() {
                verdict.problems.append(&mut problems);
                break;
            }
            let note = |problem| format!("tried again: {problem}");
            verdict.notes.extend(problems.into_iter().map(note));
        }
        if !reports.is_empty() {
            let (told, problems) = judge::stacks_whole(&reports);
            verdict.notes.push(told);
            verdict.problems.extend(problems);
        }
        Ok(verdict)
    }

    /// Plays these scenes on the kernel. Says where they left what they kept.
    fn boot(
        &self,
        visit: &Visit,
        scenes: &[&Scene],
        attempt: u32,
        verdict: &mut Verdict,
    ) -> Result<PathBuf, Failure> {
        let again = if attempt > 1 {
            format!("-again-{attempt}")
        } else {
            String::new()
        };
        let name = format!("{}-{}{again}", visit.kernel.name(), visit.what);
        let folder = self.runs.join(name);
        fs::create_dir_all(&folder)?;
        let names: Vec<_> = scenes.iter().map(|scene| scene.name).collect();
        let (kills, ends) = self.repetitions;
        let settings = format!(
            "scenes=\"{}\"\nkills={kills}\nends={ends}\n",
            names.join(" ")
        );
        let image = disk::make(&folder, &settings)?;
        let serial = folder.join("serial");
        let machine = Machine {
            kernel: &self.debian.fetch(&visit.kernel)?,
            initramfs: &self.initramfs,
            disk: &image,
            append: visit.append,
        };
        let ran = machine.run(&serial)?;
        if ran.boots > 1 {
            let boots = ran.boots;
            verdict
                .notes
                .push(format!("booted {boots} times, until it came up"));
        }
        if let Some(why) = ran.trouble {
            verdict.problems.push(format!("{why}\n{}", end_of(&serial)));
        }
        let results = disk::results(&image, &folder)?;
        fs::remove_file(&image)?;
        Ok(results)
    }
}

/// The last lines of a serial port's log.
fn end_of(serial: &Path) -> String {
    let text = fs::read(serial).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(70)..].join("\n")
}

/// Makes the visits, some at a time; true if all is as it must be.
fn tour(plan: &Plan, visits: Vec<Visit>) -> bool {
    let queue = Mutex::new(VecDeque::from(visits));
    let bad = Mutex::new(0);
    let work = || loop {
        let next = queue.lock().ok().and_then(|mut queue| queue.pop_front());
        let Some(visit) = next else { return };
        let started = Instant::now();
        let verdict = plan.visit(&visit).unwrap_or_else(|failure| Verdict {
            problems: vec![failure.0],
            notes: Vec::new(),
        });
        let mut text = format!(
            "{:<5} {:<16} {:<16} {:>2} scenes {:>4} s  {}\n",
            visit.kernel.name(),
            visit.kernel.version,
            visit.what,
            visit.scenes.len(),
            started.elapsed().as_secs(),
            if verdict.problems.is_empty() {
                "ok"
            } else {
                "FAILED"
            },
        );
        verdict
            .notes
            .iter()
            .for_each(|note| text += &format!("      {note}\n"));
        verdict
            .problems
            .iter()
            .for_each(|problem| text += &format!("  --> {problem}\n"));
        print!("{text}");
        if let (false, Ok(mut bad)) = (verdict.problems.is_empty(), bad.lock()) {
            *bad += 1;
        }
    };
    std::thread::scope(|scope| {
        (0..AT_ONCE).for_each(|_| drop(scope.spawn(work)));
    });
    bad.into_inner().is_ok_and(|bad| bad == 0)
}

fn all(arguments: &[String]) -> Result<bool, Failure> {
    let nightly = arguments.iter().any(|a| a == "--nightly");
    let names: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|a| *a != "--nightly")
        .collect();
    let work = timesink_live::root().join("target/kernels");
    let debian = Debian::at(&work.join("debian"))?;
    let work = work.canonicalize()?;
    let held = debian.kernels()?;
    let mut kernels = match (names.is_empty(), nightly) {
        (true, true) => held.clone(),
        (true, false) => wanted(&held, &USUAL)?,
        (false, _) => wanted(&held, &names)?,
    };
    kernels.dedup();
    // One after another, before several guests want the same one. What cannot be had is told where it is missed.
    for kernel in &kernels {
        drop(debian.fetch(kernel));
    }
    let runs = work.join("runs");
    let _ = fs::remove_dir_all(&runs);
    let plan = Plan {
        initramfs: root::make(&work, &timesink_live::timesink())?,
        runs,
        debian,
        // Over the four kernels that are tried at each change, timesink is killed more than 50 times.
        repetitions: if nightly { (50, 30) } else { (13, 10) },
    };
    Ok(tour(&plan, visits(&kernels)))
}

fn wanted(held: &[Kernel], names: &[&str]) -> Result<Vec<Kernel>, Failure> {
    names.iter().map(|name| debian::named(held, name)).collect()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match all(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{}", failure.0);
            ExitCode::FAILURE
        }
    }
}
