//! What is made cheaper in a replay, and by how much: from a cause to a factor for each span.

use std::collections::{BTreeMap, BTreeSet};

use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use super::calls::calls_on;
use super::entries::{entered, wrappers};
use super::shares::Shares;
use super::Recorded;
use crate::stacks::{Code, FunctionIx, Stacks};
use crate::tags::Stretch;
use crate::timeline::{Span, Waker};

/// Which time is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Waits of a kind, or for certain objects, or both.
    Waits {
        detail: Option<Detail>,
        objects: Option<BTreeSet<ObjectId>>,
    },
    /// Exactly this: a cause of the path, which many others look like.
    Cause {
        state: State,
        detail: Option<Detail>,
        object: Option<ObjectId>,
    },
    /// All that they do.
    All,
    /// On a processor.
    Cpu,
    /// Wanting a processor that others have: what a quota holds back would not have one either.
    Ready,
    /// On a processor or waiting, in a function of this name or in what it called.
    Function(String),
    /// The same for several functions, each of its own module and file, by their numbers in the stacks' code.
    Functions(BTreeSet<FunctionIx>),
    /// The same for one function, but not in these that it calls.
    FunctionBut(FunctionIx, BTreeSet<FunctionIx>),
    /// On a processor in these functions themselves, or in the kernel for them.
    Itself(BTreeSet<FunctionIx>),
    /// On a processor or waiting, in these system calls.
    Calls(BTreeSet<&'static str>),
    /// These spans, by their index in the timeline.
    Spans(BTreeSet<usize>),
    /// On a processor, in these threads.
    Threads(BTreeSet<ThreadId>),
    /// The same, in each of them from one moment to another.
    Stretches(BTreeMap<ThreadId, (Nanos, Nanos)>),
    /// All that these threads do and wait for in any of these stretches, each of which is over before the next begins.
    During(BTreeMap<ThreadId, Vec<Stretch>>),
    /// All that these threads do and wait for from one moment to another, but sleeps.
    Between(BTreeMap<ThreadId, (Nanos, Nanos)>),
}

impl What {
    /// Whether a stack of these functions, the innermost first, is in those that are meant by their numbers.
    pub fn is_within(&self, code: &Code, stack: &[FunctionIx]) -> bool {
        let in_any = |functions: &BTreeSet<FunctionIx>| stack.iter().any(|f| functions.contains(f));
        match self {
            What::Functions(functions) => in_any(functions),
            What::FunctionBut(function, but) => stack.contains(function) && !in_any(but),
            What::Itself(functions) => {
                let itself = code.outside_kernel(stack);
                itself.is_some_and(|function| functions.contains(&function))
            }
            _ => false,
        }
    }
}

/// What is done to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    /// It takes so many times as long: 0 is not at all.
    Scale(f64),
    /// So many become one.
    Batch(u32),
    /// It does not take place, and what else is changed lies within it: no part of it is taken away twice.
    Around,
    /// Of each thread only the first stays.
    KeepFirst,
    /// Those of a thread take place at the same time.
    Overlap,
    /// It does not take place, whoever ended it: what made one thread wait for another is not there any more.
    Never,
    /// Each of the threads does as much as the others, all together as much as before.
    Even,
    /// All waits of a thread take place where the last of them did.
    Last,
    /// Who waits for whom stays as it was, but to hand over takes no time.
    HandOver,
}

/// A change to a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub what: What,
    /// Only in these processes.
    pub processes: Option<BTreeSet<ProcessId>>,
    pub how: How,
}

/// How much of a span lies within the stretch of its thread.
fn part_within(span: &Span, stretches: &BTreeMap<ThreadId, (Nanos, Nanos)>) -> f64 {
    let Some(&(from, until)) = stretches.get(&span.thread) else {
        return 0.0;
    };
    let within = span.t1.min(until).since(span.t0.max(from));
    within as f64 / span.t1.since(span.t0).max(1) as f64
}

/// How much of a span lies within any of the stretches of its thread.
fn part_during(span: &Span, stretches: &BTreeMap<ThreadId, Vec<Stretch>>) -> f64 {
    let Some(stretches) = stretches.get(&span.thread) else {
        return 0.0;
    };
    let begun = stretches.partition_point(|(_, until)| *until <= span.t0);
    let within = stretches[begun..].iter();
    let within = within.take_while(|(from, _)| *from < span.t1);
    let within: u64 = within
        .map(|(from, until)| span.t1.min(*until).since(span.t0.max(*from)))
        .sum();
    within as f64 / span.t1.since(span.t0).max(1) as f64
}

/// The same of a span on a processor, as its samples have it: a stretch is only seen to begin at a call, a switch or a sample.
fn sampled_part_during(
    span: &Span,
    stretches: &BTreeMap<ThreadId, Vec<Stretch>>,
    stacks: &Stacks,
) -> f64 {
    let Some(of_thread) = stretches.get(&span.thread) else {
        return 0.0;
    };
    let (mut all, mut within) = (0u64, 0u64);
    for sample in stacks.samples_of(span.thread, span.t0, span.t1) {
        let begun = of_thread.partition_point(|(_, until)| *until <= sample.at);
        let stretch = of_thread.get(begun);
        all = all.saturating_add(sample.ns);
        if stretch.is_some_and(|(from, _)| *from <= sample.at) {
            within = within.saturating_add(sample.ns);
        }
    }
    match all {
        0 => part_during(span, stretches),
        all => within as f64 / all as f64,
    }
}

/// Whether a thread waits for nothing but a time.
fn sleeps(span: &Span) -> bool {
    span.state == State::Wait && span.detail == Detail::Sleep
}

/// Part of a span that a change is about.
struct Meant<'a> {
    index: usize,
    span: &'a Span,
    share: f64,
    /// Whoever is not made to wait is not woken either: the way back to a processor goes as the wait does.
    follows: bool,
}

/// The calls by which parents start their children and look after them.
pub const STARTS: [&str; 7] = [
    "fork", "vfork", "clone", "clone3", "wait4", "waitid", "execve",
];

/// What parents do to start their children and to look after them.
struct Births {
    parents: BTreeSet<ProcessId>,
    shares: Shares,
    factor: f64,
}

impl Births {
    /// The factors of one thread of a parent; how much of its time this is about.
    fn apply(&self, recorded: &Recorded<'_>, slot: usize, factors: &mut [f32]) -> u64 {
        let shares = self.shares.thread(&recorded.timeline.threads[slot]);
        let mut meant_ns = 0u64;
        for (index, span) in recorded.timeline.indexed(slot) {
            let share = match span.state {
                State::Cpu => shares.of(span),
                _ => continue,
            };
            meant_ns = meant_ns.saturating_add((span.t1.since(span.t0) as f64 * share) as u64);
            if let Some(kept) = factors.get_mut(index) {
                *kept *= (1.0 - share * (1.0 - self.factor)) as f32;
            }
        }
        meant_ns
    }
}

impl Change {
    /// Multiplies the factors of the spans that this is about; how much of the recorded time they are.
    pub fn apply(&self, recorded: &Recorded<'_>, factors: &mut [f32]) -> u64 {
        let shares = self.shares(recorded);
        let spared = self.spared(recorded);
        let births = self.births(recorded);
        let mut meant_ns = 0u64;
        for (slot, thread) in recorded.timeline.threads.iter().enumerate() {
            let elsewhere = |processes: &BTreeSet<_>| !processes.contains(&thread.process);
            if self.processes.as_ref().is_some_and(elsewhere) {
                if let Some(births) = births
                    .as_ref()
                    .filter(|b| b.parents.contains(&thread.process))
                {
                    meant_ns = meant_ns.saturating_add(births.apply(recorded, slot, factors));
                }
                continue;
            }
            let shares = shares.as_ref().map(|shares| shares.thread(thread));
            let spared = spared.as_ref().map(|shares| shares.thread(thread));
            let mut meant: Vec<Meant> = Vec::new();
            let mut woken = false;
            for (index, span) in recorded.timeline.indexed(slot) {
                let follows = woken && matches!(span.detail, Detail::Woken | Detail::SwitchingIn);
                woken = follows;
                let mut share = match (&shares, &self.what) {
                    (_, What::Stretches(stretches)) if span.state == State::Cpu => {
                        part_within(span, stretches)
                    }
                    (_, What::During(stretches)) if span.state == State::Cpu => {
                        sampled_part_during(span, stretches, recorded.stacks)
                    }
                    (_, What::Between(stretches)) if !sleeps(span) => part_within(span, stretches),
                    (_, What::Itself(_)) if span.state != State::Cpu => 0.0,
                    // One call waits for many things in turn: only the waits that are meant go.
                    (_, What::Waits { .. } | What::Cause { .. })
                        if span.state == State::Wait
                            && (span.detail == Detail::Poll
                                || recorded.timeline.was_poll(index)) =>
                    {
                        0.0
                    }
                    (Some(shares), _) => shares.of(span),
                    (None, _) => 0.0,
                };
                let named = match &self.what {
                    What::Spans(spans) => spans.contains(&index),
                    // A wait began with its tag and has it to its end.
                    What::During(stretches) if span.state == State::Wait => {
                        part_during(span, stretches) > 0.5
                    }
                    _ => false,
                };
                if named || follows || self.means(span) {
                    share = 1.0 - spared.as_ref().map_or(0.0, |spared| spared.of(span));
                    woken |= span.state == State::Wait;
                }
                if share > 0.0 {
                    meant_ns =
                        meant_ns.saturating_add((span.t1.since(span.t0) as f64 * share) as u64);
                    meant.push(Meant {
                        index,
                        span,
                        share,
                        follows,
                    });
                }
            }
            self.scale(recorded, thread.thread, &meant, factors);
        }
        meant_ns
    }

    /// Without a process its parent does not start it, nor look after it. Only for programs whose children are
    /// all meant: of the others nobody can tell the parts.
    fn births(&self, recorded: &Recorded<'_>) -> Option<Births> {
        let (What::All, How::Scale(factor), Some(processes)) =
            (&self.what, self.how, &self.processes)
        else {
            return None;
        };
        let rows = || {
            recorded
                .facts
                .ledger
                .processes
                .iter()
                .map(|process| &process.row)
        };
        let others = rows().filter(|row| !processes.contains(&row.process));
        let others: BTreeSet<ProcessId> = others.filter_map(|row| row.parent).collect();
        let parents = rows().filter_map(|row| row.parent);
        Some(Births {
            parents: parents.filter(|parent| !others.contains(parent)).collect(),
            shares: Shares::of(recorded, |function| {
                let call = entered(function);
                f64::from(u8::from(call.is_some_and(|call| STARTS.contains(&call))))
            }),
            factor,
        })
    }

    /// The share of spans in code: in a function, or in the calls that the waits happen in.
    fn shares(&self, recorded: &Recorded<'_>) -> Option<Shares> {
        match &self.what {
            What::Function(name) => Some(Shares::of(recorded, |function| {
                f64::from(u8::from(function == name))
            })),
            What::Functions(_) | What::FunctionBut(..) | What::Itself(_) => {
                let code = &recorded.stacks.code;
                Some(Shares::of_stacks(recorded, |functions| {
                    f64::from(u8::from(self.what.is_within(code, functions)))
                }))
            }
            What::Calls(names) => {
                let wrappers = wrappers(recorded.stacks, names);
                Some(Shares::of(recorded, |function| {
                    let call = entered(function);
                    let is = call.is_some_and(|call| names.contains(call));
                    f64::from(u8::from(is || wrappers.contains(function)))
                }))
            }
            What::Waits { .. }
            | What::Cause {
                state: State::Wait, ..
            } => {
                let mut calls = recorded
                    .calls
                    .shares(recorded.facts, |detail, object| self.waits(detail, object));
                if let (What::Waits { objects, .. }, How::HandOver) = (&self.what, self.how) {
                    calls.extend(calls_on(recorded.facts, objects.as_ref()));
                }
                in_calls(recorded, &calls)
            }
            _ => None,
        }
    }

    /// What is on a processor and goes with a cause of its own: a call with the wait that it is for. So no time is gained
    /// with two causes, and what is left is work.
    fn spared(&self, recorded: &Recorded<'_>) -> Option<Shares> {
        match self.what {
            What::Cause {
                state: State::Cpu,
                detail: None,
                ..
            } => in_calls(
                recorded,
                &recorded.calls.shares(recorded.facts, |_, _| true),
            ),
            _ => None,
        }
    }

    /// Whether it takes waits away, rather than work.
    pub(super) fn is_about_waits(&self) -> bool {
        let waits = match &self.what {
            What::Waits { .. } | What::Calls(_) | What::Spans(_) | What::During(_) | What::All => {
                true
            }
            What::Cause { state, .. } => *state == State::Wait,
            _ => false,
        };
        waits && self.how != How::Last
    }

    /// Whether it takes away what certain functions do, which may be waits or work.
    pub(super) fn is_about_functions(&self) -> bool {
        matches!(
            self.what,
            What::Function(_) | What::Functions(_) | What::FunctionBut(..) | What::Itself(_)
        )
    }

    /// The waits, by their spans, that are to take place later.
    pub(super) fn puts_off(&self) -> Option<&BTreeSet<usize>> {
        match (&self.what, self.how) {
            (What::Spans(spans), How::Last) => Some(spans),
            _ => None,
        }
    }

    /// What a thread's work is multiplied by where all of them do as much.
    fn evened(&self, recorded: &Recorded<'_>, thread: ThreadId) -> f64 {
        let What::Threads(threads) = &self.what else {
            return 1.0;
        };
        let work = |thread: ThreadId| {
            let slot = recorded.timeline.slot(thread);
            slot.map_or(0, |slot| recorded.timeline.threads[slot].cpu_ns)
        };
        let all: f64 = threads.iter().map(|&thread| work(thread) as f64).sum();
        match work(thread) {
            0 => 1.0,
            own => all / threads.len().max(1) as f64 / own as f64,
        }
    }

    /// Whether waits of this kind for this object are meant.
    fn waits(&self, is: Detail, waited_for: Option<ObjectId>) -> bool {
        match &self.what {
            What::Waits { detail, objects } => {
                detail.is_none_or(|detail| detail == is)
                    && objects.as_ref().is_none_or(|objects| {
                        waited_for.is_some_and(|object| objects.contains(&object))
                    })
            }
            What::Cause {
                state: State::Wait,
                detail,
                object,
            } => detail.is_none_or(|detail| detail == is) && *object == waited_for,
            _ => false,
        }
    }

    fn means(&self, span: &Span) -> bool {
        match (&self.what, span.state) {
            (_, State::Wait) if self.waits(span.detail, span.object()) => true,
            (What::Cause { state, detail, .. }, is) if is != State::Wait => {
                *state == is && detail.is_none_or(|detail| detail == span.detail)
            }
            (What::Cpu, State::Cpu) | (What::All, _) => true,
            (What::Ready, State::Ready) => span.detail != Detail::Throttled,
            (What::Threads(threads), State::Cpu) => threads.contains(&span.thread),
            _ => false,
        }
    }

    /// The factors of one thread's spans that are meant.
    fn scale(
        &self,
        recorded: &Recorded<'_>,
        thread: ThreadId,
        meant: &[Meant<'_>],
        factors: &mut [f32],
    ) {
        let waits = || meant.iter().filter(|meant| meant.span.state == State::Wait);
        let longest = waits().max_by_key(|meant| meant.span.t1.since(meant.span.t0));
        let longest = longest.map(|meant| meant.index);
        let first_until = match (&self.what, self.how) {
            (What::Function(name), How::KeepFirst) => first_call(recorded.stacks, thread, name),
            _ => meant.first().map_or(Nanos::MAX, |meant| meant.span.t1),
        };
        let even = match self.how {
            How::Even => self.evened(recorded, thread),
            _ => 1.0,
        };
        let mut waited = 0;
        let mut before = 1.0;
        for meant in meant {
            let span = meant.span;
            let is_wait = span.state == State::Wait;
            waited += u32::from(is_wait);
            let by_thread =
                is_wait && matches!(recorded.timeline.waker(span), Waker::Thread { .. });
            let whether = |is: bool| f64::from(u8::from(is));
            // What another thread did takes as long as it does there. A lock can be done without; answers can
            // come together.
            let factor = match self.how {
                // It still waits, but from then on it is there at once.
                How::HandOver if is_wait => f64::from(f32::EPSILON),
                How::HandOver => 0.0,
                _ if meant.follows => before,
                How::Scale(_) | How::Around if by_thread && !is_lock(span.detail) => 1.0,
                How::Scale(factor) if by_thread => whether(factor > 0.0),
                How::Scale(factor) => factor,
                How::Batch(many) if by_thread => whether(waited % many.max(1) == 0),
                How::Batch(many) => 1.0 / f64::from(many.max(1)),
                How::KeepFirst => whether(span.t1 <= first_until),
                How::Overlap if is_wait => whether(Some(meant.index) == longest),
                How::Overlap | How::Last => 1.0,
                How::Never | How::Around => 0.0,
                How::Even => even,
            };
            // All of a wait for a thread, or nothing of it.
            let factor = match by_thread && factor <= 0.0 {
                true => 0.0,
                false => 1.0 - meant.share * (1.0 - factor),
            };
            if is_wait {
                before = factor;
            }
            if let Some(kept) = factors.get_mut(meant.index) {
                match self.how {
                    How::Around => *kept = kept.min(factor as f32),
                    _ => *kept *= factor as f32,
                }
            }
        }
    }
}

/// The share of spans in these calls, of each so much as is said.
fn in_calls(recorded: &Recorded<'_>, calls: &BTreeMap<String, f64>) -> Option<Shares> {
    let share = |function: &str| {
        let share = entered(function).and_then(|call| calls.get(call));
        share.copied().unwrap_or(0.0)
    };
    (!calls.is_empty()).then(|| Shares::of(recorded, share))
}

fn is_lock(detail: Detail) -> bool {
    matches!(detail, Detail::Lock | Detail::FileLock | Detail::KernelLock)
}

/// When the first stretch in a function ends: samples and waits outside of it come next.
fn first_call(stacks: &Stacks, thread: ThreadId, name: &str) -> Nanos {
    let mut events = stacks.events_of(thread).iter();
    let inside = |stack| {
        let functions = stacks.code.functions_of(stack);
        let mut names = functions
            .iter()
            .map(|&function| &stacks.code.function(function).name);
        names.any(|found| found == name)
    };
    events.by_ref().find(|event| inside(event.stack));
    let outside = events.find(|event| !inside(event.stack));
    outside.map_or(Nanos::MAX, |event| event.at)
}
