//! What the event loop of Node.js does for the program: its callbacks, as stacks tell of them. No number or address tells one from the next,
//! so those that begin with the same function of the program's are one.
//!
//! A thread is seen at one in samples, in waits and runnable times that have a stack, and in calls whose stack was taken. When it waits
//! for events it is at none.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{ProcessId, TaskId, ThreadId};
use timesink_recording::tables::TaskTurn;
use timesink_recording::words::{Detail, Language, State};
use timesink_recording::Nanos;

use crate::stacks::{Code, FunctionIx, StackIx, Stacks};
use crate::timeline::Timeline;

/// What a callback was begun by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BegunBy {
    Start,
    Timer,
    Io,
    ThreadPool,
    Immediate,
    Closing,
    /// A promise, or `process.nextTick`.
    Microtask,
    Unknown,
}

impl BegunBy {
    /// The word for it, as in the JSON report.
    pub fn word(self) -> &'static str {
        match self {
            BegunBy::Start => "start",
            BegunBy::Timer => "timer",
            BegunBy::Io => "I/O",
            BegunBy::ThreadPool => "thread pool",
            BegunBy::Immediate => "immediate",
            BegunBy::Closing => "close",
            BegunBy::Microtask => "promise or nextTick",
            BegunBy::Unknown => "unknown",
        }
    }

    /// By the functions of Node.js and of libuv that call the program's, the C functions and those in JavaScript.
    fn of(name: &str) -> Option<BegunBy> {
        Some(match name {
            "uv__run_timers" | "processTimers" | "listOnTimeout" => BegunBy::Timer,
            "uv__io_poll" => BegunBy::Io,
            "uv__work_done" => BegunBy::ThreadPool,
            "uv__run_check" | "processImmediate" => BegunBy::Immediate,
            "uv__run_closing_handles" => BegunBy::Closing,
            "Builtins_RunMicrotasks" | "processTicksAndRejections" | "runMicrotasks" => {
                BegunBy::Microtask
            }
            _ if name.starts_with("node::LoadEnvironment(") => BegunBy::Start,
            _ => return None,
        })
    }
}

/// A callback in a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Callback {
    /// The outermost function of the program's.
    pub function: FunctionIx,
    pub begun: BegunBy,
}

impl Callback {
    /// The one that runs in a stack, if that is of JavaScript.
    pub fn of(code: &Code, stack: StackIx) -> Option<Callback> {
        let spots = code.spots_of(stack);
        let is_script = |function| code.function(function).language == Language::JavaScript;
        let own = code.own_of(&spots);
        let own = own.iter().rev().find(|spot| is_script(spot.function))?;
        let outer = spots
            .iter()
            .rev()
            .take_while(|spot| spot.function != own.function);
        let begun = outer.filter_map(|spot| BegunBy::of(&code.function(spot.function).name));
        Some(Callback {
            function: own.function,
            begun: begun.last().unwrap_or(BegunBy::Unknown),
        })
    }
}

/// All callbacks of one function, in a process.
pub(super) struct CallbackRow {
    pub(super) task: TaskId,
    pub(super) process: ProcessId,
    pub(super) function: FunctionIx,
}

/// The callbacks of all event loops.
#[derive(Default)]
pub(super) struct Callbacks {
    pub(super) rows: Vec<CallbackRow>,
    pub(super) turns: Vec<(ThreadId, Vec<TaskTurn>)>,
}

/// When a thread was seen, and at which callback.
type Sight = (Nanos, Option<FunctionIx>);

impl Callbacks {
    /// Those of all threads that run JavaScript and no tasks that are recorded. Numbers from `free` on are nobody's.
    pub(super) fn of(
        timeline: &Timeline,
        stacks: &Stacks,
        others: &[ThreadId],
        free: u32,
    ) -> Callbacks {
        let mut callbacks = Callbacks::default();
        let code = &stacks.code;
        let functions = &code.functions;
        if !functions.iter().any(|f| f.language == Language::JavaScript) {
            return callbacks;
        }
        let others: FxHashSet<ThreadId> = others.iter().copied().collect();
        let mut known: BTreeMap<(ProcessId, FunctionIx), TaskId> = BTreeMap::new();
        let mut of_stack = FxHashMap::default();
        for (slot, row) in timeline.threads.iter().enumerate() {
            if others.contains(&row.thread) {
                continue;
            }
            let sights = sights(timeline, stacks, slot, &mut of_stack);
            if !sights.iter().any(|(_, function)| function.is_some()) {
                continue;
            }
            let mut task = |function| {
                let next = TaskId(free + known.len() as u32);
                let key = (row.process, function);
                *known.entry(key).or_insert_with(|| {
                    callbacks.rows.push(CallbackRow {
                        task: next,
                        process: row.process,
                        function,
                    });
                    next
                })
            };
            let turns = turns(row.thread, &sights, &mut task);
            callbacks.turns.push((row.thread, turns));
        }
        callbacks
    }
}

/// When a thread was seen, in order.
fn sights(
    timeline: &Timeline,
    stacks: &Stacks,
    slot: usize,
    of_stack: &mut FxHashMap<StackIx, Option<FunctionIx>>,
) -> Vec<Sight> {
    let thread = timeline.threads[slot].thread;
    let mut function = |stack| {
        let of = || Callback::of(&stacks.code, stack).map(|callback| callback.function);
        *of_stack.entry(stack).or_insert_with(of)
    };
    let events = stacks.events_of(thread).iter();
    let events = events.map(|event| (event.at, event.stack));
    let sites = stacks.sites_of(thread).iter();
    let sites = sites.map(|site| (site.at, site.stack));
    // What has no way out, such as code of OpenSSL's in assembler, is at what was seen before.
    let is_told =
        |stack, function: Option<FunctionIx>| function.is_some() || stacks.code.is_complete(stack);
    let all = events.chain(sites);
    let all = all.map(|(at, stack)| (at, stack, function(stack)));
    let mut sights: Vec<Sight> = all
        .filter(|(_, stack, function)| is_told(*stack, *function))
        .map(|(at, _, function)| (at, function))
        .collect();
    if !sights.iter().any(|(_, function)| function.is_some()) {
        return Vec::new();
    }
    let seen: FxHashSet<Nanos> = sights.iter().map(|(at, _)| *at).collect();
    // Waits for events are too many for all of them to have a stack.
    let polls = timeline.spans_of(slot).iter();
    let polls = polls.filter(|span| span.state == State::Wait && span.detail == Detail::Poll);
    let polls = polls.filter(|span| !seen.contains(&span.t0));
    sights.extend(polls.map(|span| (span.t0, None)));
    sights.sort_by_key(|(at, _)| *at);
    sights
}

fn turns(
    thread: ThreadId,
    sights: &[Sight],
    task: &mut impl FnMut(FunctionIx) -> TaskId,
) -> Vec<TaskTurn> {
    let mut turns: Vec<TaskTurn> = Vec::new();
    for &(at, function) in sights {
        let task = function.map(&mut *task);
        match turns.last_mut().filter(|last| last.task == task) {
            Some(last) => last.t1 = at,
            None => turns.push(TaskTurn {
                thread,
                task,
                t0: at,
                t1: at,
                left: None,
                left_at: None,
            }),
        }
    }
    turns
}
