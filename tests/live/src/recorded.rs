//! A recording as a test looks at it: its JSON report, and its tables.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use serde_json::Value;
use timesink_recording::tables::{Frame, Span, Stack, Thread};
use timesink_recording::words::{Detail, State};
use timesink_recording::{Recording, StackId, TableRow};

use crate::command::{output, Ran};
use crate::timesink;

/// A recording and its report.
pub struct Recorded {
    pub path: PathBuf,
    pub json: Value,
    /// How the command that made it went.
    pub ran: Ran,
}

/// A stack.
pub struct Chain {
    /// The innermost first.
    pub frames: Vec<Rc<Frame>>,
    /// The outermost is where the thread began.
    pub complete: bool,
}

impl Chain {
    pub fn functions(&self) -> Vec<&str> {
        self.frames.iter().map(|f| f.function.as_str()).collect()
    }

    /// Whether these functions call each other without any between them, the innermost first.
    pub fn has(&self, called: &[&str]) -> bool {
        let functions = self.functions();
        functions.windows(called.len()).any(|w| w == called)
    }
}

/// A whole number; a field that is not there is a failure, not a zero.
#[track_caller]
pub fn number(value: &Value, field: &str) -> i64 {
    value[field]
        .as_i64()
        .unwrap_or_else(|| panic!("{field} is not a number in {value}"))
}

/// A length of time in nanoseconds.
#[track_caller]
pub fn ns(value: &Value, field: &str) -> f64 {
    number(value, field) as f64
}

#[track_caller]
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("{field} is not a text in {value}"))
}

/// The lines that are JSON objects, as the test programs print their truths.
pub fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .filter(|l| l.starts_with('{'))
        .filter_map(|l| serde_json::from_str(l).ok())
        .collect()
}

/// The critical path of every recording that tests make tiles the life of its main thread to the nanosecond.
#[track_caller]
fn path_tiles(report: &Value) {
    let Some(path) = report["path"].as_object() else {
        assert_eq!(
            report["main_thread"],
            Value::Null,
            "a main thread without a path"
        );
        return;
    };
    let segments = path["segments"].as_array().expect("segments of the path");
    let sum: i64 = segments.iter().map(|segment| number(segment, "ns")).sum();
    assert_eq!(
        sum,
        number(&report["path"], "wall_ns"),
        "the path does not tile the wall time"
    );
}

/// So do the paths of single operations.
#[track_caller]
fn operations_tile(report: &Value) {
    let sets = report["operations"].as_array().expect("operations");
    let ones = sets
        .iter()
        .flat_map(|set| [&set["median"], &set["slowest"]]);
    for one in ones {
        let causes = one["causes"]
            .as_array()
            .expect("the causes of an operation");
        let sum: i64 = causes.iter().map(|cause| number(cause, "ns")).sum();
        assert_eq!(sum, number(one, "ns"), "the path does not tile: {one}");
    }
}

impl Recorded {
    /// `timesink run` with these options of this command, which has to exit with this code.
    #[track_caller]
    pub fn run(path: &Path, options: &[&str], command: &[&str], code: i32) -> Recorded {
        let mut run = Command::new(timesink());
        run.arg("run")
            .arg("-o")
            .arg(path)
            .args(options)
            .arg("--")
            .args(command);
        let ran = output(&mut run).exits(code);
        Recorded::open(path, ran)
    }

    /// The report of a recording that is there.
    #[track_caller]
    pub fn open(path: &Path, ran: Ran) -> Recorded {
        let report = output(
            Command::new(timesink())
                .arg("report")
                .arg(path)
                .arg("--json"),
        )
        .exits(0);
        let json: Value = serde_json::from_slice(&report.out).expect("the report is not JSON");
        path_tiles(&json);
        operations_tile(&json);
        Recorded {
            path: path.into(),
            json,
            ran,
        }
    }

    pub fn rows<R: TableRow>(&self) -> Vec<R> {
        let recording = Recording::open(&self.path).expect("the recording");
        recording.rows::<R>().expect("a table")
    }

    /// All stacks.
    pub fn chains(&self) -> HashMap<StackId, Chain> {
        let frames = self.rows::<Frame>().into_iter();
        let frames: HashMap<_, _> = frames.map(|f| (f.frame, Rc::new(f))).collect();
        let mut chains: HashMap<StackId, Chain> = HashMap::new();
        for row in self.rows::<Stack>() {
            let mut own = vec![frames[&row.frame].clone()];
            if let Some(caller) = row.parent.and_then(|parent| chains.get(&parent)) {
                own.extend(caller.frames.iter().cloned());
            }
            let chain = Chain {
                frames: own,
                complete: row.complete,
            };
            chains.insert(row.stack, chain);
        }
        chains
    }

    #[track_caller]
    pub fn list(&self, field: &str) -> &[Value] {
        self.json[field]
            .as_array()
            .unwrap_or_else(|| panic!("{field} is no list"))
    }

    /// The recorded thread that had this kernel id.
    #[track_caller]
    pub fn thread(&self, tid: i64) -> &Value {
        let found = self
            .list("threads")
            .iter()
            .find(|t| t["tid"].as_i64() == Some(tid));
        found.unwrap_or_else(|| panic!("no thread {tid} was recorded"))
    }

    /// The causes of a thread with this state and detail: how many spans, and how long.
    pub fn cause(&self, thread: &Value, state: &str, detail: &str) -> (i64, f64) {
        let all = thread["causes"].as_array().into_iter().flatten();
        all.filter(|c| c["state"] == state && c["detail"] == detail)
            .fold((0, 0.0), |(count, sum), c| {
                (count + number(c, "count"), sum + ns(c, "ns"))
            })
    }

    /// What makes these books unsound whatever the load: holes in the tiling, time that no state
    /// accounts for, a kernel's figure far from ours, waits that nothing ended.
    pub fn unsound(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut must = |holds: bool, what: String| {
            if !holds {
                problems.push(what);
            }
        };
        let json = &self.json;
        must(
            json["lost"].as_object().is_some_and(|l| l.is_empty()),
            format!("lost: {}", json["lost"]),
        );
        let unaccounted = json["unaccounted_pct"].as_f64().unwrap_or(100.0);
        must(unaccounted < 0.5, format!("unaccounted: {unaccounted} %"));
        for fault in ["gaps", "overlaps", "strays", "beyond_sums"] {
            must(
                number(&json["tiling"], fault) == 0,
                format!("tiling: {}", json["tiling"]),
            );
        }
        for (book, share, slack) in [("cpu", 0.01, 0.5e6), ("ready", 0.03, 2e6)] {
            let book = (book, &json["books"][book]);
            let (ours, kernel) = (ns(book.1, "ours_ns"), ns(book.1, "kernel_ns"));
            must(
                (ours - kernel).abs() <= kernel * share + slack,
                format!("books: {} {}", book.0, book.1),
            );
        }
        must(
            number(&json["books"], "unchecked") == 0,
            "threads without the kernel's figures".into(),
        );
        let (threads, spans) = (self.rows(), self.rows());
        problems.extend(unwoken(&threads, &spans));
        problems.extend(taken_elsewhere(&threads, &spans));
        problems
    }

    /// What is wrong with the sleeps of a thread that asked for so many, of so much together. A timer may be late, by as much
    /// as the machine does else, and is never early; but what the thread needed from asking to being off its processor is no
    /// wait.
    pub fn sleeps(&self, thread: &Value, times: i64, asked_ns: f64) -> Vec<String> {
        let (count, slept) = self.cause(thread, "wait", "sleep");
        if count == times && slept >= asked_ns - not_waiting(thread) {
            return Vec::new();
        }
        vec![format!(
            "{count} sleeps of {slept} ns, in truth {times} of {asked_ns} and more: {thread}"
        )]
    }

    /// What is wrong with the waits of a kind that took a thread so long by the program's own clock, which counts with them what
    /// it needed before and after. A wait that began before the thread was followed is not the program's: a child waits for
    /// timesink to let it go, in a read from a pipe.
    pub fn waits_by_its_clock(&self, thread: &Value, detail: &str, real_ns: f64) -> Option<String> {
        let ours = self.cause(thread, "wait", detail).1 - self.held_ns(thread, detail);
        let right = (real_ns - not_waiting(thread)..=real_ns).contains(&ours);
        (!right).then(|| {
            let causes = &thread["causes"];
            format!("{detail}: {ours} ns, in truth {real_ns}: {causes}")
        })
    }

    /// How long a thread was in a wait of this kind that had begun before it was followed.
    fn held_ns(&self, thread: &Value, detail: &str) -> f64 {
        let tid = number(thread, "tid") as u32;
        let threads = self.rows::<Thread>();
        let followed = threads.iter().find(|t| t.tid == tid && t.born_before);
        let Some(followed) = followed else {
            return 0.0;
        };
        let spans = self.rows::<Span>();
        let first = spans.iter().find(|s| s.thread == followed.thread);
        let held = first.filter(|s| s.state == State::Wait && s.detail.as_str() == detail);
        held.map_or(0.0, |s| s.t1.since(s.t0) as f64)
    }
}

/// Waits that end within the recording and have nothing that ended them. One in a hundred is let pass: there are kernels
/// that do not tell of wakes by certain processes.
fn unwoken(threads: &[Thread], spans: &[Span]) -> Option<String> {
    let waits = spans.iter().filter(|s| s.state == State::Wait);
    let unwoken: Vec<_> = waits
        .clone()
        // A thread's birth is ended by who makes it, and the last wait of all by nobody.
        .filter(|s| s.wake_source.is_none() && s.detail != Detail::Creation)
        .filter(|s| s.t1 != threads[s.thread.index()].end)
        .collect();
    (unwoken.len() > 2 + waits.count() / 100).then(|| {
        format!(
            "{} waits without what ended them, such as {:?}",
            unwoken.len(),
            unwoken[0]
        )
    })
}

/// What was taken from a thread stands at its runs, but for what is too little for a step and what was taken while it
/// was switched in.
fn taken_elsewhere(threads: &[Thread], spans: &[Span]) -> Option<String> {
    const STEP_NS: u64 = 16_384;
    let wrong = threads.iter().find(|thread| {
        let own = spans.iter().filter(|span| span.thread == thread.thread);
        let (mut at_runs, mut elsewhere) = (0, STEP_NS + thread.tracer_ns);
        for span in own {
            at_runs += span.taken_ns.unwrap_or(0);
            if span.detail == Detail::SwitchingIn {
                elsewhere += span.t1.since(span.t0);
            }
        }
        let whole = thread.taken_ns.unwrap_or(0);
        at_runs > whole || whole - at_runs > elsewhere
    });
    wrong.map(|thread| format!("not all that was taken stands at runs: {thread:?}"))
}

/// What a thread did besides waiting.
fn not_waiting(thread: &Value) -> f64 {
    let sums = ["cpu_ns", "tracer_ns", "ready_ns"];
    sums.iter().map(|sum| ns(thread, sum)).sum()
}
