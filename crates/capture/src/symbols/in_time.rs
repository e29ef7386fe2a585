//! The names of many modules, looked for in a process of its own: the file of one of them may be where reading it hangs,
//! and all together may take longer than somebody wants to wait.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use timesink_recording::words::SymbolSource;

use super::{Fault, Module, Named, Resolved, Symbols};
use crate::in_child::{in_child, Ended};
use crate::patience::Patience;

/// A module that takes longer is passed over: a little more than it takes to give up on large debug information.
const LONGEST_OF_ONE: Duration = Duration::from_secs(22);
/// So many modules are passed over, before it is given up on all that are left.
const MOST_PASSED_OVER: usize = 3;

/// A frame: function, file, line, whether it was inlined.
type Frame = (String, String, Option<u32>, bool);

/// A module's answer as it is handed over.
#[derive(Serialize, Deserialize)]
struct Answer {
    /// For each offset its frames.
    frames: Vec<Vec<Frame>>,
    source: String,
    fault: Option<String>,
}

impl From<Resolved> for Answer {
    fn from(resolved: Resolved) -> Answer {
        let frame = |named: Named| {
            let (function, file) = (named.function.to_string(), named.file.to_string());
            (function, file, named.line, named.inlined)
        };
        let frames = resolved.frames.into_iter();
        Answer {
            frames: frames
                .map(|frames| frames.into_iter().map(frame).collect())
                .collect(),
            source: resolved.source.to_string(),
            fault: resolved.fault.map(|fault| fault.to_string()),
        }
    }
}

impl From<Answer> for Resolved {
    fn from(answer: Answer) -> Resolved {
        let named = |(function, file, line, inlined): Frame| Named {
            function: Arc::from(function),
            file: Arc::from(file),
            line,
            inlined,
        };
        let frames = answer.frames.into_iter();
        Resolved {
            frames: frames
                .map(|frames| frames.into_iter().map(named).collect())
                .collect(),
            source: SymbolSource::from_str(&answer.source).unwrap_or(SymbolSource::None),
            fault: answer.fault.map(Fault::Told),
        }
    }
}

/// The names at some offsets of each of these modules, in their order; and how many modules were not looked into to the end.
pub fn resolve_all(
    symbols: &Symbols,
    modules: &[(Module, Vec<u64>)],
    patience: &Patience,
) -> (Vec<Resolved>, u64) {
    let ask = |module: &Module, offsets: &[u64]| Answer::from(symbols.resolve(module, offsets));
    let (answers, left) = ask_each(modules, patience, ask);
    let resolved = |answer: Result<Answer, &str>| match answer {
        Ok(answer) => answer.into(),
        Err(why) => not_looked_into(why),
    };
    (answers.into_iter().map(resolved).collect(), left)
}

/// The variables at some offsets of each of these modules, in their order; none of what was not looked into.
pub fn variables_of_all(
    symbols: &Symbols,
    modules: &[(Module, Vec<u64>)],
    patience: &Patience,
) -> Vec<Vec<Option<String>>> {
    let ask = |module: &Module, offsets: &[u64]| symbols.variables(module, offsets);
    let (answers, _) = ask_each(modules, patience, ask);
    let found = answers.into_iter().map(Result::unwrap_or_default);
    found.collect()
}

/// What is answered for each of these modules, or why it was not; and of how many it was not.
fn ask_each<A: Serialize + DeserializeOwned>(
    modules: &[(Module, Vec<u64>)],
    patience: &Patience,
    ask: impl Fn(&Module, &[u64]) -> A,
) -> (Vec<Result<A, &'static str>>, u64) {
    let mut all: Vec<Result<A, &str>> = Vec::new();
    let mut passed_over = 0;
    while all.len() < modules.len() {
        let rest = &modules[all.len()..];
        let work = |hand_over: &mut dyn FnMut(&A)| {
            for (module, offsets) in rest {
                hand_over(&ask(module, offsets));
            }
        };
        let take = |answer: A| all.push(Ok(answer));
        let ended = match patience.ended() {
            Some(_) => Ok(Ended::GivenUp),
            None => in_child(patience, LONGEST_OF_ONE, &[], work, take),
        };
        match ended {
            Ok(Ended::Done) => break,
            Ok(Ended::Silent) if all.len() < modules.len() => {
                passed_over += 1;
                all.push(Err("reading it takes too long"));
                if passed_over > MOST_PASSED_OVER {
                    break;
                }
            }
            _ => break,
        }
    }
    let left = modules.len() - all.len();
    let why = patience.ended().unwrap_or("it was given up before");
    all.extend((0..left).map(|_| Err(why)));
    (all, (passed_over + left) as u64)
}

fn not_looked_into(why: &str) -> Resolved {
    Resolved {
        frames: Vec::new(),
        source: SymbolSource::None,
        fault: Some(Fault::Told(why.to_owned())),
    }
}
