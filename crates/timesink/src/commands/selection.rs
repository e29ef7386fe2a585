//! The options that choose a part of a recording: threads, processes, a state, a thing, a processor,
//! a stretch of time.

use anyhow::bail;
use timesink_analysis::facts::Facts;
use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::{Filter, Selected, Stacks};
use timesink_recording::{Nanos, Recording};

use super::recording::parse_time;

#[derive(clap::Args, Clone, Debug, Default)]
pub struct Selection {
    /// Only this thread
    #[arg(long, value_name = "TID|NAME")]
    thread: Option<String>,

    /// Only this process
    #[arg(long, value_name = "PID|NAME")]
    process: Option<String>,

    /// Only this state [default: all]
    #[arg(long, value_enum)]
    state: Option<State>,

    /// Only waits for files, sockets and other objects whose names contain this text
    #[arg(long, value_name = "TEXT")]
    object: Option<String>,

    /// Only time on this CPU, or runnable there (waits belong to no CPU)
    #[arg(long, value_name = "NUMBER")]
    cpu: Option<u32>,

    /// Only this part of the recording, such as 1.5s..3s, ..200ms or 10s..
    #[arg(long, value_name = "T1..T2", value_parser = parse_between)]
    between: Option<TimeRange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum State {
    Cpu,
    Wait,
    Ready,
    All,
}

/// A stretch of time; open where there is nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TimeRange {
    from: Option<Nanos>,
    to: Option<Nanos>,
}

fn parse_between(text: &str) -> Result<TimeRange, String> {
    let (from, to) = text
        .split_once("..")
        .ok_or("expected a time range such as 1.5s..3s")?;
    let moment = |text: &str| -> Result<Option<Nanos>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let after = parse_time(text)?;
        Ok(Some(Nanos(
            i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        )))
    };
    let (from, to) = (moment(from)?, moment(to)?);
    if matches!((from, to), (Some(from), Some(to)) if from >= to) {
        return Err("the range ends before it starts".into());
    }
    Ok(TimeRange { from, to })
}

impl Selection {
    /// The stacks of the part that is chosen. A thread or process that is not there is an error: an
    /// empty table would look like an answer.
    pub fn stacks(&self, recording: &Recording, facts: &Facts) -> anyhow::Result<Stacks> {
        let filter = self.filter();
        if Selected::new(&filter, facts).is_nobody() && !facts.ledger.threads.is_empty() {
            let named = [("thread", &self.thread), ("process", &self.process)];
            let named = named
                .iter()
                .filter_map(|(kind, name)| Some(format!("{kind} {:?}", name.as_ref()?)));
            let named: Vec<String> = named.collect();
            bail!("there is no {} in this recording", named.join(" of a "));
        }
        Ok(Stacks::of(recording, facts, &filter)?)
    }

    /// The filter that analysis understands.
    pub fn filter(&self) -> Filter {
        Filter {
            thread: self.thread.clone(),
            process: self.process.clone(),
            state: self.state.and_then(|state| match state {
                State::Cpu => Some(Account::Cpu),
                State::Wait => Some(Account::Wait),
                State::Ready => Some(Account::Ready),
                State::All => None,
            }),
            object: self.object.clone(),
            processor: self.cpu,
            from: self.between.and_then(|between| between.from),
            to: self.between.and_then(|between| between.to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::samples;

    /// A thread that is not there is told, rather than shown as an empty table.
    #[test]
    fn nobody_is_told() {
        samples::present_stacks(
            &samples::coded(),
            &Filter::default(),
            |recording, facts, _| {
                let chosen = |thread: &str| Selection {
                    thread: Some(thread.to_owned()),
                    ..Selection::default()
                };
                let found = chosen("statistics").stacks(recording, facts);
                assert!(found.is_ok_and(|stacks| stacks.any()));
                let error = chosen("nobody")
                    .stacks(recording, facts)
                    .expect_err("nobody");
                let wanted = "there is no thread \"nobody\" in this recording";
                assert_eq!(error.to_string(), wanted);
            },
        );
    }

    /// A stretch of time may be open at either end, and must not be empty.
    #[test]
    fn stretches_of_time() {
        let ms = |n: i64| Some(Nanos(n * 1_000_000));
        let between = |from, to| Ok(TimeRange { from, to });
        assert_eq!(parse_between("1.5s..3s"), between(ms(1500), ms(3000)));
        assert_eq!(parse_between("..200ms"), between(None, ms(200)));
        assert_eq!(parse_between("10s.."), between(ms(10_000), None));
        assert!(parse_between("3s..1s").is_err());
        assert!(parse_between("3s").is_err());
        assert!(parse_between("a..b").is_err());
    }
}
