//! `answer`: what the one screen of the terminal says.

use timesink_analysis::stacks::Spot;
use timesink_findings::engine::{Finding, Findings};
use timesink_page::model::{
    About, Answer, FigureRow, FindingCard, Moment, MutedFinding, PathRow, PlacedFrame,
};
use timesink_page::Page;
use timesink_recording::ids::ThreadId;

use super::{interval, path};
use crate::present::terminal::{self, Style};
use crate::present::{names, sentences, Report};

/// Functions of a finding that are told, from the innermost.
const FRAMES: usize = 24;

/// The answer on one screen, with all findings.
pub fn answer(report: &Report, page: &Page<'_>) -> Answer {
    let style = &Style::PLAIN;
    let head = terminal::head_lines(report, style);
    let path = report.outlook.map_or(Vec::new(), |outlook| {
        path::rows(report, outlook, &page.states)
    });
    let told = report.findings.map_or(&[][..], |findings| &findings.told);
    let notes = report.findings.map_or(Vec::new(), |findings| {
        terminal::notes(report, findings, style)
    });
    let text = terminal::answer(report, style);
    let mut answer = Answer {
        head: head.first().cloned().unwrap_or_default(),
        warnings: head.into_iter().skip(1).collect(),
        title: terminal::title(report),
        findings: (0..told.len())
            .map(|at| card(report, page, at, &told[at]))
            .collect(),
        muted: report.findings.map_or(Vec::new(), muted(report)),
        notes: notes.iter().map(|note| note.trim().to_owned()).collect(),
        path,
        checks: terminal::checks(report, style),
        text,
        markdown: String::new(),
    };
    answer.markdown = markdown(&answer);
    answer
}

fn card(report: &Report, page: &Page<'_>, at: usize, finding: &Finding) -> FindingCard {
    let suspect = &finding.suspect;
    let text = |sentence| sentences::text(report, sentence);
    let figures = suspect.figures.iter().map(|figure| FigureRow {
        what: figure.what.to_owned(),
        value: terminal::amount(figure.value, figure.unit),
        limit: figure
            .limit
            .map(|limit| terminal::amount(limit, figure.unit)),
        means: figure.means.to_owned(),
    });
    let frames = suspect.frames.iter().take(FRAMES);
    FindingCard {
        rank: at as u32 + 1,
        rule: finding.rule.name.to_owned(),
        title: text(&suspect.title),
        is_main: finding.main,
        accuses: finding.rule.accuses(),
        saves: terminal::saves(report, finding),
        gain: interval(&finding.gain),
        doubts: terminal::wide(&finding.gain),
        on_path: terminal::on_path(finding),
        on_path_ns: finding.on_path_ns,
        share: finding.share,
        place: terminal::place(report, finding),
        frames: frames.map(|spot| frame(report, *spot)).collect(),
        advice: names::harmless(finding.advice()).into_owned(),
        looks_for: finding.rule.looks_for.to_owned(),
        why: finding.rule.why.to_owned(),
        wrong_if: finding.rule.wrong_if.to_owned(),
        evidence: suspect.told.iter().map(text).collect(),
        figures: figures.collect(),
        about: about(report, page, at, finding),
        signature: names::harmless(&finding.signature).into_owned(),
        change: Some(at as u32),
    }
}

fn frame(report: &Report, spot: Spot) -> PlacedFrame {
    let code = &report.stacks.code;
    let told = code.frame(spot);
    let module = code.module_of(spot.function);
    PlacedFrame {
        function: names::function(code, spot.function),
        function_at: Some(spot.function.0),
        module: module.map_or(String::new(), |module| {
            names::harmless(&module.path).into_owned()
        }),
        file: told.map_or(String::new(), |frame| {
            names::harmless(&frame.file).into_owned()
        }),
        line: told.and_then(|frame| frame.line),
        is_own: code.is_user_code(spot.function),
        source: Vec::new(),
        is_changed: false,
    }
}

/// Where it can be seen.
fn about(report: &Report, page: &Page<'_>, at: usize, finding: &Finding) -> About {
    let suspect = &finding.suspect;
    let touched = report
        .touched
        .and_then(|touched| touched.told.get(at))
        .map_or(&[][..], Vec::as_slice);
    let thread = |id: ThreadId| page.places.thread(id);
    let stretches = terminal::stretches(report, finding, touched);
    let moments: Vec<Moment> = stretches
        .iter()
        .filter_map(|stretch| {
            Some(Moment {
                thread: thread(stretch.thread)?,
                at_ns: stretch.t0.0,
                ns: stretch.ns(),
            })
        })
        .collect();
    let mut threads: Vec<u32> = moments.iter().map(|moment| moment.thread).collect();
    let mut things: Vec<u32> = suspect.object.into_iter().map(|id| id.0).collect();
    things.extend(touched.iter().filter_map(|one| Some(one.object?.0)));
    let mut processes: Vec<u32> = suspect
        .process
        .and_then(|id| page.places.process(id))
        .into_iter()
        .collect();
    processes.extend(
        touched
            .iter()
            .filter_map(|one| page.places.process(one.process)),
    );
    let frames = suspect.frames.iter().map(|spot| spot.function.0);
    let mut functions: Vec<u32> = frames.take(FRAMES).collect();
    for list in [&mut threads, &mut things, &mut processes, &mut functions] {
        let mut known = std::collections::BTreeSet::new();
        list.retain(|one| known.insert(*one));
    }
    About {
        processes,
        threads,
        functions,
        things,
        moments,
    }
}

fn muted<'a>(report: &'a Report<'a>) -> impl Fn(&'a Findings) -> Vec<MutedFinding> {
    move |findings| {
        let muted = findings.muted.iter().map(|muted| MutedFinding {
            rule: muted.finding.rule.name.to_owned(),
            title: sentences::text(report, &muted.finding.suspect.title),
            reason: names::harmless(&muted.mute.reason).into_owned(),
            until: muted.mute.until.map(|day| day.to_string()),
            gain_ns: muted.finding.gain.ns,
        });
        muted.collect()
    }
}

/// The same to be pasted into a ticket.
fn markdown(answer: &Answer) -> String {
    let mut text = format!("**{}**\n", escaped(&answer.head));
    for warning in &answer.warnings {
        text += &format!("\n> {}\n", escaped(warning));
    }
    text += &format!("\n### {}\n\n", escaped(&answer.title));
    for card in &answer.findings {
        text += &format!(
            "{}. **{}** – {}  \n",
            card.rank,
            escaped(&card.title),
            escaped(&card.saves)
        );
        if let Some(place) = &card.place {
            text += &format!("   {}  \n", escaped(place));
        }
        text += &format!("   → {}\n", escaped(&card.advice));
    }
    for note in &answer.notes {
        text += &format!("\n{}\n", escaped(note));
    }
    text += "\n### Where the time went (critical path)\n\n| state | time | share | |\n|---|--:|--:|---|\n";
    let rows: String = answer.path.iter().map(markdown_row).collect();
    text += &rows;
    for check in &answer.checks {
        text += &format!("\n{}\n", escaped(check));
    }
    text
}

fn markdown_row(row: &PathRow) -> String {
    format!(
        "| {} | {} | {} | {} |\n",
        escaped(&row.label),
        terminal::units::time(row.ns),
        terminal::units::whole_percent(row.share),
        escaped(&row.about.join(" · "))
    )
}

/// A text in which nothing acts on Markdown.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~'
        ) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}
