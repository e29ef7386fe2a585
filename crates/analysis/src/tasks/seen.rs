//! Tasks that no table tells of, but stacks do: callbacks of Node.js, and virtual threads of Java. No number or address tells one from the
//! next, so those that begin with the same function are one.
//!
//! A thread is seen at one in samples, in waits and runnable times that have a stack, and in calls whose stack was taken.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{ProcessId, TaskId, ThreadId};
use timesink_recording::tables::TaskTurn;
use timesink_recording::words::{Detail, Language, State};
use timesink_recording::Nanos;

use super::callbacks::Callback;
use super::virtual_threads::VirtualThreads;
use super::GroupKind;
use crate::stacks::{Code, FunctionIx, StackIx, Stacks};
use crate::timeline::Timeline;

/// All tasks of one kind that begin with one function, in a process.
pub(super) struct SeenTask {
    pub(super) task: TaskId,
    pub(super) process: ProcessId,
    pub(super) kind: GroupKind,
    pub(super) function: FunctionIx,
}

/// Those of all threads.
#[derive(Default)]
pub(super) struct SeenTasks {
    pub(super) rows: Vec<SeenTask>,
    pub(super) turns: Vec<(ThreadId, Vec<TaskTurn>)>,
}

/// What a stack is of: the kind of task and the function that it begins with.
type Begins = (GroupKind, FunctionIx);

/// When a thread was seen, and at what.
type Sight = (Nanos, Option<Begins>);

/// Finds what stacks are of.
struct Finder<'c> {
    code: &'c Code,
    virtual_threads: VirtualThreads,
    known: FxHashMap<StackIx, Option<Begins>>,
}

impl Finder<'_> {
    fn begins(&mut self, stack: StackIx) -> Option<Begins> {
        let (code, threads) = (self.code, &self.virtual_threads);
        let find = || {
            let callback = || Callback::of(code, stack);
            let callback = || callback().map(|found| (GroupKind::Callback, found.function));
            let thread = threads.function_of(code, stack);
            let thread = thread.map(|function| (GroupKind::VirtualThread, function));
            thread.or_else(callback)
        };
        *self.known.entry(stack).or_insert_with(find)
    }
}

impl SeenTasks {
    /// Those of all threads that carry no tasks that are recorded. Numbers from `free` on are nobody's.
    pub(super) fn of(
        timeline: &Timeline,
        stacks: &Stacks,
        others: &[ThreadId],
        free: u32,
    ) -> SeenTasks {
        let mut seen = SeenTasks::default();
        let code = &stacks.code;
        let has_some = |language| code.functions.iter().any(|f| f.language == language);
        if !has_some(Language::JavaScript) && !has_some(Language::Java) {
            return seen;
        }
        let others: FxHashSet<ThreadId> = others.iter().copied().collect();
        let mut known: BTreeMap<(ProcessId, Begins), TaskId> = BTreeMap::new();
        let mut finder = Finder {
            code,
            virtual_threads: VirtualThreads::of(stacks),
            known: FxHashMap::default(),
        };
        for (slot, row) in timeline.threads.iter().enumerate() {
            if others.contains(&row.thread) {
                continue;
            }
            let sights = sights(timeline, stacks, slot, &mut finder);
            if !sights.iter().any(|(_, begins)| begins.is_some()) {
                continue;
            }
            let mut task = |begins| {
                let next = TaskId(free + known.len() as u32);
                *known.entry((row.process, begins)).or_insert_with(|| {
                    let (kind, function) = begins;
                    seen.rows.push(SeenTask {
                        task: next,
                        process: row.process,
                        kind,
                        function,
                    });
                    next
                })
            };
            let turns = turns(row.thread, &sights, &mut task);
            seen.turns.push((row.thread, turns));
        }
        seen
    }
}

/// When a thread was seen, in order.
fn sights(
    timeline: &Timeline,
    stacks: &Stacks,
    slot: usize,
    finder: &mut Finder<'_>,
) -> Vec<Sight> {
    let thread = timeline.threads[slot].thread;
    let events = stacks.events_of(thread).iter();
    let events = events.map(|event| (event.at, event.stack));
    let sites = stacks.sites_of(thread).iter();
    let sites = sites.map(|site| (site.at, site.stack));
    // What has no way out, such as code of OpenSSL's in assembler, is at what was seen before.
    let is_told =
        |stack, begins: Option<Begins>| begins.is_some() || stacks.code.is_complete(stack);
    let all = events.chain(sites);
    let all = all.map(|(at, stack)| (at, stack, finder.begins(stack)));
    let mut sights: Vec<Sight> = all
        .filter(|(_, stack, begins)| is_told(*stack, *begins))
        .map(|(at, _, begins)| (at, begins))
        .collect();
    if !sights.iter().any(|(_, begins)| begins.is_some()) {
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
    task: &mut impl FnMut(Begins) -> TaskId,
) -> Vec<TaskTurn> {
    let mut turns: Vec<TaskTurn> = Vec::new();
    for &(at, begins) in sights {
        let task = begins.map(&mut *task);
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
