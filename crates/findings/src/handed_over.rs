//! What threads of a process wait for while others have it: a connection of a pool, or a place of a semaphore, which they hand over to each
//! other; or one of the threads of a pool that does their jobs.
//!
//! Such a wait is one for a condition, as all waits between threads are. It is known by who ends it: one of those that wait at the same
//! place at other times, a single one each time, and who then soon waits itself, or is done. Who waits for work is woken by somebody else, or by
//! one that goes on with its own; who meets others at a barrier is woken with them. Who waits for the result of a job does so in a function of a
//! library for that, and is woken by the thread that did the job.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::{FunctionIx, StackIx};
use timesink_analysis::stretches::Stretches;
use timesink_analysis::timeline::{Span, Waker};
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use crate::event_loop;
use crate::inquiry::Inquiry;
use crate::interpreter_lock;

/// Shorter waits do not count: the lock of Python is asked for after 5 ms, and most of what protects data is held for less.
const LEAST_NS: u64 = 1_000_000;
/// Two hand something to and fro without any shortage.
const LEAST_THREADS: usize = 3;
/// So much of the waiting ends by one of those that wait.
const BY_THEM: f64 = 0.6;
/// So many of those that end a wait have nothing more to do then, for as long as this part of what they took before.
const HANDED: f64 = 0.6;
const SOON: f64 = 0.25;
/// At one moment hardly ever more than one is let through.
const AT_ONCE: f64 = 1.5;
/// Waits that the same thread ends within this are ended at one moment.
const MOMENT_NS: u64 = 200_000;

/// Of threads that do the jobs of others none is ever without one. Measured (2026-11-29, Java and Python): one worker for 8 or 12 threads has a
/// job for 1.00 of the time, two for 12 have 1.99 of 2, four 3.92 of 4. In a drawn recording of workers that wait for jobs it is 0.67.
const BUSY: f64 = 0.85;

/// Something that threads of a process wait for, while others have it.
pub struct HandedOver {
    pub process: ProcessId,
    pub what: Shared,
    /// As indexes into the timeline's threads.
    pub threads: BTreeSet<usize>,
    pub waits: u64,
    pub waits_ns: u64,
    /// When any of them waits.
    during: Stretches,
    /// Where they wait, by the stack with the most time.
    pub waits_in: StackIx,
    /// What those do meanwhile that do not wait.
    pub held: LetThrough,
}

/// What threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// Connections, or places, that they hand over to each other.
    Places,
    /// Other threads, which do their jobs.
    Workers,
}

/// What those threads do that are let through, while others wait.
#[derive(Default)]
pub struct LetThrough {
    /// For how long, all of them together.
    pub ns: u64,
    /// Their waits, by their spans.
    pub waits: BTreeSet<usize>,
    pub waits_ns: u64,
    pub sleeps_ns: u64,
    /// What these waits are for.
    pub kinds: BTreeSet<(Detail, Option<ObjectId>)>,
    /// The stack with the most time.
    pub stack: Option<StackIx>,
}

/// A wait for another thread of the same process.
struct ThreadWait {
    slot: usize,
    from: Nanos,
    until: Nanos,
    waker: usize,
    woken: Nanos,
    stack: StackIx,
}

impl ThreadWait {
    fn ns(&self) -> u64 {
        self.until.since(self.from)
    }
}

impl HandedOver {
    /// All there is, in the order of processes.
    pub fn all(inquiry: &Inquiry<'_>) -> Vec<HandedOver> {
        let mut places: BTreeMap<(ProcessId, FunctionIx), Vec<ThreadWait>> = BTreeMap::new();
        let mut known: BTreeMap<StackIx, Option<FunctionIx>> = BTreeMap::new();
        for slot in 0..inquiry.timeline.threads.len() {
            // What tasks wait for is known by where they were left.
            if inquiry.timeline.is_housekeeping(slot) || inquiry.timeline.carried().has(slot) {
                continue;
            }
            let process = inquiry.timeline.threads[slot].process;
            for wait in waits(inquiry, slot) {
                let place = known.entry(wait.stack);
                let place = *place.or_insert_with(|| place_of(inquiry, wait.stack));
                if let Some(place) = place {
                    places.entry((process, place)).or_default().push(wait);
                }
            }
        }
        let mut locks: BTreeMap<ProcessId, BTreeSet<ObjectId>> = BTreeMap::new();
        let each = places.into_iter();
        let found = each.filter_map(|((process, place), waits)| {
            let own = locks.entry(process);
            let locks = own.or_insert_with(|| interpreter_lock::of_process(inquiry, process));
            let handed_over = handed_over(inquiry, process, place, &waits, locks);
            handed_over.or_else(|| by_workers(inquiry, process, waits, locks))
        });
        found.collect()
    }

    /// How long any of them waits.
    pub fn ns(&self) -> u64 {
        self.during.ns()
    }

    /// How many of them wait for others to be through, on average.
    pub fn waiting(&self) -> f64 {
        self.waits_ns as f64 / self.ns().max(1) as f64
    }

    /// How many of them have it, on average.
    pub fn let_through(&self) -> f64 {
        self.held.ns as f64 / self.ns().max(1) as f64
    }

    /// Of those that want it, the share that has it.
    pub fn through(&self) -> f64 {
        self.held.ns as f64 / (self.held.ns + self.waits_ns).max(1) as f64
    }
}

/// Whether a thread waits for what only another thread ends.
fn is_for_threads(span: &Span) -> bool {
    let between = matches!(span.detail, Detail::Condition | Detail::Lock | Detail::Join);
    span.state == State::Wait && between
}

/// The waits of a thread for others of its process.
fn waits(inquiry: &Inquiry<'_>, slot: usize) -> Vec<ThreadWait> {
    let timeline = inquiry.timeline;
    let thread = &timeline.threads[slot];
    let spans = timeline.spans_of(slot).iter();
    let long = spans.filter(|span| {
        span.state == State::Wait
            && span.detail == Detail::Condition
            && span.t1.since(span.t0) >= LEAST_NS
    });
    let waits = long.filter_map(|span| {
        let Waker::Thread { slot: waker, at } = timeline.waker(span) else {
            return None;
        };
        let is_other = waker != slot && timeline.threads[waker].process == thread.process;
        let stack = inquiry.stacks.stack_at(thread.thread, span.t0);
        Some(ThreadWait {
            slot,
            from: span.t0,
            until: span.t1,
            waker,
            woken: at,
            stack: stack.filter(|_| is_other)?,
        })
    });
    waits.collect()
}

/// The function of the program's in which it waits.
fn place_of(inquiry: &Inquiry<'_>, stack: StackIx) -> Option<FunctionIx> {
    let code = &inquiry.stacks.code;
    let functions = code.functions_of(stack);
    let mut own = functions.into_iter();
    own.find(|&function| code.is_user_code(function) && !code.is_of_runtime(function))
}

fn handed_over(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    place: FunctionIx,
    waits: &[ThreadWait],
    interpreters: &BTreeSet<ObjectId>,
) -> Option<HandedOver> {
    let threads: BTreeSet<usize> = waits.iter().map(|wait| wait.slot).collect();
    if threads.len() < LEAST_THREADS {
        return None;
    }
    let waits_ns: u64 = waits.iter().map(ThreadWait::ns).sum();
    let by_them = waits.iter().filter(|wait| threads.contains(&wait.waker));
    let by_them: u64 = by_them.map(ThreadWait::ns).sum();
    if (by_them as f64) < waits_ns as f64 * BY_THEM || are_let_go_together(waits) {
        return None;
    }
    let during = Stretches::of(waits.iter().map(|wait| (wait.from, wait.until)).collect());
    let waits_in = waits_in(waits)?;
    // One that is always quick enough never waits, and has it all the same.
    let mut ended: BTreeMap<usize, u64> = BTreeMap::new();
    for wait in waits {
        *ended.entry(wait.waker).or_default() += 1;
    }
    // A loop of events that ends such waits gives work to them.
    let several = ended.into_iter().filter(|&(slot, waits)| {
        let spans = inquiry.timeline.spans_of(slot).iter();
        let polls = spans.filter(|span| span.state == State::Wait && span.detail == Detail::Poll);
        let objects: BTreeSet<_> = polls.map(|span| span.object()).collect();
        let mut objects = objects.into_iter();
        waits > 1 && !objects.any(|object| event_loop::is_one(inquiry, object))
    });
    let having: BTreeSet<usize> = several
        .map(|(slot, _)| slot)
        .chain(threads.iter().copied())
        .collect();
    let holding = Holding {
        times: holding(waits),
        place,
    };
    let held = LetThrough::of(inquiry, &having, &during, interpreters, Some(&holding));
    if !is_handed_over(inquiry, waits, held.ns / waits.len() as u64) {
        return None;
    }
    Some(HandedOver {
        process,
        what: Shared::Places,
        threads,
        waits: waits.len() as u64,
        waits_ns,
        during,
        waits_in,
        held,
    })
}

/// When threads are known to have what others wait for.
struct Holding {
    times: BTreeMap<usize, Stretches>,
    /// Where they wait for it.
    place: FunctionIx,
}

impl Holding {
    /// Whether a thread that has it waits for another one: for one of a library's, say, which asks somebody else.
    fn waits_for_others(&self, inquiry: &Inquiry<'_>, slot: usize, span: &Span) -> bool {
        let has_it = |own: &Stretches| 2 * own.within(span.t0, span.t1) >= length(span);
        if !is_for_threads(span) || !self.times.get(&slot).is_some_and(has_it) {
            return false;
        }
        let thread = inquiry.timeline.threads[slot].thread;
        let stack = inquiry.stacks.stack_at(thread, span.t0);
        let place = stack.and_then(|stack| place_of(inquiry, stack));
        place.is_some_and(|place| place != self.place)
    }
}

/// When each thread is known to have what others wait for: from the end of its wait until it ends somebody else's, or waits again. Where it waits
/// again at once, the one that ended its wait has taken it again.
fn holding(waits: &[ThreadWait]) -> BTreeMap<usize, Stretches> {
    let mut passed: BTreeMap<usize, Vec<Nanos>> = BTreeMap::new();
    let mut begun: BTreeMap<usize, Vec<Nanos>> = BTreeMap::new();
    for wait in waits {
        passed.entry(wait.waker).or_default().push(wait.woken);
        begun.entry(wait.slot).or_default().push(wait.from);
    }
    let in_order = |moments: &mut Vec<Nanos>| moments.sort_unstable();
    passed.values_mut().for_each(in_order);
    begun.values_mut().for_each(in_order);
    let next = |moments: &BTreeMap<usize, Vec<Nanos>>, slot: usize, after: Nanos| {
        let own = moments.get(&slot)?;
        own.get(own.partition_point(|moment| *moment <= after))
            .copied()
    };
    let mut holding: BTreeMap<usize, Vec<(Nanos, Nanos)>> = BTreeMap::new();
    for wait in waits {
        let again = next(&begun, wait.slot, wait.until);
        let is_lost = again.is_some_and(|again| again.since(wait.until) < LEAST_NS);
        let (holder, from) = match is_lost {
            true => (wait.waker, wait.woken),
            false => (wait.slot, wait.until),
        };
        let ends = [next(&passed, holder, from), next(&begun, holder, from)];
        if let Some(until) = ends.into_iter().flatten().min() {
            holding.entry(holder).or_default().push((from, until));
        }
    }
    let each = holding.into_iter();
    each.map(|(slot, times)| (slot, Stretches::of(times)))
        .collect()
}

/// What threads wait for whose jobs other threads do, of which none is ever without one.
fn by_workers(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    mut waits: Vec<ThreadWait>,
    interpreters: &BTreeSet<ObjectId>,
) -> Option<HandedOver> {
    waits.retain(|wait| is_for_result(inquiry, wait.stack));
    let threads: BTreeSet<usize> = waits.iter().map(|wait| wait.slot).collect();
    let workers: BTreeSet<usize> = waits.iter().map(|wait| wait.waker).collect();
    if threads.len() < LEAST_THREADS || !workers.is_disjoint(&threads) {
        return None;
    }
    let waits_ns: u64 = waits.iter().map(ThreadWait::ns).sum();
    let waits_in = waits_in(&waits)?;
    let during = Stretches::of(waits.iter().map(|wait| (wait.from, wait.until)).collect());
    let held = LetThrough::of(inquiry, &workers, &during, interpreters, None);
    let all_ns = during.ns().saturating_mul(workers.len() as u64);
    let is_busy = held.ns as f64 >= all_ns as f64 * BUSY;
    is_busy.then_some(HandedOver {
        process,
        what: Shared::Workers,
        threads,
        waits: waits.len() as u64,
        // Those wait, too, whose job is being done.
        waits_ns: waits_ns.saturating_sub(held.ns),
        during,
        waits_in,
        held,
    })
}

/// Whether a thread waits for the result of a job that another one does.
fn is_for_result(inquiry: &Inquiry<'_>, stack: StackIx) -> bool {
    const JAVA: [&str; 4] = [
        "java.util.concurrent.FutureTask.get",
        "java.util.concurrent.CompletableFuture.get",
        "java.util.concurrent.CompletableFuture.join",
        "java.util.concurrent.ForkJoinTask.awaitDone",
    ];
    let code = &inquiry.stacks.code;
    let functions = code.functions_of(stack).into_iter();
    functions.map(|at| code.function(at)).any(|function| {
        JAVA.contains(&function.name.as_str())
            || function.name.starts_with("std::__future_base::")
            || function.file.ends_with("/concurrent/futures/_base.py")
    })
}

/// Where threads wait, by the stack with the most time.
fn waits_in(waits: &[ThreadWait]) -> Option<StackIx> {
    let mut stacks: BTreeMap<StackIx, u64> = BTreeMap::new();
    for wait in waits {
        *stacks.entry(wait.stack).or_default() += wait.ns();
    }
    let most = stacks.into_iter().max_by_key(|(_, ns)| *ns);
    most.map(|(stack, _)| stack)
}

/// Whether most of those that end a wait are through with what they had, of which one takes so long: soon they wait themselves, or are done.
/// Or they take it again before the other one is there, which then soon waits again.
fn is_handed_over(inquiry: &Inquiry<'_>, waits: &[ThreadWait], each_ns: u64) -> bool {
    let soon_ns = (each_ns as f64 * SOON) as u64;
    let soon_waits = |slot: usize, from: Nanos| {
        let end = inquiry.timeline.threads[slot].end;
        let mut later = inquiry.timeline.indexed_from(slot, from);
        let next = later.find(|(_, span)| span.t0 >= from && is_for_threads(span));
        let until = next.map_or(end, |(_, span)| span.t0);
        until.since(from) <= soon_ns
    };
    let is_through = |wait: &&ThreadWait| {
        soon_waits(wait.waker, wait.woken) || soon_waits(wait.slot, wait.until)
    };
    let through = waits.iter().filter(is_through).count();
    through as f64 >= waits.len() as f64 * HANDED
}

/// Whether mostly several of them go on at one moment.
fn are_let_go_together(waits: &[ThreadWait]) -> bool {
    let mut ends: Vec<(usize, Nanos)> = waits.iter().map(|wait| (wait.waker, wait.woken)).collect();
    ends.sort_unstable();
    let same = ends
        .windows(2)
        .filter(|pair| pair[0].0 == pair[1].0 && pair[1].1.since(pair[0].1) <= MOMENT_NS);
    let moments = ends.len() - same.count();
    ends.len() as f64 > moments as f64 * AT_ONCE
}

fn length(span: &Span) -> u64 {
    span.t1.since(span.t0)
}

impl LetThrough {
    fn insert(&mut self, at: usize, span: &Span) {
        self.waits.insert(at);
        self.kinds.insert((span.detail, span.object()));
    }

    /// What the thread waited for meanwhile that ended this wait: if that was for another thread, what that one waited for.
    fn insert_asked(&mut self, inquiry: &Inquiry<'_>, wait: &Span) {
        /// A library may hand an answer on from thread to thread.
        const HANDS: usize = 4;
        let timeline = inquiry.timeline;
        let mut ended = *wait;
        for _ in 0..HANDS {
            let Waker::Thread { slot, at } = timeline.waker(&ended) else {
                return;
            };
            let later = timeline.indexed_from(slot, wait.t0);
            let waits = later
                .take_while(|(_, span)| span.t0 < at)
                .filter(|(_, span)| span.state == State::Wait && span.t1 <= at);
            let waits: Vec<_> = waits.collect();
            for &(index, span) in waits.iter().filter(|(_, span)| !is_for_threads(span)) {
                self.insert(index, span);
            }
            match waits.last() {
                Some((_, last)) if is_for_threads(last) => ended = **last,
                _ => return,
            }
        }
    }

    fn of(
        inquiry: &Inquiry<'_>,
        threads: &BTreeSet<usize>,
        during: &Stretches,
        interpreters: &BTreeSet<ObjectId>,
        holding: Option<&Holding>,
    ) -> LetThrough {
        let mut held = LetThrough::default();
        let mut stacks: BTreeMap<StackIx, u64> = BTreeMap::new();
        for &slot in threads {
            for (at, span) in inquiry.timeline.indexed(slot) {
                let ns = during.within(span.t0, span.t1);
                let is_interpreters = span.object().is_some_and(|o| interpreters.contains(&o));
                let waits_for_others = |own: &Holding| own.waits_for_others(inquiry, slot, span);
                let for_library = ns > 0 && holding.is_some_and(waits_for_others);
                if ns == 0 || is_for_threads(span) && !is_interpreters && !for_library {
                    continue;
                }
                held.ns = held.ns.saturating_add(ns);
                if span.state != State::Wait || is_interpreters {
                    continue;
                }
                held.waits_ns = held.waits_ns.saturating_add(ns);
                if span.detail == Detail::Sleep {
                    held.sleeps_ns = held.sleeps_ns.saturating_add(ns);
                }
                // Most of it has to be meanwhile.
                if 2 * ns >= length(span) {
                    held.insert(at, span);
                    if for_library {
                        held.insert_asked(inquiry, span);
                    }
                }
            }
            let events = inquiry
                .stacks
                .events_of(inquiry.timeline.threads[slot].thread);
            let waits = events.iter().filter(|event| event.account == Account::Wait);
            for event in waits.filter(|event| during.has(event.at)) {
                let wait = inquiry.timeline.wait_at(slot, event.at);
                if wait.is_some_and(|at| held.waits.contains(&at)) {
                    *stacks.entry(event.stack).or_default() += event.ns;
                }
            }
        }
        let most = stacks.into_iter().max_by_key(|(_, ns)| *ns);
        held.stack = most.map(|(stack, _)| stack);
        held
    }
}
