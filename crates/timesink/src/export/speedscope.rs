//! speedscope's file format: one sampled profile for each thread, samples and waits in the order in
//! which they were, each as wide as the time it stands for. What has no stack comes last.

use std::collections::BTreeMap;

use serde::Serialize;
use timesink_analysis::ledger::ThreadLedger;

use super::{missing, waiting, Export};

#[derive(Serialize)]
pub(super) struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    shared: SharedFrames,
    profiles: Vec<SpeedscopeProfile>,
    name: String,
    #[serde(rename = "activeProfileIndex")]
    active: usize,
    exporter: String,
}

#[derive(Serialize)]
struct SharedFrames {
    frames: Vec<SpeedscopeFrame>,
}

#[derive(Serialize)]
struct SpeedscopeFrame {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct SpeedscopeProfile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: u64,
    #[serde(rename = "endValue")]
    end: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

#[derive(Default)]
struct Frames {
    all: Vec<SpeedscopeFrame>,
    by_index: BTreeMap<usize, usize>,
    by_name: BTreeMap<String, usize>,
}

impl Frames {
    fn named(&mut self, name: String) -> usize {
        if let Some(&known) = self.by_name.get(&name) {
            return known;
        }
        self.by_name.insert(name.clone(), self.all.len());
        self.add(name, "", None)
    }

    fn add(&mut self, name: String, file: &str, line: Option<u32>) -> usize {
        self.all.push(SpeedscopeFrame {
            name,
            file: (!file.is_empty()).then(|| file.to_owned()),
            line,
        });
        self.all.len() - 1
    }
}

pub(super) fn file(export: &Export) -> File {
    let mut frames = Frames::default();
    let profiles: Vec<SpeedscopeProfile> = export
        .threads()
        .map(|thread| profile(export, thread, &mut frames))
        .collect();
    let main = export.facts.ledger.main;
    let main = main.and_then(|at| export.facts.ledger.threads.get(at));
    let is_main = |thread: &ThreadLedger| main.is_some_and(|m| m.row.thread == thread.row.thread);
    File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        shared: SharedFrames { frames: frames.all },
        active: export.threads().position(is_main).unwrap_or(0),
        profiles,
        name: export.about.command.join(" "),
        exporter: concat!("timesink@", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

fn profile(export: &Export, thread: &ThreadLedger, frames: &mut Frames) -> SpeedscopeProfile {
    let (process, pid) = export.process(thread);
    let (name, tid) = (&thread.row.name, thread.row.tid);
    let mut samples = Vec::new();
    let mut weights: Vec<u64> = Vec::new();
    for event in export
        .events(thread.row.thread)
        .filter(|event| event.ns > 0)
    {
        let mut sample = Vec::new();
        for (frame, function) in export.stacks.code.frames_of(event.stack) {
            let name = export.function(function);
            sample.push(match frame {
                None => frames.named(name),
                Some((at, frame)) => match frames.by_index.get(&at) {
                    Some(&known) => known,
                    None => {
                        let new = frames.add(name, &frame.file, frame.line);
                        frames.by_index.insert(at, new);
                        new
                    }
                },
            });
        }
        sample.reverse();
        sample.extend(waiting(event).map(|name| frames.named(name)));
        samples.push(sample);
        weights.push(event.ns);
    }
    for rest in export.rests(thread.row.thread) {
        samples.push(vec![frames.named(missing(rest.missing))]);
        weights.push(rest.ns);
    }
    SpeedscopeProfile {
        kind: "sampled",
        name: match pid == tid {
            true => format!("{name}({tid})"),
            false => format!("{name}({tid}) in {process}({pid})"),
        },
        unit: "nanoseconds",
        start: 0,
        end: weights.iter().fold(0, |sum, ns| sum.saturating_add(*ns)),
        samples,
        weights,
    }
}
