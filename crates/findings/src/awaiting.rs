//! Who awaits what a loop of events, or Go's runtime, waits for on behalf of tasks, and where: by how tasks were left before.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::path::own_function;
use timesink_analysis::stacks::{futures, Function, FunctionIx, Spot, StackIx};
use timesink_analysis::tasks::{GroupKind, Parking};
use timesink_analysis::timeline::carried::CarriedTurn;
use timesink_recording::ids::{ProcessId, TaskId, ThreadId};
use timesink_recording::words::Language;
use timesink_recording::Nanos;

use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::Suspect;

/// The tasks that awaited some waits of one process.
#[derive(Clone, Debug, Default)]
pub struct Awaiting {
    pub tasks: BTreeSet<TaskId>,
    /// Where most of them were left.
    pub frames: Vec<Spot>,
}

/// How a task was left at the end of a turn.
struct Left {
    at: Nanos,
    task: TaskId,
    stack: StackIx,
    kind: GroupKind,
    /// A function of the program's is in the stack: others are of the runtime, or of a library's own goroutines.
    is_own: bool,
    /// It waits for another task, not for what the loop waits for.
    for_task: bool,
}

impl Awaiting {
    /// Of these waits, by their spans.
    pub fn of(inquiry: &Inquiry<'_>, process: ProcessId, waits: &BTreeSet<usize>) -> Awaiting {
        let left = all_left(inquiry, process);
        let mut spans: Vec<_> = waits
            .iter()
            .filter_map(|&at| inquiry.timeline.span(at))
            .collect();
        spans.sort_by_key(|span| span.t0);
        let mut stacks: BTreeMap<StackIx, usize> = BTreeMap::new();
        let mut tasks: BTreeSet<TaskId> = BTreeSet::new();
        let mut after = Nanos(i64::MIN);
        for span in spans {
            // A thread of Go's that has nothing to do waits on behalf of goroutines that others leave meanwhile. A loop has one thread.
            let until = left.partition_point(|left| left.at <= span.t1);
            let from = left.partition_point(|left| left.at < after);
            let since = left.get(from..until).unwrap_or_default();
            let since = since.iter().rev();
            let since = since.filter(|l| l.kind == GroupKind::Goroutine || l.at <= span.t0);
            let last = since.clone().next();
            let mut own = since.filter(|left| left.is_own);
            let first = own.clone().next();
            if let Some(left) = own.find(|left| !left.for_task).or(first).or(last) {
                *stacks.entry(left.stack).or_default() += 1;
                tasks.insert(left.task);
            }
            after = span.t1;
        }
        let usual = stacks.into_iter().max_by_key(|(_, count)| *count);
        Awaiting {
            frames: usual.map_or(Vec::new(), |(stack, _)| inquiry.spots(stack)),
            tasks,
        }
    }
}

/// Whether a task that a thread carries is a coroutine or a goroutine.
pub fn kind_of(inquiry: &Inquiry<'_>, task: TaskId) -> GroupKind {
    match inquiry.timeline.carried().is_coroutine(task) {
        true => GroupKind::Coroutine,
        false => GroupKind::Goroutine,
    }
}

/// What all threads of a process were at work for.
pub fn turns_of<'a>(
    inquiry: &'a Inquiry<'_>,
    process: ProcessId,
) -> impl Iterator<Item = &'a CarriedTurn> {
    let carried = inquiry.timeline.carried();
    let threads = &inquiry.timeline.threads;
    let slots = carried.slots().into_iter();
    let own = slots.filter(move |slot| threads[*slot].process == process);
    own.flat_map(|slot| carried.turns(slot))
}

/// Whether threads of a process carry goroutines.
pub fn has_goroutines(inquiry: &Inquiry<'_>, process: ProcessId) -> bool {
    let mut tasks = turns_of(inquiry, process).filter_map(|turn| turn.task);
    tasks.any(|task| kind_of(inquiry, task) == GroupKind::Goroutine)
}

/// How the tasks of a process were left, in the order of time.
fn all_left(inquiry: &Inquiry<'_>, process: ProcessId) -> Vec<Left> {
    let code = &inquiry.stacks.code;
    let turns = turns_of(inquiry, process);
    // Most tasks are left where others were.
    let mut is_own: BTreeMap<StackIx, bool> = BTreeMap::new();
    let mut parkings: BTreeMap<StackIx, Parking> = BTreeMap::new();
    let left = turns.filter_map(|turn| {
        let (task, stack) = (turn.task?, code.stack(turn.left_at?)?);
        let kind = kind_of(inquiry, task);
        let parking = parkings.entry(stack);
        let parking = *parking.or_insert_with(|| Parking::of(code, stack, kind));
        // Who sleeps awaits nobody.
        let sleeps = kind == GroupKind::Goroutine && parking == Parking::Timer;
        (!sleeps).then(|| Left {
            at: turn.t1,
            task,
            stack,
            kind,
            for_task: kind == GroupKind::Coroutine && parking.is_contended(),
            is_own: *is_own.entry(stack).or_insert_with(|| {
                let mut functions = code.functions_of(stack).into_iter();
                functions.any(|function| code.is_user_code(function))
            }),
        })
    });
    let mut left: Vec<Left> = left.collect();
    left.sort_by_key(|left| left.at);
    left
}

/// Where most of the tasks had been left that went on when a timer ended these waits of an event loop. Nothing where no task of the
/// program's did.
pub fn slept_until(inquiry: &Inquiry<'_>, waits: &BTreeSet<usize>) -> Vec<Spot> {
    /// So many waits tell.
    const ENOUGH: usize = 200;
    let carried = inquiry.timeline.carried();
    let spans = waits.iter().filter_map(|&at| inquiry.timeline.span(at));
    let every = waits.len().div_ceil(ENOUGH).max(1);
    let mut stacks: BTreeMap<StackIx, usize> = BTreeMap::new();
    for span in spans.step_by(every) {
        let slot = inquiry.timeline.slot(span.thread);
        let turns = slot.map_or(&[][..], |slot| carried.turns_of_loop(slot));
        let ended = turns.partition_point(|turn| turn.t1 <= span.t1);
        let (before, after) = turns.split_at(ended);
        let next = after.iter().find_map(|turn| turn.task);
        let left = before.iter().rev().find(|turn| turn.task == next);
        let stack = left
            .filter(|_| next.is_some())
            .and_then(|turn| turn.left_at);
        if let Some(stack) = stack.and_then(|stack| inquiry.stacks.code.stack(stack)) {
            *stacks.entry(stack).or_default() += 1;
        }
    }
    // Several may go on at a time: who slept tells of a timer.
    let sleeps = |stack: StackIx| {
        let parking = Parking::of(&inquiry.stacks.code, stack, GroupKind::Coroutine);
        parking == Parking::Timer
    };
    let usual = stacks
        .into_iter()
        .max_by_key(|(stack, count)| (sleeps(*stack), *count));
    let frames = usual.map_or(Vec::new(), |(stack, _)| inquiry.spots(stack));
    match has_place(inquiry, &frames) {
        true => frames,
        false => Vec::new(),
    }
}

/// Where goroutines of a process mostly sleep: how they were left, and found when they were looked at. A timer may also end a wait for
/// channels, of which it is one.
pub fn slept_in_go(inquiry: &Inquiry<'_>, process: ProcessId) -> Vec<Spot> {
    let code = &inquiry.stacks.code;
    let stacks = parked(inquiry, process).into_iter();
    let own = stacks.filter_map(|(stack, count)| {
        let rank = match Parking::of(code, stack, GroupKind::Goroutine) {
            Parking::Timer => 2,
            Parking::Select => 1,
            Parking::Receive => 0,
            _ => return None,
        };
        let mut functions = code.functions_of(stack).into_iter();
        let is_own = functions.any(|function| code.is_user_code(function));
        is_own.then_some((rank, count, stack))
    });
    let usual = own.max_by_key(|(rank, count, _)| (*rank, *count));
    usual.map_or(Vec::new(), |(.., stack)| inquiry.spots(stack))
}

/// Where tasks of a process were left, and seen to wait when they were looked at, and how often.
fn parked(inquiry: &Inquiry<'_>, process: ProcessId) -> BTreeMap<StackIx, usize> {
    let turns = turns_of(inquiry, process);
    let left = turns.filter_map(|turn| turn.left_at.filter(|_| turn.task.is_some()));
    let seen = inquiry.timeline.carried().sights(process).iter();
    let seen = seen.filter_map(|sight| sight.stack);
    let stacks = left.chain(seen);
    let stacks = stacks.filter_map(|stack| inquiry.stacks.code.stack(stack));
    let mut counts: BTreeMap<StackIx, usize> = BTreeMap::new();
    for stack in stacks {
        *counts.entry(stack).or_default() += 1;
    }
    counts
}

/// Packages of Go that have goroutines of their own ask, while the one that called them waits.
const ASK_FOR_OTHERS: [&str; 3] = ["net/http.", "database/sql.", "google.golang.org/grpc."];

/// Whether a function is of such a package.
pub fn asks_for_others(inquiry: &Inquiry<'_>, function: FunctionIx) -> bool {
    let name = &inquiry.stacks.code.function(function).name;
    ASK_FOR_OTHERS.iter().any(|start| name.starts_with(start))
}

/// Where goroutines of a process mostly wait in such a package that a function of the program's called.
fn waits_in_package(inquiry: &Inquiry<'_>, process: ProcessId) -> Vec<Spot> {
    let code = &inquiry.stacks.code;
    let asks = |function: &FunctionIx| asks_for_others(inquiry, *function);
    let stacks = parked(inquiry, process).into_iter();
    let asking = stacks.filter(|(stack, _)| {
        let functions = code.functions_of(*stack);
        let own = functions.iter().position(|f| code.is_user_code(*f));
        own.is_some_and(|own| functions[..own].iter().any(asks))
    });
    let usual = asking.max_by_key(|(_, count)| *count);
    usual.map_or(Vec::new(), |(stack, _)| inquiry.spots(stack))
}

/// The first function of most tasks of tokio, by the stacks of a process.
fn in_task(inquiry: &Inquiry<'_>, process: ProcessId) -> Vec<Spot> {
    let code = &inquiry.stacks.code;
    let mut firsts: BTreeMap<StackIx, Option<FunctionIx>> = BTreeMap::new();
    let mut counts: BTreeMap<FunctionIx, (usize, StackIx)> = BTreeMap::new();
    for thread in inquiry.threads_of(&BTreeSet::from([process])) {
        let events = inquiry.stacks.events_of(thread).iter();
        let sites = inquiry.stacks.sites_of(thread).iter();
        let stacks = events.map(|event| event.stack);
        for stack in stacks.chain(sites.map(|site| site.stack)) {
            let first = firsts.entry(stack);
            let first = first.or_insert_with(|| futures::first_function(code, stack));
            if let Some(first) = first.filter(|first| code.is_programs_own(*first)) {
                counts.entry(first).or_insert((0, stack)).0 += 1;
            }
        }
    }
    let usual = counts.into_iter().max_by_key(|(_, (count, _))| *count);
    let Some((function, (_, stack))) = usual else {
        return Vec::new();
    };
    let spots = inquiry.spots(stack);
    let from = spots.iter().position(|spot| spot.function == function);
    spots[from.unwrap_or(0)..].to_vec()
}

/// Whether a function of the program's is in the stack, but not only around the loop of events.
pub fn has_place(inquiry: &Inquiry<'_>, frames: &[Spot]) -> bool {
    has_place_in(inquiry, frames, |_| true)
}

/// The same without functions of libraries that were compiled into the program, such as those of tokio.
pub fn has_own_place(inquiry: &Inquiry<'_>, frames: &[Spot]) -> bool {
    let code = &inquiry.stacks.code;
    has_place_in(inquiry, frames, |function| {
        code.function(function).language != Language::Native || !code.is_installed(function)
    })
}

fn has_place_in(
    inquiry: &Inquiry<'_>,
    frames: &[Spot],
    is_such: impl Fn(FunctionIx) -> bool,
) -> bool {
    let code = &inquiry.stacks.code;
    let mut within = code.within_loop(frames).iter();
    within.any(|spot| {
        let function = spot.function;
        code.is_user_code(function) && !code.is_of_runtime(function) && is_such(function)
    })
}

/// What a program mostly does after such waits in its loop: the function of its own that the first stack after most of
/// them shows, of a call or a sample.
pub fn followed(inquiry: &Inquiry<'_>, picked: &Picked) -> Vec<Spot> {
    let is_own = own_functions(inquiry);
    let mut found: BTreeMap<FunctionIx, (u64, StackIx)> = BTreeMap::new();
    let mut threads: BTreeMap<ProcessId, Vec<ThreadId>> = BTreeMap::new();
    for span in picked.waits(inquiry) {
        let Some(process) = inquiry.process_of(span.thread) else {
            continue;
        };
        let own = || inquiry.threads_of(&BTreeSet::from([process]));
        let after = threads
            .entry(process)
            .or_insert_with(own)
            .iter()
            .filter_map(|&thread| {
                let events = inquiry.stacks.events_of(thread);
                let events = &events[events.partition_point(|event| event.at < span.t1)..];
                let samples = events
                    .iter()
                    .filter(|event| event.account == Account::Cpu)
                    .map(|event| (event.at, event.stack));
                let sites = inquiry.stacks.sites_of(thread);
                let sites = sites.iter().filter(|site| site.at > span.t1);
                let calls = sites.map(|site| (site.at, site.stack));
                let own = |(at, stack)| Some((at, is_own(stack)?, stack));
                let (sampled, called) =
                    (samples.filter_map(own).next(), calls.filter_map(own).next());
                sampled.into_iter().chain(called).min_by_key(|(at, ..)| *at)
            });
        if let Some((_, function, stack)) = after.min_by_key(|(at, ..)| *at) {
            found.entry(function).or_insert((0, stack)).0 += 1;
        }
    }
    let most = found.into_values().max_by_key(|(count, _)| *count);
    most.map_or(Vec::new(), |(_, stack)| inquiry.spots(stack))
}

/// What tells the program's own function of a stack, if it shows one: of its scripts, where it has any.
fn own_functions<'a>(inquiry: &'a Inquiry<'_>) -> impl Fn(StackIx) -> Option<FunctionIx> + 'a {
    let code = &inquiry.stacks.code;
    let has_scripts = code.functions.iter().any(Function::is_script);
    move |stack| {
        let functions = code.functions_of(stack);
        let own = own_function(code, &functions)?;
        if has_scripts {
            let is_own = code.function(own).is_script() && !code.is_standard(own);
            return is_own.then_some(own);
        }
        let mut all = functions.into_iter();
        let programs = all.find(|&function| code.is_programs_own(function));
        programs.or(Some(own).filter(|&own| code.is_of_program(own)))
    }
}

impl Suspect {
    /// Where it has no place yet but in the language's own functions, or where the program began its loop: where the tasks were left
    /// that awaited these waits, which are looked for only then.
    pub fn or_awaited_at(
        self,
        inquiry: &Inquiry<'_>,
        process: ProcessId,
        waits: impl FnOnce() -> BTreeSet<usize>,
    ) -> Suspect {
        if inquiry.timeline.carried().is_empty() {
            return self;
        }
        self.or_at(inquiry, || Awaiting::of(inquiry, process, &waits()).frames)
    }

    /// Where it has no place yet: where goroutines wait for a package that asks for them in goroutines of its own.
    pub fn or_in_package(self, inquiry: &Inquiry<'_>, process: ProcessId) -> Suspect {
        if inquiry.timeline.carried().is_empty() {
            return self;
        }
        self.or_at(inquiry, || waits_in_package(inquiry, process))
    }

    /// Where it has no place of the program's own yet: in the first function of the tasks of tokio that a process is mostly at work for.
    pub fn or_in_task(self, inquiry: &Inquiry<'_>, process: ProcessId) -> Suspect {
        if inquiry.timeline.carried().is_empty() {
            return self;
        }
        self.or_at(inquiry, || in_task(inquiry, process))
    }

    /// Where it has no place yet: what the program does after these waits.
    pub fn or_followed_at(self, inquiry: &Inquiry<'_>, picked: &Picked) -> Suspect {
        self.or_at(inquiry, || followed(inquiry, picked))
    }

    /// At these functions, which are looked for only where it has no place yet.
    fn or_at(self, inquiry: &Inquiry<'_>, frames: impl FnOnce() -> Vec<Spot>) -> Suspect {
        if has_own_place(inquiry, &self.frames) {
            return self;
        }
        let frames = frames();
        let is_better = match has_place(inquiry, &self.frames) {
            true => has_own_place(inquiry, &frames),
            false => has_place(inquiry, &frames),
        };
        match is_better {
            true => Suspect { frames, ..self },
            false => self,
        }
    }
}
