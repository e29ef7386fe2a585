//! The parts of the JSON report that are about the critical path.

use serde::Serialize;
use timesink_analysis::outlook::{Alike, InFunction, OnPath, Outlook};
use timesink_analysis::path::Key;
use timesink_analysis::replay::Gain;
use timesink_analysis::stacks::FunctionIx;
use timesink_recording::words::{Detail, State};

use crate::present::{names, Prediction, Report};

#[derive(Serialize)]
pub(super) struct PathPage<'a> {
    wall_ns: u64,
    unknown_pct: f64,
    replay_error_pct: f64,
    pieces: usize,
    segments: Vec<SegmentPage<'a>>,
    kinds: Vec<KindPage>,
    functions: Vec<FunctionPage<'a>>,
    tags: Option<Vec<TagOnPathPage<'a>>>,
}

/// So much of the path had a tag.
#[derive(Serialize)]
struct TagOnPathPage<'a> {
    tag: &'a str,
    ns: u64,
}

/// What identifies a cause.
#[derive(Serialize)]
pub(super) struct KeyPage {
    state: &'static str,
    detail: Option<&'static str>,
    object: Option<String>,
    unknown: Option<&'static str>,
    process: u32,
}

#[derive(Serialize)]
struct SegmentPage<'a> {
    #[serde(flatten)]
    key: KeyPage,
    frames: Vec<&'a str>,
    count: u64,
    ns: u64,
    #[serde(flatten)]
    gain: PathGainPage,
}

#[derive(Serialize)]
struct KindPage {
    state: &'static str,
    detail: Option<&'static str>,
    process: Option<u32>,
    segments: Vec<usize>,
    count: u64,
    ns: u64,
    #[serde(flatten)]
    gain: PathGainPage,
}

#[derive(Serialize)]
struct FunctionPage<'a> {
    function: &'a str,
    module: Option<&'a str>,
    ns: u64,
    #[serde(flatten)]
    gain: PathGainPage,
}

/// What it would buy not to have it; null where that was not asked.
#[derive(Serialize)]
struct PathGainPage {
    gain_ns: Option<i64>,
    gain_lo_ns: Option<i64>,
    gain_hi_ns: Option<i64>,
    wall_after_ns: Option<u64>,
}

impl From<Option<Gain>> for PathGainPage {
    fn from(gain: Option<Gain>) -> PathGainPage {
        PathGainPage {
            gain_ns: gain.map(|gain| gain.ns),
            gain_lo_ns: gain.map(|gain| gain.lo_ns),
            gain_hi_ns: gain.map(|gain| gain.hi_ns),
            wall_after_ns: gain.map(|gain| gain.wall_ns),
        }
    }
}

/// The critical path of the main thread.
pub(super) fn path<'a>(report: &Report<'a>) -> Option<PathPage<'a>> {
    let outlook = report.outlook?;
    let segment = |cause| segment_page(report, cause);
    let function = |function| function_page(report, function);
    Some(PathPage {
        wall_ns: outlook.wall_ns,
        unknown_pct: outlook.unknown_ns as f64 * 100.0 / outlook.wall_ns.max(1) as f64,
        replay_error_pct: outlook.replay_error_pct,
        pieces: outlook.segments,
        segments: outlook.causes.iter().map(segment).collect(),
        kinds: outlook
            .kinds
            .iter()
            .map(|kind| kind_page(outlook, kind))
            .collect(),
        functions: outlook.functions.iter().map(function).collect(),
        tags: outlook.tags.as_ref().map(|tags| {
            let all = tags.all().into_iter();
            all.map(|(tag, ns)| TagOnPathPage { tag, ns }).collect()
        }),
    })
}

pub(super) fn key(report: &Report, key: &Key) -> KeyPage {
    KeyPage {
        state: State::as_str(key.state),
        detail: key.detail.map(Detail::as_str),
        object: key.object.map(|id| names::object(report.facts, id)),
        unknown: key.unknown.map(|unknown| unknown.word()),
        process: key.process.0,
    }
}

/// The names of functions.
pub(super) fn frames<'a>(report: &Report<'a>, frames: &[FunctionIx]) -> Vec<&'a str> {
    let code = &report.stacks.code;
    let name = |function: &FunctionIx| code.function(*function).name.as_str();
    frames.iter().map(name).collect()
}

fn segment_page<'a>(report: &Report<'a>, on_path: &OnPath) -> SegmentPage<'a> {
    SegmentPage {
        key: key(report, &on_path.cause.key),
        frames: frames(report, &on_path.frames),
        count: on_path.cause.count,
        ns: on_path.cause.ns,
        gain: on_path.gain.into(),
    }
}

fn kind_page(outlook: &Outlook, kind: &Alike) -> KindPage {
    let first = kind.causes.first().and_then(|&at| outlook.causes.get(at));
    let key = first.map(|on_path| on_path.cause.key);
    KindPage {
        state: key.map_or("lost", |key| State::as_str(key.state)),
        detail: key.and_then(|key| key.detail).map(Detail::as_str),
        process: key.map(|key| key.process.0),
        segments: kind.causes.clone(),
        count: kind.count,
        ns: kind.ns,
        gain: kind.gain.into(),
    }
}

fn function_page<'a>(report: &Report<'a>, in_function: &InFunction) -> FunctionPage<'a> {
    let code = &report.stacks.code;
    let module = code.module_of(in_function.function);
    FunctionPage {
        function: &code.function(in_function.function).name,
        module: module.map(|module| module.path.as_str()),
        ns: in_function.ns,
        gain: in_function.gain.into(),
    }
}

#[derive(Serialize)]
pub(super) struct PredictionPage<'a> {
    version: u32,
    asked: &'a [String],
    wall_ns: u64,
    replay_error_pct: f64,
    meant_ns: u64,
    wall_lo_ns: u64,
    wall_hi_ns: u64,
    #[serde(flatten)]
    gain: PathGainPage,
}

/// What a change would buy.
pub(super) fn prediction<'a>(of: &Prediction<'a>) -> PredictionPage<'a> {
    PredictionPage {
        version: super::VERSION,
        asked: of.asked,
        wall_ns: of.recorded_ns,
        replay_error_pct: of.replay_error_pct,
        meant_ns: of.gain.meant_ns,
        wall_lo_ns: of.gain.wall_lo_ns,
        wall_hi_ns: of.gain.wall_hi_ns,
        gain: Some(of.gain).into(),
    }
}
