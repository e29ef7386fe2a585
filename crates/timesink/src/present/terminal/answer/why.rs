//! WHY: the findings, each in a few lines: what it would save, what happens, where in the code, what to do.

use timesink_findings::engine::{Finding, Findings};

use super::{bounds, repeated, stuck, unexplained, unrecorded};
use crate::present::terminal::style::{self, wrap, Ink, Style};
use crate::present::terminal::why::not_examined;
use crate::present::terminal::{saves, units, Report};
use crate::present::{names, sentences};

/// Functions of a stack that are shown.
const FRAMES: usize = 2;
/// Lines that a title, a place and an advice may take where there is room beside what it saves. A narrow terminal scrolls: there
/// they take what they need.
const TITLE_LINES: usize = 2;
const PLACE_LINES: usize = 2;
const ADVICE_LINES: usize = 2;
/// With fewer columns, the text of a finding stands below what it saves.
const BESIDE: usize = 80;

/// With at most so many findings.
pub(super) fn lines(report: &Report, most: usize, style: &Style) -> Vec<String> {
    let Some(findings) = report.findings else {
        return Vec::new();
    };
    let mut lines = vec![style.paint(Ink::Title, &title(report))];
    let shown: Vec<&Finding> = findings.told.iter().take(most).collect();
    let saves: Vec<String> = shown
        .iter()
        .map(|finding| saves::of_finding(report, finding))
        .collect();
    let column = saves.iter().map(|text| style::width(text)).max();
    for (rank, (finding, saves)) in shown.iter().zip(&saves).enumerate() {
        let one = AnswerFinding {
            rank: rank + 1,
            finding,
            saves,
            column: column.unwrap_or(0),
        };
        lines.extend(one.lines(report, style));
    }
    lines.extend(rest(report, findings, shown.len(), style));
    lines.extend(notes(report, findings, style));
    lines
}

/// `WHY IT TOOK 1.2 s`.
pub(in crate::present) fn title(report: &Report) -> String {
    format!("WHY IT TOOK {}", units::time(report.about.wall_ns))
}

/// What is told below the findings: what it is bound by where nothing is accused, what is done again and again, what is not explained,
/// who is not recorded, which rules could not be asked.
pub(in crate::present) fn notes(
    report: &Report,
    findings: &Findings,
    style: &Style,
) -> Vec<String> {
    let mut lines = Vec::new();
    if findings.told.iter().all(|finding| !finding.rule.accuses()) {
        lines.extend(bounds::lines(report, findings.told.is_empty(), style));
    }
    lines.extend(repeated::lines(report, style));
    lines.extend(unexplained::lines(report, findings, style));
    lines.extend(unrecorded::lines(report, style));
    lines.extend(stuck::lines(report, style));
    lines.extend(not_asked(findings, style));
    lines
}

/// One finding, with what its left column holds.
struct AnswerFinding<'a> {
    rank: usize,
    finding: &'a Finding,
    saves: &'a str,
    column: usize,
}

impl AnswerFinding<'_> {
    fn lines(&self, report: &Report, style: &Style) -> Vec<String> {
        let left = format!("  {}  {}", self.rank, style::pad(self.saves, self.column));
        let indent = style::width(&left) + 2;
        let beside = !style.terminal || style.width >= BESIDE;
        let (first, indent) = match beside {
            true => (format!("{left}  "), indent),
            false => (String::new(), 5),
        };
        let mut lines = Vec::new();
        if !beside {
            lines.push(left.trim_end().to_owned());
        }
        let title = sentences::text(report, &self.finding.suspect.title);
        let most = |lines: usize| if beside { lines } else { usize::MAX };
        let title = block(&title, indent, most(TITLE_LINES), style);
        for (at, line) in title.into_iter().enumerate() {
            let painted = style.paint(Ink::Title, &line);
            lines.push(match at {
                0 if beside => format!("{first}{painted}"),
                _ => format!("{}{painted}", " ".repeat(indent)),
            });
        }
        let faint =
            |line: String| format!("{}{}", " ".repeat(indent), style.paint(Ink::Faint, &line));
        if let Some(place) = place(report, self.finding) {
            lines.extend(
                block(&place, indent, most(PLACE_LINES), style)
                    .into_iter()
                    .map(faint),
            );
        }
        let advice = format!("→ {}", names::harmless(self.finding.advice()));
        let advice = block(&advice, indent, most(ADVICE_LINES), style);
        lines.extend(
            advice
                .into_iter()
                .map(|line| format!("{}{line}", " ".repeat(indent))),
        );
        lines
    }
}

/// A text in at most so many lines of what is right of an indent; a pipe gets it in one.
fn block(text: &str, indent: usize, most: usize, style: &Style) -> Vec<String> {
    let room = style.width.saturating_sub(indent);
    if !style.terminal {
        return vec![text.to_owned()];
    }
    let narrow = Style {
        colour: false,
        width: room,
        ..*style
    };
    let mut lines = wrap(text, "", Ink::Plain, &narrow);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = style::cut_at_word(last, room);
        }
    }
    // A word alone may be longer than a line.
    lines.iter().map(|line| style::cut(line, room)).collect()
}

/// Where in the program: `in store() import.c:73, called from main() import.c:106`; of processes whose own code tells nothing where they
/// were started.
pub(in crate::present) fn place(report: &Report, finding: &Finding) -> Option<String> {
    let code = &report.stacks.code;
    let mut own = code.own_of(&finding.suspect.frames);
    // A function that calls itself is called from elsewhere, too.
    own.dedup_by_key(|spot| spot.function);
    let mut calls = names::calls_at(code, &own[..own.len().min(FRAMES)]);
    let called = code.library_of(&finding.suspect.frames);
    let called: Vec<String> = called
        .into_iter()
        .map(|called| names::calls_at(code, &[called]))
        .collect();
    if !called.is_empty() {
        calls = format!("{calls}; calls {}", called.join(", down to "));
    }
    let main = report.main().map(|main| main.row.process);
    let suspect = &finding.suspect;
    let code_of = suspect.started_by.or(suspect.process);
    let elsewhere = code_of.filter(|process| Some(*process) != main);
    let verb = match suspect.started_by {
        Some(_) => "started in",
        None => "in",
    };
    let process = elsewhere.map(|process| names::process(report.facts, process));
    match (calls.as_str(), process) {
        ("", None) => None,
        ("", Some(process)) => {
            // Where the title names it, too, there is nothing to add.
            let title = sentences::text(report, &finding.suspect.title);
            (!title.contains(&process)).then(|| format!("in {process}"))
        }
        (calls, None) => Some(format!("{verb} {calls}")),
        (calls, Some(process)) => Some(format!("{verb} {calls} · {process}")),
    }
}

/// How many findings there is no room for, and how many are muted.
fn rest(report: &Report, findings: &Findings, shown: usize, style: &Style) -> Vec<String> {
    let mut parts = Vec::new();
    let more = findings.told.len() - shown;
    if more > 0 {
        let many = units::plural(more as u64, "more finding", "more findings");
        parts.push(format!("{many}: {}", report.recording.command("why", "")));
    }
    if !findings.muted.is_empty() {
        let muted = findings.muted.len();
        parts.push(format!(
            "{muted} muted: {}",
            report.recording.command("why", "--muted")
        ));
    }
    if parts.is_empty() {
        return Vec::new();
    }
    wrap(
        &format!("and {}", parts.join(", ")),
        "  ",
        Ink::Faint,
        style,
    )
}

/// How many rules could not be asked.
fn not_asked(findings: &Findings, style: &Style) -> Vec<String> {
    let mut lacking: Vec<&str> = findings
        .not_asked
        .iter()
        .map(|rule| rule.lacks.word())
        .collect();
    let many = lacking.len();
    lacking.sort_unstable();
    lacking.dedup();
    let mut parts = Vec::new();
    if !lacking.is_empty() {
        let rules = units::plural(
            many as u64,
            "rule skipped: it needs",
            "rules skipped: they need",
        );
        parts.push(format!("{rules} {}", lacking.join("; ")));
    }
    if !findings.switched_off.is_empty() {
        let off = findings.switched_off.len() as u64;
        parts.push(units::plural(off, "rule disabled", "rules disabled"));
    }
    parts.extend(not_examined(findings));
    let wrapped = |text: &String| wrap(text, "  ", Ink::Faint, style);
    parts.iter().flat_map(wrapped).collect()
}
