//! Stacks: the functions that a program is in, by their names, on a processor and in every kind of wait.

use std::collections::HashMap;

use timesink_live::{attempts, none_of, program, Folder, Recorded};
use timesink_recording::tables::{Sample, Thread, Wait};
use timesink_recording::words::Detail;
use timesink_recording::{StackId, ThreadId};

/// Functions, the innermost first, and whether the outermost is where the thread began.
struct Chain(Vec<String>, bool);

impl Chain {
    /// Whether these functions call each other without any between them.
    fn has(&self, called: &[&str]) -> bool {
        self.0
            .windows(called.len())
            .any(|w| w.iter().zip(called).all(|(is, should)| is == should))
    }
}

fn chains(recorded: &Recorded) -> HashMap<StackId, Chain> {
    let mut chains = HashMap::new();
    let functions: HashMap<_, _> = recorded
        .rows::<timesink_recording::tables::Frame>()
        .into_iter()
        .map(|f| (f.frame, f.function))
        .collect();
    for row in recorded.rows::<timesink_recording::tables::Stack>() {
        let mut chain = vec![functions[&row.frame].clone()];
        if let Some(Chain(callers, _)) = row.parent.and_then(|parent| chains.get(&parent)) {
            chain.extend(callers.iter().cloned());
        }
        chains.insert(row.stack, Chain(chain, row.complete));
    }
    chains
}

/// The kinds of wait, each with the function that waits.
const WAITS: [(Detail, &str); 7] = [
    (Detail::Sleep, "in_sleep"),
    (Detail::PipeRead, "in_pipe"),
    (Detail::UnixReceive, "in_socket"),
    (Detail::Poll, "in_poll"),
    (Detail::Child, "in_child"),
    (Detail::Condition, "in_condition"),
    (Detail::Flush, "in_flush"),
];

/// What is wrong with the stacks of one thread that ran `outer`, called by this function.
fn problems_of(
    thread: ThreadId,
    name: &str,
    recorded: &Recorded,
    chains: &HashMap<StackId, Chain>,
) -> Vec<String> {
    let mut problems = Vec::new();
    let waits = recorded.rows::<Wait>();
    for (detail, function) in WAITS {
        // Sleep is slept by sleep_ms, which the compiler may have inlined.
        let expected = [function, "middle", "outer", name];
        let found = waits
            .iter()
            .filter(|w| w.thread == thread && w.detail == detail)
            .filter_map(|w| chains.get(&w.stack?))
            .collect::<Vec<_>>();
        match found.iter().find(|chain| chain.has(&expected)) {
            Some(chain) if chain.1 => {}
            Some(chain) => problems.push(format!("{detail}: not complete: {:?}", chain.0)),
            None => {
                let all: Vec<_> = found.iter().map(|chain| &chain.0).collect();
                problems.push(format!("{detail}: {expected:?} is not in {all:?}"));
            }
        }
    }
    let samples = recorded.rows::<Sample>();
    let own: Vec<_> = samples.iter().filter(|s| s.thread == thread).collect();
    let in_cpu = own
        .iter()
        .filter_map(|s| chains.get(&s.stack?))
        .filter(|chain| chain.1 && chain.has(&["in_cpu", "middle", "outer", name]))
        .count();
    if in_cpu * 10 < own.len() * 9 || in_cpu < 50 {
        problems.push(format!("{in_cpu} of {} samples are in in_cpu", own.len()));
    }
    problems
}

/// A leaf called through known functions, on a processor and blocked in each kind of wait, without
/// frame pointers, in the first thread and in another.
#[test]
fn of_known_functions() {
    attempts(|| {
        let folder = Folder::new("stacks");
        let path = program("stacks");
        let command = [path.to_str().unwrap(), folder.path().to_str().unwrap()];
        let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
        let chains = chains(&recorded);
        let threads = recorded.rows::<Thread>();
        let first = threads[0].thread;
        let other = threads
            .iter()
            .find(|t| t.process == threads[0].process && t.thread != first)
            .map(|t| t.thread);
        let mut problems = problems_of(first, "main", &recorded, &chains);
        match other {
            Some(other) => {
                problems.extend(problems_of(other, "thread_main", &recorded, &chains));
            }
            None => problems.push("there is no other thread".into()),
        }
        none_of(&problems)
    });
}

/// The samples of a thread weigh what it ran: no time on a processor is left out or told twice.
#[test]
fn samples_weigh_what_threads_ran() {
    let folder = Folder::new("weights");
    let path = program("stacks");
    let command = [path.to_str().unwrap(), folder.path().to_str().unwrap()];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let samples = recorded.rows::<Sample>();
    for thread in recorded.rows::<Thread>() {
        let weights: Vec<u64> = samples
            .iter()
            .filter(|s| s.thread == thread.thread)
            .filter_map(|s| s.weight_ns)
            .collect();
        let sum: u64 = weights.iter().sum();
        assert!(
            weights.is_empty() || sum.abs_diff(thread.cpu_ns) < 1_000 + thread.cpu_ns / 1000,
            "{sum} of {} ns",
            thread.cpu_ns
        );
    }
}
