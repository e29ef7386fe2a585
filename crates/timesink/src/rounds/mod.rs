//! The rounds of an optimisation: what was tried, what it was predicted to bring and what it brought. They are kept in
//! `.timesink/rounds` of a project, a folder each.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;

use anyhow::{bail, Context};
use serde::{Deserialize, Serialize};
use timesink_recording::files::{Folder, NewFile};
use timesink_trials::Apart;

use crate::project::source::Source;
use crate::project::{made_within, Project};

/// The version of what is kept of a round.
pub const VERSION: u32 = 1;
const ROUNDS: &str = "rounds";
const FILE: &str = "round.json";
pub const RECORDING: &str = "recording.timesink";
pub const CHANGES: &str = "changes.patch";
/// A round takes some kilobytes: figures, a command, a few names.
const LONGEST: u64 = 1 << 20;
/// How likely an interval between two rounds may be wrong.
const ALPHA: f64 = 0.05;

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    pub version: u32,
    /// From 1.
    pub number: u32,
    pub name: String,
    pub measured_unix_s: u64,
    #[serde(flatten)]
    pub job: Job,
    /// Of each run: nanoseconds, or what the command printed.
    pub figures: Vec<f64>,
    /// Why there is no recording, if there is none.
    pub not_recorded: Option<String>,
    /// What stood first in WHY.
    pub first: Option<FirstCause>,
    /// What the findings that are gone since the round before were predicted to save.
    pub predicted: Option<Predicted>,
    /// How many facts about where it ran differ from the round before.
    pub facts_differ: Option<u64>,
    /// Of the facts about where it ran that do not move by themselves: rounds of the same one ran in the same place.
    #[serde(default)]
    pub facts_checksum: Option<String>,
    pub source: Option<Source>,
}

/// What is run in a round, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub command: Vec<String>,
    /// Where, from the project's folder.
    pub directory: String,
    /// Run once before, by sh.
    pub build: Option<String>,
    /// Run before each run, by sh.
    pub prepare: Option<String>,
    pub runs: u16,
    /// What is read from what the command prints, in place of its wall time.
    pub metric: Option<String>,
    pub higher_is_better: bool,
    /// Also runs that fail are measured.
    #[serde(default)]
    pub ignore_failure: bool,
}

/// The first finding of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FirstCause {
    pub rule: String,
    pub title: String,
    /// Shares of the recorded wall time.
    pub saves_lo: f64,
    pub saves_hi: f64,
}

/// A prediction for what was changed, as shares of the wall time before, and what the recordings say became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    pub saves_lo: f64,
    pub saves_hi: f64,
    pub saved: f64,
}

impl Round {
    /// It was ended before all runs were measured.
    pub fn was_cut_short(&self) -> bool {
        self.figures.len() < usize::from(self.job.runs)
    }

    /// This round's figure as a multiple of that of another round.
    pub fn against(&self, before: &Round) -> Option<Apart> {
        let is_same = self.job.metric == before.job.metric;
        is_same
            .then(|| Apart::of(&before.figures, &self.figures, ALPHA))
            .flatten()
    }
}

impl Project {
    pub fn folder(&self) -> PathBuf {
        self.kept().join(ROUNDS)
    }

    pub fn folder_of(&self, number: u32) -> PathBuf {
        self.folder().join(folder_name(number))
    }

    /// All rounds, in order. To be asked with the caller's rights.
    pub fn rounds(&self) -> anyhow::Result<Vec<Round>> {
        let Some(folder) = self.held_within(ROUNDS)? else {
            return Ok(Vec::new());
        };
        let mut rounds = Vec::new();
        for name in folder.names()? {
            let number = name.to_str().and_then(|name| name.parse::<u32>().ok());
            if number.is_none_or(|number| folder_name(number).as_str() != name) {
                continue;
            }
            // A folder without the file is of a round that was never finished.
            if let Ok(of_round) = folder.folder_within(&name) {
                rounds.extend(read(&of_round)?);
            }
        }
        rounds.sort_by_key(|round| round.number);
        Ok(rounds)
    }

    /// An empty folder for a round; what a round that was never finished left there goes.
    pub fn begin(&self, number: u32) -> anyhow::Result<Begun> {
        let all = self.held_or_made_within(ROUNDS)?;
        let folder = made_within(&all, &folder_name(number))?;
        let lock = folder.lock()?;
        folder.clear()?;
        Ok(Begun { folder, lock })
    }
}

/// A round under way. Whoever has the lock is alone in its folder.
#[derive(Debug)]
pub struct Begun {
    pub folder: Folder,
    pub lock: File,
}

fn folder_name(number: u32) -> String {
    format!("{number:04}")
}

/// Keeps a round, in one step.
pub fn keep(folder: &Folder, round: &Round) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(round)?;
    text.push(b'\n');
    keep_text(folder, FILE, &text)
}

/// Keeps a text beside it.
pub fn keep_text(folder: &Folder, name: &str, text: &[u8]) -> anyhow::Result<()> {
    let mut file = NewFile::within(folder, name)?;
    file.write_all(text)?;
    Ok(file.keep()?)
}

fn read(folder: &Folder) -> anyhow::Result<Option<Round>> {
    let Ok(file) = folder.open_file(FILE) else {
        return Ok(None);
    };
    let path = folder.path_of(FILE);
    let mut text = String::new();
    file.take(LONGEST)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text)
        .with_context(|| path.display().to_string())
        .map(Some)
}

fn parse(text: &str) -> anyhow::Result<Round> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Versioned { version } = serde_json::from_str(text).context("not a round")?;
    if version > VERSION {
        bail!("written by a newer timesink (version {version}, this one reads {VERSION})");
    }
    serde_json::from_str(text).context("not a round")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A round of a command that takes about so long.
    pub fn round(number: u32, name: &str, seconds: f64) -> Round {
        let figures = (0..10).map(|run| (seconds * 1e9).round() + f64::from(run) * 1e6);
        Round {
            version: VERSION,
            number,
            name: name.to_owned(),
            measured_unix_s: 1_795_500_000,
            job: Job {
                command: vec!["./import".to_owned(), "rows.txt".to_owned()],
                directory: String::new(),
                build: None,
                prepare: None,
                runs: 10,
                metric: None,
                higher_is_better: false,
                ignore_failure: false,
            },
            figures: figures.collect(),
            not_recorded: None,
            first: None,
            predicted: None,
            facts_differ: None,
            facts_checksum: None,
            source: None,
        }
    }

    /// One of which everything is known.
    pub fn whole_round() -> Round {
        let mut whole = round(2, "one transaction", 1.0);
        whole.job.build = Some("make".to_owned());
        whole.job.prepare = Some("rm -f rows.db".to_owned());
        whole.job.metric = Some("rate: (.*)".to_owned());
        whole.not_recorded = Some("recording needs root".to_owned());
        whole.first = Some(FirstCause {
            rule: "flush-per-record".to_owned(),
            title: "rows.db is flushed to disk 4,000 times".to_owned(),
            saves_lo: 0.44,
            saves_hi: 0.62,
        });
        whole.predicted = Some(Predicted {
            saves_lo: 0.44,
            saves_hi: 0.62,
            saved: 0.51,
        });
        whole.facts_differ = Some(2);
        whole.facts_checksum = Some("1a2b3c4d".to_owned());
        whole.source = Some(Source {
            commit: "0123456789abcdef".to_owned(),
            is_changed: true,
        });
        whole
    }

    fn project(name: &str) -> Project {
        let root = std::env::temp_dir().join(format!("timesink-{name}-{}", std::process::id()));
        Folder::ensure(&root).expect("a folder");
        Project { root }
    }

    fn gone(project: &Project) {
        std::fs::remove_dir_all(&project.root).expect("it is there");
    }

    #[test]
    fn what_is_kept_is_read_again_in_order() {
        let project = project("rounds-kept");
        assert!(project.rounds().expect("none").is_empty());
        for number in [2, 1] {
            let Begun { folder, .. } = project.begin(number).expect("a folder");
            keep(&folder, &round(number, "batch", 1.0)).expect("kept");
        }
        // One that was killed on the way.
        project.begin(3).expect("a folder");
        let read = project.rounds().expect("rounds");
        assert_eq!(read, [round(1, "batch", 1.0), round(2, "batch", 1.0)]);
        gone(&project);
    }

    #[test]
    fn a_round_that_was_not_finished_makes_room() {
        let project = project("rounds-unfinished");
        let left = project.begin(1).expect("a folder");
        keep_text(&left.folder, CHANGES, b"half").expect("kept");
        let error = project.begin(1).expect_err("somebody is at it");
        assert!(
            format!("{error:#}").contains("another process"),
            "{error:#}"
        );
        drop(left);
        let again = project.begin(1).expect("the same");
        assert!(again.folder.names().expect("a folder").is_empty());
        gone(&project);
    }

    /// Whoever gives away a project with a link in it would have rounds written, as the user, to wherever it leads.
    #[test]
    fn rounds_follow_no_link() {
        use std::os::unix::fs::symlink;
        let (project, elsewhere) = (project("rounds-linked"), project("rounds-elsewhere"));
        let begun = elsewhere.begin(1).expect("a folder");
        keep(&begun.folder, &round(1, "not ours", 1.0)).expect("kept");
        let refused = |project: &Project| {
            let both = [project.rounds().map(|_| ()), project.begin(2).map(|_| ())];
            for one in both {
                let said = format!("{:#}", one.expect_err("refused"));
                assert!(said.contains("a link is not followed"), "{said}");
            }
        };
        symlink(elsewhere.kept(), project.kept()).expect("a link");
        refused(&project);
        std::fs::remove_file(project.kept()).expect("the link");
        Folder::ensure(&project.kept()).expect("a folder");
        symlink(elsewhere.folder(), project.folder()).expect("a link");
        refused(&project);
        std::fs::remove_file(project.folder()).expect("the link");
        Folder::ensure(&project.folder()).expect("a folder");
        symlink(elsewhere.folder_of(1), project.folder_of(2)).expect("a link");
        assert!(project.begin(2).is_err() && project.rounds().expect("none").is_empty());
        assert_eq!(elsewhere.rounds().expect("untouched").len(), 1);
        drop(begun);
        gone(&project);
        gone(&elsewhere);
    }

    /// A round of an older timesink has no word on runs that fail.
    #[test]
    fn rounds_of_before_are_read() {
        let mut page = serde_json::to_value(whole_round()).expect("JSON");
        let fields = page.as_object_mut().expect("an object");
        assert!(fields.remove("ignore_failure").is_some());
        assert_eq!(parse(&page.to_string()).expect("a round"), whole_round());
    }

    #[test]
    fn a_newer_version_and_damage_are_said() {
        let error = parse(r#"{"version": 2, "else": 1}"#).expect_err("newer");
        assert!(format!("{error:#}").contains("newer timesink"), "{error:#}");
        for damaged in ["", "{", "[]", r#"{"version": 1}"#] {
            let error = parse(damaged).expect_err(damaged);
            assert!(format!("{error:#}").contains("not a round"), "{error:#}");
        }
    }

    #[test]
    fn rounds_by_different_figures_are_not_compared() {
        let (one, mut two) = (round(1, "a", 2.0), round(2, "b", 1.0));
        let apart = two.against(&one).expect("both are times");
        assert!((apart.ratio - 0.5).abs() < 0.01 && apart.interval.is_some());
        two.job.metric = Some("rate: (.*)".to_owned());
        assert_eq!(two.against(&one), None);
    }
}
