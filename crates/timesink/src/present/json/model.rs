//! The shape of the JSON report. A field here is a field of docs/json.md; a test compares them.

use std::collections::BTreeMap;

use serde::Serialize;
use timesink_analysis::facts::calls::CallSum;
use timesink_analysis::facts::files::{FileUse, Missing};
use timesink_analysis::facts::starts::{Start, StartStep};
use timesink_analysis::facts::Facts;
use timesink_analysis::ledger::{
    Balance, Behind, Books, Cause, Ends, ProcessLedger, Split, Sums, ThreadLedger, Tiling, Who,
};
use timesink_recording::floors::Floors;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::SchedulingPolicy;

use super::code::{self, StacksPage, TopPage};
use super::findings::{self, ClearedPage, FindingPage, MutedPage, NotAskedPage};
use super::operations::{self, LoopPage, SetPage};
use super::path::{self, PathPage};
use super::repeated::{self, RepeatedPage};
use super::tags::{self, TagsPage};
use super::tasks::{self, TasksPage};
use crate::present::{trust, Report};

#[derive(Serialize)]
pub(super) struct Page<'a> {
    version: u32,
    recording: &'a str,
    recording_bytes: u64,
    tool_version: &'a str,
    command: &'a [String],
    started_unix_ns: u64,
    wall_ns: u64,
    exit_code: Option<i32>,
    exit_signal: Option<i32>,
    mended: Option<&'a str>,
    doubt: Option<String>,
    threshold_ns: u64,
    unaccounted_pct: f64,
    books: BooksPage,
    tiling: TilingPage,
    ends: EndsPage,
    cost: CostPage,
    lost: BTreeMap<&'static str, LossPage<'a>>,
    probes: Vec<ProbePage<'a>>,
    main_thread: Option<u32>,
    floors: Option<&'a Floors>,
    findings: Vec<FindingPage<'a>>,
    cleared: Vec<ClearedPage>,
    not_asked: Vec<NotAskedPage>,
    not_examined: Vec<&'static str>,
    muted: Vec<MutedPage<'a>>,
    switched_off: Vec<&'static str>,
    path: Option<PathPage<'a>>,
    operations: Vec<SetPage<'a>>,
    loops: Vec<LoopPage<'a>>,
    tasks: Option<TasksPage<'a>>,
    tags: Option<TagsPage<'a>>,
    repeated: Vec<RepeatedPage<'a>>,
    threads: Vec<ThreadPage<'a>>,
    processes: Vec<ProcessPage<'a>>,
    calls: Vec<CallPage<'a>>,
    files: Vec<FilePage<'a>>,
    missing: Vec<MissingPage<'a>>,
    starts: Vec<StartPage<'a>>,
    stacks: StacksPage,
    top: Vec<TopPage<'a>>,
}

#[derive(Serialize)]
struct BalancePage {
    ours_ns: u64,
    kernel_ns: u64,
    difference_pct: Option<f64>,
}

#[derive(Serialize)]
struct BooksPage {
    cpu: BalancePage,
    ready: BalancePage,
    life: BalancePage,
    unaccounted_ns: u64,
    unaccounted_pct: f64,
    unchecked: u64,
}

#[derive(Serialize)]
struct TilingPage {
    spans: u64,
    gaps: u64,
    gap_ns: u64,
    overlaps: u64,
    overlap_ns: u64,
    strays: u64,
    beyond_sums: u64,
    beyond_sums_ns: u64,
}

#[derive(Serialize)]
struct EndsPage {
    born_before: u64,
    alive_at_end: u64,
    end_lost: u64,
}

#[derive(Serialize)]
struct CostPage {
    pct_of_wall: f64,
    tracer_ns: u64,
    tracer_estimated_ns: u64,
    start_ns: u64,
    finish_ns: u64,
    recorder_cpu_ns: Option<u64>,
    calls_timed_share: f64,
    calls_timed_ns: u64,
}

#[derive(Serialize)]
struct LossPage<'a> {
    count: u64,
    note: &'a str,
}

#[derive(Serialize)]
struct ProbePage<'a> {
    probe: &'a str,
    attached: bool,
    reason: &'a str,
    without: &'a str,
}

#[derive(Serialize)]
struct SumsPage {
    life_ns: u64,
    cpu_ns: u64,
    ready_ns: u64,
    wait_ns: u64,
    tracer_ns: u64,
    tracer_estimated_ns: u64,
    lost_ns: u64,
    taken_ns: u64,
    kernel_cpu_ns: u64,
    kernel_ready_ns: u64,
    kernel_life_ns: u64,
}

#[derive(Serialize)]
struct ThreadPage<'a> {
    thread: u32,
    process: u32,
    pid: Option<u32>,
    tid: u32,
    name: &'a str,
    start_ns: i64,
    end_ns: i64,
    born_before: bool,
    alive_at_end: bool,
    end_lost: bool,
    #[serde(flatten)]
    sums: SumsPage,
    books: BooksPage,
    split: SplitPage,
    causes: Vec<CausePage<'a>>,
    behind: Vec<BehindPage<'a>>,
    held_by: Vec<BehindPage<'a>>,
    switches_voluntary: u64,
    switches_involuntary: u64,
    migrations: u64,
    faults_minor: u64,
    faults_major: u64,
    calls_seen: u64,
    nice: Option<i64>,
    policy: Option<SchedulingPolicy>,
    realtime_priority: Option<u32>,
    allowed_processors: Option<&'a str>,
}

#[derive(Serialize)]
struct SplitPage {
    basis: &'static str,
    samples: u64,
    user_share: f64,
}

#[derive(Serialize)]
struct CausePage<'a> {
    state: &'static str,
    detail: &'static str,
    object: Option<String>,
    object_id: Option<u32>,
    function: Option<&'a str>,
    count: u64,
    ns: u64,
    estimated: bool,
}

#[derive(Serialize)]
struct BehindPage<'a> {
    kind: &'static str,
    thread: Option<u32>,
    tid: Option<u32>,
    name: Option<&'a str>,
    count: u64,
    ns: u64,
}

#[derive(Serialize)]
struct ProcessPage<'a> {
    process: u32,
    pid: u32,
    parent: Option<u32>,
    parent_pid: u32,
    name: &'a str,
    executable: &'a str,
    uid: u32,
    start_ns: i64,
    end_ns: i64,
    threads: u64,
    #[serde(flatten)]
    sums: SumsPage,
}

#[derive(Serialize)]
struct CallPage<'a> {
    process: Option<u32>,
    pid: Option<u32>,
    call: &'a str,
    object: Option<String>,
    object_id: Option<u32>,
    count: u64,
    ns: u64,
    bytes: u64,
    errors: u64,
    errnos: BTreeMap<&'a str, u64>,
    seen: u64,
    estimated: bool,
}

#[derive(Serialize)]
struct FilePage<'a> {
    object_id: u32,
    path: &'a str,
    filesystem: Option<&'a str>,
    opened: u64,
    bytes_read: u64,
    bytes_written: u64,
    size: Option<u64>,
    estimated: bool,
}

#[derive(Serialize)]
struct MissingPage<'a> {
    path: &'a str,
    count: u64,
    processes: u64,
}

#[derive(Serialize)]
struct StartPage<'a> {
    process: u32,
    pid: u32,
    parent: Option<u32>,
    executable: &'a str,
    arguments: &'a [String],
    by_vfork: bool,
    fork: Option<StepPage>,
    execs: u64,
    exec: Option<StepPage>,
    exit: Option<StepPage>,
}

#[derive(Serialize)]
struct StepPage {
    cost_ns: Option<u64>,
    resident_bytes: u64,
}

/// The report in its JSON shape.
pub(super) fn page<'a>(report: &Report<'a>) -> Page<'a> {
    let Report {
        recording,
        about,
        facts,
        ..
    } = *report;
    let ledger = &facts.ledger;
    let main = ledger.main.and_then(|main| ledger.threads.get(main));
    Page {
        version: super::VERSION,
        recording: recording.path,
        recording_bytes: recording.size_bytes,
        tool_version: &about.tool_version,
        command: &about.command,
        started_unix_ns: about.started_unix_ns,
        wall_ns: about.wall_ns,
        exit_code: report.exit_code(),
        exit_signal: about.exit_signal,
        mended: about.mended.as_deref(),
        doubt: trust::doubt(report),
        threshold_ns: about.threshold_ns,
        unaccounted_pct: ledger.books.unaccounted_pct(),
        books: books(&ledger.books),
        tiling: tiling(&ledger.tiling),
        ends: ends(&ledger.ends),
        cost: cost(report),
        lost: losses(facts),
        probes: probes(facts),
        main_thread: main.map(|main| main.row.thread.0),
        floors: report.about.floors(),
        findings: findings::told(report),
        cleared: findings::cleared(report),
        not_asked: findings::not_asked(report),
        not_examined: findings::not_examined(report),
        muted: findings::muted(report),
        switched_off: findings::switched_off(report),
        path: path::path(report),
        operations: operations::operations(report),
        loops: operations::loops(report),
        tasks: tasks::tasks(report),
        tags: tags::tags(report),
        repeated: repeated::repeated(report),
        threads: ledger
            .threads
            .iter()
            .map(|thread| thread_page(facts, thread))
            .collect(),
        processes: ledger.processes.iter().map(process_page).collect(),
        calls: facts
            .calls
            .iter()
            .map(|call| call_page(facts, call))
            .collect(),
        files: facts
            .files
            .iter()
            .map(|file| file_page(facts, file))
            .collect(),
        missing: facts.missing.iter().map(missing_page).collect(),
        starts: facts.starts.iter().map(start_page).collect(),
        stacks: code::stacks(report),
        top: code::top(report.stacks),
    }
}

fn balance(balance: &Balance) -> BalancePage {
    BalancePage {
        ours_ns: balance.ours_ns,
        kernel_ns: balance.kernel_ns,
        difference_pct: balance.difference_pct(),
    }
}

fn books(books: &Books) -> BooksPage {
    BooksPage {
        cpu: balance(&books.cpu),
        ready: balance(&books.ready),
        life: balance(&books.life),
        unaccounted_ns: books.unaccounted_ns,
        unaccounted_pct: books.unaccounted_pct(),
        unchecked: books.unchecked,
    }
}

fn tiling(tiling: &Tiling) -> TilingPage {
    let Tiling {
        spans,
        gaps,
        gap_ns,
        overlaps,
        overlap_ns,
        strays,
        beyond_sums,
        beyond_sums_ns,
    } = *tiling;
    TilingPage {
        spans,
        gaps,
        gap_ns,
        overlaps,
        overlap_ns,
        strays,
        beyond_sums,
        beyond_sums_ns,
    }
}

fn ends(ends: &Ends) -> EndsPage {
    let Ends {
        born_before,
        alive_at_end,
        end_lost,
    } = *ends;
    EndsPage {
        born_before,
        alive_at_end,
        end_lost,
    }
}

fn cost(report: &Report) -> CostPage {
    let whole = &report.facts.ledger.whole;
    CostPage {
        pct_of_wall: report.cost_pct(),
        tracer_ns: whole.tracer_ns,
        tracer_estimated_ns: whole.tracer_estimated_ns,
        start_ns: report.about.cost.start_ns,
        finish_ns: report.about.cost.finish_ns,
        recorder_cpu_ns: report.about.cost.recorder_cpu_ns,
        calls_timed_share: report.about.call_timing_share,
        calls_timed_ns: report.facts.calls_timed_ns,
    }
}

/// By kind; should a kind have several rows, their counts are summed and the last note stands.
fn losses(facts: &Facts) -> BTreeMap<&'static str, LossPage<'_>> {
    let mut losses: BTreeMap<&'static str, LossPage> = BTreeMap::new();
    for loss in &facts.losses {
        let page = losses
            .entry(loss.kind.as_str())
            .or_insert(LossPage { count: 0, note: "" });
        page.count = page.count.saturating_add(loss.count);
        page.note = &loss.note;
    }
    losses
}

fn probes(facts: &Facts) -> Vec<ProbePage<'_>> {
    facts
        .probes
        .iter()
        .map(|probe| ProbePage {
            probe: &probe.probe,
            attached: probe.attached,
            reason: &probe.reason,
            without: &probe.without,
        })
        .collect()
}

fn sums(sums: &Sums) -> SumsPage {
    SumsPage {
        life_ns: sums.life_ns,
        cpu_ns: sums.cpu_ns,
        ready_ns: sums.ready_ns,
        wait_ns: sums.wait_ns,
        tracer_ns: sums.tracer_ns,
        tracer_estimated_ns: sums.tracer_estimated_ns,
        lost_ns: sums.lost_ns,
        taken_ns: sums.taken_ns,
        kernel_cpu_ns: sums.kernel_cpu_ns,
        kernel_ready_ns: sums.kernel_ready_ns,
        kernel_life_ns: sums.kernel_life_ns,
    }
}

fn pid(facts: &Facts, process: ProcessId) -> Option<u32> {
    facts.ledger.process(process).map(|process| process.row.pid)
}

/// What identifies an object to a person, not made harmless: JSON has its own escapes.
fn label(facts: &Facts, id: Option<ObjectId>) -> Option<String> {
    Some(
        facts
            .object(id?)
            .map_or_else(String::new, |object| object.label.clone()),
    )
}

fn thread_page<'a>(facts: &'a Facts, thread: &'a ThreadLedger) -> ThreadPage<'a> {
    let row = &thread.row;
    ThreadPage {
        thread: row.thread.0,
        process: row.process.0,
        pid: pid(facts, row.process),
        tid: row.tid,
        name: &row.name,
        start_ns: row.start.0,
        end_ns: row.end.0,
        born_before: row.born_before,
        alive_at_end: row.alive_at_end,
        end_lost: row.end_lost,
        sums: sums(&thread.sums),
        books: books(&Books::of(&thread.sums)),
        split: split(&thread.split),
        causes: thread
            .causes
            .iter()
            .map(|cause| cause_page(facts, cause))
            .collect(),
        held_by: thread
            .held_by
            .iter()
            .map(|held| behind_page(facts, held))
            .collect(),
        behind: thread
            .behind
            .iter()
            .map(|behind| behind_page(facts, behind))
            .collect(),
        switches_voluntary: row.switches_voluntary,
        switches_involuntary: row.switches_involuntary,
        migrations: row.migrations,
        faults_minor: row.faults_minor,
        faults_major: row.faults_major,
        calls_seen: row.calls_seen,
        nice: row.nice,
        policy: row.policy,
        realtime_priority: row.realtime_priority,
        allowed_processors: row.allowed_processors.as_deref(),
    }
}

fn split(split: &Split) -> SplitPage {
    SplitPage {
        basis: split.basis.word(),
        samples: split.samples,
        user_share: split.user,
    }
}

fn cause_page<'a>(facts: &'a Facts, cause: &Cause) -> CausePage<'a> {
    let key = cause.key;
    CausePage {
        state: key.account.word(),
        detail: key.kind.word(),
        object: label(facts, key.object),
        object_id: key.object.map(|object| object.0),
        function: key.function.map(|id| facts.ledger.function(id)),
        count: cause.count,
        ns: cause.ns,
        estimated: cause.estimated,
    }
}

fn behind_page<'a>(facts: &'a Facts, behind: &Behind) -> BehindPage<'a> {
    let (kind, thread, tid, name) = match behind.who {
        Who::Thread(id) => {
            let row = facts.ledger.thread(id).map(|thread| &thread.row);
            (
                "thread",
                Some(id.0),
                row.map(|row| row.tid),
                row.map(|row| row.name.as_str()),
            )
        }
        Who::Outsider(tid) => ("outsider", None, Some(tid), Some(facts.outsiders.name(tid))),
        Who::Idle => ("idle", None, None, None),
        Who::Unlisted => ("unlisted", None, None, None),
    };
    BehindPage {
        kind,
        thread,
        tid,
        name,
        count: behind.count,
        ns: behind.ns,
    }
}

fn process_page(process: &ProcessLedger) -> ProcessPage<'_> {
    let row = &process.row;
    ProcessPage {
        process: row.process.0,
        pid: row.pid,
        parent: row.parent.map(|parent| parent.0),
        parent_pid: row.parent_pid,
        name: &row.name,
        executable: &row.executable,
        uid: row.uid,
        start_ns: row.start.0,
        end_ns: row.end.0,
        threads: process.threads.len() as u64,
        sums: sums(&process.sums),
    }
}

fn call_page<'a>(facts: &'a Facts, call: &'a CallSum) -> CallPage<'a> {
    CallPage {
        process: call.process.map(|process| process.0),
        pid: call.process.and_then(|process| pid(facts, process)),
        call: &call.call,
        object: label(facts, call.object),
        object_id: call.object.map(|object| object.0),
        count: call.count,
        ns: call.ns,
        bytes: call.bytes,
        errors: call.errors,
        errnos: call
            .errnos
            .iter()
            .map(|(error, count)| (error.as_str(), *count))
            .collect(),
        seen: call.seen,
        estimated: call.estimated,
    }
}

fn file_page<'a>(facts: &'a Facts, file: &FileUse) -> FilePage<'a> {
    let object = facts.object(file.object);
    FilePage {
        object_id: file.object.0,
        path: object.map_or("", |object| object.path.as_deref().unwrap_or(&object.label)),
        filesystem: object.and_then(|object| object.filesystem.as_deref()),
        opened: file.opened,
        bytes_read: file.bytes_read,
        bytes_written: file.bytes_written,
        size: file.size,
        estimated: file.estimated,
    }
}

fn missing_page(missing: &Missing) -> MissingPage<'_> {
    MissingPage {
        path: &missing.path,
        count: missing.count,
        processes: missing.processes,
    }
}

fn step(step: StartStep) -> StepPage {
    StepPage {
        cost_ns: step.cost_ns,
        resident_bytes: step.resident_bytes,
    }
}

fn start_page(start: &Start) -> StartPage<'_> {
    StartPage {
        process: start.process.0,
        pid: start.pid,
        parent: start.parent.map(|parent| parent.0),
        executable: &start.executable,
        arguments: &start.arguments,
        by_vfork: start.by_vfork,
        fork: start.fork.map(step),
        execs: start.execs,
        exec: start.exec.map(step),
        exit: start.exit.map(step),
    }
}
