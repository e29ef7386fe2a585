//! The Firefox Profiler's processed profile, in version 46 of that format, which it reads and
//! brings up to date by itself.
//!
//! Samples weigh what they stand for, in milliseconds; waits are samples at their start, in a
//! category of their own, so that the flame graph and the tree have both. What has no stack comes at the
//! end of its thread.

use std::collections::BTreeMap;

use serde_json::{json, Value};
use timesink_analysis::ledger::{Account, ThreadLedger};
use timesink_analysis::stacks::FunctionIx;
use timesink_recording::words::Language;

use super::{missing, waiting, Export};

/// Indices into the categories below.
const USER: usize = 0;
const KERNEL: usize = 1;
const WAIT: usize = 2;
const MISSING: usize = 3;

pub(super) fn profile(export: &Export) -> Value {
    let category = |name, color| json!({"name": name, "color": color, "subcategories": ["Other"]});
    let threads: Vec<Value> = export
        .threads()
        .map(|thread| page(export, thread))
        .collect();
    json!({
        "meta": {
            "version": 24,
            "preprocessedProfileVersion": 46,
            "processType": 0,
            "product": export.about.command.join(" "),
            "importedFrom": "timesink",
            "oscpu": format!("Linux {}", export.about.architecture),
            "startTime": export.about.started_unix_ns as f64 / 1e6,
            "interval": 1.0,
            "symbolicated": true,
            "debug": false,
            "stackwalk": 1,
            "categories": [
                category("User", "yellow"),
                category("Kernel", "orange"),
                category("Waiting", "blue"),
                category("No stack", "grey"),
            ],
            "markerSchema": [],
            "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
            "usesOnlyOneStackType": true,
            "doesNotUseFrameImplementation": true,
            "sourceCodeIsNotOnSearchfox": true,
        },
        "libs": [],
        "threads": threads,
        "pages": [],
        "counters": [],
    })
}

/// Texts by number.
#[derive(Default)]
struct StringArray {
    ids: BTreeMap<String, usize>,
    all: Vec<String>,
}

impl StringArray {
    fn id(&mut self, text: &str) -> usize {
        let next = self.all.len();
        let id = *self.ids.entry(text.to_owned()).or_insert(next);
        if id == next {
            self.all.push(text.to_owned());
        }
        id
    }
}

/// A function with its file, and a frame: a function at a line.
type Func = (usize, Option<usize>);

/// A thread's tables under way. Each has a list of rows, and the numbers of those that are there.
#[derive(Default)]
struct ThreadTables {
    strings: StringArray,
    func_ids: BTreeMap<Func, usize>,
    funcs: Vec<Func>,
    frame_ids: BTreeMap<(usize, Option<u32>, usize), usize>,
    frames: Vec<(usize, Option<u32>, usize)>,
    stack_ids: BTreeMap<(Option<usize>, usize), usize>,
    stacks: Vec<(Option<usize>, usize)>,
}

/// The number of a row that is there, or that is added now.
fn number<T: Ord + Clone>(ids: &mut BTreeMap<T, usize>, rows: &mut Vec<T>, row: T) -> usize {
    let next = rows.len();
    let id = *ids.entry(row.clone()).or_insert(next);
    if id == next {
        rows.push(row);
    }
    id
}

impl ThreadTables {
    /// The stack with one more frame.
    fn push(
        &mut self,
        prefix: Option<usize>,
        (name, file, line): (&str, &str, Option<u32>),
        category: usize,
    ) -> usize {
        let name = self.strings.id(name);
        let file = (!file.is_empty()).then(|| self.strings.id(file));
        let func = number(&mut self.func_ids, &mut self.funcs, (name, file));
        let frame = (func, line, category);
        let frame = number(&mut self.frame_ids, &mut self.frames, frame);
        number(&mut self.stack_ids, &mut self.stacks, (prefix, frame))
    }

    fn of<T>(rows: &[T], cell: impl Fn(&T) -> Value) -> Vec<Value> {
        rows.iter().map(cell).collect()
    }

    /// The tables in the profile's columns.
    fn columns(&self) -> [(&'static str, Value); 5] {
        let (funcs, frames, stacks) = (&self.funcs, &self.frames, &self.stacks);
        let all = |count: usize, value: Value| vec![value; count];
        let category = |frame: usize| self.frames.get(frame).map_or(MISSING, |row| row.2);
        let (f, r) = (funcs.len(), frames.len());
        [
            (
                "stackTable",
                json!({
                    "length": stacks.len(),
                    "prefix": Self::of(stacks, |row| json!(row.0)),
                    "frame": Self::of(stacks, |row| json!(row.1)),
                    "category": Self::of(stacks, |row| json!(category(row.1))),
                    "subcategory": all(stacks.len(), json!(0)),
                }),
            ),
            (
                "frameTable",
                json!({
                    "length": r,
                    "address": all(r, json!(-1)),
                    "inlineDepth": all(r, json!(0)),
                    "category": Self::of(frames, |row| json!(row.2)),
                    "subcategory": all(r, json!(0)),
                    "func": Self::of(frames, |row| json!(row.0)),
                    "nativeSymbol": all(r, Value::Null),
                    "innerWindowID": all(r, Value::Null),
                    "implementation": all(r, Value::Null),
                    "line": Self::of(frames, |row| json!(row.1)),
                    "column": all(r, Value::Null),
                }),
            ),
            (
                "funcTable",
                json!({
                    "length": f,
                    "name": Self::of(funcs, |row| json!(row.0)),
                    "isJS": all(f, json!(false)),
                    "relevantForJS": all(f, json!(false)),
                    "resource": all(f, json!(-1)),
                    "fileName": Self::of(funcs, |row| json!(row.1)),
                    "lineNumber": all(f, Value::Null),
                    "columnNumber": all(f, Value::Null),
                }),
            ),
            (
                "resourceTable",
                json!({"length": 0, "lib": [], "name": [], "host": [], "type": []}),
            ),
            (
                "nativeSymbols",
                json!({
                    "length": 0, "libIndex": [], "address": [], "name": [], "functionSize": [],
                }),
            ),
        ]
    }
}

/// One thread.
fn page(export: &Export, thread: &ThreadLedger) -> Value {
    let (process, pid) = export.process(thread);
    let row = &thread.row;
    let ms = |ns: i64| ns as f64 / 1e6;
    let mut tables = ThreadTables::default();
    let (mut stacks, mut times, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    // On a processor since the row before, which is what draws the curve of each thread.
    let mut on_cpu = Vec::new();
    for event in export.events(row.thread) {
        let frames: Vec<_> = export.stacks.code.frames_of(event.stack).collect();
        let mut stack = None;
        for (frame, function) in frames.into_iter().rev() {
            let (file, line) = frame.map_or(("", None), |(_, f)| (f.file.as_str(), f.line));
            let name = export.function(function);
            stack = Some(tables.push(stack, (&name, file, line), category(export, function)));
        }
        if let Some(name) = waiting(event) {
            stack = Some(tables.push(stack, (&name, "", None), WAIT));
        }
        stacks.push(json!(stack));
        times.push(ms(event.at.0));
        weights.push(event.ns as f64 / 1e6);
        let is_cpu = event.account == Account::Cpu;
        on_cpu.push(if is_cpu { event.ns } else { 0 });
    }
    for rest in export.rests(row.thread) {
        let kind = match rest.missing.account() {
            Account::Wait => WAIT,
            _ => MISSING,
        };
        stacks.push(json!(tables.push(
            None,
            (&missing(rest.missing), "", None),
            kind
        )));
        times.push(ms(row.end.0).max(times.last().copied().unwrap_or(0.0)));
        weights.push(rest.ns as f64 / 1e6);
        on_cpu.push(0);
    }
    let none: [Value; 0] = [];
    let mut page = json!({
        "processType": "default",
        "processName": process,
        "processStartupTime": 0.0,
        "processShutdownTime": Value::Null,
        "registerTime": ms(row.start.0),
        "unregisterTime": ms(row.end.0),
        "pausedRanges": none,
        "name": row.name,
        "isMainThread": row.tid == pid,
        "pid": pid.to_string(),
        "tid": row.tid.to_string(),
        "samples": {
            "length": stacks.len(),
            "stack": stacks,
            "time": times,
            "weight": weights,
            "weightType": "tracing-ms",
            "threadCPUDelta": on_cpu,
        },
        "markers": {
            "length": 0, "data": none, "name": none, "startTime": none, "endTime": none,
            "phase": none, "category": none,
        },
    });
    for (name, table) in tables.columns() {
        page[name] = table;
    }
    page["stringArray"] = json!(tables.strings.all);
    page
}

fn category(export: &Export, function: FunctionIx) -> usize {
    match export.stacks.code.function(function).language {
        Language::Kernel => KERNEL,
        _ => USER,
    }
}
