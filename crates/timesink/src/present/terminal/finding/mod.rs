//! A finding in full: what it rests on, as figures, calls, waits and stacks, and how to see each of it again.
//!
//! One part a file. What the report says already (the title, what to do) is said again: this page stands alone.

mod calls;
mod examples;
mod stacks;
mod touched;

use timesink_analysis::replay::Gain;
use timesink_analysis::timeline::touched::Touched;
use timesink_findings::engine::Finding;
use timesink_findings::mutes::Mute;
use timesink_findings::rule::Figure;

use super::style::{self, wrap, Ink, Style};
use super::{saves, units, why};
use crate::present::{names, rules, sentences, Report};

const INDENT: &str = "  ";

pub(in crate::present) use examples::stretches;

/// One finding, and what is known beside it.
struct One<'a> {
    report: &'a Report<'a>,
    finding: &'a Finding,
    /// What its fix takes away, longest first.
    touched: &'a [Touched],
    mute: Option<&'a Mute>,
    rank: usize,
}

/// The findings, or the one with this number, in full; of the told ones or of the muted.
pub fn findings(report: &Report, number: Option<usize>, muted: bool, style: &Style) -> String {
    let (Some(findings), Some(touched)) = (report.findings, report.touched) else {
        return String::new();
    };
    let of = |(at, (finding, mute, touched))| One {
        report,
        finding,
        touched,
        mute,
        rank: at + 1,
    };
    let all: Vec<One> = match muted {
        false => {
            let all = findings.told.iter().zip(&touched.told);
            let all = all.map(|(told, touched)| (told, None, touched.as_slice()));
            all.enumerate().map(of).collect()
        }
        true => {
            let all = findings.muted.iter().zip(&touched.muted);
            let all = all.map(|(m, touched)| (&m.finding, Some(&m.mute), touched.as_slice()));
            all.enumerate().map(of).collect()
        }
    };
    let wanted = all
        .iter()
        .filter(|one| number.is_none_or(|number| one.rank == number));
    let pages: Vec<String> = wanted.map(|one| super::text(&page(one, style))).collect();
    match pages.as_slice() {
        [] if muted => "Nothing is muted.\n".to_owned(),
        [] => super::text(&why::lines(report, style)),
        pages => pages.join("\n"),
    }
}

fn page(one: &One, style: &Style) -> Vec<String> {
    let (report, finding) = (one.report, one.finding);
    let title = sentences::text(report, &finding.suspect.title);
    let mut lines = wrap(&format!("{}  {title}", one.rank), "", Ink::Title, style);
    let rule = finding.rule;
    let is = format!("{}: {}", rule.name, rule.looks_for);
    lines.extend(wrap(&is, INDENT, Ink::Faint, style));
    lines.extend(wrap(rule.why, INDENT, Ink::Faint, style));
    for text in [
        format!("Do: {}.", names::harmless(finding.advice())),
        format!("Wrong if: {}.", rule.wrong_if),
    ] {
        lines.extend(wrap(&text, INDENT, Ink::Plain, style));
    }
    let parts = [
        ("PREDICTED GAIN", buys(one, style)),
        ("EVIDENCE", evidence(one, style)),
        ("CALLS", calls::lines(one, style)),
        ("WHAT THE FIX REMOVES", touched::lines(one, style)),
        ("STACKS", stacks::lines(one, style)),
        ("EXAMPLES", examples::lines(one, style)),
        ("HOW TO MUTE IT", mute(one, style)),
    ];
    for (heading, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        lines.push(String::new());
        lines.push(style.paint(Ink::Title, heading));
        lines.extend(part);
    }
    lines
}

/// The gain, and the wall time that would be left.
fn buys(one: &One, style: &Style) -> Vec<String> {
    let gain = &one.finding.gain;
    // A replay in doubt may take longer than what it replays: no fix does.
    let wall_ns = one
        .report
        .outlook
        .map_or(u64::MAX, |outlook| outlook.wall_ns);
    let mut texts = vec![saves::of_wall(one.report, one.finding)];
    texts.extend(wide(gain));
    texts.push(format!(
        "predicted wall time {}: {} ({} .. {}), from a replay of the recording",
        match one.finding.rule.accuses() {
            true => "without it",
            false => "if a fix removes a likely part of it",
        },
        units::time(gain.wall_ns),
        units::time(gain.wall_lo_ns),
        units::time(gain.wall_hi_ns.min(wall_ns))
    ));
    texts.push(on_path(one.finding));
    let plain = texts
        .iter()
        .flat_map(|text| wrap(text, INDENT, Ink::Plain, style));
    let mut lines: Vec<String> = plain.collect();
    if let Some(question) = examples::question(one) {
        lines.extend(wrap(&question, INDENT, Ink::Faint, style));
    }
    lines
}

/// How much of the path it is; and why a fix may save more, if it may.
pub(in crate::present) fn on_path(finding: &Finding) -> String {
    let share = units::percent(finding.share * 100.0);
    let time = units::time(finding.on_path_ns);
    let more = finding.gain.hi_ns > i64::try_from(finding.on_path_ns).unwrap_or(i64::MAX);
    let more = match more {
        true => {
            "; a fix may save more: what is done around it, and waits that it causes, go with it"
        }
        false => "",
    };
    format!("it is {time} of the critical path at most, {share}{more}")
}

/// From where the least of a gain is so far from the most: all that matters, in the order of how much; `None` if they are
/// close to each other.
pub(in crate::present) fn wide(gain: &Gain) -> Option<String> {
    /// Of the gain at most, and of what there is between.
    const MUCH: u64 = 4;
    const MATTERS: u64 = 8;
    let between = gain.hi_ns.saturating_sub(gain.lo_ns).max(0).unsigned_abs();
    if between * MUCH < gain.hi_ns.max(0).unsigned_abs() {
        return None;
    }
    let doubts = &gain.doubts;
    let mut parts = [
        (
            doubts.change_ns,
            "how much of it the fix removes, and what goes with it",
        ),
        (
            doubts.processors_ns,
            "which processors threads use when they no longer wait",
        ),
        (doubts.caches_ns, "caches that stay warm without the waits"),
        (doubts.replay_ns, "replay error"),
        (doubts.recording_ns, "what recording it cost"),
    ];
    parts.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    let told = parts
        .iter()
        .filter(|(ns, _)| *ns > 0 && ns * MATTERS >= between);
    let told: Vec<String> = told
        .map(|(ns, what)| format!("{what} ({})", units::time(*ns)))
        .collect();
    (!told.is_empty()).then(|| format!("why the interval is wide: {}", told.join("; ")))
}

/// All that was counted and measured, held against the limits.
fn evidence(one: &One, style: &Style) -> Vec<String> {
    let suspect = &one.finding.suspect;
    let mut lines = Vec::new();
    for told in &suspect.told {
        let text = sentences::text(one.report, told);
        lines.extend(wrap(&text, INDENT, Ink::Plain, style));
    }
    let label = |figure: &Figure| style::width(figure.what);
    let widest = suspect.figures.iter().map(label).max().unwrap_or(0);
    for figure in &suspect.figures {
        let what = style::pad(figure.what, widest);
        let value = amount(figure.value, figure.unit);
        let text = match figure.limit {
            None => format!("{what}  {value}"),
            Some(limit) => {
                let limit = amount(limit, figure.unit);
                format!("{what}  {value}  (limit {limit}: {})", figure.means)
            }
        };
        lines.extend(wrap(&text, INDENT, Ink::Plain, style));
    }
    lines
}

pub(in crate::present) fn amount(value: f64, unit: &str) -> String {
    match unit {
        "ns" => units::time(value.max(0.0) as u64),
        "bytes" => units::bytes(value.max(0.0) as u64),
        "" if value.fract() == 0.0 => rules::value(value),
        "" => format!("{value:.2}"),
        unit => format!("{} {unit}", rules::value(value)),
    }
}

/// What mutes it, or what would.
fn mute(one: &One, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |text: &str| lines.extend(wrap(text, INDENT, Ink::Plain, style));
    if let Some((until, reason)) = why::expired(one.finding) {
        say(&format!("The mute expired on {until}: {reason}"));
    }
    if let Some(mute) = one.mute {
        let file = one.report.settings.mute_file.as_deref();
        let file = names::harmless(file.unwrap_or_default());
        let until = mute.until.map(|day| format!(" until {day}"));
        let until = until.unwrap_or_default();
        say(&format!("Muted{until} in {file}"));
        say(&format!("because: {}", names::harmless(&mute.reason)));
        return lines;
    }
    say(
        "put this into .timesink-ignore.toml, in the working directory or above it in the repository:",
    );
    for line in [
        "[[mute]]".to_owned(),
        format!("signature = {}", quoted(&one.finding.signature)),
        "reason = \"\"  # required".to_owned(),
        "# until = 2030-12-31".to_owned(),
    ] {
        lines.push(format!("    {line}"));
    }
    let told = one.report.findings.iter().flat_map(|f| &f.told);
    let alike = told.filter(|told| told.signature == one.finding.signature);
    let alike = alike.count();
    if alike > 1 {
        let text = format!("(this mutes {alike} of these findings: they are in the same place)");
        lines.extend(wrap(&text, INDENT, Ink::Faint, style));
    }
    lines
}

/// A text as TOML has it, in which nothing acts on a terminal: what it is read back as is the same text.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if names::is_hostile(c) => quoted += &format!("\\U{:08x}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests;
