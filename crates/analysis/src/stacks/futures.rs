//! What stacks tell of tasks of tokio. tokio keeps no address of what a task begins with: it is the function that is called right below the
//! part of tokio that polls, in the stacks of the time in which threads polled the task, those of calls among them. Those in which it runs
//! its own threads are tasks, too, and are no work of the program's.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{TaskId, ThreadId};
use timesink_recording::tables::{Task, TaskTurn};
use timesink_recording::words::TaskKind;

use super::crates::crate_of;
use super::{Code, FunctionIx, Spot, StackIx, Stacks};

/// Where tokio polls tasks: as its functions are named, and the files of those that are named without that.
const POLLS: [&str; 3] = [
    "tokio::runtime::task::",
    "<tokio::runtime::task::core::Core<",
    "<tokio::runtime::task::harness::Harness<",
];
const POLLING: [&str; 3] = [
    "/src/runtime/task/core.rs",
    "/src/runtime/task/harness.rs",
    "/src/runtime/task/raw.rs",
];
/// The same of what runs on each of its own threads.
const SCHEDULER: &str = "tokio::runtime::scheduler::multi_thread";
const WORKER: &str = "tokio::runtime::scheduler::multi_thread::worker::";
const SCHEDULING: &str = "/src/runtime/scheduler/multi_thread";
/// Where a thread of its own waits for what comes next, which without any I/O is the next timer.
const PARKS: [&str; 3] = [
    "tokio::runtime::park::",
    "tokio::runtime::scheduler::multi_thread::park::",
    "tokio::runtime::scheduler::current_thread::Context::park",
];
const PARKING: [&str; 2] = ["/src/runtime/park.rs", "/multi_thread/park.rs"];
/// Crates whose futures hold one of somebody else and do nothing but poll it, and what every program has.
const HOLDERS: [&str; 11] = [
    "alloc",
    "async-trait",
    "core",
    "futures",
    "futures-core",
    "futures-util",
    "std",
    "tokio",
    "tokio-util",
    "tracing",
    "tracing-futures",
];

/// Tasks of tokio, as stacks tell of them.
#[derive(Clone, Debug, Default)]
pub struct Futures {
    /// The first function of each, as far as it is known.
    pub first: FxHashMap<TaskId, FunctionIx>,
    /// What runs tokio's own threads.
    pub schedulers: FxHashSet<TaskId>,
}

/// What a stack tells of the task that is polled in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Polled {
    Scheduler,
    /// Its first function, and whether that is one that holds no other future.
    Function(FunctionIx, bool),
}

impl Futures {
    /// Of these tasks, of which the turns of all threads are given, in any order.
    pub fn of<'t>(
        rows: &[Task],
        turns: impl IntoIterator<Item = &'t TaskTurn>,
        stacks: &Stacks,
    ) -> Futures {
        let futures = rows.iter().filter(|row| row.kind == TaskKind::Future);
        // How many of its stacks have which: what a compiler has put into another function is not in all of them.
        type Found = BTreeMap<FunctionIx, (bool, usize)>;
        let mut found: FxHashMap<TaskId, Found> =
            futures.map(|row| (row.task, Found::new())).collect();
        let mut scheduling: FxHashMap<TaskId, usize> = FxHashMap::default();
        let mut known = Futures::default();
        if found.is_empty() {
            return known;
        }
        let mut by_thread: FxHashMap<ThreadId, Vec<&TaskTurn>> = FxHashMap::default();
        for turn in turns {
            by_thread.entry(turn.thread).or_default().push(turn);
        }
        let mut of_stack: FxHashMap<StackIx, Option<Polled>> = FxHashMap::default();
        for (thread, mut turns) in by_thread {
            turns.sort_unstable_by_key(|turn| (turn.t0, turn.t1));
            let events = stacks.events_of(thread).iter();
            let sites = stacks.sites_of(thread).iter();
            let taken = events.map(|event| (event.at, event.stack));
            for (at, stack) in taken.chain(sites.map(|site| (site.at, site.stack))) {
                let begun = turns.partition_point(|turn| turn.t0 <= at);
                let turn = begun.checked_sub(1).map(|last| turns[last]);
                let task = turn.filter(|turn| at <= turn.t1).and_then(|turn| turn.task);
                let Some((task, found)) = task.and_then(|task| Some((task, found.get_mut(&task)?)))
                else {
                    continue;
                };
                let polled = of_stack
                    .entry(stack)
                    .or_insert_with(|| polled(&stacks.code, stack));
                match *polled {
                    Some(Polled::Scheduler) => *scheduling.entry(task).or_default() += 1,
                    Some(Polled::Function(function, is_own)) => {
                        found.entry(function).or_insert((is_own, 0)).1 += 1;
                    }
                    None => {}
                }
            }
        }
        // In a few stacks of any task its own part is not to be seen, but that of the thread which polls it: between two of its functions.
        let others =
            |task: &TaskId| -> usize { found[task].values().map(|(_, times)| times).sum() };
        let are = scheduling.into_iter();
        let are = are.filter(|(task, times)| *times > others(task));
        known.schedulers = are.map(|(task, _)| task).collect();
        let most = found.into_iter().filter_map(|(task, found)| {
            let most = found.into_iter().max_by_key(|(_, weight)| *weight)?;
            Some((task, most.0))
        });
        known.first = most.collect();
        known
    }
}

/// Whether a stack is of a thread that tokio runs its tasks on. One of its pool for what blocks runs what it was given, and no tasks; it
/// only wakes those that do.
pub fn is_of_worker(code: &Code, stack: StackIx) -> bool {
    // By the file of the frame: there are many functions with a name like `run`.
    code.spots_of(stack).into_iter().any(|spot| {
        let file = code.frame(spot).map_or("", |frame| frame.file.as_str());
        runs_tasks(&code.function(spot.function).name, file)
    })
}

fn runs_tasks(name: &str, file: &str) -> bool {
    let of_worker = name.starts_with(WORKER)
        || crate_of(file) == Some("tokio") && file.ends_with("/multi_thread/worker.rs");
    let bare = name.split('<').next().unwrap_or_default();
    of_worker && matches!(bare.rsplit("::").next(), Some("run" | "run_task"))
}

/// Whether a thread that waits in a stack is one of tokio's that has nothing to do before something comes or a timer is due.
pub fn is_parked(code: &Code, stack: StackIx) -> bool {
    code.spots_of(stack).into_iter().any(|spot| {
        let file = code.frame(spot).map_or("", |frame| frame.file.as_str());
        parks(&code.function(spot.function).name, file)
    })
}

fn parks(name: &str, file: &str) -> bool {
    PARKS.iter().any(|start| name.starts_with(start))
        || crate_of(file) == Some("tokio") && PARKING.iter().any(|end| file.ends_with(end))
}

/// The first function of the task that is polled in a stack.
pub fn first_function(code: &Code, stack: StackIx) -> Option<FunctionIx> {
    match polled(code, stack)? {
        Polled::Function(function, _) => Some(function),
        Polled::Scheduler => None,
    }
}

/// What is polled in a stack.
fn polled(code: &Code, stack: StackIx) -> Option<Polled> {
    let spots = code.spots_of(stack);
    let of = |spot: &Spot| {
        let function = code.function(spot.function);
        // By the file of the frame: there are many functions with a name like `poll`.
        let frame = code.frame(*spot);
        let file = frame.map_or(&function.file, |frame| &frame.file);
        (function.name.as_str(), file.as_str())
    };
    let polls = spots.iter().position(|spot| polls(of(spot)))?;
    // From the outermost one inwards.
    let below = || spots[..polls].iter().rev();
    let own = below().find(|spot| {
        let (name, file) = of(spot);
        schedules((name, file)) || !is_holder(name, file) && !code.is_system(spot.function)
    });
    if own.is_some_and(|own| schedules(of(own))) {
        return Some(Polled::Scheduler);
    }
    let first = own.or_else(|| below().find(|spot| !code.is_of_language(spot.function)));
    first.map(|first| Polled::Function(code.one(first.function), own.is_some()))
}

fn polls((name, file): (&str, &str)) -> bool {
    let by_name = name.ends_with("::poll") && POLLS.iter().any(|start| name.starts_with(start));
    by_name
        || name.starts_with("poll")
            && crate_of(file) == Some("tokio")
            && POLLING.iter().any(|end| file.ends_with(end))
}

fn schedules((name, file): (&str, &str)) -> bool {
    name.starts_with(SCHEDULER) || crate_of(file) == Some("tokio") && file.contains(SCHEDULING)
}

/// Whether a function is of a crate that holds the futures of others.
fn is_holder(name: &str, file: &str) -> bool {
    if let Some(of_file) = crate_of(file) {
        return HOLDERS.contains(&of_file);
    }
    let name = name.trim_start_matches(['<', '&', '(', '[']);
    let name = name.strip_prefix("mut ").unwrap_or(name);
    let name = name.strip_prefix("dyn ").unwrap_or(name);
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    let (first, rest) = name.split_at(end.unwrap_or(name.len()));
    // A method of a trait for whatever type has it, too.
    HOLDERS.iter().any(|holder| same(holder, first)) || rest.starts_with(" as ")
}

/// Whether a crate has this name in code.
fn same(of_crate: &str, name: &str) -> bool {
    let in_code = |byte: u8| if byte == b'-' { b'_' } else { byte };
    of_crate.bytes().map(in_code).eq(name.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "/home/x/.cargo/registry/src/an-index-0123";

    #[test]
    fn futures_that_hold_others_are_told_from_those() {
        let holders = [
            "core::ops::function::FnOnce::call_once",
            "<core::pin::Pin<P> as core::future::future::Future>::poll",
            "<tokio::runtime::blocking::task::BlockingTask<T> as core::future::future::Future>::poll",
            "<&mut dyn tokio::io::AsyncRead>::poll",
            "<F as core::future::into_future::IntoFuture>::into_future",
            "<futures_util::future::Map<F> as core::future::future::Future>::poll",
        ];
        for name in holders {
            assert!(is_holder(name, ""), "{name}");
        }
        let others = [
            "mini::handle::{{closure}}",
            "<hyper::proto::h1::Conn<I> as core::future::future::Future>::poll",
            "tokio_postgres::connection::Connection::poll",
            "main",
        ];
        for name in others {
            assert!(!is_holder(name, ""), "{name}");
        }
        let in_file = |file: &str| is_holder("poll<T>", &format!("{REGISTRY}/{file}"));
        assert!(in_file("tracing-0.1.44/src/instrument.rs"));
        assert!(!in_file("tracing-subscriber-0.3.1/src/lib.rs"));
        assert!(!in_file("tokio-postgres-0.7.10/src/connection.rs"));
        assert!(is_holder(
            "with_mut<T>",
            "/rustc/0123/library/core/src/cell.rs"
        ));
        assert!(!is_holder("poll<T>", "/srv/library/core/src/lib.rs"));
    }

    #[test]
    fn what_polls_tasks_is_told_from_what_is_polled() {
        let core = format!("{REGISTRY}/tokio-1.48.0/src/runtime/task/core.rs");
        assert!(polls(("poll<p::serve::{async_fn_env#0}>", &core)));
        assert!(polls(("tokio::runtime::task::core::Core<T,S>::poll", "")));
        assert!(polls((
            "<tokio::runtime::task::core::Core<F, S>>::poll",
            ""
        )));
        assert!(!polls(("set_stage<T>", &core)));
        let join =
            "<tokio::runtime::task::join::JoinHandle<T> as core::future::future::Future>::poll";
        assert!(!polls((join, "")));
        let worker =
            format!("{REGISTRY}/tokio-1.48.0/src/runtime/scheduler/multi_thread/worker.rs");
        assert!(schedules(("run", &worker)));
        assert!(runs_tasks("run", &worker));
        assert!(runs_tasks(
            "tokio::runtime::scheduler::multi_thread::worker::Context::run",
            ""
        ));
        assert!(parks("tokio::runtime::park::Inner::park_timeout", ""));
        let park = format!("{REGISTRY}/tokio-1.48.0/src/runtime/scheduler/multi_thread/park.rs");
        assert!(parks("park_condvar", &park));
        assert!(!parks(
            "std::thread::park_timeout",
            "/srv/src/runtime/park.rs"
        ));
        assert!(!parks(
            "tokio::runtime::blocking::pool::Inner::run",
            &worker
        ));
        // What a thread of the pool for what blocks calls to have a task run by others.
        assert!(!runs_tasks("schedule_remote", &worker));
        let wakes = "tokio::runtime::scheduler::multi_thread::handle::Handle::bind_new_task";
        assert!(!runs_tasks(wakes, ""));
    }
}
