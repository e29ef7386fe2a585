//! The causes that the rules found, in plain words: what it is, what it would save, the evidence, what to do.

use std::borrow::Cow;
use std::collections::BTreeMap;

use timesink_findings::engine::{Cleared, Finding, Findings};
use timesink_findings::mutes::Day;
use timesink_findings::rule::Need;
use timesink_recording::words::State;

use super::style::{wrap, Ink, Style};
use super::{path, rows, saves, units, Report};
use crate::present::{names, sentences};
use crate::settings::To;

/// Frames of a stack that are shown.
const FRAMES: usize = 4;
/// So many that are not the cause are named.
const CLEARED: usize = 5;

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let Some(findings) = report.findings else {
        return Vec::new();
    };
    let mut lines = vec![rows::title("WHY", "", style)];
    if findings.told.is_empty() {
        lines.push("  No known pattern of slowness.".to_owned());
    }
    for (rank, finding) in findings.told.iter().enumerate() {
        lines.extend(told(report, rank + 1, finding, style));
    }
    lines.extend(unknown(report, style));
    let looked_at = findings.cleared.iter().take(CLEARED);
    let looked_at: Vec<String> = looked_at.map(|cause| cleared(report, cause)).collect();
    if !looked_at.is_empty() {
        let text = format!("Not explained by any rule: {}", looked_at.join(", "));
        lines.extend(wrap(&text, "  ", Ink::Faint, style));
    }
    lines.extend(unsaid(findings, report, style));
    let mut lacking: BTreeMap<Need, Vec<&str>> = BTreeMap::new();
    for rule in &findings.not_asked {
        lacking.entry(rule.lacks).or_default().push(rule.rule.name);
    }
    for (need, rules) in lacking {
        let (need, rules) = (need.word(), rules.join(", "));
        let text = format!("Skipped, needs {need}: {rules}");
        lines.extend(wrap(&text, "  ", Ink::Faint, style));
    }
    if let Some(text) = not_examined(findings) {
        lines.extend(wrap(&text, "  ", Ink::Faint, style));
    }
    lines
}

/// Suspects beyond the number that is examined.
pub(super) fn not_examined(findings: &Findings) -> Option<String> {
    let many = findings.not_examined.len() as u64;
    let mut rules: Vec<&str> = findings.not_examined.iter().map(|rule| rule.name).collect();
    rules.dedup();
    let suspects = units::plural(many, "suspect", "suspects");
    (many > 0).then(|| {
        format!(
            "{suspects} not examined, too many in all: {}",
            rules.join(", ")
        )
    })
}

/// How much of the path nobody could be asked about, if it is much.
fn unknown(report: &Report, style: &Style) -> Vec<String> {
    const MUCH: f64 = 0.1;
    let outlook = report.outlook.filter(|outlook| outlook.wall_ns > 0);
    let share = outlook.map(|outlook| outlook.unknown_ns as f64 / outlook.wall_ns as f64);
    match share.filter(|share| *share >= MUCH) {
        None => Vec::new(),
        Some(share) => {
            let share = units::percent(share * 100.0);
            let text = format!("{share} of the path is unknown; no rule covers it");
            wrap(&text, "  ", Ink::Warning, style)
        }
    }
}

/// How many are not told, and why not.
fn unsaid(findings: &Findings, report: &Report, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |text: &str| lines.extend(wrap(text, "  ", Ink::Faint, style));
    if !findings.muted.is_empty() {
        let (many, again) = (
            findings.muted.len(),
            report.recording.command("why", "--muted"),
        );
        say(&format!("Muted: {many} ({again})"));
    }
    for rule in &findings.switched_off {
        let mut set = report.settings.set.iter();
        let off = set.find(|set| set.rule == rule.name && set.to == To::Switched(false));
        let file = off.map_or("", |set| &set.file);
        let file = names::harmless(file);
        say(&format!("Skipped: {} (disabled in {file})", rule.name));
    }
    lines
}

fn told(report: &Report, rank: usize, finding: &Finding, style: &Style) -> Vec<String> {
    const INDENT: &str = "     ";
    let suspect = &finding.suspect;
    let title = sentences::text(report, &suspect.title);
    let mut lines = wrap(&format!("{rank}  {title}"), "  ", Ink::Title, style);
    let mut say = |text: &str, ink| lines.extend(wrap(text, INDENT, ink, style));
    say(&saves::of_wall(report, finding), Ink::Plain);
    for told in &suspect.told {
        say(&sentences::text(report, told), Ink::Plain);
    }
    let code = &report.stacks.code;
    let own = code.own_of(&suspect.frames).into_iter();
    let frames: Vec<String> = own
        .take(FRAMES)
        .map(|spot| names::function_at(code, spot))
        .collect();
    let more = report.recording.command("why", &rank.to_string());
    let more = format!("{more} shows the calls");
    match frames.as_slice() {
        [] => say(&more, Ink::Faint),
        frames => say(&format!("in {} · {more}", frames.join(" < ")), Ink::Faint),
    }
    say(
        &format!("Do: {}.", names::harmless(finding.advice())),
        Ink::Plain,
    );
    say(&format!("Wrong if: {}.", finding.rule.wrong_if), Ink::Faint);
    if let Some((until, reason)) = expired(finding) {
        say(
            &format!("The mute expired on {until}: {reason}"),
            Ink::Warning,
        );
    }
    lines
}

/// Until when it was muted, and why.
pub(super) fn expired(finding: &Finding) -> Option<(Day, Cow<'_, str>)> {
    let mute = finding.expired.as_ref()?;
    Some((mute.until?, names::harmless(&mute.reason)))
}

/// What is on the path and no rule accuses, in a few words.
fn cleared(report: &Report, looked_at: &Cleared) -> String {
    let cause = report
        .outlook
        .and_then(|outlook| outlook.causes.get(looked_at.cause));
    let Some(cause) = cause else {
        return String::new();
    };
    let key = cause.cause.key;
    let object = path::object_of(cause).filter(|_| key.state == State::Wait);
    let object = object.map_or(String::new(), |object| {
        format!(" {}", names::object_in(report, object))
    });
    let main = report.main().map_or(key.process, |main| main.row.process);
    let process = path::elsewhere(report, main, key.process);
    let process = process.map_or(String::new(), |process| format!(" {process}"));
    let (label, time) = (path::label_of(cause), units::time(looked_at.ns));
    let floor = match looked_at.at_floor {
        true => "; the machine cannot do it faster",
        false => "",
    };
    format!("{label}{object}{process} ({time}{floor})")
}
