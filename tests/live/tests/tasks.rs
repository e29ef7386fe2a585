//! Whose work threads do: goroutines, by their first functions, held against the stacks of the same moments.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use timesink_live::{attempts, build_go, go_tools, none_of, Chain, Folder, Recorded};
use timesink_recording::tables::{Sample, Task, TaskSight, TaskTurn, Wait};
use timesink_recording::words::{Detail, Language, TaskState};
use timesink_recording::{Nanos, StackId, TaskId, ThreadId};

/// Of what has a stack, so much is at work for the task that the stack began with.
const RIGHT: f64 = 0.98;

/// The first functions of the program's own goroutines.
const STARTED: [&str; 4] = [
    "main.spinner",
    "main.flusher",
    "main.sleeper",
    "main.forwarder",
];

/// What was recorded of tasks.
struct Seen {
    chains: HashMap<StackId, Chain>,
    tasks: HashMap<TaskId, Task>,
    turns: BTreeMap<ThreadId, Vec<TaskTurn>>,
}

impl Seen {
    fn of(recorded: &Recorded) -> Seen {
        let mut turns: BTreeMap<ThreadId, Vec<TaskTurn>> = BTreeMap::new();
        for turn in recorded.rows::<TaskTurn>() {
            turns.entry(turn.thread).or_default().push(turn);
        }
        for turns in turns.values_mut() {
            turns.sort_by_key(|turn| turn.t0);
        }
        let tasks = recorded.rows::<Task>().into_iter();
        Seen {
            chains: recorded.chains(),
            tasks: tasks.map(|task| (task.task, task)).collect(),
            turns,
        }
    }

    /// The task's first function, under where it was started.
    fn began(&self, task: &Task) -> Vec<&str> {
        let chain = task.stack.and_then(|stack| self.chains.get(&stack));
        chain.map_or(Vec::new(), Chain::functions)
    }

    /// Which of the program's goroutines a thread was at work for; none before it was seen at all, or for another.
    fn at_work(&self, thread: ThreadId, at: Nanos) -> Option<usize> {
        let turns = self.turns.get(&thread)?;
        let begun = turns.partition_point(|turn| turn.t0 <= at);
        let turn = turns.get(begun.checked_sub(1)?)?;
        started(self.began(self.tasks.get(&turn.task?)?).first()?)
    }

    /// Which of the program's goroutines a stack began as.
    fn began_as(&self, stack: Option<StackId>) -> Option<usize> {
        let functions = self.chains.get(&stack?)?.functions();
        let outer = functions.iter().rev().find(|f| **f != "runtime.goexit")?;
        started(outer)
    }
}

/// Which of them a function is the first of. What passes arguments on to it has a number: gowrap2, or func2 in older versions.
fn started(function: &str) -> Option<usize> {
    let named = STARTED.iter().position(|name| *name == function);
    named.or_else(|| {
        let wrapper = function.strip_prefix("main.main.")?;
        let number = wrapper.trim_start_matches(|c: char| !c.is_ascii_digit());
        number.parse::<usize>().ok()?.checked_sub(1)
    })
}

/// What is wrong with tasks of this program.
fn problems(built: &Path) -> Vec<String> {
    let folder = Folder::new("tasks");
    let command = [built.to_str().unwrap(), folder.path().to_str().unwrap()];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let seen = Seen::of(&recorded);
    let mut problems = Vec::new();
    for (which, count) in [3, 1, 1, 50].into_iter().enumerate() {
        let name = STARTED[which];
        let told = seen.tasks.values().filter(|task| {
            let began = seen.began(task).first().copied();
            began.and_then(started) == Some(which)
        });
        // A forwarder that never happens to be sampled, or to make a call, is not seen.
        let told = told.count();
        let least = if count == 50 { 1 } else { count };
        if told < least || told > count {
            problems.push(format!("{told} goroutines began with {name}, not {count}"));
        }
    }
    problems.extend(held_against_stacks(&recorded, &seen));
    problems.extend(parked(&seen));
    problems.extend(left_with_their_callers(&seen));
    let waits = recorded.rows::<Wait>();
    for (detail, which) in [(Detail::Flush, 1), (Detail::Sleep, 2)] {
        let name = STARTED[which];
        let own = waits.iter().filter(|wait| {
            let stack = wait.stack.and_then(|stack| seen.chains.get(&stack));
            wait.detail == detail && stack.is_some_and(|chain| chain.functions().contains(&name))
        });
        let (mut right, mut all) = (0, 0);
        for wait in own {
            all += 1;
            right += usize::from(seen.at_work(wait.thread, wait.t0) == Some(which));
        }
        if all == 0 || right < all {
            problems.push(format!("{right} of {all} waits of {name} are its own"));
        }
    }
    problems
}

/// Who waits in the runtime was left where goroutines give themselves up; the forwarders do little else.
fn parked(seen: &Seen) -> Option<String> {
    let turns = seen.turns.values().flatten();
    let waiting = turns.filter(|turn| turn.left == Some(TaskState::Waiting));
    let (mut right, mut all) = (0, 0);
    for turn in waiting {
        let chain = turn.left_at.and_then(|stack| seen.chains.get(&stack));
        let innermost = chain.and_then(|chain| chain.functions().first().copied());
        all += 1;
        right += usize::from(innermost == Some("runtime.gopark"));
    }
    (all == 0 || right < all).then(|| format!("{right} of {all} that wait are parked"))
}

/// Where one was left has all its callers, up to the function that it began with. It had six, which did not reach that of most.
fn left_with_their_callers(seen: &Seen) -> Option<String> {
    let turns = seen.turns.values().flatten();
    let waiting = turns.filter(|turn| turn.left == Some(TaskState::Waiting));
    let own = waiting.filter_map(|turn| {
        let task = seen.tasks.get(&turn.task?)?;
        let which = started(seen.began(task).first()?)?;
        Some(seen.began_as(turn.left_at) == Some(which))
    });
    let own: Vec<bool> = own.collect();
    let right = own.iter().filter(|right| **right).count();
    let enough = !own.is_empty() && right as f64 >= own.len() as f64 * RIGHT;
    (!enough).then(|| format!("{right} of {} were left with their callers", own.len()))
}

/// What a stack began as is what its thread was at work for.
fn held_against_stacks(recorded: &Recorded, seen: &Seen) -> Option<String> {
    let samples = recorded.rows::<Sample>().into_iter();
    let samples = samples.map(|row| (row.thread, row.t, row.stack));
    let (mut right, mut all) = (0u32, 0u32);
    let mut wrong: BTreeMap<(usize, Option<usize>), u32> = BTreeMap::new();
    for (thread, t, stack) in samples {
        let (Some(began), Some(turns)) = (seen.began_as(stack), seen.turns.get(&thread)) else {
            continue;
        };
        if turns.first().is_none_or(|turn| turn.t0 > t) {
            continue;
        }
        all += 1;
        match seen.at_work(thread, t) {
            Some(told) if told == began => right += 1,
            told => *wrong.entry((began, told)).or_default() += 1,
        }
    }
    let enough = all > 100 && f64::from(right) >= f64::from(all) * RIGHT;
    (!enough).then(|| format!("{right} of {all} samples are of the task they began as: {wrong:?}"))
}

/// Each wait and each sample is of the goroutine that its stack began with, whichever build of whichever Go.
#[test]
fn goroutines_have_their_work() {
    for go in go_tools() {
        for options in [&[][..], &["-ldflags=-s -w"], &["-buildmode=pie"]] {
            let folder = Folder::new("tasks-build");
            let built = build_go(&go, "tasks.go", &folder, options);
            attempts(|| {
                let problems = problems(&built);
                none_of(&problems).map_err(|e| format!("{} {options:?}: {e}", go.display()))
            });
        }
    }
}

/// What is wrong with goroutines that only wait: no thread is ever at work for most of them.
fn problems_of_waiting(built: &Path) -> Vec<String> {
    let folder = Folder::new("waiting");
    let command = [built.to_str().unwrap()];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let chains = recorded.chains();
    let waiting = recorded.rows::<TaskSight>().into_iter();
    let waiting = waiting.filter(|sight| sight.state == TaskState::Waiting);
    let mut seen: BTreeMap<&str, HashSet<TaskId>> = BTreeMap::new();
    for sight in waiting {
        let chain = sight.stack.and_then(|stack| chains.get(&stack));
        let functions = chain.map_or(Vec::new(), Chain::functions);
        for name in ["main.locker", "main.receiver", "main.waiter"] {
            if functions.first() == Some(&"runtime.gopark") && functions.contains(&name) {
                seen.entry(name).or_default().insert(sight.task);
            }
        }
    }
    let counts: Vec<usize> = seen.values().map(HashSet::len).collect();
    match counts.as_slice() {
        [60, 60, 60] => Vec::new(),
        _ => vec![format!(
            "{counts:?} goroutines were found waiting, not 60 of each"
        )],
    }
}

#[test]
fn goroutines_that_only_wait_are_found() {
    for go in go_tools() {
        for options in [&[][..], &["-ldflags=-s -w"], &["-buildmode=pie"]] {
            let folder = Folder::new("waiting-build");
            let built = build_go(&go, "waiting.go", &folder, options);
            attempts(|| {
                let problems = problems_of_waiting(&built);
                none_of(&problems).map_err(|e| format!("{} {options:?}: {e}", go.display()))
            });
        }
    }
}

/// Goroutines that send to a channel that nobody reads any more are told, and none where there is room in the channel.
#[test]
fn goroutines_that_never_go_on_are_told() {
    let folder = Folder::new("leaking");
    let go = go_tools().remove(0);
    let built = build_go(&go, "leaking.go", &folder, &[]);
    let stuck = |how: &str| {
        let folder = Folder::new("leaking-run");
        let command = [built.to_str().unwrap(), how];
        let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
        recorded.json["tasks"]["stuck"].clone()
    };
    attempts(|| {
        let (slow, fixed) = (stuck("slow"), stuck("fixed"));
        let one = slow
            .as_array()
            .filter(|all| all.len() == 1)
            .map(|all| &all[0]);
        let is_it = one.is_some_and(|one| {
            let functions = one["functions"].as_array().expect("functions");
            let names = functions.iter().map(|f| f["function"].as_str());
            // 84 requests time out; the last ones have not waited for long.
            let count = one["count"].as_u64().expect("a count");
            one["waits_for"] == "channel send"
                && (30..=84).contains(&count)
                && names.flatten().any(|name| name == "main.handle.func1")
        });
        match is_it && fixed.as_array().is_some_and(Vec::is_empty) {
            true => Ok(()),
            false => Err(format!("told {slow}, and {fixed} of the fixed form")),
        }
    });
}

/// Where C makes Go's threads, what its registers hold before Go's code runs was taken for goroutines: of numbers such as
/// 140726717438448, without a name.
#[test]
fn threads_that_c_makes_begin_without_goroutines() {
    let folder = Folder::new("threads-of-c");
    let go = go_tools().remove(0);
    let built = build_go(&go, "threads_of_c.go", &folder, &[]);
    let command = [built.to_str().unwrap()];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let numbers: Vec<u64> = recorded
        .rows::<Task>()
        .into_iter()
        .map(|task| task.number)
        .collect();
    // Those of Go's own have the first numbers.
    assert!(numbers.len() >= 12, "{numbers:?}");
    assert!(numbers.iter().all(|number| *number < 1000), "{numbers:?}");
}

/// A program that a later Go built than any that is known has no tasks, and stacks all the same.
#[test]
fn a_later_go_has_no_tasks() {
    let folder = Folder::new("no-tasks");
    let go = go_tools().remove(0);
    let built = build_go(&go, "tasks.go", &folder, &[]);
    let mut bytes = std::fs::read(&built).expect("the program");
    let head = b"\xff Go buildinf:";
    let at = bytes.windows(head.len()).position(|part| part == head);
    let at = at.expect("it says what built it") + 33;
    assert_eq!(&bytes[at..at + 4], b"go1.");
    bytes[at + 4..at + 6].copy_from_slice(b"99");
    std::fs::write(&built, bytes).expect("the program of a later Go");
    let path = built.to_str().unwrap();
    let command = [path, folder.path().to_str().unwrap()];
    let recorded = Recorded::run(&folder.join("later.timesink"), &["-q"], &command, 0);
    assert!(recorded.rows::<Task>().is_empty() && recorded.rows::<TaskTurn>().is_empty());
    let native = recorded.chains().into_values();
    let mut frames = native.flat_map(|chain| chain.frames);
    assert!(frames.any(|frame| frame.language != Language::Kernel));
}
