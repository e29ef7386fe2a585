//! Rounds that were measured another time, from what `timesink bench --json` printed of them.

use anyhow::{bail, Context};
use serde::Deserialize;
use timesink_recording::floors::Load;
use timesink_trials::Round;

use super::{Figure, Job, MemoryOf, Question, RunPage, Sample};

#[derive(Deserialize)]
struct Page {
    version: u32,
    figure: String,
    metric: Option<String>,
    higher_is_better: bool,
    rounds: usize,
    others_pct: f64,
    stolen_pct: f64,
    commands: Vec<Command>,
}

#[derive(Deserialize)]
struct Command {
    command: String,
    runs: Vec<RunPage>,
}

/// What another time measured, and what others did on the machine meanwhile.
#[derive(Clone, Default)]
pub struct Before {
    pub rounds: Vec<Round<Sample>>,
    pub others_pct: f64,
    pub stolen_pct: f64,
}

impl Before {
    /// The rounds, where memory is now measured of this: where it was of something else, it is no figure to go on with.
    pub fn rounds_with_memory_of(
        &self,
        memory_of: MemoryOf,
        figure: Figure,
    ) -> anyhow::Result<Vec<Round<Sample>>> {
        let mut rounds = self.rounds.clone();
        let samples = rounds.iter_mut().flat_map(|round| &mut round.results);
        for sample in samples.filter(|sample| sample.memory_of != memory_of) {
            if figure == Figure::Memory {
                bail!("the rounds so far measured memory differently (of all processes together, or of the largest one): start anew without --resume");
            }
            sample.memory_of = memory_of;
            sample.memory_bytes = None;
        }
        Ok(rounds)
    }

    /// What others did in all, where as many rounds were measured in all.
    pub fn with(&self, now: Load, rounds: usize) -> Load {
        let old = self.rounds.len() as f64 / rounds.max(1) as f64;
        let both = |before: f64, now: f64| before * old + now * (1.0 - old);
        Load {
            others_pct: both(self.others_pct, now.others_pct),
            stolen_pct: both(self.stolen_pct, now.stolen_pct),
            ..now
        }
    }
}

/// The rounds, if they are of these commands, and answer this question.
pub fn before(text: &str, jobs: &[Job], question: &Question) -> anyhow::Result<Before> {
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
    let rounds = (0..page.rounds)
        .map(|at| round(&page.commands, at).context("a round lacks a run"))
        .collect::<anyhow::Result<_>>()?;
    Ok(Before {
        rounds,
        others_pct: page.others_pct,
        stolen_pct: page.stolen_pct,
    })
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
            let read = before(&text, shown.jobs, shown.question)
                .expect("it is the same")
                .rounds;
            assert_eq!(read.len(), shown.rounds.len());
            for (read, printed) in read.iter().zip(shown.rounds) {
                assert_eq!(
                    (&read.order, &read.results),
                    (&printed.order, &printed.results)
                );
            }
            let error = before(&text, &shown.jobs[..1], shown.question)
                .map(|_| ())
                .expect_err("others");
            assert!(format!("{error:#}").contains("other commands"), "{error:#}");
            let mut question = shown.question.clone();
            question.figure = crate::bench::Figure::Cpu;
            let error = before(&text, shown.jobs, &question)
                .map(|_| ())
                .expect_err("another figure");
            assert!(format!("{error:#}").contains("another figure"), "{error:#}");
            assert!(before(&text[..100], shown.jobs, shown.question).is_err());
        });
    }

    /// Memory of the largest process and of all together are two figures: they are not mixed.
    #[test]
    fn memory_of_something_else_is_left_out() {
        let sample = Sample {
            memory_bytes: Some(1),
            ..Sample::default()
        };
        let before = Before {
            rounds: vec![Round {
                order: vec![0],
                results: vec![sample],
            }],
            ..Before::default()
        };
        let memory = |of, by| {
            let rounds = before.rounds_with_memory_of(of, by);
            rounds.map(|rounds| rounds[0].results[0].memory_bytes)
        };
        let (process, group) = (MemoryOf::Process, MemoryOf::Group);
        assert_eq!(memory(process, Figure::Memory).expect("goes on"), Some(1));
        assert_eq!(memory(group, Figure::Wall).expect("goes on"), None);
        assert!(memory(group, Figure::Memory).is_err());
    }

    /// What others did while the rounds before were measured counts as much as these rounds.
    #[test]
    fn the_load_of_rounds_before_is_not_forgotten() {
        let round = Round {
            order: vec![0],
            results: Vec::new(),
        };
        let before = Before {
            rounds: vec![round; 30],
            others_pct: 60.0,
            stolen_pct: 2.0,
        };
        let now = Load {
            others_pct: 20.0,
            stolen_pct: 0.0,
            short_pct: None,
        };
        assert_eq!(before.with(now, 40).others_pct, 50.0);
        assert_eq!(before.with(now, 30).others_pct, 60.0);
        assert_eq!(Before::default().with(now, 10).others_pct, 20.0);
    }
}
