//! `timesink whatif FILE`: what the wall time would be if something took less.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{bail, Context};

use timesink_analysis::facts::Facts;
use timesink_analysis::outlook::{Outlook, Patience};
use timesink_analysis::replay::{Change, How, Processors, What};
use timesink_analysis::tags::Tagged;
use timesink_recording::ids::ProcessId;
use timesink_story::{Loaded, Predicted, Predictor};

use super::named;
use super::read::{open, Named};
use super::whose::{nobody, Whose};
use crate::out;
use crate::present::terminal;
use crate::present::{json, Prediction, Report};
use crate::settings::Settings;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording: a directory or a packed file
    recording: PathBuf,

    /// Predict as if WHAT took no time
    #[arg(long, value_name = "WHAT")]
    cut: Vec<String>,

    /// Predict as if WHAT took FACTOR times as long, such as 0.3
    #[arg(long, num_args = 2, value_names = ["WHAT", "FACTOR"])]
    scale: Vec<String>,

    /// Predict as if N of WHAT were done in one operation
    #[arg(long, num_args = 2, value_names = ["WHAT", "N"])]
    batch: Vec<String>,

    /// Predict as if each thread did WHAT only the first time
    #[arg(long, value_name = "WHAT")]
    keep_first: Vec<String>,

    /// Predict as if a thread waited for all of WHAT at the same time
    #[arg(long, value_name = "WHAT")]
    overlap: Vec<String>,

    /// Predict for N CPUs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Option<u32>,

    #[command(flatten)]
    whose: Whose,

    /// Print the prediction as JSON (documented in docs/json.md)
    #[arg(long)]
    json: bool,
}

/// What takes longer by more is another program, and no prediction for this one.
const MOST_TIMES: f64 = 1000.0;

/// What is asked: changes, each with the words it was asked in.
type Asked = Vec<(String, Change)>;

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let recording = open(&arguments.recording)?;
    let loaded = arguments.whose.loaded(&recording)?;
    let asked = asked(arguments, &loaded)?;
    let style = out::style();
    let all = asked.is_empty() && arguments.cpus.is_none();
    if all && arguments.json {
        bail!("the gains of all causes are in report --json: with --json, ask for a change");
    }
    let outlook = match all {
        true => Outlook::of(
            &recording,
            &loaded.timeline,
            &loaded.facts,
            &loaded.stacks,
            &loaded.waited().calls_of,
            Patience::LONG,
        )?,
        false => None,
    };
    let (named, settings) = (Named::of(&recording), Settings::default());
    let report = Report {
        outlook: outlook.as_ref(),
        ..Report::facts_only(&loaded, named.shown(), &settings)
    };
    let page = if all {
        if outlook.is_none() {
            bail!(nobody(&recording));
        }
        terminal::gains(&report, &style)
    } else {
        let replay = Predictor::replay(&loaded)?.context(nobody(&recording))?;
        let predictor = Predictor::of(&loaded, &replay);
        let predicted = predict(&predictor, &asked, arguments.cpus)?;
        let mut words: Vec<String> = asked.into_iter().map(|(words, _)| words).collect();
        words.extend(arguments.cpus.map(|cpus| format!("{cpus} processors")));
        let prediction = Prediction {
            asked: &words,
            recorded_ns: predictor.recorded_ns(),
            replay_error_pct: predictor.error_pct(),
            gain: predicted.gain,
            path: &predicted.path,
        };
        if arguments.json {
            json::prediction(&prediction)
        } else {
            terminal::prediction(&report, &prediction, &style)
        }
    };
    out::page(&page, &style)
}

/// What all changes together buy, and the causes of the path that is left.
fn predict(
    predictor: &Predictor<'_>,
    asked: &Asked,
    cpus: Option<u32>,
) -> anyhow::Result<Predicted> {
    for (words, change) in asked {
        // What is nowhere in the recording is no question: a prediction of it would look like an answer.
        if !predictor.is_about_something(change) {
            bail!("nothing in this recording matches {words:?}: {EXAMPLES}");
        }
    }
    let changes: Vec<Change> = asked.iter().map(|(_, change)| change.clone()).collect();
    Ok(predictor.predict(&changes, cpus.map(Processors::Any)))
}

fn asked(arguments: &Arguments, loaded: &Loaded<'_>) -> anyhow::Result<Asked> {
    let mut asked = Vec::new();
    let mut ask = |text: &str, how: How, words: String| -> anyhow::Result<()> {
        let (what, processes) = match text.strip_prefix("process=") {
            Some(name) => (What::All, Some(processes(name, &loaded.facts)?)),
            None => (what(text, loaded)?, None),
        };
        let change = Change {
            what,
            processes,
            how,
        };
        asked.push((words, change));
        Ok(())
    };
    for text in &arguments.cut {
        ask(text, How::Scale(0.0), format!("without {text}"))?;
    }
    for pair in arguments.scale.chunks_exact(2) {
        let factor: f64 = pair[1]
            .parse()
            .ok()
            .filter(|factor: &f64| (0.0..=MOST_TIMES).contains(factor))
            .with_context(|| {
                format!(
                    "{:?} is not a factor: expected a number such as 0.3 or 2, at most 1,000",
                    pair[1]
                )
            })?;
        ask(
            &pair[0],
            How::Scale(factor),
            format!("{} times {factor}", pair[0]),
        )?;
    }
    for pair in arguments.batch.chunks_exact(2) {
        let many: u32 = pair[1]
            .parse()
            .ok()
            .filter(|many| *many > 0)
            .with_context(|| {
                format!(
                    "{:?} is not a batch size: expected a number of 1 or more",
                    pair[1]
                )
            })?;
        ask(
            &pair[0],
            How::Batch(many),
            format!("{} in batches of {many}", pair[0]),
        )?;
    }
    for text in &arguments.keep_first {
        ask(text, How::KeepFirst, format!("only the first {text}"))?;
    }
    for text in &arguments.overlap {
        ask(text, How::Overlap, format!("{text} at the same time"))?;
    }
    Ok(asked)
}

const EXAMPLES: &str =
    "use a state (cpu, ready), a kind of wait (flush, \"network receive\"), a name \
                        (rows.db), both (\"flush rows.db\"), func=NAME, tag=PATH or process=NAME";

/// The processes of a name.
fn processes(name: &str, facts: &Facts) -> anyhow::Result<BTreeSet<ProcessId>> {
    let rows = facts.ledger.processes.iter().map(|process| &process.row);
    let of_it = rows.filter(|row| row.name == name).map(|row| row.process);
    let of_it: BTreeSet<ProcessId> = of_it.collect();
    if of_it.is_empty() {
        bail!("no process in this recording is named {name:?}");
    }
    Ok(of_it)
}

/// What a text means: `func=NAME`, `tag=PATH`, a state, a kind of wait, a thing, or a kind of wait and a thing.
fn what(text: &str, loaded: &Loaded<'_>) -> anyhow::Result<What> {
    if let Some(name) = text.strip_prefix("func=") {
        let mut functions = loaded.stacks.code.functions.iter();
        if !functions.any(|function| function.name == name) {
            bail!("no stack in this recording contains a function {name:?} (`timesink report FILE --top` lists functions)");
        }
        return Ok(What::Function(name.to_owned()));
    }
    if let Some(path) = text.strip_prefix("tag=") {
        let tagged = Tagged::of(loaded.recording)?;
        let stretches = tagged.map_or(BTreeMap::new(), |tagged| tagged.stretches(path));
        if stretches.is_empty() {
            bail!("no thread in this recording has a tag {path:?} (`timesink report FILE --tags` lists tags)");
        }
        return Ok(What::During(stretches));
    }
    match text {
        "cpu" => return Ok(What::Cpu),
        "ready" => return Ok(What::Ready),
        "" => bail!("WHAT is empty: {EXAMPLES}"),
        _ => {}
    }
    let kind = named::kind_and_thing(text);
    let round_trips = text.strip_prefix("round trips to ");
    let (detail, thing) = match (kind, round_trips) {
        (Some((detail, thing)), _) => (Some(detail), thing),
        (None, Some(peer)) => (None, peer),
        (None, None) => (None, text),
    };
    let objects = named::things(thing, &loaded.facts);
    if objects.as_ref().is_some_and(BTreeSet::is_empty) {
        bail!("nothing in this recording is named {thing:?}: {EXAMPLES}");
    }
    Ok(What::Waits { detail, objects })
}

#[cfg(test)]
mod tests {
    use timesink_story::Loaded;

    use super::*;
    use timesink_recording::words::Detail;

    use crate::present::samples;

    /// What is asked means what it says, and what nothing in the recording is called is an error, not a prediction.
    #[test]
    fn questions() {
        let recording = samples::coded().recording();
        let loaded = Loaded::of(&recording).expect("a drawn recording reads");
        let meant = |text: &str| what(text, &loaded);
        let waits = |text: &str| match meant(text).expect("it is understood") {
            What::Waits { detail, objects } => (detail, objects.map(|found| found.len())),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(waits("flush"), (Some(Detail::Flush), None));
        assert_eq!(waits("flush rows.db"), (Some(Detail::Flush), Some(1)));
        assert_eq!(waits("rows.db"), (None, Some(1)));
        assert_eq!(waits("pipe read"), (Some(Detail::PipeRead), None));
        assert_eq!(waits("round trips to rows"), (None, Some(1)));
        assert_eq!(meant("cpu").ok(), Some(What::Cpu));
        let function = What::Function("price_of".to_owned());
        assert_eq!(meant("func=price_of").ok(), Some(function));
        for nothing in [
            "",
            "flush nowhere.db",
            "nowhere.db",
            "func=nobody",
            "tag=nowhere",
        ] {
            assert!(meant(nothing).is_err(), "{nothing}");
        }
        assert_eq!(
            processes("nightly-import", &loaded.facts)
                .map(|found| found.len())
                .ok(),
            Some(1)
        );
        assert!(processes("nobody", &loaded.facts).is_err());
    }

    /// A kind of wait of which there is none was answered with a prediction, and with success.
    #[test]
    fn what_is_not_there_is_no_question() {
        let recording = samples::coded().recording();
        let loaded = Loaded::of(&recording).expect("a drawn recording reads");
        let change = Change {
            what: what("aio", &loaded).expect("it is understood"),
            processes: None,
            how: How::Batch(100),
        };
        let asked = vec![("aio in batches of 100".to_owned(), change)];
        let replay = Predictor::replay(&loaded).expect("it reads");
        let replay = replay.expect("it has a main thread");
        let predictor = Predictor::of(&loaded, &replay);
        let error = predict(&predictor, &asked, None).err().expect("an error");
        let wanted = "nothing in this recording matches \"aio in batches of 100\"";
        assert!(error.to_string().starts_with(wanted), "{error}");
    }

    /// A prediction, and what the path turns into, on the recording that the other snapshots are of.
    #[test]
    fn a_prediction() {
        let recording = samples::coded().recording();
        let loaded = Loaded::of(&recording).expect("a drawn recording reads");
        let change = Change {
            what: what("flush rows.db", &loaded).expect("it is there"),
            processes: None,
            how: How::Scale(0.0),
        };
        let asked = vec![("without it".to_owned(), change)];
        let replay = Predictor::replay(&loaded).expect("it reads");
        let replay = replay.expect("it has a main thread");
        let predictor = Predictor::of(&loaded, &replay);
        let Predicted { gain, path } = predict(&predictor, &asked, None).expect("a prediction");
        // Five of ten seconds were waited for the disk, and nothing else takes their place. The two
        // threads are drawn on one processor at the same time, which a replay sorts out.
        assert!(
            (5_000_000_000..5_200_000_000).contains(&gain.ns),
            "{gain:?}"
        );
        assert!(gain.wall_lo_ns < gain.wall_ns && gain.wall_ns < gain.wall_hi_ns);
        let left: u64 = path.iter().map(|cause| cause.ns).sum();
        assert!(
            left.abs_diff(gain.wall_ns) < 1_000_000_000,
            "{left} {gain:?}"
        );
        assert!(path
            .iter()
            .all(|cause| cause.key.detail != Some(Detail::Flush)));
    }
}
