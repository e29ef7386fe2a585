//! Rounds that were measured another time, from what `timesink bench --json` printed of them.

use anyhow::{bail, Context};
use serde::Deserialize;
use timesink_trials::Round;

use super::{Job, Question, RunPage, Sample};

#[derive(Deserialize)]
struct Page {
    version: u32,
    figure: String,
    metric: Option<String>,
    higher_is_better: bool,
    rounds: usize,
    commands: Vec<Command>,
}

#[derive(Deserialize)]
struct Command {
    command: String,
    runs: Vec<RunPage>,
}

/// The rounds, if they are of these commands, and answer this question.
pub fn rounds(text: &str, jobs: &[Job], question: &Question) -> anyhow::Result<Vec<Round<Sample>>> {
    let page: Page = serde_json::from_str(text).context("not JSON of timesink bench")?;
    if page.version != 1 {
        bail!("version {} of the JSON is not known", page.version);
    }
    let commands = page.commands.iter().map(|one| one.command.as_str());
    if !commands.eq(jobs.iter().map(|job| job.text.as_str())) {
        bail!("it is of other commands");
    }
    let metric = question.metric.as_ref().map(|metric| &metric.name);
    let is_same = page.figure == question.figure.word()
        && page.metric.as_ref() == metric
        && page.higher_is_better == question.higher_is_better();
    if !is_same {
        bail!("it was measured by another figure: {}", page.figure);
    }
    (0..page.rounds)
        .map(|at| round(&page.commands, at).context("a round lacks a run"))
        .collect()
}

fn round(commands: &[Command], at: usize) -> Option<Round<Sample>> {
    let runs: Option<Vec<RunPage>> = commands
        .iter()
        .map(|one| one.runs.get(at).copied())
        .collect();
    let runs = runs?;
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|command| runs[*command].place);
    Some(Round {
        order,
        results: runs.into_iter().map(|run| run.sample).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::samples;
    use crate::present::json;

    /// What was printed is what is read again; of other commands, or by another figure, nothing is.
    #[test]
    fn rounds_are_those_that_were_printed() {
        samples::changed(|shown| {
            let mut out = Vec::new();
            json::bench(shown, &mut out).expect("memory takes it");
            let text = String::from_utf8(out).expect("JSON is text");
            let read = rounds(&text, shown.jobs, shown.question).expect("it is the same");
            assert_eq!(read.len(), shown.rounds.len());
            for (read, printed) in read.iter().zip(shown.rounds) {
                assert_eq!(
                    (&read.order, &read.results),
                    (&printed.order, &printed.results)
                );
            }
            let error = rounds(&text, &shown.jobs[..1], shown.question).expect_err("others");
            assert!(format!("{error:#}").contains("other commands"), "{error:#}");
            let mut question = shown.question.clone();
            question.figure = crate::bench::Figure::Cpu;
            let error = rounds(&text, shown.jobs, &question).expect_err("another figure");
            assert!(format!("{error:#}").contains("another figure"), "{error:#}");
            assert!(rounds(&text[..100], shown.jobs, shown.question).is_err());
        });
    }
}
