//! Python: its functions, files and lines among the native frames, with every version that is here.

use std::collections::HashMap;
use std::path::Path;

use timesink_live::{attempts, none_of, python, root, Chain, Folder, Recorded, PYTHON, PYTHONS};
use timesink_recording::tables::{Frame, Module, Sample, Thread, Wait};
use timesink_recording::words::{Detail, Language, ModuleKind, SymbolSource};
use timesink_recording::{StackId, ThreadId};

/// The last part of a name: `method` of `Thing.method`, which versions before 3.11 do not know.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The names of the Python frames, the innermost first.
fn names(chain: &Chain) -> Vec<&str> {
    let python = chain
        .frames
        .iter()
        .filter(|f| f.language == Language::Python);
    python.map(|f| last(&f.function)).collect()
}

/// Whether native frames stand between these two functions.
fn native_between(chain: &Chain, inner: &str, outer: &str) -> bool {
    let frames = &chain.frames;
    let place = |name: &str| frames.iter().position(|f| last(&f.function) == name);
    match (place(inner), place(outer)) {
        (Some(inner), Some(outer)) if inner < outer => frames[inner + 1..outer]
            .iter()
            .any(|f| f.language == Language::Native),
        _ => false,
    }
}

/// What each part of the program runs, and how many of its samples must be seen at least.
const PARTS: [&[&str]; 4] = [
    &["spin", "on_cpu", "c", "b", "a", "body"],
    &["spin", "key", "called_back", "c", "b", "a", "body"],
    &["spin", "numbers", "generated", "c", "b", "a", "body"],
    &["spin", "method", "c", "b", "a", "body"],
];
const ENOUGH: usize = 30;

struct Seen {
    chains: HashMap<StackId, Chain>,
    samples: Vec<Sample>,
    waits: Vec<Wait>,
    /// The line that sleeps.
    line: u32,
    /// Python calls Python without a call in C.
    direct: bool,
}

impl Seen {
    /// What is wrong with the stacks of one thread, whose outermost function in Python is this one.
    fn problems(&self, thread: ThreadId, outermost: &str) -> Vec<String> {
        let mut problems = Vec::new();
        let samples = self.samples.iter().filter(|s| s.thread == thread);
        let all: Vec<&Chain> = samples.filter_map(|s| self.chains.get(&s.stack?)).collect();
        for part in PARTS {
            let found = all.iter().filter(|c| names(c).starts_with(part));
            let found: Vec<_> = found.collect();
            if found.len() < ENOUGH {
                problems.push(format!("{part:?}: {} samples", found.len()));
            }
            let ends = |chain: &&&&Chain| names(chain).last() == Some(&outermost);
            if found.iter().filter(ends).count() != found.len() {
                problems.push(format!("{part:?}: not all begin in {outermost}"));
            }
            let called_back = found
                .iter()
                .all(|c| native_between(c, "key", "called_back"));
            if part.contains(&"key") && !called_back {
                problems.push("no native frame between sorted and its key".into());
            }
            if self.direct && found.iter().any(|c| native_between(c, "c", "a")) {
                problems.push(format!("{part:?}: native frames between functions"));
            }
        }
        let asleep = ["asleep", "c", "b", "a", "body"];
        let waits = self.waits.iter().filter(|w| w.thread == thread);
        let mut sleeps = waits
            .filter(|w| w.detail == Detail::Sleep)
            .filter_map(|w| self.chains.get(&w.stack?));
        let right = |chain: &Chain| {
            let mut python = chain
                .frames
                .iter()
                .filter(|f| f.language == Language::Python);
            names(chain).starts_with(&asleep)
                && python.next().and_then(|f| f.line) == Some(self.line)
        };
        if !sleeps.any(right) {
            problems.push("no sleep in the line that sleeps".into());
        }
        problems
    }
}

/// What is wrong with the frames of Python, whatever stacks they are in.
fn misplaced(frames: &[Frame], modules: &[Module], script: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    let python = frames.iter().filter(|f| f.language == Language::Python);
    for frame in python {
        let module = frame.module.map(|id| &modules[id.index()]);
        let right = module.is_some_and(|m| {
            m.kind == ModuleKind::Script
                && m.symbols == SymbolSource::Runtime
                && m.path == frame.file
        });
        if !right || frame.function.is_empty() {
            problems.push(format!("{frame:?} is in {module:?}"));
        }
    }
    let ours = |f: &&Frame| Path::new(&f.file) == script && f.line.is_some();
    if frames.iter().filter(ours).count() < 8 {
        problems.push(format!("few frames of {}", script.display()));
    }
    problems
}

fn problems_with(python: &Path, version: &str) -> Vec<String> {
    let folder = Folder::new("python");
    let script = root().join("tests/live/programs/stacks.py");
    let script = script.canonicalize().expect("the script");
    let text = std::fs::read_to_string(&script).expect("the script");
    let line = text
        .lines()
        .position(|l| l.contains("# the line that waits"));
    let command = [python.to_str().unwrap(), script.to_str().unwrap()];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let frames = recorded.rows::<Frame>();
    let seen = Seen {
        chains: recorded.chains(),
        samples: recorded.rows::<Sample>(),
        waits: recorded.rows::<Wait>(),
        line: line.expect("the line") as u32 + 1,
        direct: version.len() == 4 && version > "3.10",
    };
    let threads = recorded.rows::<Thread>();
    let first = threads[0].thread;
    let other = threads
        .iter()
        .find(|t| t.process == threads[0].process && t.thread != first);
    let mut problems = misplaced(&frames, &recorded.rows::<Module>(), &script);
    problems.extend(seen.problems(first, "<module>"));
    match other {
        Some(other) => problems.extend(seen.problems(other.thread, "_bootstrap")),
        None => problems.push("there is no other thread".into()),
    }
    problems
}

/// Functions of Python on a processor, asleep, called back from C, in a generator and in a method, of the first
/// thread and of another: whole chains in the right order, with their lines.
#[test]
fn functions_of_python() {
    for version in PYTHONS {
        let Some(python) = python(version) else {
            assert_ne!(version, PYTHON, "apt-get install python3");
            continue;
        };
        attempts(|| {
            let problems = problems_with(&python, version);
            none_of(&problems).map_err(|e| format!("{}: {e}", python.display()))
        });
    }
}

/// A child that is forked, without executing anything, is a Python from its first moment.
#[test]
fn forked_children() {
    attempts(|| {
        let python = python(PYTHON).expect("apt-get install python3");
        let program = "import os, time\n\
            def child():\n    end = time.perf_counter() + 0.01\n    while time.perf_counter() < end: pass\n\
            time.sleep(0.1)\n\
            for i in range(20):\n    pid = os.fork()\n    if pid == 0:\n        child()\n        os._exit(0)\n    os.waitpid(pid, 0)\n";
        let folder = Folder::new("forked");
        let command = [python.to_str().unwrap(), "-c", program];
        let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
        let chains = recorded.chains();
        let threads = recorded.rows::<Thread>();
        let samples = recorded.rows::<Sample>();
        let of_children = samples.iter().filter(|s| s.thread != threads[0].thread);
        let of_children: Vec<_> = of_children.filter(|s| !s.kernel).collect();
        let right = |s: &&&Sample| {
            let chain = s.stack.and_then(|stack| chains.get(&stack));
            chain.is_some_and(|chain| names(chain) == ["child", "<module>"])
        };
        let count = of_children.iter().filter(right).count();
        let mut problems = Vec::new();
        if count < 50 || count * 10 < of_children.len() * 9 {
            problems.push(format!(
                "{count} of {} samples are in child",
                of_children.len()
            ));
        }
        none_of(&problems)
    });
}
