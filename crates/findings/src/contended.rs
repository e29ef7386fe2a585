//! What tasks wait for while others have it: a lock, a semaphore or a pool of connections, which lets some of them through at a time.
//!
//! A runtime keeps such waits to itself: no thread waits for a lock of asyncio or for a `sync.Mutex` of Go. They are known by where
//! tasks were left. Which lock it was is not: those that are taken by one function count as one.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::path::{Key, Path};
use timesink_analysis::stacks::{Code, FunctionIx, StackIx};
use timesink_analysis::stretches::Stretches;
use timesink_analysis::tasks::{GroupKind, Parking};
use timesink_analysis::timeline::Span;
use timesink_recording::ids::{ProcessId, TaskId};
use timesink_recording::words::{Detail, State, WakeSource};
use timesink_recording::Nanos;

use crate::awaiting::kind_of;
use crate::inquiry::Inquiry;

/// Something that tasks of one process wait for, while others of them have it.
pub struct Contended {
    pub process: ProcessId,
    pub gate: Parking,
    pub kind: GroupKind,
    pub tasks: BTreeSet<TaskId>,
    pub waits: u64,
    /// For how long they wait, all of them together.
    pub waits_ns: u64,
    /// For how long they are there while any of them waits, all of them together.
    there_ns: u64,
    /// When any of them waits.
    during: Stretches,
    /// Where they wait, by the stack with the most time.
    pub waits_in: StackIx,
    /// What those that do not wait do meanwhile.
    pub holders: Option<Holders>,
}

/// What tasks do that have what others wait for: of a lock the one that got it last, of a semaphore or a pool all that do not wait.
#[derive(Clone, Copy)]
pub struct Holders {
    /// The stack with the most time.
    pub stack: StackIx,
    /// They sleep there.
    pub sleep: bool,
    /// In the function in which others wait: whoever limits a rate does.
    pub limit_rate: bool,
    /// Most of their time is on a CPU.
    pub compute: bool,
}

/// What a change of the contention is about, by spans.
#[derive(Default)]
pub struct Held {
    /// Waits of those that do not wait for it themselves, of threads without anything to do, and of whom the path leads to in other
    /// processes, such as the peer that is asked.
    pub waits: BTreeSet<usize>,
    /// The same tasks on a CPU.
    pub cpu: BTreeSet<usize>,
    /// How much of the CPUs the process takes or wants meanwhile.
    pub cpu_share: f64,
    /// What the path waits for meanwhile.
    pub causes: BTreeSet<Key>,
}

/// What tasks are seen to wait for, and the function of the program's that does.
type Gate = (Parking, FunctionIx);

/// A turn of a task on a thread; one that was looked at has had a turn of no length.
struct TaskTurn {
    task: TaskId,
    slot: usize,
    t0: Nanos,
    t1: Nanos,
    left_in: Option<StackIx>,
}

impl Contended {
    /// All there is, in the order of processes.
    pub fn all(inquiry: &Inquiry<'_>) -> Vec<Contended> {
        let threads = &inquiry.timeline.threads;
        let slots = inquiry.timeline.carried().slots();
        let mut of_process: BTreeMap<ProcessId, Vec<usize>> = BTreeMap::new();
        for slot in slots {
            let own = of_process.entry(threads[slot].process).or_default();
            own.push(slot);
        }
        let each = of_process.into_iter();
        each.flat_map(|(process, slots)| in_process(inquiry, process, &slots))
            .collect()
    }

    /// How long any of them waits.
    pub fn ns(&self) -> u64 {
        self.during.ns()
    }

    /// How many of them wait at a time, on average.
    pub fn waiting(&self) -> f64 {
        self.waits_ns as f64 / self.ns().max(1) as f64
    }

    /// Of the tasks that are there, the share that does not wait: so long it takes if all of them may go on.
    pub fn through(&self) -> f64 {
        self.through_ns() as f64 / self.there_ns.max(1) as f64
    }

    /// How many of them do not wait, on average.
    pub fn let_through(&self) -> f64 {
        self.through_ns() as f64 / self.ns().max(1) as f64
    }

    fn through_ns(&self) -> u64 {
        self.there_ns.saturating_sub(self.waits_ns)
    }

    /// What goes on meanwhile on threads of the process, but for what other tasks do.
    pub fn held(&self, inquiry: &Inquiry<'_>) -> Held {
        let timeline = inquiry.timeline;
        let carried = timeline.carried();
        let own = |slot: &usize| {
            timeline.threads[*slot].process == self.process && !timeline.is_housekeeping(*slot)
        };
        let mut held = Held::default();
        let mut cpu_ns = 0u64;
        for slot in carried.slots().into_iter().filter(own) {
            for (at, span) in timeline.indexed(slot) {
                let meanwhile_ns = self.during.within(span.t0, span.t1);
                let is_mostly = |ns: u64| ns > 0 && 2 * ns >= span.t1.since(span.t0);
                if matches!(span.state, State::Cpu | State::Ready) {
                    cpu_ns = cpu_ns.saturating_add(meanwhile_ns);
                }
                if !is_mostly(meanwhile_ns) {
                    continue;
                }
                match span.state {
                    State::Wait => {
                        let begun = carried.before(slot, Nanos(span.t0.0.saturating_add(1)));
                        let task = begun.and_then(|turn| turn.task);
                        if task.is_none_or(|task| self.tasks.contains(&task)) {
                            held.waits.insert(at);
                        }
                    }
                    State::Cpu if is_mostly(self.carried_ns(inquiry, slot, span)) => {
                        held.cpu.insert(at);
                    }
                    _ => {}
                }
            }
        }
        let there_ns = self.ns() as f64 * f64::from(inquiry.outlook.processors.max(1));
        held.cpu_share = (cpu_ns as f64 / there_ns.max(1.0)).min(1.0);
        self.follow_path(inquiry, &mut held);
        held
    }

    /// What the path does meanwhile: a peer that is recorded works for those that go on, one at a time.
    fn follow_path(&self, inquiry: &Inquiry<'_>, held: &mut Held) {
        let timeline = inquiry.timeline;
        let ledger = &inquiry.facts.ledger;
        let main = ledger.main.and_then(|main| ledger.threads.get(main));
        let Some(slot) = main.and_then(|main| timeline.slot(main.row.thread)) else {
            return;
        };
        let path = Path::of_thread(timeline, slot);
        let mut of_peers: BTreeSet<(ProcessId, Detail)> = BTreeSet::new();
        let waits = path.segments.iter().filter(|s| s.state == State::Wait);
        for segment in waits {
            if !self.is_mostly_during(segment.t0, segment.t1) {
                continue;
            }
            let process = timeline.threads[segment.slot].process;
            held.causes
                .insert(Key::of(segment, inquiry.programs.first(process)));
            let spans = timeline.indexed_from(segment.slot, segment.t0);
            let mut spans = spans.filter(|(_, span)| span.t1 > segment.t0);
            let wait = spans.next().filter(|(_, span)| span.state == State::Wait);
            if let Some((at, span)) = wait.filter(|_| process != self.process) {
                held.waits.insert(at);
                if matches!(
                    span.wake_source,
                    Some(WakeSource::Timer | WakeSource::Block)
                ) {
                    of_peers.insert((inquiry.programs.first(process), span.detail));
                }
            }
        }
        self.add_beside_path(inquiry, held, &of_peers);
    }

    /// Whether any of them waits in half of a stretch or more.
    fn is_mostly_during(&self, from: Nanos, until: Nanos) -> bool {
        2 * self.during.within(from, until) >= until.since(from).max(1)
    }

    /// Who else of the peers waits for the same meanwhile, such as another process of a server: the path follows one of them at a time.
    fn add_beside_path(
        &self,
        inquiry: &Inquiry<'_>,
        held: &mut Held,
        of_peers: &BTreeSet<(ProcessId, Detail)>,
    ) {
        let timeline = inquiry.timeline;
        let programs: BTreeSet<ProcessId> = of_peers.iter().map(|(program, _)| *program).collect();
        for (slot, thread) in timeline.threads.iter().enumerate() {
            let program = inquiry.programs.first(thread.process);
            if !programs.contains(&program) {
                continue;
            }
            let waits = timeline.indexed(slot).filter(|(_, span)| {
                span.state == State::Wait && of_peers.contains(&(program, span.detail))
            });
            let meanwhile = waits.filter(|(_, span)| self.is_mostly_during(span.t0, span.t1));
            held.waits.extend(meanwhile.map(|(at, _)| at));
        }
    }

    /// How much of a span its thread is at work for these tasks.
    fn carried_ns(&self, inquiry: &Inquiry<'_>, slot: usize, span: &Span) -> u64 {
        let turns = inquiry.timeline.carried().turns(slot);
        let first = turns.partition_point(|turn| turn.t1 <= span.t0);
        let turns = turns[first..].iter().take_while(|turn| turn.t0 < span.t1);
        let own = turns.filter(|turn| turn.task.is_some_and(|task| self.tasks.contains(&task)));
        own.map(|turn| turn.t1.min(span.t1).since(turn.t0.max(span.t0)))
            .sum()
    }
}

/// What tasks that these threads of a process carry wait for in turn.
fn in_process(inquiry: &Inquiry<'_>, process: ProcessId, slots: &[usize]) -> Vec<Contended> {
    let carried = inquiry.timeline.carried();
    let code = &inquiry.stacks.code;
    // Most tasks are left where others were.
    let mut known: BTreeMap<(StackIx, GroupKind), Option<Gate>> = BTreeMap::new();
    let mut waiting: BTreeMap<Gate, BTreeSet<TaskId>> = BTreeMap::new();
    let sights = carried.sights(process);
    let turns = slots.iter().flat_map(|&slot| carried.turns(slot));
    let turns = turns.map(|turn| (turn.task, turn.left_at));
    let looks = sights.iter().map(|sight| (Some(sight.task), sight.stack));
    for (task, left_at) in turns.chain(looks) {
        let stack = left_at.and_then(|stack| code.stack(stack));
        let (Some(task), Some(stack)) = (task, stack) else {
            continue;
        };
        let kind = kind_of(inquiry, task);
        let gate = known.entry((stack, kind));
        if let Some(gate) = *gate.or_insert_with(|| gate_of(inquiry, stack, kind)) {
            waiting.entry(gate).or_default().insert(task);
        }
    }
    waiting.retain(|_, tasks| tasks.len() > 1);
    let gates = waiting.into_iter();
    let each = gates.filter_map(|(gate, tasks)| {
        let mut turns: Vec<TaskTurn> = Vec::new();
        for &slot in slots {
            let own = carried.turns(slot).iter();
            turns.extend(own.filter_map(|turn| {
                let task = turn.task.filter(|task| tasks.contains(task))?;
                Some(TaskTurn {
                    task,
                    slot,
                    t0: turn.t0,
                    t1: turn.t1,
                    left_in: turn.left_at.and_then(|stack| code.stack(stack)),
                })
            }));
        }
        let own = sights.iter().filter(|sight| tasks.contains(&sight.task));
        turns.extend(own.map(|sight| TaskTurn {
            task: sight.task,
            slot: slots[0],
            t0: sight.t,
            t1: sight.t,
            left_in: sight.stack.and_then(|stack| code.stack(stack)),
        }));
        turns.sort_by_key(|turn| (turn.task, turn.t0, turn.t1));
        let is_waiting = |turn: &TaskTurn| {
            let stack = turn
                .left_in
                .map(|stack| (stack, kind_of(inquiry, turn.task)));
            let found = stack.and_then(|stack| known.get(&stack).copied().flatten());
            found == Some(gate)
        };
        contended(inquiry, process, gate, tasks, &turns, is_waiting)
    });
    each.collect()
}

/// What a task that was left so waits for, if others have it.
fn gate_of(inquiry: &Inquiry<'_>, stack: StackIx, kind: GroupKind) -> Option<Gate> {
    let code = &inquiry.stacks.code;
    let parking = Parking::of(code, stack, kind);
    if !parking.may_be_contended(kind) {
        return None;
    }
    let functions = code.functions_of(stack);
    let own = own_function(code, &functions);
    Some((parking, own.or(functions.first().copied())?))
}

/// The innermost function of the program's.
fn own_function(code: &Code, functions: &[FunctionIx]) -> Option<FunctionIx> {
    let first = |is: &dyn Fn(FunctionIx) -> bool| functions.iter().copied().find(|f| is(*f));
    let own = first(&|function| code.is_user_code(function));
    own.or_else(|| first(&|function| code.is_of_program(function)))
}

fn contended(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    (gate, function): Gate,
    tasks: BTreeSet<TaskId>,
    turns: &[TaskTurn],
    is_waiting: impl Fn(&TaskTurn) -> bool,
) -> Option<Contended> {
    let mut waits: Vec<(Nanos, Nanos)> = Vec::new();
    let mut waits_in: BTreeMap<StackIx, u64> = BTreeMap::new();
    let mut count = 0u64;
    let of_task = || turns.chunk_by(|one, other| one.task == other.task);
    for turns in of_task() {
        let mut since: Option<Nanos> = None;
        for pair in turns.windows(2) {
            let (left, next) = (&pair[0], &pair[1]);
            if !is_waiting(left) || next.t0 <= left.t1 {
                continue;
            }
            // A task that was looked at meanwhile and waits on has not had a turn.
            count += u64::from(since != Some(left.t0) || left.t0 < left.t1);
            since = Some(next.t0);
            waits.push((left.t1, next.t0));
            if let Some(stack) = left.left_in {
                *waits_in.entry(stack).or_default() += next.t0.since(left.t1);
            }
        }
    }
    let waits_ns = waits.iter().map(|(from, until)| until.since(*from)).sum();
    let during = Stretches::of(waits);
    let there = of_task().filter_map(|turns| Some((turns.first()?.t0, turns.last()?.t1)));
    let there_ns: u64 = there.map(|(from, until)| during.within(from, until)).sum();
    let idle_ns = idle_ns(inquiry, turns, &during);
    let (waits_in, _) = waits_in.into_iter().max_by_key(|(_, ns)| *ns)?;
    let holders = holders(inquiry, (gate, function), turns, &during, &is_waiting);
    let is_taken = || {
        let code = &inquiry.stacks.code;
        let holders = holders.is_some_and(|have| goes_on(code, function, waits_in, have.stack));
        let around = of_task().filter_map(|turns| beside_waits(turns, &is_waiting));
        let (before, after): (Vec<u64>, Vec<u64>) = around.unzip();
        let goes_on = after.iter().sum::<u64>() >= before.iter().sum();
        holders && count <= 2 * tasks.len() as u64 && goes_on
    };
    // What is sent to a channel is work for others, or a place that the sender takes.
    if gate == Parking::Send && !is_taken() {
        return None;
    }
    Some(Contended {
        process,
        gate,
        kind: kind_of(inquiry, turns.first()?.task),
        holders,
        tasks,
        waits: count,
        waits_ns,
        there_ns: there_ns.saturating_sub(idle_ns),
        during,
        waits_in,
    })
}

/// How long tasks are left in no function of the program's, while others wait: the task of a connection that waits for its next request has
/// nothing to go on with.
fn idle_ns(inquiry: &Inquiry<'_>, turns: &[TaskTurn], during: &Stretches) -> u64 {
    let code = &inquiry.stacks.code;
    let mut known: BTreeMap<StackIx, bool> = BTreeMap::new();
    let mut is_idle = |stack: StackIx| {
        *known.entry(stack).or_insert_with(|| {
            let mut functions = code.functions_of(stack).into_iter();
            !functions.any(|function| code.is_user_code(function))
        })
    };
    let pairs = turns.windows(2).map(|pair| (&pair[0], &pair[1]));
    let mut idle_ns = 0u64;
    for (left, next) in pairs.filter(|(left, next)| left.task == next.task) {
        if left.left_in.is_some_and(&mut is_idle) && left.t1 < next.t0 {
            idle_ns += during.within(left.t1, next.t0);
        }
    }
    idle_ns
}

/// How long a task is there before it waits for the first time, and after the last.
fn beside_waits(turns: &[TaskTurn], is_waiting: impl Fn(&TaskTurn) -> bool) -> Option<(u64, u64)> {
    let first = turns.iter().find(|turn| is_waiting(turn))?;
    let last = turns.iter().rposition(is_waiting)?;
    let after = turns.get(last + 1).zip(turns.last());
    let after_ns = after.map_or(0, |(next, last)| last.t1.since(next.t0));
    Some((first.t1.since(turns[0].t0), after_ns))
}

/// Whether who has a place of a channel's goes on in the function that it was sent in, or in the caller of that.
fn goes_on(code: &Code, function: FunctionIx, waits_in: StackIx, holds_in: StackIx) -> bool {
    let waiting = code.functions_of(waits_in);
    let at = waiting.iter().position(|one| *one == function);
    let around = at.map_or(&[][..], |at| &waiting[at..waiting.len().min(at + 2)]);
    let holding = code.functions_of(holds_in);
    around.iter().any(|one| holding.contains(one))
}

/// When each task may have what others wait for: of a lock, from when it got it until another one did; else whenever it does not wait.
fn holding(
    gate: Parking,
    turns: &[TaskTurn],
    during: &Stretches,
    is_waiting: &impl Fn(&TaskTurn) -> bool,
) -> BTreeMap<TaskId, Stretches> {
    let mut holding: BTreeMap<TaskId, Vec<(Nanos, Nanos)>> = BTreeMap::new();
    let pairs = || turns.windows(2).map(|pair| (&pair[0], &pair[1]));
    if gate != Parking::Lock {
        let own = turns.iter().map(|turn| (turn.task, (turn.t0, turn.t1)));
        let others = pairs().filter(|(left, next)| left.task == next.task && !is_waiting(left));
        let others = others.map(|(left, next)| (left.task, (left.t1, next.t0)));
        for (task, stretch) in own.chain(others) {
            holding.entry(task).or_default().push(stretch);
        }
    } else {
        let got = pairs().filter(|(left, next)| {
            left.task == next.task && is_waiting(left) && (next.t0 < next.t1 || !is_waiting(next))
        });
        let mut got: Vec<(Nanos, TaskId)> = got.map(|(_, next)| (next.t0, next.task)).collect();
        got.sort_unstable();
        for pair in got.windows(2) {
            let [(from, task), (until, _)] = *pair else {
                continue;
            };
            holding.entry(task).or_default().push((from, until));
        }
    }
    let meanwhile = |all: Vec<(Nanos, Nanos)>| Stretches::of(during.parts_of(&all));
    let holding = holding.into_iter();
    holding.map(|(task, all)| (task, meanwhile(all))).collect()
}

/// What those do that have it, while others wait: in their turns, and in what else they were left in.
fn holders(
    inquiry: &Inquiry<'_>,
    (gate, function): Gate,
    turns: &[TaskTurn],
    during: &Stretches,
    is_waiting: impl Fn(&TaskTurn) -> bool,
) -> Option<Holders> {
    let holding = holding(gate, turns, during, &is_waiting);
    let mut stacks: BTreeMap<StackIx, u64> = BTreeMap::new();
    let (mut cpu_ns, mut all_ns) = (0u64, 0u64);
    for turn in turns {
        let Some(holds) = holding.get(&turn.task) else {
            continue;
        };
        let thread = inquiry.timeline.threads[turn.slot].thread;
        let events = inquiry.stacks.events_of(thread);
        let first = events.partition_point(|event| event.at < turn.t0);
        let within = events[first..].iter();
        for event in within.take_while(|event| event.at < turn.t1) {
            if holds.has(event.at) {
                *stacks.entry(event.stack).or_default() += event.ns;
                all_ns = all_ns.saturating_add(event.ns);
                if event.account == Account::Cpu {
                    cpu_ns = cpu_ns.saturating_add(event.ns);
                }
            }
        }
    }
    let mut sleeping: BTreeSet<StackIx> = BTreeSet::new();
    for pair in turns.windows(2) {
        let (left, next) = (&pair[0], &pair[1]);
        let holds = holding.get(&left.task);
        if let (Some(holds), Some(stack)) = (holds, left.left_in) {
            if left.task != next.task || is_waiting(left) {
                continue;
            }
            let ns = holds.within(left.t1, next.t0.max(left.t1));
            *stacks.entry(stack).or_default() += ns;
            all_ns = all_ns.saturating_add(ns);
            let kind = kind_of(inquiry, left.task);
            if Parking::of(&inquiry.stacks.code, stack, kind) == Parking::Timer {
                sleeping.insert(stack);
            }
        }
    }
    let code = &inquiry.stacks.code;
    let has_own = |stack: StackIx| {
        let mut functions = code.functions_of(stack).into_iter();
        functions.any(|function| code.is_of_program(function))
    };
    let own = stacks.into_iter().filter(|(stack, _)| has_own(*stack));
    let (stack, _) = own.max_by_key(|(_, ns)| *ns)?;
    let sleep = sleeping.contains(&stack);
    Some(Holders {
        stack,
        sleep,
        limit_rate: sleep && own_function(code, &code.functions_of(stack)) == Some(function),
        compute: 2 * cpu_ns > all_ns,
    })
}
