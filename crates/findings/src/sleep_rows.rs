//! Sleeps that follow each other with little between them: who sleeps, looks whether something is there, and sleeps again, waits
//! for that all the time. Looking now and then costs no more than the last sleep of such a row, and half of it on average.
//!
//! What is looked at no recording tells. So short sleeps in rows are taken for looking, if the program does not write or send
//! something for each, and there is somebody or something that may have been looked at; long ones only where there are many rows, of
//! different lengths.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::sockets::sends;
use timesink_analysis::stretches::Stretches;
use timesink_analysis::timeline::Waker;
use timesink_recording::ids::{ProcessId, ThreadId};
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use crate::inquiry::Inquiry;
use crate::need::Need;

/// A look takes no longer than this part of the sleep before it.
const LOOK: f64 = 0.25;
/// Shorter sleeps may be part of waiting for something else, as those of an event loop may. Measured: 1.0 and 2.0 ms where locks,
/// files and conditions are looked at in short intervals; 20 ms and more where a delay was to be found.
pub const SHORT_NS: f64 = 10e6;
/// So many sleeps in a row, on average, are no single delays.
const IN_A_ROW: f64 = 1.5;
/// So many rows of different lengths are no chance.
const ROWS: usize = 5;
/// With as many things written or sent as sleeps, but for this part, each sleep is a delay between two of them.
const EACH: f64 = 0.8;

/// On a processor for less than this part of the sleeps nothing much is done. Measured: 0.3 % where Python looks at the clock every 200 ms and
/// has a job every second; 2 % in a program that does something for each sleep of 50 ms.
const IDLE: f64 = 0.01;
/// Calls that see nothing of the world outside: a clock, memory, who else the process is.
const BLIND: [&str; 12] = [
    "brk",
    "clock_gettime",
    "clock_nanosleep",
    "futex",
    "getpid",
    "gettid",
    "madvise",
    "mmap",
    "munmap",
    "nanosleep",
    "sched_yield",
    "tgkill",
];

/// Calls that change nothing and take nothing: a clock, memory, whether a file or a process is there.
const LOOKS: [&str; 18] = [
    "access",
    "brk",
    "clock_gettime",
    "clock_nanosleep",
    "faccessat",
    "faccessat2",
    "fstat",
    "futex",
    "getpid",
    "kill",
    "madvise",
    "mmap",
    "munmap",
    "nanosleep",
    "newfstatat",
    "stat",
    "statx",
    "wait4",
];

/// The rows of some sleeps of one process, each by the indexes of their spans.
#[derive(Clone, Debug, Default)]
pub struct Rows(Vec<Vec<usize>>);

impl Rows {
    /// The rows of these sleeps, if they are looks at something rather than delays.
    pub fn of_looks(
        inquiry: &Inquiry<'_>,
        process: ProcessId,
        sleeps: &BTreeSet<usize>,
    ) -> Option<Rows> {
        let rows = Rows::of(inquiry, process, sleeps);
        rows.are_looks(inquiry, process).then_some(rows)
    }

    fn of(inquiry: &Inquiry<'_>, process: ProcessId, sleeps: &BTreeSet<usize>) -> Rows {
        let mut started: BTreeMap<ThreadId, Vec<Nanos>> = BTreeMap::new();
        for thread in &inquiry.timeline.threads {
            if let Some(parent) = thread.parent {
                started.entry(parent).or_default().push(thread.start);
            }
        }
        let threads = inquiry.threads_of(&BTreeSet::from([process])).into_iter();
        let rows = threads.flat_map(|thread| {
            let mut starts = started.remove(&thread).unwrap_or_default();
            starts.sort_unstable();
            of_thread(inquiry, thread, &starts, sleeps)
        });
        Rows(rows.collect())
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// How many sleeps there are in all.
    pub fn sleeps(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// The last of each: what was looked for came while it lasted.
    pub fn last(&self) -> BTreeSet<usize> {
        let last = self.0.iter().filter_map(|row| row.last());
        last.copied().collect()
    }

    /// Of the last sleeps, the part that is surely lost: on average a half, less what chance makes of that with so many.
    pub fn surely_lost(&self) -> f64 {
        // What ends at any moment of a sleep with the same probability has this variance.
        let variance = 1.0 / 12.0 / self.count().max(1) as f64;
        (0.5 - 2.0 * variance.sqrt()).max(0.0)
    }

    /// Whether they are no single ones.
    fn are_long(&self) -> bool {
        let sleeps = self.sleeps();
        sleeps > 0 && sleeps as f64 >= self.count() as f64 * IN_A_ROW
    }

    fn are_looks(&self, inquiry: &Inquiry<'_>, process: ProcessId) -> bool {
        let sleeps = self.sleeps();
        if !self.are_long()
            || done_for_each(inquiry, process, sleeps)
            || self.hands_on_after_each(inquiry)
        {
            return false;
        }
        let ns = self.0.iter().flatten().filter_map(|&at| {
            let span = inquiry.timeline.span(at)?;
            Some(span.t1.since(span.t0))
        });
        let each_ns = ns.fold(0, u64::saturating_add) as f64 / sleeps as f64;
        let lengths: BTreeSet<usize> = self.0.iter().map(Vec::len).collect();
        each_ns < SHORT_NS && self.has_something_to_see(inquiry, process)
            || self.count() >= ROWS && lengths.len() > 1
            || self.does_nothing(inquiry)
    }

    /// Whether it tells another thread about as often as it sleeps that something is done: each sleep is part of that then, as where the threads
    /// of a pool sleep in their jobs, for which somebody waits.
    fn hands_on_after_each(&self, inquiry: &Inquiry<'_>) -> bool {
        let timeline = inquiry.timeline;
        let mut between: BTreeMap<usize, Vec<(Nanos, Nanos)>> = BTreeMap::new();
        for (row, stretch) in self.between(inquiry) {
            let first = row.first().and_then(|&at| timeline.span(at));
            if let Some(slot) = first.and_then(|span| timeline.slot(span.thread)) {
                between.entry(slot).or_default().push(stretch);
            }
        }
        let slots = 0..timeline.threads.len();
        let spans = slots.flat_map(|slot| timeline.spans_of(slot));
        let waits =
            spans.filter(|span| span.state == State::Wait && span.detail == Detail::Condition);
        let told = waits.filter(|span| match timeline.waker(span) {
            Waker::Thread { slot, at } => {
                // The rows of a thread follow each other.
                let rows = between.get(&slot).map_or(&[][..], Vec::as_slice);
                let begun = rows.partition_point(|(from, _)| *from <= at);
                let row = begun.checked_sub(1).and_then(|last| rows.get(last));
                row.is_some_and(|(_, until)| at <= *until)
            }
            _ => false,
        });
        told.count() as f64 >= self.sleeps() as f64 * EACH
    }

    /// Whether anything may come while it sleeps: somebody else is at work, or it asks the system for something between the sleeps.
    fn has_something_to_see(&self, inquiry: &Inquiry<'_>, process: ProcessId) -> bool {
        if !inquiry.has(Need::Calls) {
            return true;
        }
        let slept = self.0.iter().flatten();
        let spans = slept.filter_map(|&at| inquiry.timeline.span(at));
        let sleepers: BTreeSet<ThreadId> = spans.clone().map(|span| span.thread).collect();
        let mut sites = sleepers.iter().map(|&of| inquiry.stacks.sites_of(of));
        let seen = match sites.all(<[_]>::is_empty) {
            true => other_calls(inquiry, process, &BLIND),
            false => self.calls_between(inquiry, &BLIND),
        };
        if seen as f64 >= self.sleeps() as f64 * EACH {
            return true;
        }
        let slept = Stretches::of(spans.map(|span| (span.t0, span.t1)).collect());
        let threads = inquiry.timeline.threads.iter().enumerate();
        let others = threads.filter(|(slot, thread)| {
            !sleepers.contains(&thread.thread) && !inquiry.timeline.is_housekeeping(*slot)
        });
        let spans = others.flat_map(|(slot, _)| inquiry.timeline.spans_of(slot));
        let at_work = spans.filter(|span| span.state == State::Cpu);
        let at_work_ns: u64 = at_work.map(|span| slept.within(span.t0, span.t1)).sum();
        at_work_ns as f64 >= slept.ns() as f64 * IDLE
    }

    /// Whether nothing is done between the sleeps of a row but to look at a clock, at memory, or whether a file is there.
    fn does_nothing(&self, inquiry: &Inquiry<'_>) -> bool {
        let (mut slept_ns, mut ran_ns) = (0u64, 0u64);
        for (row, (from, until)) in self.between(inquiry) {
            let sleeps = row.iter().filter_map(|&at| inquiry.timeline.span(at));
            let mut thread = None;
            for span in sleeps {
                slept_ns += span.t1.since(span.t0);
                thread = Some(span.thread);
            }
            let slot = thread.and_then(|thread| inquiry.timeline.slot(thread));
            if let Some(slot) = slot.filter(|_| from < until) {
                let during = inquiry.timeline.between(slot, from, until);
                let ran = during.filter(|(span, _)| span.state == State::Cpu);
                ran_ns += ran.map(|(_, ns)| ns).sum::<u64>();
            }
        }
        let done = self.calls_between(inquiry, &LOOKS);
        (ran_ns as f64) < slept_ns as f64 * IDLE && (done as f64) < self.sleeps() as f64 * EACH
    }

    /// Each row, with when its first sleep was over and its last began.
    fn between<'a>(
        &'a self,
        inquiry: &'a Inquiry<'_>,
    ) -> impl Iterator<Item = (&'a [usize], (Nanos, Nanos))> {
        self.0.iter().filter_map(|row| {
            let first = inquiry.timeline.span(*row.first()?)?;
            let last = inquiry.timeline.span(*row.last()?)?;
            Some((row.as_slice(), (first.t1, last.t0)))
        })
    }

    /// How many calls but these are made between the sleeps of a row.
    fn calls_between(&self, inquiry: &Inquiry<'_>, but: &[&str]) -> u64 {
        let rows = self.between(inquiry);
        let calls = rows.flat_map(|(row, (from, until))| {
            let span = row.first().and_then(|&at| inquiry.timeline.span(at));
            let sites = span.map(|span| inquiry.stacks.sites_of(span.thread));
            let sites = sites.unwrap_or_default().iter();
            sites.filter(move |site| site.at > from && site.at < until)
        });
        let meant = calls.filter(|site| !but.contains(&site.call.as_str()));
        meant.map(|site| site.count).sum()
    }
}

/// The rows of one thread, which started others at these moments: between two of them it did more than look.
fn of_thread(
    inquiry: &Inquiry<'_>,
    thread: ThreadId,
    starts: &[Nanos],
    sleeps: &BTreeSet<usize>,
) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let slot = inquiry.timeline.slot(thread);
    let spans = slot
        .into_iter()
        .flat_map(|slot| inquiry.timeline.indexed(slot));
    let (mut awake_ns, mut before) = (0u64, None);
    for (index, span) in spans {
        let ns = span.t1.since(span.t0);
        if !sleeps.contains(&index) {
            match span.state {
                State::Ready => {}
                // What came from elsewhere meanwhile was an answer to something; and who writes to a disk did more than look.
                State::Wait
                    if span.detail != Detail::Sleep
                        && (matches!(inquiry.timeline.waker(span), Waker::Outside)
                            || writes(span.detail)) =>
                {
                    before = None;
                }
                _ => awake_ns = awake_ns.saturating_add(ns),
            }
            continue;
        }
        let follows = before.is_some_and(|(end, slept_ns): (Nanos, u64)| {
            let next = starts.get(starts.partition_point(|start| *start < end));
            let has_started = next.is_some_and(|start| *start <= span.t0);
            !has_started && awake_ns as f64 <= slept_ns as f64 * LOOK
        });
        match rows.last_mut().filter(|_| follows) {
            Some(row) => row.push(index),
            None => rows.push(vec![index]),
        }
        (awake_ns, before) = (0, Some((span.t1, ns)));
    }
    rows
}

/// Whether who waits so has written something that is to stay.
fn writes(detail: Detail) -> bool {
    matches!(detail, Detail::DiskWrite | Detail::Flush)
}

/// How many calls but these a process makes in all.
fn other_calls(inquiry: &Inquiry<'_>, process: ProcessId, but: &[&str]) -> u64 {
    let calls = inquiry.facts.calls.iter();
    let others =
        calls.filter(|call| call.process == Some(process) && !but.contains(&call.call.as_str()));
    others.map(|call| call.count).fold(0, u64::saturating_add)
}

/// Whether a process writes or sends about as often as it sleeps: then it does something between two sleeps.
fn done_for_each(inquiry: &Inquiry<'_>, process: ProcessId, sleeps: usize) -> bool {
    let calls = inquiry.facts.calls.iter();
    let own = calls.filter(|call| call.process == Some(process) && sends(&call.call));
    let done = own.map(|call| call.count.saturating_sub(call.errors));
    done.fold(0, u64::saturating_add) as f64 >= sleeps as f64 * EACH
}
