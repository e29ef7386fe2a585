//! A task that blocks its event loop while others are ready to run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::{futures, FunctionIx};
use timesink_analysis::timeline::carried::CarriedTurn;
use timesink_analysis::timeline::Span;
use timesink_recording::ids::{ProcessId, TaskId, ThreadId};
use timesink_recording::words::State;
use timesink_recording::Nanos;

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Limit, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "event-loop-blocked",
    looks_for: "a task that blocks its event loop, by computing or in a blocking call, while other tasks are ready to run",
    why: "An event loop runs one task at a time. While it computes, or waits in a blocking call, no other task can run, and whoever waits for their answers waits too.",
    advice: "run it in a thread or another process (asyncio.to_thread or spawn_blocking for blocking calls), yield to the loop between parts of it, or use a non-blocking library",
    wrong_if: "nobody waits for the other tasks",
    limits: &[&limits::LONG, &limits::CALLS, &limits::BRIEF_CALLS, &limits::MOSTLY, &limits::BRIEF, &limits::NEARLY_ALWAYS, &limits::OTHERS, &limits::SHARE],
    blames: Blames::Nobody,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    /// asyncio's own debug mode warns from 100 ms; people notice 50.
    pub static LONG: Limit = Limit {
        name: "turn",
        value: 50e6,
        unit: Unit::Nanoseconds,
        means: "minimum time for which a task blocks its event loop",
    };
    /// Measured: 32 and 25 ms of requests made with a blocking client; 0.4 ms of a flush for each record.
    pub static CALLS: Limit = Limit {
        name: "calls",
        value: 10e6,
        unit: Unit::Nanoseconds,
        means:
            "or: minimum time for which it waits in blocking calls, without coming back to the loop",
    };
    /// Measured 2026-11-27: 5.5 ms of requests made with a blocking client, 84 % of the path.
    pub static BRIEF_CALLS: Limit = Limit {
        name: "brief calls",
        value: 1e6,
        unit: Unit::Nanoseconds,
        means: "the same where the loop is blocked most of the time",
    };
    pub static MOSTLY: Limit = Limit {
        name: "mostly",
        value: 0.5,
        unit: Unit::Share,
        means: "minimum share of the critical path in which one coroutine blocks the loop with brief calls",
    };
    /// Measured 2026-11-29: 12 ms of a password's hash, for ten clients, 99 % of the path.
    pub static BRIEF: Limit = Limit {
        name: "brief turn",
        value: 5e6,
        unit: Unit::Nanoseconds,
        means: "or: minimum time where the loop is blocked nearly always",
    };
    pub static NEARLY_ALWAYS: Limit = Limit {
        name: "nearly always",
        value: 0.8,
        unit: Unit::Share,
        means: "minimum share of the critical path in which one coroutine blocks the loop with brief turns",
    };
    pub static OTHERS: Limit = Limit {
        name: "others",
        value: 2.0,
        unit: Unit::Count,
        means: "minimum number of other tasks that run right after it, before the loop waits for events again",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path in which one coroutine blocks the loop",
    };
}

/// The long turns of the tasks that begin with one function.
#[derive(Default)]
struct Blocked {
    turns: Vec<(Nanos, Nanos)>,
    ns: u64,
    longest_ns: u64,
    /// The most tasks that had to wait for one of them.
    others: usize,
}

impl Blocked {
    fn add(&mut self, (t0, t1): (Nanos, Nanos)) {
        self.turns.push((t0, t1));
        self.ns += t1.since(t0);
    }

    fn share(&self, inquiry: &Inquiry<'_>) -> f64 {
        self.ns as f64 / inquiry.outlook.wall_ns.max(1) as f64
    }
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut suspects = Vec::new();
    for slot in inquiry.timeline.carried().slots() {
        for (function, blocked) in blocked(inquiry, slot) {
            suspects.push(suspect(inquiry, slot, function, blocked));
        }
    }
    suspects
}

/// Whether most of the time of these waits of a process is in calls that block a loop, which is told here.
pub fn are_blocking(inquiry: &Inquiry<'_>, process: ProcessId, waits: &BTreeSet<usize>) -> bool {
    let threads = &inquiry.timeline.threads;
    let slots = inquiry.timeline.carried().slots().into_iter();
    let own = slots.filter(|slot| threads[*slot].process == process);
    let turns: BTreeMap<ThreadId, Vec<(Nanos, Nanos)>> = own
        .map(|slot| {
            let blocked = blocked(inquiry, slot).into_values();
            let mut turns: Vec<_> = blocked.flat_map(|blocked| blocked.turns).collect();
            turns.sort_unstable();
            (threads[slot].thread, turns)
        })
        .collect();
    let is_in_one = |span: &Span| {
        let turns = turns.get(&span.thread);
        turns.is_some_and(|turns| is_within(turns, span.t0))
    };
    let ns = |is_meant: &dyn Fn(&Span) -> bool| -> u64 {
        let spans = waits.iter().filter_map(|at| inquiry.timeline.span(*at));
        let meant = spans.filter(|span| is_meant(span));
        meant.map(|span| span.t1.since(span.t0)).sum()
    };
    2 * ns(&is_in_one) > ns(&|_| true)
}

/// Whether no other thread of the process carries tasks: they cannot go on elsewhere.
fn is_only_one(inquiry: &Inquiry<'_>, slot: usize) -> bool {
    let process = |slot: usize| inquiry.timeline.threads[slot].process;
    let slots = inquiry.timeline.carried().slots().into_iter();
    let mut others = slots.filter(|&other| other != slot && process(other) == process(slot));
    others.next().is_none()
}

/// For how long a task waits in calls in one turn.
fn waits_ns(inquiry: &Inquiry<'_>, slot: usize, turn: &CarriedTurn) -> u64 {
    let within = inquiry.timeline.between(slot, turn.t0, turn.t1);
    let waits = within.filter(|(span, _)| span.state == State::Wait);
    waits.map(|(_, ns)| ns).sum()
}

/// The turns that block the loop of a thread, by what their tasks begin with, where they are a good part of the path.
fn blocked(inquiry: &Inquiry<'_>, slot: usize) -> BTreeMap<FunctionIx, Blocked> {
    /// Turns of such a length, or with calls that take so long, where they are such a part of the path; the most telling last.
    const KINDS: [(&Limit, &Limit, &Limit); 3] = [
        (&limits::BRIEF, &limits::BRIEF_CALLS, &limits::NEARLY_ALWAYS),
        (&limits::LONG, &limits::BRIEF_CALLS, &limits::MOSTLY),
        (&limits::LONG, &limits::CALLS, &limits::SHARE),
    ];
    let kinds = KINDS.into_iter();
    kinds
        .flat_map(|(turn, calls, share)| blocked_for(inquiry, slot, turn, calls, share))
        .collect()
}

fn blocked_for(
    inquiry: &Inquiry<'_>,
    slot: usize,
    turn: &'static Limit,
    calls: &'static Limit,
    share: &'static Limit,
) -> BTreeMap<FunctionIx, Blocked> {
    let carried = inquiry.timeline.carried();
    let turns = match is_only_one(inquiry, slot) {
        true => carried.turns(slot),
        false => carried.turns_of_loop(slot),
    };
    let least_ns = RULE.limit(inquiry, turn);
    let least_waits_ns = RULE.limit(inquiry, calls);
    let is_long = |turn: &CarriedTurn| {
        let ns = turn.t1.since(turn.t0) as f64;
        ns >= least_ns
            || ns >= least_waits_ns && waits_ns(inquiry, slot, turn) as f64 >= least_waits_ns
    };
    let mut of_function = blocking(inquiry, slot, turns, is_long);
    let least = RULE.limit(inquiry, share);
    of_function.retain(|_, blocked| blocked.share(inquiry) >= least);
    of_function
}

/// The turns that are so, while others wait to go on.
fn blocking(
    inquiry: &Inquiry<'_>,
    slot: usize,
    turns: &[CarriedTurn],
    is_long: impl Fn(&CarriedTurn) -> bool,
) -> BTreeMap<FunctionIx, Blocked> {
    let least = RULE.limit(inquiry, &limits::OTHERS);
    let mut of_function: BTreeMap<FunctionIx, Blocked> = BTreeMap::new();
    let mut alone: Vec<(FunctionIx, (Nanos, Nanos))> = Vec::new();
    for (at, turn) in turns.iter().enumerate().filter(|(_, turn)| is_long(turn)) {
        let ns = turn.t1.since(turn.t0);
        let Some(function) = first_function(inquiry, slot, turn) else {
            continue;
        };
        let others = others(inquiry, slot, turn, &turns[at + 1..]);
        if (others as f64) < least {
            alone.push((function, (turn.t0, turn.t1)));
            continue;
        }
        let blocked = of_function.entry(function).or_default();
        blocked.add((turn.t0, turn.t1));
        blocked.longest_ns = blocked.longest_ns.max(ns);
        blocked.others = blocked.others.max(others);
    }
    // At the end nobody may be left who waits, and a turn like the others costs what they do; a longer one may be the start.
    for (function, (t0, t1)) in alone {
        let blocked = of_function.get_mut(&function);
        if let Some(blocked) = blocked.filter(|blocked| t1.since(t0) <= blocked.longest_ns) {
            blocked.add((t0, t1));
        }
    }
    of_function
}

/// What the task of a turn begins with: of a task of tokio the stacks of its turn tell.
fn first_function(inquiry: &Inquiry<'_>, slot: usize, turn: &CarriedTurn) -> Option<FunctionIx> {
    let carried = inquiry.timeline.carried();
    let task = turn.task?;
    if carried.is_coroutine(task) {
        let stack = carried.coroutine(task);
        return inquiry.frames(stack).first().map(|spot| spot.function);
    }
    let events = inquiry
        .stacks
        .events_of(inquiry.timeline.threads[slot].thread);
    let begun = events.partition_point(|event| event.at < turn.t0);
    let mut within = events[begun..]
        .iter()
        .take_while(|event| event.at < turn.t1);
    within.find_map(|event| futures::first_function(&inquiry.stacks.code, event.stack))
}

/// How many other tasks have their turn after this one, before the thread waits for events again.
fn others(inquiry: &Inquiry<'_>, slot: usize, turn: &CarriedTurn, later: &[CarriedTurn]) -> usize {
    let until = later.last().map_or(turn.t1, |last| last.t1);
    let mut waits = inquiry.timeline.between(slot, turn.t1, until);
    // What a task waits for in a call of its own is no time in which the loop has nothing to do.
    let is_idle = |at: Nanos| {
        let next = later.partition_point(|turn| turn.t1 <= at);
        later.get(next).is_some_and(|turn| turn.task.is_none())
    };
    let idle =
        waits.find(|(span, _)| span.state == State::Wait && span.t0 >= turn.t1 && is_idle(span.t0));
    let until = idle.map_or(until, |(span, _)| span.t0);
    let before = later.iter().take_while(|turn| turn.t0 < until);
    let tasks: BTreeSet<TaskId> = before.filter_map(|turn| turn.task).collect();
    tasks
        .iter()
        .filter(|task| Some(**task) != turn.task)
        .count()
}

fn suspect(
    inquiry: &Inquiry<'_>,
    slot: usize,
    function: FunctionIx,
    mut blocked: Blocked,
) -> Suspect {
    let share = blocked.share(inquiry);
    let row = &inquiry.timeline.threads[slot];
    blocked.turns.sort_unstable();
    let events = inquiry.stacks.events_of(row.thread).iter();
    let frames = inquiry.most_of(events.filter(|event| is_within(&blocked.turns, event.at)));
    let code = &inquiry.stacks.code;
    let inner = frames.iter().map(|spot| spot.function);
    let inner = inner.take_while(|inner| *inner != function);
    let inner = inner
        .filter(|inner| code.function(*inner).is_script())
        .last();
    let mut title = say!["the event loop of ", row.process, " is blocked for up to "];
    title.0.extend([
        Piece::Time(blocked.longest_ns),
        " by ".into(),
        inner.unwrap_or(function).into(),
    ]);
    if inner.is_some() {
        title.0.extend([" in ".into(), function.into()]);
    }
    let children = children(inquiry, row.process, &blocked.turns);
    let fix = without(&code.function(function).name, &children);
    let mut causes = inquiry.causes(|key| {
        let is_own =
            inquiry.same_program(key.process, row.process) || children.contains(&key.process);
        is_own && matches!(key.state, State::Cpu | State::Wait)
    });
    // It waits for a response there, and the path leads through who sends that.
    let during = inquiry.during_waits(|key| inquiry.same_program(key.process, row.process));
    let leads_through_others = !during.is_empty();
    causes.extend(
        during
            .into_keys()
            .filter(|cause| !causes.contains(cause))
            .collect::<Vec<_>>(),
    );
    let count = blocked.turns.len() as u64;
    let mut suspect = Suspect::new(title, fix, Weight::within(causes, blocked.ns))
        .of(row.process)
        .held(
            inquiry,
            &RULE,
            "longest",
            blocked.longest_ns as f64,
            longest_limit(inquiry, blocked.longest_ns),
        )
        .held(
            inquiry,
            &RULE,
            "others",
            blocked.others as f64,
            &limits::OTHERS,
        )
        .held(inquiry, &RULE, "share", share, &limits::SHARE)
        .told(say![
            Piece::Count(count),
            " times it blocks the loop, for ",
            Piece::Time(blocked.ns / count.max(1)),
            " on average; up to ",
            Piece::Count(blocked.others as u64),
            " other tasks can run only afterwards"
        ]);
    suspect.frames = frames;
    suspect.examples = examples(row.thread, blocked.turns);
    suspect.is_why_in_turn = leads_through_others;
    suspect
}

/// The limit that the longest of them is over, which may be one of those for brief ones.
fn longest_limit(inquiry: &Inquiry<'_>, longest_ns: u64) -> &'static Limit {
    let all = [&limits::LONG, &limits::CALLS, &limits::BRIEF];
    let over = all
        .into_iter()
        .find(|limit| longest_ns as f64 >= RULE.limit(inquiry, limit));
    over.unwrap_or(&limits::BRIEF_CALLS)
}

/// Whether a moment lies in one of these turns, which are in order.
fn is_within(turns: &[(Nanos, Nanos)], at: Nanos) -> bool {
    let begun = turns.partition_point(|(t0, _)| *t0 <= at);
    begun > 0 && at < turns[begun - 1].1
}

/// Nobody knows how much of it others can do meanwhile: at most all, of what the function does and of what its children do.
fn without(function: &str, children: &BTreeSet<ProcessId>) -> Fix {
    let removed = |how| {
        let in_children = (!children.is_empty()).then(|| Change {
            what: What::All,
            processes: Some(children.clone()),
            how,
        });
        let own = Change {
            what: What::Function(function.to_owned()),
            processes: None,
            how,
        };
        std::iter::once(own).chain(in_children).collect()
    };
    Fix::Likely(Vec::new(), removed(How::Batch(2)), removed(How::Never))
}

/// The processes that were started in these turns, and those that they started: what a turn waits for is on the path in them.
fn children(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    turns: &[(Nanos, Nanos)],
) -> BTreeSet<ProcessId> {
    let all = inquiry.with_descendants(BTreeSet::from([process]));
    let threads = inquiry.timeline.threads.iter();
    let started =
        threads.filter(|thread| thread.process != process && is_within(turns, thread.start));
    let started: BTreeSet<ProcessId> = started.map(|thread| thread.process).collect();
    started.intersection(&all).copied().collect()
}

/// The longest of them.
fn examples(thread: ThreadId, mut turns: Vec<(Nanos, Nanos)>) -> Vec<Example> {
    const ENOUGH: usize = 3;
    turns.sort_by_key(|(t0, t1)| Reverse(t1.since(*t0)));
    let longest = turns.into_iter().take(ENOUGH);
    longest.map(|(at, _)| Example { thread, at }).collect()
}
