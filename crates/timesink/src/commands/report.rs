//! `timesink report FILE`: where the time of a recording went.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use timesink_analysis::facts::Facts;
use timesink_analysis::loops::{loops, Loop};
use timesink_analysis::operations::{Recorded, Set, Told, Wanted};
use timesink_analysis::outlook::{Outlook, Patience};
use timesink_analysis::programs::Programs;
use timesink_analysis::replay::Gains;
use timesink_analysis::stacks::{Direction, Stacks};
use timesink_findings::engine::Findings;
use timesink_findings::inquiry::Inquiry;
use timesink_recording::{About, Recording};

use super::read::{joined, open, Read};
use super::selection::Selection;
use super::{last, operations};
use crate::out;
use crate::present::terminal::{self, Style, Table};
use crate::present::{json, Report};
use crate::settings::Settings;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording: a folder or a packed file.
    recording: PathBuf,
    /// Print everything as JSON (documented in docs/json.md).
    #[arg(long, conflicts_with_all = ["top", "tree", "line"])]
    json: bool,
    /// Print operations in full: auto (what servers did for each request), recv..send (the same on all sockets), or
    /// from one wait to another, each a call, a kind of wait or a thing, such as 'read..fdatasync'
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["top", "tree", "line"])]
    op: Option<String>,
    /// Print the functions that took longest themselves [default: 20 of them]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "20")]
    top: Option<usize>,
    /// Print who called whom, from the outermost functions in (callees) or the innermost out (callers)
    #[arg(long, value_name = "TO", num_args = 0..=1, require_equals = true, default_missing_value = "callees")]
    tree: Option<Tree>,
    /// Print the lines of a function that took longest
    #[arg(long, value_name = "FUNCTION")]
    line: Option<String>,

    #[command(
        flatten,
        next_help_heading = "Parts of a recording, for --top, --tree and --line"
    )]
    selection: Selection,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Tree {
    Callees,
    Callers,
}

impl Arguments {
    /// The tables that are asked for, if not the whole report.
    fn tables(&self) -> Vec<Table> {
        let tree = self.tree.map(|to| match to {
            Tree::Callees => Direction::Callees,
            Tree::Callers => Direction::Callers,
        });
        let tables = [
            self.top.map(Table::Top),
            tree.map(Table::Tree),
            self.line.clone().map(Table::Lines),
        ];
        tables.into_iter().flatten().collect()
    }
}

/// Reads a recording and prints its report on standard output.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let style = out::style();
    let path = &arguments.recording;
    let (tables, selection) = (arguments.tables(), &arguments.selection);
    if !tables.is_empty() {
        return print_tables(path, &tables, selection, &style);
    }
    if !selection.filter().is_empty() {
        bail!("a part of a recording is for --top, --tree or --line: say which of them");
    }
    let op = arguments.op.as_deref();
    let to = match arguments.json {
        true => To::Machines,
        false => To::Reader(style),
    };
    print(open(path)?, op, to)
}

/// Prints the report of a recording just made on standard error: standard output is the program's.
pub fn show(recording: Recording) -> anyhow::Result<()> {
    print(recording, None, To::ReaderOfErrors(out::style_of_errors()))
}

/// Who gets a report.
enum To {
    /// As JSON, on standard output.
    Machines,
    Reader(Style),
    /// On standard error, below what the program wrote there.
    ReaderOfErrors(Style),
}

/// As text or as JSON; with `op` about those operations, and as text about nothing else.
fn print(recording: Recording, op: Option<&str>, to: To) -> anyhow::Result<()> {
    let style = match &to {
        To::Machines => None,
        To::Reader(style) | To::ReaderOfErrors(style) => Some(style),
    };
    let settings = Settings::told();
    let read = Read::of(recording)?;
    let only_operations = op.is_some() && style.is_some();
    let closely = op.is_some() || style.is_none();
    let programs = Programs::of(&read.facts);
    let recorded = read.recorded(&programs);
    let (recording, facts, stacks) = (&read.recording, &read.facts, &read.stacks);
    let ask = |outlook: &Outlook, gains: &Gains<'_>| {
        why(
            &recorded,
            stacks,
            outlook,
            gains,
            (recording.about(), &settings),
        )
    };
    let (outlook, again) = std::thread::scope(|scope| {
        let again = scope.spawn(|| Again::of(&recorded, stacks, op, closely));
        let calls = &read.waited.calls_of;
        let outlook = match only_operations {
            true => Ok(None),
            false => Outlook::and(
                recording,
                &read.timeline,
                facts,
                stacks,
                calls,
                Patience::SHORT,
                ask,
            ),
        };
        (outlook, joined(again))
    });
    let (outlook, again) = (outlook?, again?);
    let shown = recording.path().to_string_lossy();
    let report = Report {
        path: &shown,
        size_bytes: recording.size_bytes(),
        about: recording.about(),
        facts,
        stacks,
        outlook: outlook.as_ref().map(|(outlook, _)| outlook),
        findings: outlook.as_ref().map(|(_, findings)| findings),
        operations: &again.operations,
        loops: &again.loops,
        settings: &settings,
        again: &last::again(recording.path()),
    };
    let page = |style: &Style| match only_operations {
        true => terminal::operations(&report, style),
        false => terminal::render(&report, style),
    };
    match &to {
        To::Machines => {
            let mut out = out::machines();
            out::written(json::write(&report, &mut out).and_then(|()| out.flush()))
        }
        To::Reader(style) => out::page(&page(style), style),
        To::ReaderOfErrors(style) => out::page_of_errors(&format!("\n{}", page(style)), style),
    }
}

/// What happened again and again.
pub(crate) struct Again {
    pub(crate) operations: Vec<Told>,
    pub(crate) loops: Vec<Loop>,
}

impl Again {
    pub(crate) fn of(
        recorded: &Recorded,
        stacks: &Stacks,
        op: Option<&str>,
        closely: bool,
    ) -> anyhow::Result<Again> {
        let sets = match op {
            Some(text) => operations::found(text, recorded)?,
            None => recorded.operations(&Wanted::Served),
        };
        let told = |set: Set| Told {
            detail: closely.then(|| recorded.detail(&set, stacks)),
            set,
        };
        let operations: Vec<Told> = sets.into_iter().map(told).collect();
        // What goes round and round in a server is told as its operations.
        let serving = operations.iter().flat_map(|told| &told.set.operations);
        let serving = serving.map(|one| one.slot).collect();
        let loops = loops(recorded, stacks, &serving);
        Ok(Again { operations, loops })
    }
}

/// What the rules make of it.
pub(crate) fn why(
    recorded: &Recorded<'_>,
    stacks: &Stacks,
    outlook: &Outlook,
    gains: &Gains<'_>,
    (about, settings): (&About, &Settings),
) -> Findings {
    let inquiry = Inquiry {
        facts: recorded.facts,
        stacks,
        timeline: recorded.timeline,
        outlook,
        programs: recorded.programs,
        waited: recorded.waited,
        limits: &settings.limits,
        directory: &about.directory,
        floors: about.floors(),
    };
    let mut findings = Findings::of(&inquiry, gains);
    findings.mute(&settings.mutes, settings.today);
    findings
}

/// The tables about code, of the part of the recording that the filter lets pass.
fn print_tables(
    path: &Path,
    tables: &[Table],
    selection: &Selection,
    style: &Style,
) -> anyhow::Result<()> {
    let recording = open(path)?;
    let facts = Facts::of(&recording)?;
    let stacks = selection.stacks(&recording, &facts)?;
    out::page(&terminal::tables(&stacks, tables, style), style)
}
