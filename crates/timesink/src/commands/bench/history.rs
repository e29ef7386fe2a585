//! `timesink bench --history`: what was measured goes into the project's history, with the commit and facts about where it was.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{bail, Context};
use timesink_capture::launch::Identity;
use timesink_capture::{of_what_we_start, privileges, Fact};
use timesink_comparison::{is_known_variable, varies, Varies};
use timesink_recording::words::FactKind;

use super::grid::filled;
use super::{as_caller, Arguments};
use crate::bench::{Job, MemoryOf};
use crate::history::store::{self, Told, FILE};
use crate::history::{Commit, Facts, Measured, Run, What};
use crate::out;
use crate::present::bench::Bench;
use crate::project::source::Git;
use crate::project::Project;

/// What there was before anything was measured.
pub struct State {
    project: Project,
    /// Where the commands run, from the project's folder.
    directory: String,
    commit: Option<Commit>,
    facts: Facts,
    measured_unix_s: u64,
}

impl State {
    /// Better now than after all has been measured: a history that cannot be read is told.
    pub fn now(directories: &[PathBuf]) -> anyhow::Result<State> {
        let here = std::env::current_dir().context("the current directory")?;
        let project = Project::find(&here);
        as_caller(|| project.history())?;
        let identity = Identity::from_sudo()?;
        let git = Git {
            folder: &project.root,
            identity: identity.as_ref(),
        };
        let commit = git.source().and_then(|source| {
            Some(Commit {
                unix_s: git.time_of(&source.commit)?,
                id: source.commit,
                is_changed: source.is_changed,
            })
        });
        if commit.is_none() && project.is_in_git() {
            out::tell("git does not say which commit is checked out (git status may say why): the result is kept by its day alone");
        }
        let directory = match directories {
            [] => here,
            [one] => one.canonicalize().context("the directory of --in")?,
            _ => bail!(
                "--history keeps results of one directory: --in several is for comparing them"
            ),
        };
        Ok(State {
            directory: within(&project, &directory)?,
            commit,
            facts: facts(identity.as_ref()),
            measured_unix_s: unix_s(),
            project,
        })
    }

    /// Keeps what was measured, each command as a series of its own. From here on we are the user who called sudo: what is in
    /// the file, nobody vouches for.
    pub fn keep(&self, arguments: &Arguments, bench: &Bench<'_>) -> anyhow::Result<()> {
        privileges::for_measuring(Identity::from_sudo()?.as_ref())?;
        let rounds = bench.rounds.get(bench.outcome.left_out..).unwrap_or(&[]);
        as_caller(|| {
            self.project.add_to_history(|to| {
                bench.jobs.iter().enumerate().try_for_each(|(at, job)| {
                    let runs = rounds.iter().filter_map(|round| round.results.get(at));
                    let measured = Measured {
                        measured_unix_s: self.measured_unix_s,
                        commit: self.commit.clone(),
                        place: 0,
                        runs: runs.map(Run::from).collect(),
                    };
                    let setup = filled_in(&arguments.setup, job);
                    let cleanup = filled_in(&arguments.cleanup, job);
                    let told = Told {
                        what: &self.what(arguments, job),
                        setup: setup.as_deref(),
                        cleanup: cleanup.as_deref(),
                    };
                    let facts = self.facts_of(job, bench.outcome.memory_of);
                    store::add_result(to, &told, &facts, &measured)
                })
            })
        })?;
        out::note(format_args!(
            "kept in {}: timesink history shows it",
            self.project.kept().join(FILE).display()
        ));
        Ok(())
    }

    /// With the program itself, where it is none of the project's: an interpreter that was upgraded is no change of the source.
    fn facts_of(&self, job: &Job, memory_of: MemoryOf) -> Facts {
        let mut facts = self.facts.clone();
        if memory_of == MemoryOf::Group {
            // Where a history goes over from the one to the other, its figures of memory do not go on.
            let kind = FactKind::MemoryUse.as_str().to_owned();
            let key = "measured as the peak of".to_owned();
            facts.insert((kind, key), "all processes together".to_owned());
        }
        let name = job.words.first().map_or("", String::as_str);
        let from = self.project.root.join(&self.directory);
        if let Some(path) =
            program(name, &from).filter(|path| !path.starts_with(&self.project.root))
        {
            let kind = FactKind::Executable.as_str().to_owned();
            let value = match checksum(&path) {
                Some(checksum) => format!("{} ({checksum:08x})", path.display()),
                None => path.display().to_string(),
            };
            facts.insert((kind, name.to_owned()), value);
        }
        facts
    }

    fn what(&self, arguments: &Arguments, job: &Job) -> What {
        let input = arguments.input.as_ref();
        let metric = arguments.metric.as_ref();
        What {
            command: job.text.clone(),
            directory: self.directory.clone(),
            shell: arguments.shell,
            prepare: filled_in(&arguments.prepare, job),
            input: input.map(|path| path.to_string_lossy().into_owned()),
            metric: metric.map(|metric| metric.as_str().to_owned()),
            higher_is_better: arguments.higher_is_better,
            ignore_failure: arguments.ignore_failure,
        }
    }
}

fn filled_in(line: &Option<String>, job: &Job) -> Option<String> {
    line.as_ref().map(|line| filled(line, &job.parameters))
}

/// A directory from the project's folder, for work trees have only what is in there.
fn within(project: &Project, directory: &Path) -> anyhow::Result<String> {
    let Ok(below) = directory.strip_prefix(&project.root) else {
        bail!(
            "--history keeps what runs in the project, {}, and {} is not in it",
            project.root.display(),
            directory.display()
        );
    };
    let text = below.to_str().context("the directory's name is not text")?;
    Ok(text.to_owned())
}

/// The file of a program.
fn program(name: &str, from: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return from.join(name).canonicalize().ok();
    }
    let places = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&places).filter_map(|place| {
        let path = from.join(place).join(name).canonicalize().ok()?;
        path.is_file().then_some(path)
    });
    found.next()
}

/// Of a file's content, as far as we read.
fn checksum(path: &Path) -> Option<u32> {
    const MOST: u64 = 64 << 20;
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(crc32fast::hash(&bytes))
}

pub fn unix_s() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

/// Facts that stay as they are until somebody changes them.
fn facts(user: Option<&Identity>) -> Facts {
    // What shells set as they go.
    const BY_SHELLS: [&str; 4] = ["_", "SHLVL", "PWD", "OLDPWD"];
    let stays = |fact: &Fact| match fact.kind {
        FactKind::EnvironmentSize => false,
        FactKind::Variable => !BY_SHELLS.contains(&fact.key.as_str()),
        kind => varies(kind) != Varies::Moves,
    };
    let found = of_what_we_start(user).into_iter();
    let kept = found.filter(stays).map(|fact| {
        let value = published(&fact);
        ((fact.kind.as_str().to_owned(), fact.key), value)
    });
    kept.collect()
}

/// What is kept of a fact's value, in a file that may be committed. Of variables that only the program may know, 16 bits of a
/// checksum: they tell that it is another value, and fit so many others that they do not tell which.
fn published(fact: &Fact) -> String {
    if fact.kind != FactKind::Variable || is_known_variable(&fact.key) {
        return fact.value.clone();
    }
    let bits = crc32fast::hash(format!("{}={}", fact.key, fact.value).as_bytes()) & 0xffff;
    format!("checksum {bits:04x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What only the program knows may be a secret, whatever its name.
    #[test]
    fn values_of_unknown_variables_are_not_kept() {
        let of = |key: &str| {
            published(&Fact {
                kind: FactKind::Variable,
                key: key.to_owned(),
                value: "postgres://ada:plain@db".to_owned(),
            })
        };
        assert_eq!(of("LD_PRELOAD"), "postgres://ada:plain@db");
        let kept = of("DATABASE");
        assert!(kept.starts_with("checksum ") && kept.len() == 13, "{kept}");
        assert_ne!(kept, of("DATABASE_2"));
    }

    #[test]
    fn a_program_is_found_on_the_path() {
        let sh = program("sh", Path::new("/")).expect("there is one");
        assert!(checksum(&sh).is_some() && sh.is_absolute());
        assert_eq!(program("bin/sh", Path::new("/")), Some(sh));
        assert_eq!(program("no-such-program", Path::new("/")), None);
        assert_eq!(checksum(Path::new("/dev/null")), None);
    }

    #[test]
    fn what_runs_elsewhere_is_refused() {
        let project = Project {
            root: PathBuf::from("/p"),
        };
        let place = |path: &str| within(&project, Path::new(path));
        assert_eq!(place("/p/sub/a").expect("within"), "sub/a");
        assert_eq!(place("/p").expect("within"), "");
        let said = format!("{:#}", place("/pp").expect_err("refused"));
        assert!(said.contains("/pp is not in it"), "{said}");
    }
}
