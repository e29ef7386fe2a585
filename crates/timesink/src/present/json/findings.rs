//! The parts of the JSON report that are about causes.

use serde::Serialize;
use timesink_analysis::replay::Gain;
use timesink_analysis::stacks::{Code, Spot};
use timesink_findings::engine::{Cleared, Finding};
use timesink_findings::mutes::Mute;
use timesink_findings::rule::{Example, Figure};
use timesink_recording::words::{Detail, State};

use crate::present::{names, sentences, Report};

#[derive(Serialize)]
pub(super) struct FindingPage<'a> {
    rule: &'static str,
    title: String,
    main: bool,
    share: f64,
    on_path_ns: u64,
    process: Option<u32>,
    started_by: Option<u32>,
    object: Option<String>,
    frames: Vec<&'a str>,
    places: Vec<PlacePage<'a>>,
    advice: &'a str,
    wrong_if: &'static str,
    gain: GainPage,
    told: Vec<String>,
    evidence: Vec<FigurePage>,
    examples: Vec<ExamplePage>,
    signature: &'a str,
    /// Until when it was muted, if that day is over.
    muted_until: Option<String>,
}

/// Findings without the rest of the report.
#[derive(Serialize)]
pub(super) struct FindingsPage<'a> {
    version: u32,
    recording: &'a str,
    findings: Vec<FindingPage<'a>>,
    muted: Vec<MutedPage<'a>>,
}

/// Where in a function it is.
#[derive(Serialize)]
struct PlacePage<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct MutedPage<'a> {
    rule: &'static str,
    title: String,
    signature: &'a str,
    gain_ns: i64,
    reason: &'a str,
    until: Option<String>,
}

#[derive(Serialize)]
struct GainPage {
    ns: i64,
    lo_ns: i64,
    hi_ns: i64,
    wall_after_ns: u64,
    wall_lo_ns: u64,
    wall_hi_ns: u64,
    doubts: DoubtsPage,
}

#[derive(Serialize)]
struct DoubtsPage {
    replay_ns: u64,
    recording_ns: u64,
    processors_ns: u64,
    caches_ns: u64,
    change_ns: u64,
}

#[derive(Serialize)]
struct FigurePage {
    what: &'static str,
    value: f64,
    unit: &'static str,
    limit: Option<f64>,
}

#[derive(Serialize)]
struct ExamplePage {
    thread: u32,
    t0_ns: i64,
}

#[derive(Serialize)]
pub(super) struct ClearedPage {
    state: &'static str,
    detail: Option<&'static str>,
    object: Option<String>,
    process: u32,
    ns: u64,
    at_floor: bool,
}

#[derive(Serialize)]
pub(super) struct NotAskedPage {
    rule: &'static str,
    lacks: &'static str,
}

impl From<Gain> for GainPage {
    fn from(gain: Gain) -> GainPage {
        GainPage {
            ns: gain.ns,
            lo_ns: gain.lo_ns,
            hi_ns: gain.hi_ns,
            wall_after_ns: gain.wall_ns,
            wall_lo_ns: gain.wall_lo_ns,
            wall_hi_ns: gain.wall_hi_ns,
            doubts: DoubtsPage {
                replay_ns: gain.doubts.replay_ns,
                recording_ns: gain.doubts.recording_ns,
                processors_ns: gain.doubts.processors_ns,
                caches_ns: gain.doubts.caches_ns,
                change_ns: gain.doubts.change_ns,
            },
        }
    }
}

impl From<&Figure> for FigurePage {
    fn from(figure: &Figure) -> FigurePage {
        FigurePage {
            what: figure.what,
            value: figure.value,
            unit: figure.unit,
            limit: figure.limit,
        }
    }
}

impl From<&Example> for ExamplePage {
    fn from(example: &Example) -> ExamplePage {
        ExamplePage {
            thread: example.thread.0,
            t0_ns: example.at.0,
        }
    }
}

pub(super) fn page<'a>(report: &Report<'a>, number: Option<usize>) -> FindingsPage<'a> {
    let mut findings = told(report);
    if let Some(number) = number {
        findings = findings.into_iter().skip(number - 1).take(1).collect();
    }
    FindingsPage {
        version: super::VERSION,
        recording: report.recording.path,
        findings,
        muted: muted(report),
    }
}

/// The causes that are told.
pub(super) fn told<'a>(report: &Report<'a>) -> Vec<FindingPage<'a>> {
    let told = report
        .findings
        .into_iter()
        .flat_map(|findings| &findings.told);
    told.map(|finding| finding_page(report, finding)).collect()
}

fn finding_page<'a>(report: &Report<'a>, finding: &'a Finding) -> FindingPage<'a> {
    let suspect = &finding.suspect;
    let text = |sentence| sentences::text(report, sentence);
    let code = &report.stacks.code;
    let spots = suspect.frames.iter().copied();
    FindingPage {
        rule: finding.rule.name,
        title: text(&suspect.title),
        main: finding.main,
        share: finding.share,
        on_path_ns: finding.on_path_ns,
        process: suspect.process.map(|process| process.0),
        started_by: suspect.started_by.map(|process| process.0),
        object: suspect.object.map(|id| names::object(report.facts, id)),
        frames: spots
            .clone()
            .map(|spot| code.function(spot.function).name.as_str())
            .collect(),
        places: spots.map(|spot| place(code, spot)).collect(),
        advice: finding.advice(),
        wrong_if: finding.rule.wrong_if,
        gain: finding.gain.into(),
        told: suspect.told.iter().map(text).collect(),
        evidence: suspect.figures.iter().map(FigurePage::from).collect(),
        examples: suspect.examples.iter().map(ExamplePage::from).collect(),
        signature: &finding.signature,
        muted_until: finding.expired.as_ref().and_then(last_day),
    }
}

fn place(code: &Code, spot: Spot) -> PlacePage<'_> {
    let frame = code.frame(spot).filter(|frame| !frame.file.is_empty());
    PlacePage {
        file: frame.map(|frame| frame.file.as_str()),
        line: frame.and_then(|frame| frame.line),
    }
}

fn last_day(mute: &Mute) -> Option<String> {
    mute.until.map(|day| day.to_string())
}

/// The causes that somebody does not want to be told.
pub(super) fn muted<'a>(report: &Report<'a>) -> Vec<MutedPage<'a>> {
    let muted = report
        .findings
        .into_iter()
        .flat_map(|findings| &findings.muted);
    muted
        .map(|muted| MutedPage {
            rule: muted.finding.rule.name,
            title: sentences::text(report, &muted.finding.suspect.title),
            signature: &muted.finding.signature,
            gain_ns: muted.finding.gain.ns,
            reason: &muted.mute.reason,
            until: last_day(&muted.mute),
        })
        .collect()
}

/// Rules that somebody switched off.
pub(super) fn switched_off(report: &Report) -> Vec<&'static str> {
    let rules = report
        .findings
        .iter()
        .flat_map(|findings| &findings.switched_off);
    rules.map(|rule| rule.name).collect()
}

/// What is long and no cause.
pub(super) fn cleared(report: &Report) -> Vec<ClearedPage> {
    let cleared = report
        .findings
        .iter()
        .flat_map(|findings| &findings.cleared);
    cleared
        .filter_map(|cleared| cleared_page(report, cleared))
        .collect()
}

fn cleared_page(report: &Report, cleared: &Cleared) -> Option<ClearedPage> {
    let key = report.outlook?.causes.get(cleared.cause)?.cause.key;
    Some(ClearedPage {
        state: State::as_str(key.state),
        detail: key.detail.map(Detail::as_str),
        object: key.object.map(|id| names::object(report.facts, id)),
        process: key.process.0,
        ns: cleared.ns,
        at_floor: cleared.at_floor,
    })
}

/// Rules that lacked something.
pub(super) fn not_asked(report: &Report) -> Vec<NotAskedPage> {
    let rules = report
        .findings
        .iter()
        .flat_map(|findings| &findings.not_asked);
    rules
        .map(|rule| NotAskedPage {
            rule: rule.rule.name,
            lacks: rule.lacks.word(),
        })
        .collect()
}

/// Rules with suspects beyond the number that is examined, once for each.
pub(super) fn not_examined(report: &Report) -> Vec<&'static str> {
    let findings = report.findings.iter();
    let rules = findings.flat_map(|findings| &findings.not_examined);
    rules.map(|rule| rule.name).collect()
}
