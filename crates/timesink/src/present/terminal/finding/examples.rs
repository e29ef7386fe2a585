//! Where a finding can be seen in the recording, and the commands that show it.

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::timeline::touched::{Stretch, Touched};
use timesink_findings::engine::Finding;
use timesink_findings::rule::Example;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use super::One;
use crate::present::terminal::style::{wrap, Ink, Style};
use crate::present::terminal::units;
use crate::present::{names, shell, Report};

/// So many are shown.
const MOST: usize = 3;

pub(super) fn lines(one: &One, style: &Style) -> Vec<String> {
    let report = one.report;
    let mut lines = Vec::new();
    for stretch in stretches(report, one.finding, one.touched) {
        let thread = names::thread(report.facts, stretch.thread);
        let text = format!(
            "{thread}, {} after the start, for {}",
            seconds(stretch.t0.0, 6),
            units::time(stretch.ns())
        );
        lines.extend(wrap(&text, "  ", Ink::Plain, style));
        let row = report.facts.ledger.thread(stretch.thread);
        let tid = row.map_or(0, |thread| thread.row.tid);
        // To the microsecond, from a little before it to a little after it.
        let (from, to) = (stretch.t0.0 / 1000, stretch.t1.0 / 1000 + 1);
        let between = format!("{}..{}", seconds(from * 1000, 6), seconds(to * 1000, 6));
        let file = shell::word(report.recording.path);
        let command = format!("timesink report {file} --top --thread {tid} --between {between}");
        lines.push(style.paint(Ink::Faint, &format!("    {command}")));
    }
    lines
}

/// `1.234567s`, as `--between` takes it.
fn seconds(ns: i64, decimals: usize) -> String {
    format!("{:.decimals$}s", ns as f64 / 1e9)
}

/// The examples that the rule gives; of one that gives none, the longest that the fix is about.
pub(in crate::present) fn stretches(
    report: &Report,
    finding: &Finding,
    touched: &[Touched],
) -> Vec<Stretch> {
    let examples = &finding.suspect.examples;
    let given = examples
        .iter()
        .filter_map(|example| around(report, example));
    let given: Vec<Stretch> = given.take(MOST).collect();
    if !given.is_empty() {
        return given;
    }
    let longest = touched.iter().flat_map(|kind| &kind.examples);
    longest.take(MOST).copied().collect()
}

/// The span that an example lies in.
fn around(report: &Report, example: &Example) -> Option<Stretch> {
    let timeline = &report.loaded.timeline;
    let slot = timeline.slot(example.thread)?;
    let wait = timeline.wait_at(slot, example.at);
    let span = match wait.and_then(|at| timeline.span(at)) {
        Some(wait) => wait,
        None => {
            let mut spans = timeline.spans_of(slot).iter();
            spans.find(|span| span.t0 <= example.at && example.at < span.t1)?
        }
    };
    let (t0, t1): (Nanos, Nanos) = (span.t0, span.t1);
    Some(Stretch {
        thread: example.thread,
        t0,
        t1,
    })
}

/// How to ask for the same prediction, or for other ones: where words can say what the fix is about.
pub(super) fn question(one: &One) -> Option<String> {
    let change = one.finding.suspect.fix.single()?;
    let what = words(one, change)?;
    let (file, what) = (shell::word(one.report.recording.path), shell::word(&what));
    let how = match change.how {
        How::Scale(0.0) => format!("--cut {what}"),
        How::Scale(factor) => {
            let factor = (factor * 1000.0).round() / 1000.0;
            format!("--scale {what} {factor}")
        }
        How::Batch(many) => format!("--batch {what} {many}"),
        How::KeepFirst => format!("--keep-first {what}"),
        How::Overlap => format!("--overlap {what}"),
        // The rest is asked by rules only.
        _ => return None,
    };
    Some(format!("try other values: timesink whatif {file} {how}"))
}

/// What `whatif` calls that which a change is about.
fn words(one: &One, change: &Change) -> Option<String> {
    let of_waits = |detail: Option<Detail>, object: Option<ObjectId>| {
        let label = match object {
            Some(object) => Some(&one.report.facts.object(object)?.label),
            None => None,
        };
        let words = detail.map(Detail::as_str).into_iter();
        let words: Vec<&str> = words.chain(label.map(String::as_str)).collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let words = match &change.what {
        What::Waits { detail, objects } => match objects {
            None => of_waits(*detail, None),
            Some(objects) if objects.len() == 1 => of_waits(*detail, objects.first().copied()),
            Some(_) => None,
        },
        What::Cause {
            state: State::Wait,
            detail,
            object,
        } => of_waits(*detail, *object),
        What::Function(name) => Some(format!("func={name}")),
        What::Cpu if change.processes.is_none() => Some("cpu".to_owned()),
        What::All => all_of(one, change).map(|name| format!("process={name}")),
        _ => None,
    }?;
    // Escapes are for reading, not for typing.
    (!words.chars().any(names::is_hostile)).then_some(words)
}

/// The name that these processes have, and no others.
fn all_of<'a>(one: &'a One, change: &Change) -> Option<&'a str> {
    let processes = change.processes.as_ref()?;
    let rows = || one.report.facts.ledger.processes.iter().map(|p| &p.row);
    let is_meant = |process: ProcessId| processes.contains(&process);
    let name = &rows().find(|row| is_meant(row.process))?.name;
    let same = rows().all(|row| (row.name == *name) == is_meant(row.process));
    same.then_some(name.as_str())
}
