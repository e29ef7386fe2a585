//! Whose work threads did, where a runtime divides them among units of its own: goroutines, coroutines, futures, callbacks,
//! virtual threads.
//!
//! A thread is looked at when it leaves a processor, when a call returns and when it is sampled; `turns.rs` says what it was at
//! work for then. So waits in calls and times runnable are known one by one. Time on a processor goes by samples: a task that
//! runs between two calls of another is seen only if a sample hits it, and what samples miss here they add there. The thread of an
//! event loop is seen often, as it waits for events and makes calls: there it goes by the turns, and so it does on those of tokio.
//!
//! Between its turns a task waits in the runtime (for a channel, a lock of its own, a timer, the network: it is parked then), by how it was
//! left. That it was ready is told only of one that came back from a call: another may have run in between, and not have been seen.

mod callbacks;
mod parking;
mod seen;
mod stuck;
mod turns;
mod virtual_threads;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{ProcessId, StackId, TaskId, ThreadId};
use timesink_recording::tables::Task;
use timesink_recording::words::{Detail, State, TaskKind, TaskState};
use timesink_recording::{Nanos, Recording};

use crate::ledger::Account;
use crate::path::Path;
use crate::stacks::futures::Futures;
use crate::stacks::{Code, Event, FunctionIx, Spot, StackIx, Stacks};
use crate::timeline::carried::CarriedTurn;
use crate::timeline::Timeline;
pub use callbacks::BegunBy;
use callbacks::Callback;
pub use parking::Parking;
use seen::SeenTasks;
pub use stuck::Stuck;
pub use turns::TaskTurns;

/// Time of threads, as they were at work for something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedTime {
    /// On a processor, by samples.
    pub cpu_ns: u64,
    pub samples: u64,
    pub ready_ns: u64,
    /// In calls and page faults, by kind.
    pub waits: BTreeMap<Detail, CarriedWaits>,
}

/// Waits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CarriedWaits {
    pub count: u64,
    pub ns: u64,
}

impl CarriedTime {
    pub fn wait_ns(&self) -> u64 {
        self.waits.values().map(|waits| waits.ns).sum()
    }
}

/// What the tasks of a group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupKind {
    /// Goroutines of Go.
    Goroutine,
    /// Tasks of Python's asyncio, or coroutines that another event loop runs.
    Coroutine,
    /// Tasks of tokio.
    Future,
    /// Callbacks of the event loop of Node.js, which stacks tell of and no table.
    Callback,
    /// Virtual threads of Java, of which stacks tell as well.
    VirtualThread,
}

impl GroupKind {
    /// The word for it, as in the JSON report.
    pub fn word(self) -> &'static str {
        match self {
            GroupKind::Goroutine => TaskKind::Goroutine.as_str(),
            GroupKind::Coroutine => TaskKind::Coroutine.as_str(),
            GroupKind::Future => TaskKind::Future.as_str(),
            GroupKind::Callback => "callback",
            GroupKind::VirtualThread => "virtual thread",
        }
    }

    /// Whether stacks tell of them and no table: they are known by the function that they begin with, and not counted.
    fn is_of_stacks(self) -> bool {
        matches!(self, GroupKind::Callback | GroupKind::VirtualThread)
    }
}

impl From<TaskKind> for GroupKind {
    fn from(kind: TaskKind) -> GroupKind {
        match kind {
            TaskKind::Goroutine => GroupKind::Goroutine,
            TaskKind::Coroutine => GroupKind::Coroutine,
            TaskKind::Future => GroupKind::Future,
        }
    }
}

/// The tasks of a process that were started at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    pub process: ProcessId,
    pub kind: GroupKind,
    /// Their first function under where they were started.
    pub stack: Option<StackId>,
    /// The first function that a programmer wrote: a goroutine that is given arguments begins in one that the compiler made.
    pub entry: Option<FunctionIx>,
    /// How many were seen; 0 of callbacks and virtual threads, which are not counted.
    pub count: u64,
    pub carried: CarriedTime,
    /// From when each was first seen to when it was last seen, without what is above and below: it waited in the runtime.
    pub parked_ns: u64,
    /// The same by what it waited for.
    pub parked: BTreeMap<Parking, u64>,
    /// They could have gone on, and waited for one of the runtime's own processors.
    pub queued_ns: u64,
    /// Of that, after they came back from calls.
    pub queued_after_calls_ns: u64,
    /// Of the main thread's critical path.
    pub on_path_ns: u64,
    /// What callbacks were begun by, with the time of their samples and waits.
    pub begun: BTreeMap<BegunBy, u64>,
}

/// What the compiler calls a function that only passes arguments on.
const WRAPPER: &str = ".gowrap";

impl TaskGroup {
    /// Looks into a stack of such a task for the function that its first one calls, if that was made by the compiler.
    fn find_entry(&mut self, code: &Code, stack: StackIx) {
        if self.entry.is_some() || self.kind == GroupKind::Future {
            return;
        }
        let Some(first) = self.spots(code).first().map(|spot| spot.function) else {
            return;
        };
        if !code.function(first).name.contains(WRAPPER) {
            self.entry = Some(first);
            return;
        }
        let functions = code.functions_of(stack);
        let at = functions.iter().position(|function| *function == first);
        self.entry = at.and_then(|at| functions.get(at.checked_sub(1)?)).copied();
    }

    /// What a stack tells of such a task.
    fn look_into(&mut self, code: &Code, event: &Event) {
        self.find_entry(code, event.stack);
        if self.kind == GroupKind::Callback {
            let callback = Callback::of(code, event.stack);
            let callback = callback.filter(|callback| Some(callback.function) == self.entry);
            if let Some(callback) = callback {
                *self.begun.entry(callback.begun).or_default() += event.ns;
            }
        }
    }

    /// From one time that one of them was seen to the next. How it was when it was left tells only what it waited for first.
    fn add_between(&mut self, left: &Moment, next: &Moment, stacks: &Stacks) {
        let ns = next.from.since(left.until);
        let queued_ns = match left.left {
            // It had ended, and was found so once more.
            Some(TaskState::Ended) => return,
            // What it did then threads tell, as far as it was seen.
            Some(TaskState::Running) if left.by_look => return,
            Some(TaskState::Ready) if left.by_look => ns,
            _ => {
                let queued_ns = next.queued_ns.min(ns);
                self.queued_after_calls_ns += if next.called { queued_ns } else { 0 };
                queued_ns
            }
        };
        self.queued_ns += queued_ns;
        let stack = left.left_at.filter(|stack| {
            left.left == Some(TaskState::Waiting) || left.left.is_some() && stacks.parks(*stack)
        });
        let stack = stack.and_then(|stack| stacks.code.stack(stack));
        let parking = stack.map_or(Parking::Runtime, |stack| {
            Parking::of(&stacks.code, stack, self.kind)
        });
        if ns > queued_ns {
            *self.parked.entry(parking).or_default() += ns - queued_ns;
            self.parked_ns += ns - queued_ns;
        }
    }

    /// Goroutines of the runtime's own, such as those of its collector, that did nothing but wait for something to do.
    fn is_idle_runtime(&self, code: &Code) -> bool {
        let first = self.spots(code).first().map(|spot| spot.function);
        let name = first.map_or("", |first| code.function(first).name.as_str());
        let is_own = name.starts_with("runtime.") && name != "runtime.main";
        self.kind == GroupKind::Goroutine && is_own && self.carried == CarriedTime::default()
    }

    /// Their first function, then where they were started; fewer where that is not known.
    pub fn spots(&self, code: &Code) -> Vec<Spot> {
        let by_function = self.kind == GroupKind::Future || self.kind.is_of_stacks();
        if let (true, Some(function)) = (by_function, self.entry) {
            let frame = None;
            return vec![Spot { function, frame }];
        }
        let stack = self.stack.and_then(|stack| code.stack(stack));
        stack.map_or(Vec::new(), |stack| code.spots_of(stack))
    }
}

/// All that threads did for tasks, and what they did for none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    /// Those with most of the path first, then those with most time.
    pub groups: Vec<TaskGroup>,
    /// The runtime itself: its scheduler, its collector, threads without anything to do.
    pub runtime: CarriedTime,
    /// Of the same threads, before anything was seen of them.
    pub unseen: CarriedTime,
}

/// What a thread was at work for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Group(usize),
    Runtime,
    Unseen,
}

/// If more of the time on a processor lies between the last sight of one task and the first of another, it is divided by samples.
/// Measured 2026-11-26: three tasks that compute for 2, 4 and 8 ms in turn and make no calls, of which the first one had 80 ms by turns
/// instead of 120, against 2 to 5 % off by turns where tasks make calls. What lies between a task and its loop is divided well by turns:
/// what the loop itself takes is known (`timeline/between.rs`).
const MOST_UNSEEN: f64 = 0.15;

/// How much of a thread's time on a processor lies between turns of two tasks.
fn unseen_share(turns: &TaskTurns, thread: ThreadId, timeline: &Timeline) -> f64 {
    let Some(slot) = timeline.slot(thread) else {
        return 0.0;
    };
    let between = turns.between_tasks(thread).flat_map(|(from, until)| {
        let spans = timeline.between(slot, from, until);
        spans.filter(|(span, _)| span.state == State::Cpu)
    });
    let ns: u64 = between.map(|(_, ns)| ns).sum();
    ns as f64 / timeline.threads[slot].cpu_ns.max(1) as f64
}

/// The tasks in groups, and the turns that threads took with them.
struct Grouping<'t> {
    turns: &'t TaskTurns,
    /// The group of each task.
    group_of: FxHashMap<TaskId, usize>,
    /// The threads of event loops and of tokio.
    loops: FxHashSet<ThreadId>,
}

impl Grouping<'_> {
    /// How a thread's time on a processor between two moments is divided, if that goes by its turns.
    fn divided(
        &self,
        timeline: &Timeline,
        slot: usize,
        (from, until): (Nanos, Nanos),
    ) -> Option<Vec<(Whose, u64)>> {
        let turns = timeline.carried().turns(slot);
        if turns.is_empty() || !self.loops.contains(&timeline.threads[slot].thread) {
            return None;
        }
        let cpu = |from: Nanos, until: Nanos| -> u64 {
            let spans = timeline.between(slot, from, until);
            let cpu = spans.filter(|(span, _)| span.state == State::Cpu);
            cpu.map(|(_, ns)| ns).sum()
        };
        let mut divided = Vec::new();
        if turns[0].t0 > from {
            divided.push((Whose::Unseen, cpu(from, turns[0].t0.min(until))));
        }
        let first = turns.partition_point(|turn| turn.t1 <= from);
        for turn in turns[first..].iter().take_while(|turn| turn.t0 < until) {
            let ns = cpu(turn.t0.max(from), turn.t1.min(until));
            divided.push((self.whose(turn.task), ns));
        }
        Some(divided)
    }

    fn whose(&self, task: Option<TaskId>) -> Whose {
        let group = task.and_then(|task| self.group_of.get(&task));
        group.map_or(Whose::Runtime, |&group| Whose::Group(group))
    }

    fn at(&self, thread: ThreadId, moment: Nanos) -> Whose {
        match self.turns.at(thread, moment) {
            None => Whose::Unseen,
            Some(turn) => self.whose(turn.task),
        }
    }
}

/// When a task was seen: at work for a while, or as it was looked at.
struct Moment {
    from: Nanos,
    until: Nanos,
    left: Option<TaskState>,
    left_at: Option<StackId>,
    /// For how long it could have gone on before it did, and whether it came back from a call then.
    queued_ns: u64,
    called: bool,
    /// It was looked at, by which no thread was at work for it.
    by_look: bool,
}

/// Without looks at what is known to have been ready then: it came back from a call, or was interrupted.
fn without_queued_looks(moments: Vec<Moment>) -> Vec<Moment> {
    let mut is_queued = false;
    let mut kept: Vec<Moment> = Vec::with_capacity(moments.len());
    for moment in moments.into_iter().rev() {
        if !moment.by_look {
            is_queued = moment.queued_ns > 0;
        } else if is_queued && moment.left == Some(TaskState::Ready) {
            continue;
        }
        kept.push(moment);
    }
    kept.reverse();
    kept
}

/// What a task is grouped by.
struct Grouped {
    task: TaskId,
    process: ProcessId,
    kind: GroupKind,
    stack: Option<StackId>,
    entry: Option<FunctionIx>,
}

impl Tasks {
    /// None if no thread was seen at work for a task. The path is the main thread's.
    pub fn of(
        recording: &Recording,
        timeline: &Timeline,
        stacks: &Stacks,
        path: impl FnOnce() -> Option<Path>,
    ) -> timesink_recording::Result<Option<Tasks>> {
        let mut rows = recording.rows::<Task>()?;
        let mut turns = TaskTurns::of(recording)?;
        let free = rows
            .iter()
            .map(|row| row.task.0)
            .max()
            .map_or(0, |last| last + 1);
        let seen = SeenTasks::of(timeline, stacks, &turns.threads(), free);
        if rows.is_empty() && seen.rows.is_empty() {
            return Ok(None);
        }
        let futures = Futures::of(&rows, turns.all(), stacks);
        turns.are_of_none(&futures.schedulers);
        turns.add(seen.turns);
        rows.retain(|row| !futures.schedulers.contains(&row.task));
        let recorded = rows.iter().map(|row| Grouped {
            task: row.task,
            process: row.process,
            kind: row.kind.into(),
            stack: row.stack,
            entry: futures.first.get(&row.task).copied(),
        });
        let of_stacks = seen.rows.iter().map(|row| Grouped {
            task: row.task,
            process: row.process,
            kind: row.kind,
            stack: None,
            entry: Some(row.function),
        });
        let mut tasks = Tasks::default();
        let group_of = tasks.group(recorded.chain(of_stacks));
        let often_seen = rows.iter().filter(|row| row.kind != TaskKind::Goroutine);
        let often_seen: FxHashSet<TaskId> = often_seen.map(|row| row.task).collect();
        let mut loops = turns.running(&often_seen);
        loops.retain(|thread| unseen_share(&turns, *thread, timeline) < MOST_UNSEEN);
        let grouping = Grouping {
            loops,
            turns: &turns,
            group_of,
        };
        for thread in turns.threads() {
            tasks.add_thread(&grouping, thread, timeline, stacks);
        }
        tasks.add_parked(&grouping, timeline, stacks);
        if let Some(path) = path() {
            tasks.add_path(&grouping, &path, timeline, stacks);
        }
        tasks
            .groups
            .retain(|group| !group.is_idle_runtime(&stacks.code));
        let weight = |group: &TaskGroup| group.carried.cpu_ns + group.carried.wait_ns();
        tasks
            .groups
            .sort_by_key(|group| Reverse((group.on_path_ns, weight(group))));
        Ok(Some(tasks))
    }

    /// Makes the groups; the group of each task. Of some it is the first function that is known, and not where that is.
    fn group(&mut self, all: impl Iterator<Item = Grouped>) -> FxHashMap<TaskId, usize> {
        type Key = (ProcessId, GroupKind, Option<StackId>, Option<FunctionIx>);
        let mut known: FxHashMap<Key, usize> = FxHashMap::default();
        let mut group_of = FxHashMap::default();
        for one in all {
            let key = (one.process, one.kind, one.stack, one.entry);
            let group = *known.entry(key).or_insert_with(|| {
                self.groups.push(TaskGroup {
                    process: one.process,
                    kind: one.kind,
                    stack: one.stack,
                    entry: one.entry,
                    count: 0,
                    carried: CarriedTime::default(),
                    parked_ns: 0,
                    parked: BTreeMap::new(),
                    queued_ns: 0,
                    queued_after_calls_ns: 0,
                    on_path_ns: 0,
                    begun: BTreeMap::new(),
                });
                self.groups.len() - 1
            });
            self.groups[group].count += u64::from(!one.kind.is_of_stacks());
            group_of.insert(one.task, group);
        }
        group_of
    }

    fn time_of(&mut self, whose: Whose) -> &mut CarriedTime {
        match whose {
            Whose::Group(group) => &mut self.groups[group].carried,
            Whose::Runtime => &mut self.runtime,
            Whose::Unseen => &mut self.unseen,
        }
    }

    fn add_thread(
        &mut self,
        grouping: &Grouping<'_>,
        thread: ThreadId,
        timeline: &Timeline,
        stacks: &Stacks,
    ) {
        let Some(slot) = timeline.slot(thread) else {
            return;
        };
        let row = &timeline.threads[slot];
        let divided = grouping.divided(timeline, slot, (row.start, row.end));
        let by_samples = divided.is_none();
        for (whose, ns) in divided.into_iter().flatten() {
            self.time_of(whose).cpu_ns += ns;
        }
        for event in stacks.events_of(thread) {
            let whose = grouping.at(thread, event.at);
            if let Whose::Group(group) = whose {
                self.groups[group].look_into(&stacks.code, event);
            }
            if event.account == Account::Cpu {
                let time = self.time_of(whose);
                time.samples += 1;
                if by_samples {
                    time.cpu_ns = time.cpu_ns.saturating_add(event.ns);
                }
            }
        }
        for span in timeline.spans_of(slot) {
            let ns = span.t1.since(span.t0);
            let time = match span.state {
                State::Ready | State::Wait => self.time_of(grouping.at(thread, span.t0)),
                _ => continue,
            };
            if span.state == State::Ready {
                time.ready_ns = time.ready_ns.saturating_add(ns);
                continue;
            }
            let waits = time.waits.entry(span.detail).or_default();
            waits.count += 1;
            waits.ns = waits.ns.saturating_add(ns);
        }
    }

    /// What lies between the turns of each task, by how it was left before.
    fn add_parked(&mut self, grouping: &Grouping<'_>, timeline: &Timeline, stacks: &Stacks) {
        let mut of_task: FxHashMap<TaskId, Vec<Moment>> = FxHashMap::default();
        for thread in grouping.turns.threads() {
            let carried = timeline.slot(thread);
            let carried = carried.map_or(&[][..], |slot| timeline.carried().turns(slot));
            for (index, turn) in grouping.turns.stretches(thread).enumerate() {
                let resumed = carried.get(index);
                let queued_ns = resumed.map_or(0, CarriedTurn::queued_ns);
                let called = resumed.is_some_and(|turn| turn.resumes.is_called());
                if let Some(task) = turn.task {
                    of_task.entry(task).or_default().push(Moment {
                        from: turn.t0,
                        until: turn.t1,
                        left: turn.left,
                        left_at: turn.left_at,
                        queued_ns,
                        called,
                        by_look: false,
                    });
                }
            }
        }
        for sight in timeline.carried().all_sights() {
            of_task.entry(sight.task).or_default().push(Moment {
                from: sight.t,
                until: sight.t,
                left: Some(sight.state),
                left_at: sight.stack,
                queued_ns: 0,
                called: false,
                by_look: true,
            });
        }
        for (task, mut moments) in of_task {
            let Some(&group) = grouping.group_of.get(&task) else {
                continue;
            };
            let group = &mut self.groups[group];
            // A callback does not wait: what it begins with is another one. Which virtual thread waits is not known.
            if group.kind.is_of_stacks() {
                continue;
            }
            moments.sort_unstable_by_key(|moment| (moment.from, moment.until));
            let moments = without_queued_looks(moments);
            for pair in moments.windows(2) {
                group.add_between(&pair[0], &pair[1], stacks);
            }
        }
    }

    fn add_divided_path(&mut self, divided: Vec<(Whose, u64)>) {
        for (whose, ns) in divided {
            if let Whose::Group(group) = whose {
                self.groups[group].on_path_ns += ns;
            }
        }
    }

    /// Waits and times runnable on the path one by one; time on a processor as samples there divide it.
    fn add_path(
        &mut self,
        grouping: &Grouping<'_>,
        path: &Path,
        timeline: &Timeline,
        stacks: &Stacks,
    ) {
        let mut running: FxHashMap<ThreadId, Vec<(Nanos, Nanos)>> = FxHashMap::default();
        let mut on_cpu_ns = 0u64;
        for segment in &path.segments {
            let thread = timeline.threads[segment.slot].thread;
            if segment.state == State::Cpu {
                let moments = (segment.t0, segment.t1);
                if let Some(divided) = grouping.divided(timeline, segment.slot, moments) {
                    self.add_divided_path(divided);
                    continue;
                }
                let stretch = (segment.t0, segment.t1);
                running.entry(thread).or_default().push(stretch);
                if grouping.turns.has(thread) {
                    on_cpu_ns += segment.ns();
                }
            } else if let Whose::Group(group) = grouping.at(thread, segment.t0) {
                self.groups[group].on_path_ns += segment.ns();
            }
        }
        let mut hits: FxHashMap<usize, u64> = FxHashMap::default();
        let mut all = 0u64;
        for (thread, stretches) in running {
            let events = stacks.events_of(thread).iter();
            for event in events.filter(|event| event.account == Account::Cpu) {
                let at = stretches.partition_point(|(t0, _)| *t0 <= event.at);
                let on_path = at
                    .checked_sub(1)
                    .is_some_and(|at| event.at < stretches[at].1);
                if !on_path || !grouping.turns.has(thread) {
                    continue;
                }
                all += event.ns;
                if let Whose::Group(group) = grouping.at(thread, event.at) {
                    *hits.entry(group).or_default() += event.ns;
                }
            }
        }
        for (group, ns) in hits {
            let part = on_cpu_ns as f64 * ns as f64 / all.max(1) as f64;
            self.groups[group].on_path_ns += part as u64;
        }
    }
}
