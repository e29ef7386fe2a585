//! A command in two folders, in pairs, for somebody else to tell: nothing of it is printed but progress.

use std::path::{Path, PathBuf};

use anyhow::bail;
use timesink_trials::{Estimate, Verdict};

use super::child::Interrupt;
use super::runner::NoSample;
use super::{file, Plan};
use crate::bench::{Figure, Outcome};
use crate::history::What;

/// What is compared.
pub struct Asked<'a> {
    pub what: &'a What,
    /// Run once in each folder before, and after.
    pub setup: Option<&'a str>,
    pub cleanup: Option<&'a str>,
    pub figure: Figure,
    /// The first is what the second is held against.
    pub folders: [PathBuf; 2],
    /// Where `what.input` is.
    pub here: &'a Path,
    pub most_rounds: u16,
}

/// What came of it.
pub struct Compared {
    pub verdict: Verdict,
    pub estimate: Option<Estimate>,
    pub pairs: Vec<(f64, f64)>,
    pub was_interrupted: bool,
}

/// Runs pairs until there is a verdict, all rounds are run, or somebody wants us to end.
pub fn compare(asked: &Asked<'_>, interrupt: Interrupt) -> anyhow::Result<Compared> {
    let arguments = file::parsed(words(asked))?;
    let plan = Plan::of(&arguments)?;
    let measured = plan.run(interrupt)?;
    let was_interrupted = match (measured.stopped, measured.failed_after) {
        (Some(NoSample::Failed(error)), _) | (None, Some(NoSample::Failed(error))) => {
            return Err(error)
        }
        (Some(NoSample::Interrupted), _) | (None, Some(NoSample::Interrupted)) => true,
        (None, None) => false,
    };
    let outcome = Outcome::of(&plan.jobs, &measured.rounds, &plan.question);
    let Some(comparison) = outcome.comparisons.first() else {
        bail!("the command is not measured twice");
    };
    let counted = measured.rounds.get(outcome.left_out..).unwrap_or(&[]);
    let pairs = counted.iter().filter_map(|round| {
        let figure = |at: usize| plan.question.figure.of(round.results.get(at)?);
        figure(0).zip(figure(1))
    });
    Ok(Compared {
        verdict: comparison.verdict,
        estimate: comparison.estimate,
        pairs: pairs.collect(),
        was_interrupted,
    })
}

/// The command line of `timesink bench` for it.
fn words(asked: &Asked<'_>) -> Vec<String> {
    let what = asked.what;
    let mut words: Vec<String> = ["bench", "--until-decided"].map(str::to_owned).to_vec();
    words.push(format!("--rounds={}", asked.most_rounds));
    for folder in &asked.folders {
        words.push(format!("--in={}", folder.join(&what.directory).display()));
    }
    let input = what.input.as_ref();
    let input = input.map(|input| asked.here.join(&what.directory).join(input));
    let input = input.map(|input| input.to_string_lossy().into_owned());
    let options = [
        ("setup", asked.setup),
        ("cleanup", asked.cleanup),
        ("prepare", what.prepare.as_deref()),
        ("input", input.as_deref()),
        ("metric", what.metric.as_deref()),
    ];
    for (name, value) in options {
        words.extend(value.map(|value| format!("--{name}={value}")));
    }
    match asked.figure {
        Figure::Metric => {}
        figure => words.push(format!("--by={}", figure.word())),
    }
    let flags = [
        ("--shell", what.shell),
        ("--higher-is-better", what.higher_is_better),
        ("--ignore-failure", what.ignore_failure),
    ];
    words.extend(
        flags
            .iter()
            .filter(|(_, is_set)| *is_set)
            .map(|(name, _)| (*name).to_owned()),
    );
    words.extend(["--".to_owned(), what.command.clone()]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::Interrupt;

    fn asked<'a>(what: &'a What, here: &'a Path) -> Asked<'a> {
        Asked {
            what,
            setup: Some("true"),
            cleanup: Some("true"),
            figure: Figure::Cpu,
            folders: [here.to_owned(), here.to_owned()],
            here,
            most_rounds: 12,
        }
    }

    /// The same in the same folder is measured in pairs, with all that was said of how.
    #[test]
    fn a_command_is_measured_in_both_folders() {
        let what = What {
            command: "exit 3".to_owned(),
            shell: true,
            ignore_failure: true,
            prepare: Some("true".to_owned()),
            ..What::default()
        };
        let here = std::env::temp_dir();
        let interrupt = Interrupt::watch().expect("a descriptor");
        let found = compare(&asked(&what, &here), interrupt).expect("it is measured");
        assert!(!found.was_interrupted && !found.pairs.is_empty());
    }

    #[test]
    fn all_options_are_those_of_bench() {
        let what = What {
            command: "a {b} 'c".to_owned(),
            directory: "sub".to_owned(),
            input: Some("rows".to_owned()),
            metric: Some("q: (.*)".to_owned()),
            higher_is_better: true,
            ..What::default()
        };
        let asked = Asked {
            figure: Figure::Metric,
            ..asked(&what, Path::new("/p"))
        };
        let arguments = file::parsed(words(&asked)).expect("they are");
        assert_eq!(arguments.commands, ["a {b} 'c"]);
        assert_eq!(arguments.input.as_deref(), Some(Path::new("/p/sub/rows")));
        assert_eq!(
            arguments.directories,
            ["/p/sub", "/p/sub"].map(PathBuf::from)
        );
        assert!(arguments.higher_is_better && arguments.until_decided);
    }
}
