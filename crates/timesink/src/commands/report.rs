//! `timesink report FILE`: where the time of a recording went.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use timesink_analysis::facts::Facts;
use timesink_analysis::machine::MachineTime;
use timesink_analysis::operations::Wanted;
use timesink_analysis::outlook::Patience;
use timesink_analysis::stacks::{Direction, Stacks};
use timesink_recording::tables::{Fact, Request};
use timesink_recording::words::{FactKind, Moment};
use timesink_recording::{Mode, Recording};
use timesink_story::{Loaded, Question, Repeated, Story};

use super::page_file::write_page;
use super::read::{open, question, Named};
use super::selection::Selection;
use super::whose::Whose;
use super::{last, operations};
use crate::out;
use crate::present::terminal::{self, MachineState, Section, Style, Table};
use crate::present::{json, Report};
use crate::settings::Settings;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording, a folder or a packed file [default: the one made last in this folder]
    recording: Option<PathBuf>,
    /// Print all sections, not only the answer
    #[arg(long, conflicts_with_all = ["json", "op", "top", "tree", "line"])]
    full: bool,
    /// Print the threads: where the time of the main thread went, and a line for each of the others
    #[arg(long, conflicts_with_all = TABLES)]
    threads: bool,
    /// Print system calls, by the time they took
    #[arg(long, conflicts_with_all = TABLES)]
    calls: bool,
    /// Print files: how often opened, read and looked for
    #[arg(long, conflicts_with_all = TABLES)]
    files: bool,
    /// Print the processes that were started, and what starting cost
    #[arg(long, conflicts_with_all = TABLES)]
    starts: bool,
    /// Print loops: what is waited for in each round
    #[arg(long, conflicts_with_all = TABLES)]
    loops: bool,
    /// Print tasks: what goroutines, tasks of asyncio and tokio, callbacks of Node.js and virtual threads of Java did, by where they were started or by function
    #[arg(long, conflicts_with_all = TABLES)]
    tasks: bool,
    /// Print tags: modules by what programs say that their threads are at work for (see docs/tags.md)
    #[arg(long, conflicts_with_all = TABLES)]
    tags: bool,
    /// Divide tags by CPU or by thread
    #[arg(long, value_name = "WHAT", requires = "tags")]
    by: Option<TagsBy>,
    #[command(flatten)]
    whose: Whose,
    /// Print everything as JSON (documented in docs/json.md)
    #[arg(long)]
    json: bool,
    /// Write the page of the recording into one file, which opens in any browser, offline; must not exist
    #[arg(long, value_name = "FILE", conflicts_with_all = TABLES)]
    html: Option<PathBuf>,
    /// Another recording, to be compared with in the page
    #[arg(long, value_name = "RECORDING", requires = "html")]
    beside: Option<PathBuf>,
    /// Keep in the page the lines of source that findings name, of files below the current directory
    #[arg(long, requires = "html")]
    with_source: bool,
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

/// What prints something else than sections.
const TABLES: [&str; 6] = ["full", "json", "op", "top", "tree", "line"];

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum TagsBy {
    Cpu,
    Thread,
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

    /// What of the report is asked for.
    fn part(&self) -> ReportPart {
        let tags = match self.by {
            None => Section::Tags,
            Some(TagsBy::Cpu) => Section::TagsByProcessor,
            Some(TagsBy::Thread) => Section::TagsByThread,
        };
        let sections = [
            (self.threads, Section::Threads),
            (self.calls, Section::Calls),
            (self.files, Section::Files),
            (self.starts, Section::Starts),
            (self.loops, Section::Loops),
            (self.tasks, Section::Tasks),
            (self.tags, tags),
        ];
        let asked = sections.into_iter().filter(|(is_asked, _)| *is_asked);
        let asked: Vec<Section> = asked.map(|(_, section)| section).collect();
        match asked.as_slice() {
            [] if self.full => ReportPart::Full,
            [] => ReportPart::Answer,
            _ => ReportPart::Sections(asked),
        }
    }
}

/// How much of the report is printed.
enum ReportPart {
    /// One screen.
    Answer,
    Sections(Vec<Section>),
    Full,
}

/// Reads a recording and prints its report on standard output.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let style = out::style();
    let path = last::or_last(arguments.recording.as_deref())?;
    if arguments.whose.is_said() && (arguments.html.is_some() || !arguments.tables().is_empty()) {
        bail!("--of is for the answer and its sections; --top, --tree and --line have --process");
    }
    if let Some(file) = &arguments.html {
        let paths: Vec<&Path> = std::iter::once(path.as_path())
            .chain(arguments.beside.as_deref())
            .collect();
        return write_page(&paths, 1, arguments.with_source, file);
    }
    let recording = open(&path)?;
    let (tables, selection) = (arguments.tables(), &arguments.selection);
    if !tables.is_empty() {
        let facts = Facts::of(&recording)?;
        let stacks = selection.stacks(&recording, &facts)?;
        if let Some(name) = arguments
            .line
            .as_ref()
            .filter(|name| !is_seen(&stacks, name))
        {
            bail!(
                "no time was found in a function called {name:?} (`timesink report FILE --top` lists functions)"
            );
        }
        if arguments.json {
            return out::for_machines(|to| json::views(&stacks, &tables, to));
        }
        return out::page(&terminal::tables(&stacks, &tables, &style), &style);
    }
    if !selection.filter().is_empty() {
        bail!("a part of a recording is for --top, --tree or --line: add one of them");
    }
    let loaded = arguments.whose.loaded(&recording)?;
    match (arguments.op.as_deref(), arguments.json) {
        (op, true) => print_json(&loaded, op),
        (Some(op), false) => print_operations(&loaded, op, &style),
        (None, false) => {
            let page = page(&loaded, &arguments.part(), &style)?;
            out::page(&page, &style)
        }
    }
}

/// Whether anything was seen in a function of this name.
fn is_seen(stacks: &Stacks, name: &str) -> bool {
    !stacks.view().lines(name).places.is_empty()
}

/// Prints the answer of a recording just made on standard error: standard output is the program's.
pub fn show(recording: &Recording) -> anyhow::Result<()> {
    let style = out::style_of_errors();
    let page = page(&Loaded::of(recording)?, &ReportPart::Answer, &style)?;
    out::page_of_errors(&format!("\n{page}"), &style)
}

fn page(loaded: &Loaded<'_>, part: &ReportPart, style: &Style) -> anyhow::Result<String> {
    let settings = Settings::told();
    let is_of_machine = loaded.recording.about().mode == Mode::Machine;
    let is_whole = matches!(part, ReportPart::Answer | ReportPart::Full);
    if is_of_machine && loaded.facts.ledger.main.is_none() && is_whole {
        return machine(loaded, part, &settings, style);
    }
    let patience = match part {
        ReportPart::Full => Patience::SHORT,
        ReportPart::Answer | ReportPart::Sections(_) => Patience::FINDINGS,
    };
    let asked = |are: &[Section]| match part {
        ReportPart::Full => true,
        ReportPart::Sections(sections) => sections.iter().any(|one| are.contains(one)),
        ReportPart::Answer => false,
    };
    let question = Question {
        patience,
        tasks: asked(&[Section::Tasks]),
        tags: asked(&[
            Section::Tags,
            Section::TagsByProcessor,
            Section::TagsByThread,
        ]),
        ..question(&settings, Wanted::Served, false)
    };
    let story = Story::of(loaded, &question)?;
    let named = Named::of(loaded.recording);
    let report = Report::of(&story, named.shown(), &settings);
    Ok(match part {
        ReportPart::Answer => terminal::answer(&report, style),
        ReportPart::Sections(sections) => terminal::sections(&report, sections, style),
        ReportPart::Full => terminal::render(&report, style),
    })
}

/// What the whole machine did, where nobody's end is asked about.
fn machine(
    loaded: &Loaded<'_>,
    part: &ReportPart,
    settings: &Settings,
    style: &Style,
) -> anyhow::Result<String> {
    let named = Named::of(loaded.recording);
    let report = Report::facts_only(loaded, named.shown(), settings);
    let about = loaded.recording.about();
    let (wall_ns, processors) = (about.wall_ns, about.processors);
    let requests = loaded.recording.rows::<Request>()?;
    let (timeline, facts) = (&loaded.timeline, &loaded.facts);
    let time = MachineTime::of(timeline, facts, requests, wall_ns, processors);
    let told = loaded.recording.rows::<Fact>()?;
    let state = MachineState {
        lacked: pressure(&told),
        mounts: mounts(&told),
    };
    let screen = terminal::machine(&report, &time, &state, style);
    let rest = [
        Section::Threads,
        Section::Calls,
        Section::Files,
        Section::Starts,
    ];
    Ok(match part {
        ReportPart::Full => screen + "\n" + &terminal::sections(&report, &rest, style),
        ReportPart::Answer | ReportPart::Sections(_) => screen,
    })
}

/// Where devices are mounted, by their numbers.
fn mounts(facts: &[Fact]) -> BTreeMap<u64, String> {
    let mounts = facts.iter().filter(|fact| fact.kind == FactKind::Mount);
    let numbered = mounts.filter_map(|fact| {
        let point = fact.key.strip_suffix(", number")?;
        Some((fact.value.parse().ok()?, point.to_owned()))
    });
    numbered.collect()
}

/// What was lacked in the end.
fn pressure(facts: &[Fact]) -> Vec<(String, String)> {
    let in_the_end = facts.iter().filter(|fact| {
        fact.kind == FactKind::MemoryUse && fact.moment == Moment::End && !fact.value.is_empty()
    });
    let lacked = in_the_end.filter_map(|fact| {
        let what = fact.key.strip_suffix(" pressure")?;
        Some((what.to_owned(), fact.value.clone()))
    });
    lacked.collect()
}

fn print_json(loaded: &Loaded<'_>, op: Option<&str>) -> anyhow::Result<()> {
    let settings = Settings::told();
    let wanted = wanted(op, loaded)?;
    let question = Question {
        tasks: true,
        tags: true,
        ..question(&settings, wanted.clone(), true)
    };
    let story = Story::of(loaded, &question)?;
    if op.is_some() && story.operations.is_empty() {
        return Err(operations::none(&wanted, &story.loaded.timeline));
    }
    let named = Named::of(loaded.recording);
    let report = Report::of(&story, named.shown(), &settings);
    out::for_machines(|to| json::write(&report, to))
}

/// Operations, and nothing else.
fn print_operations(loaded: &Loaded<'_>, op: &str, style: &Style) -> anyhow::Result<()> {
    let settings = Settings::told();
    let wanted = wanted(Some(op), loaded)?;
    let repeated = Repeated::of(loaded, &question(&settings, wanted.clone(), true));
    if repeated.operations.is_empty() {
        return Err(operations::none(&wanted, &loaded.timeline));
    }
    let named = Named::of(loaded.recording);
    let report = Report {
        operations: &repeated.operations,
        ..Report::facts_only(loaded, named.shown(), &settings)
    };
    out::page(&terminal::operations(&report, style), style)
}

fn wanted(op: Option<&str>, loaded: &Loaded<'_>) -> anyhow::Result<Wanted> {
    match op {
        Some(text) => operations::wanted(text, &loaded.facts, loaded.waited()),
        None => Ok(Wanted::Served),
    }
}
