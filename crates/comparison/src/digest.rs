//! One recording told by what its work is. It holds none of the recording's numbers, so that two can stand beside each other,
//! and the recording itself can be forgotten.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timesink_analysis::facts::programs::program;
use timesink_analysis::facts::Facts;
use timesink_analysis::outlook::{OnPath, Outlook};
use timesink_analysis::path::own_function;
use timesink_analysis::stacks::FunctionIx;
use timesink_findings::engine::Finding;
use timesink_findings::signature;
use timesink_recording::ids::{ProcessId, ThreadId};
use timesink_recording::tables::Process;
use timesink_recording::words::{Detail, State};
use timesink_story::Story;

use crate::code::{function_name, OnProcessor};
use crate::counts::{CallCount, Counted};
use crate::environment::Environment;
use crate::operations::recurrences;
use crate::predicted::Found;
use crate::roles::roles;
use crate::{
    Accused, Act, Does, Phase, Recurrence, RecurrenceTimes, RoleTimes, Sum, Thing, ThreadRole, Work,
};

/// One recording.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    pub command: Vec<String>,
    /// Where it was started.
    pub directory: String,
    /// From the start of the main thread to its end: the parts add up to it.
    pub wall_ns: u64,
    /// The program of the main thread.
    pub root: String,
    /// By the name that they have in both recordings.
    pub programs: BTreeMap<String, Program>,
    /// The path.
    pub parts: BTreeMap<Work, Sum>,
    /// All system calls, on the path or not.
    pub calls: BTreeMap<Work, CallCount>,
    /// For each kind of work the function that most of its time was seen in.
    pub places: BTreeMap<Work, String>,
    /// How often functions of a program do what they do again and again.
    pub items: BTreeMap<(String, String), u64>,
    /// From when until when calls were made, of those that were seen twice.
    pub phases: BTreeMap<Work, Phase>,
    /// All threads.
    pub roles: BTreeMap<ThreadRole, RoleTimes>,
    /// Operations of servers and clients, and loops.
    pub recurrences: BTreeMap<Recurrence, RecurrenceTimes>,
    pub found: Vec<Found>,
    pub weather: Weather,
    /// Where it ran; empty unless somebody says.
    pub environment: Environment,
}

/// All processes that ran the same program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// As this recording has it.
    pub name: String,
    pub processes: u64,
    pub threads: u64,
    pub page_faults: u64,
    /// Times that its threads left a processor.
    pub switches: u64,
}

/// How much a recording has of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub processes: u64,
    pub threads: u64,
    /// System calls, and what was read, written, sent or received in them.
    pub calls: u64,
    pub bytes: u64,
    pub page_faults: u64,
    pub switches: u64,
}

/// What a comparison must not pass over in silence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weather {
    /// Events that were lost.
    pub lost: u64,
    pub has_stacks: bool,
    pub has_calls: bool,
    /// Calls were counted for part of the time only.
    pub is_estimated: bool,
    /// Of the path.
    pub unknown_ns: u64,
    /// What was wrong with the recording.
    pub mended: Option<String>,
    pub replay_error_pct: f64,
}

impl Digest {
    /// The digest of a story; `None` if that has no main thread, and with it no path.
    pub fn of(story: &Story<'_>) -> Option<Digest> {
        let outlook = story.outlook.as_ref()?;
        let facts = &story.loaded.facts;
        let about = story.loaded.recording.about();
        let main = facts.ledger.threads.get(facts.ledger.main?)?;
        let mut digest = Digest {
            command: about.command.clone(),
            directory: about.directory.clone(),
            wall_ns: outlook.wall_ns,
            root: program_name(facts, main.row.process),
            programs: programs(facts),
            weather: weather(story, outlook),
            roles: roles(story),
            recurrences: recurrences(story, &about.directory),
            ..Digest::default()
        };
        let counted = Counted::of(facts, &about.directory);
        let mut seen = Places::default();
        // What the causes are that are not code.
        let mut works: BTreeMap<usize, Work> = BTreeMap::new();
        for (at, on_path) in outlook.causes.iter().enumerate() {
            match on_path.cause.key.state {
                State::Cpu if on_path.cause.key.detail.is_none() => {
                    let parts = OnProcessor::of(story, outlook, at, &counted);
                    for part in parts.parts {
                        seen.add(&part.work, part.function, part.ns);
                        digest.add(part.work, part.ns, 0);
                    }
                }
                _ => {
                    let work = work(story, on_path, &about.directory);
                    let function = own(story, on_path);
                    seen.add(&work, function, on_path.cause.ns);
                    works.insert(at, work.clone());
                    digest.add(work, on_path.cause.ns, on_path.cause.count);
                }
            }
        }
        digest.places = seen.most();
        digest.calls = counted.calls;
        digest.phases = phases(story, &about.directory);
        let told = story.findings.iter().flat_map(|findings| &findings.told);
        let found = told.map(|finding| {
            let accused = accused(finding, &works, &digest, story);
            Found::of(finding, accused)
        });
        digest.found = found.collect();
        for one in &story.anatomies {
            if let Some(place) = one.place {
                let function = function_name(&story.loaded.stacks.code, place.function);
                let key = (program_name(facts, one.process), function);
                digest.items.entry(key).or_insert(one.count);
            }
        }
        Some(digest)
    }

    /// How much of everything there is.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for program in self.programs.values() {
            counts.processes += program.processes;
            counts.threads += program.threads;
            counts.page_faults = counts.page_faults.saturating_add(program.page_faults);
            counts.switches = counts.switches.saturating_add(program.switches);
        }
        for calls in self.calls.values() {
            counts.calls = counts.calls.saturating_add(calls.count);
            counts.bytes = counts.bytes.saturating_add(calls.bytes);
        }
        counts
    }

    /// Whether a finding is about just this.
    pub(crate) fn accuses(&self, work: &Work) -> bool {
        let mut found = self.found.iter().filter(|found| found.accuses);
        found.any(|found| found.accused.chief.as_ref() == Some(work))
    }

    fn add(&mut self, work: Work, ns: u64, waits: u64) {
        let sum = self.parts.entry(work).or_default();
        sum.add(Sum { ns, waits });
    }
}

/// The functions that each kind of work was seen in.
#[derive(Default)]
struct Places(BTreeMap<Work, BTreeMap<String, u64>>);

impl Places {
    fn add(&mut self, work: &Work, function: Option<String>, ns: u64) {
        if let Some(function) = function {
            let functions = self.0.entry(work.clone()).or_default();
            let sum = functions.entry(function).or_default();
            *sum = sum.saturating_add(ns);
        }
    }

    fn most(self) -> BTreeMap<Work, String> {
        let most = self.0.into_iter().filter_map(|(work, functions)| {
            let most = functions.into_iter().max_by_key(|(_, ns)| *ns)?;
            Some((work, most.0))
        });
        most.collect()
    }
}

fn weather(story: &Story<'_>, outlook: &Outlook) -> Weather {
    let facts = &story.loaded.facts;
    let about = story.loaded.recording.about();
    let lost = facts.losses.iter().map(|loss| loss.count);
    Weather {
        lost: lost.fold(0, u64::saturating_add),
        has_stacks: story.loaded.stacks.any(),
        has_calls: !facts.calls.is_empty(),
        is_estimated: facts.calls.iter().any(|sum| sum.estimated),
        unknown_ns: outlook.unknown_ns,
        mended: about.mended.clone(),
        replay_error_pct: outlook.replay_error_pct,
    }
}

fn programs(facts: &Facts) -> BTreeMap<String, Program> {
    let mut programs: BTreeMap<String, Program> = BTreeMap::new();
    for process in &facts.ledger.processes {
        let entry = programs.entry(name_of(&process.row)).or_default();
        if entry.name.is_empty() {
            entry.name = file_name(&process.row).to_owned();
        }
        entry.processes += 1;
        let threads = process.threads.iter();
        for thread in threads.filter_map(|&at| facts.ledger.threads.get(at)) {
            let faults = thread
                .row
                .faults_minor
                .saturating_add(thread.row.faults_major);
            entry.page_faults = entry.page_faults.saturating_add(faults);
            let switches = thread
                .row
                .switches_voluntary
                .saturating_add(thread.row.switches_involuntary);
            entry.switches = entry.switches.saturating_add(switches);
            entry.threads += 1;
        }
    }
    programs
}

/// A program by a name that is the same in another run: that of its file, without a version.
pub(crate) fn program_name(facts: &Facts, process: ProcessId) -> String {
    let process = facts.ledger.process(process);
    process.map_or(String::new(), |process| name_of(&process.row))
}

fn name_of(row: &Process) -> String {
    let name = signature::lasting(file_name(row));
    // `python3.11` and `lua5.4`, but not `sha256sum` or `x86`.
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match name[stem.len()..].contains('.') && !stem.is_empty() {
        true => stem.to_owned(),
        false => name,
    }
}

fn file_name(row: &Process) -> &str {
    let path = program(row);
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path.rsplit('/')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(&row.name)
}

/// The program's own function that a cause was seen in.
fn own(story: &Story<'_>, on_path: &OnPath) -> Option<String> {
    let code = &story.loaded.stacks.code;
    let function: Option<FunctionIx> = own_function(code, &on_path.frames);
    function.map(|function| function_name(code, function))
}

/// What a cause that is not the program's own running is about.
fn work(story: &Story<'_>, on_path: &OnPath, directory: &str) -> Work {
    let facts = &story.loaded.facts;
    let key = on_path.cause.key;
    let object = key.object.and_then(|id| facts.object(id));
    let thing = || object.map_or(Thing::Nothing, |object| Thing::of(object, directory));
    let does = match (key.state, key.detail) {
        _ if key.unknown.is_some() => Does::Unknown,
        (State::Lost, _) => Does::Unknown,
        (State::Ready, Some(Detail::Throttled)) => Does::Throttled,
        (_, Some(Detail::Exit)) => Does::Exit,
        (State::Ready, _) => Does::Ready,
        (_, Some(Detail::PageFault)) => Does::PageFaults,
        (_, Some(detail @ (Detail::Lock | Detail::Condition))) => Does::Waits {
            detail,
            thing: own(story, on_path).map_or(Thing::Nothing, Thing::In),
        },
        (_, detail) => {
            let detail = detail.unwrap_or(Detail::Unknown);
            // Several calls may lead to the same wait: which of them is named must not hang on the order of rows.
            let calls = &story.loaded.waited().calls_of;
            let call = calls.of_kind(detail, key.object).iter().min();
            let of_call = call.map(|call| Act::of_call(call, object.map(|object| object.kind)));
            match Act::of_wait(detail).or(of_call) {
                Some(act) => Does::calls(act, thing()),
                None => Does::Waits {
                    detail,
                    thing: thing(),
                },
            }
        }
    };
    Work {
        program: program_name(facts, key.process),
        does,
    }
}

/// Which kinds of work a finding accuses: those of the causes that it stands for.
fn accused(
    finding: &Finding,
    works: &BTreeMap<usize, Work>,
    digest: &Digest,
    story: &Story<'_>,
) -> Accused {
    let suspect = &finding.suspect;
    let all = suspect.weight.causes.iter();
    let mut all: Vec<&Work> = all.filter_map(|at| works.get(at)).collect();
    // What has the most time first: of several things that are done to what it names, that one.
    all.sort_by_key(|&work| Reverse(digest.parts.get(work).map_or(0, |sum| sum.ns)));
    let object = suspect.object;
    let object = object.and_then(|id| story.loaded.facts.object(id));
    let thing = object.map(|object| Thing::of(object, &digest.directory));
    let is_about_it = |work: &&&Work| match &work.does {
        Does::Calls { thing: its, .. } => Some(its) == thing.as_ref(),
        _ => false,
    };
    Accused {
        chief: all.iter().find(is_about_it).map(|&work| work.clone()),
        works: all.into_iter().cloned().collect(),
    }
}

/// When calls of each kind were made, as far as they were seen.
fn phases(story: &Story<'_>, directory: &str) -> BTreeMap<Work, Phase> {
    let facts = &story.loaded.facts;
    let threads = facts.ledger.threads.iter().map(|thread| &thread.row);
    let programs: FxHashMap<ThreadId, String> = threads
        .map(|row| (row.thread, program_name(facts, row.process)))
        .collect();
    // There are few of them: a call on an object that comes again and again is seen ever more seldom.
    let mut phases: BTreeMap<Work, Phase> = BTreeMap::new();
    for site in &story.loaded.stacks.sites {
        let Some(program) = programs.get(&site.thread) else {
            continue;
        };
        let object = site.object.and_then(|id| facts.object(id));
        let act = Act::of_call(&site.call, object.map(|object| object.kind));
        let thing = object.map_or(Thing::Nothing, |object| Thing::of(object, directory));
        let work = Work {
            program: program.clone(),
            does: Does::calls(act, thing),
        };
        let moment = Phase::at(site.at);
        let phase = phases.entry(work).or_insert(moment);
        *phase = phase.with(moment);
    }
    phases.retain(|_, phase| phase.from < phase.until);
    phases
}
