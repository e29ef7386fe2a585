//! The spans of every thread in their order: what the critical path and the replay walk over.
//!
//! Rows of a damaged recording may lie anywhere in time; whoever walks must come to an end all the same, so
//! nothing is promised here but that each thread's spans stand in the order in which they begin.

use std::collections::BTreeSet;

use timesink_recording::ids::{ProcessId, ThreadId};
use timesink_recording::tables::{Call, Object, Process, Thread};
use timesink_recording::words::{Detail, SchedulingPolicy, State};
use timesink_recording::{Nanos, Recording};

use super::{Asking, KeptSpans, SortedSpans, Span};
use crate::slots::Slots;

/// A wake-up is timed on the waker's processor, its run on its own: they differ by so much at most.
pub const SKEW_NS: u64 = 20_000;

/// When the first and the last span of a thread begin.
#[derive(Clone, Copy, Debug)]
struct Begins {
    first: Nanos,
    last: Nanos,
}

impl Begins {
    fn of(spans: &[Span]) -> Option<Begins> {
        Some(Begins {
            first: spans.first()?.t0,
            last: spans.last()?.t0,
        })
    }
}

/// All threads and their spans.
#[derive(Clone, Debug)]
pub struct Spans {
    /// In the order of their numbers.
    pub threads: Vec<Thread>,
    slots: Slots,
    /// Where the spans of each thread begin; one more than there are threads.
    first: Vec<usize>,
    /// When the first and the last span of each thread begin: kept here, because every search asks for them, and who touches both
    /// ends of 200 threads has 400 MB of a large recording in memory.
    begins: Vec<Option<Begins>>,
    pub(super) spans: Vec<Span>,
    /// Those that are told as waits for one peer and were for any of several things, in order.
    pub(super) polled: Vec<usize>,
    /// The threads with which a runtime looks after itself, by their places.
    housekeeping: BTreeSet<usize>,
    /// The kernel's own threads, in recordings of a whole machine.
    of_kernel: BTreeSet<usize>,
}

impl Spans {
    /// The spans of an open recording.
    pub fn of(recording: &Recording) -> timesink_recording::Result<Spans> {
        let spans = KeptSpans::of(recording)?.into_spans();
        let asking = Asking::of(&recording.rows::<Object>()?, &recording.rows::<Call>()?);
        Spans::with(recording, spans, &asking)
    }

    /// The same, of what has been read.
    pub fn with(
        recording: &Recording,
        spans: SortedSpans,
        asking: &Asking,
    ) -> timesink_recording::Result<Spans> {
        let threads = recording.numbered_rows(|thread: &Thread| thread.thread.0)?;
        let mut spans = Spans::of_threads(threads, spans);
        let processes = recording.rows::<Process>()?;
        let of_kernel = processes.iter().filter(|process| is_of_kernel(process));
        let of_kernel: BTreeSet<ProcessId> = of_kernel.map(|process| process.process).collect();
        let threads = spans.threads.iter().enumerate();
        let threads = threads.filter(|(_, thread)| of_kernel.contains(&thread.process));
        spans.of_kernel = threads.map(|(slot, _)| slot).collect();
        spans.with_polls_told_apart(recording, asking)
    }

    /// Those of these threads; spans of others are left out.
    pub fn new(threads: Vec<Thread>, spans: Vec<Span>) -> Spans {
        Spans::of_threads(threads, SortedSpans::of(spans))
    }

    fn of_threads(mut threads: Vec<Thread>, sorted: SortedSpans) -> Spans {
        threads.sort_by_key(|thread| thread.thread);
        threads.dedup_by_key(|thread| thread.thread);
        let slots = Slots::new(threads.iter().map(|thread| thread.thread.0));
        let SortedSpans { spans, starts } = sorted.retain(|thread| slots.get(thread.0).is_some());
        let start_of_next = |thread: &Thread| {
            let at = starts.partition_point(|(other, _)| *other < thread.thread);
            starts.get(at).map_or(spans.len(), |(_, start)| *start)
        };
        let mut first: Vec<usize> = threads.iter().map(start_of_next).collect();
        first.push(spans.len());
        let of_thread = first.windows(2).map(|ends| &spans[ends[0]..ends[1]]);
        Spans {
            begins: of_thread.map(Begins::of).collect(),
            threads,
            slots,
            first,
            spans,
            housekeeping: BTreeSet::new(),
            of_kernel: BTreeSet::new(),
            polled: Vec::new(),
        }
    }

    /// Says which threads a runtime looks after itself with.
    pub fn set_housekeeping(&mut self, threads: &BTreeSet<ThreadId>) {
        let slots = threads.iter().filter_map(|&thread| self.slot(thread));
        self.housekeeping = slots.collect();
    }

    /// The same threads are the runtime's and the kernel's as in other spans of theirs.
    pub(crate) fn are_kinds_as_in(&mut self, other: &Spans) {
        self.housekeeping.clone_from(&other.housekeeping);
        self.of_kernel.clone_from(&other.of_kernel);
    }

    /// Whether a runtime looks after itself with this thread.
    pub fn is_housekeeping(&self, slot: usize) -> bool {
        self.housekeeping.contains(&slot)
    }

    /// Whether a thread that did something at a moment had come to it by a timer, not because another thread woke it.
    fn interrupts(&self, slot: usize, at: Nanos) -> bool {
        if !self.is_housekeeping(slot) {
            return false;
        }
        let spans = self.spans_of(slot);
        let (before, after) = spans.split_at(spans.partition_point(|span| span.t0 < at));
        let waits = |span: &&Span| span.state == State::Wait;
        let by_timer = before.iter().rev().find(waits);
        let by_timer = by_timer.is_some_and(|wait| wait.waker().is_none());
        by_timer && (after.iter().any(|span| waits(&span)) || !self.ends_process(slot))
    }

    /// Whether a thread ended its process: several others never waited again after it had woken them.
    fn ends_process(&self, slot: usize) -> bool {
        const SEVERAL: usize = 2;
        let thread = &self.threads[slot];
        let is_ended = |other: &usize| {
            let mut spans = self.spans_of(*other).iter().rev();
            let last = spans.find(|span| span.state == State::Wait);
            self.threads[*other].process == thread.process
                && last.is_some_and(|wait| wait.waker() == Some(thread.thread))
        };
        let ended = (0..self.threads.len()).filter(is_ended);
        ended.take(SEVERAL).count() == SEVERAL
    }

    /// Where a thread stands in `threads`.
    pub fn slot(&self, thread: ThreadId) -> Option<usize> {
        self.slots.get(thread.0)
    }

    /// The spans of the thread at a place.
    pub fn spans_of(&self, slot: usize) -> &[Span] {
        &self.spans[self.first[slot]..self.first[slot + 1]]
    }

    /// The same, each with the index that [`Spans::span`] knows it by.
    pub fn indexed(&self, slot: usize) -> impl Iterator<Item = (usize, &Span)> {
        let first = self.first[slot];
        let spans = self.spans_of(slot).iter().enumerate();
        spans.map(move |(at, span)| (first + at, span))
    }

    /// The same, without those that are over by a moment.
    pub fn indexed_from(&self, slot: usize, from: Nanos) -> impl Iterator<Item = (usize, &Span)> {
        let spans = self.spans_of(slot);
        // Of those that have begun only the last one may last.
        let first = begin_before(spans, self.begins[slot], from).saturating_sub(1);
        let base = self.first[slot] + first;
        let rest = spans[first..].iter().enumerate();
        rest.map(move |(at, span)| (base + at, span))
    }

    /// What a thread does between two moments, and for how long each lies in between.
    pub fn between(
        &self,
        slot: usize,
        from: Nanos,
        until: Nanos,
    ) -> impl Iterator<Item = (&Span, u64)> {
        let spans = self.spans_of(slot);
        let first = spans.partition_point(|span| span.t1 <= from);
        let then = spans[first..]
            .iter()
            .take_while(move |span| span.t0 < until);
        then.map(move |span| (span, span.t1.min(until).since(span.t0.max(from))))
    }

    /// The wait of a thread that begins at a moment, with its index.
    pub fn wait_at(&self, slot: usize, t0: Nanos) -> Option<usize> {
        let spans = self.spans_of(slot);
        let from = begin_before(spans, self.begins[slot], t0);
        let then = spans[from..].iter().take_while(|span| span.t0 == t0);
        let wait = then.enumerate().find(|(_, span)| span.state == State::Wait);
        wait.map(|(at, _)| self.first[slot] + from + at)
    }

    /// A span.
    pub fn span(&self, index: usize) -> Option<&Span> {
        self.spans.get(index)
    }

    /// All spans, thread by thread, by their index.
    pub fn all(&self) -> &[Span] {
        &self.spans
    }

    /// How many spans there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is no span at all.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Who ended a wait, if that is recorded and was on a processor then. Somebody who was not cannot have done
    /// it: what the recording says of the waker is wrong then. What the kernel does in a thread of its own is the wait's own matter: what
    /// that thread waited for before is somebody else's.
    pub fn waker(&self, wait: &Span) -> Waker {
        let Some(waker) = wait.waker().filter(|waker| *waker != wait.thread) else {
            return Waker::Outside;
        };
        if !self.of_kernel.is_empty() {
            let is_of_kernel = |thread| {
                self.slot(thread)
                    .is_some_and(|at| self.of_kernel.contains(&at))
            };
            if is_of_kernel(waker) && !is_of_kernel(wait.thread) {
                return Waker::Outside;
            }
        }
        // What is written to a terminal is brought to its reader by the kernel, which takes its time on a busy machine; and
        // a processor that rests may come to late. But whoever ended a wait did that while it lasted.
        let late_ns = match wait.detail {
            Detail::Terminal => BROUGHT_NS,
            _ => wait.t1.since(wait.t0).clamp(LATE_NS, BROUGHT_NS),
        };
        let ran = |slot| Some((slot, self.ran_lately(slot, wait.t1, late_ns)?));
        match self.slot(waker).and_then(ran) {
            Some((slot, at)) if self.interrupts(slot, at) => Waker::Housekeeping,
            Some((slot, at)) => Waker::Thread { slot, at },
            None => Waker::Impossible,
        }
    }

    /// The earliest moment by which a thread may have done what another one saw. Where that one saw it so late that this one may have
    /// run several times meanwhile, it is the end of its first run after `from`; else `at`, when it last ran before it was seen.
    pub fn ran_first(&self, slot: usize, from: Nanos, seen: Nanos, at: Nanos) -> Nanos {
        if seen.since(at) <= LATE_NS {
            return at;
        }
        let runs = self.between(slot, from, at).map(|(span, _)| span);
        let mut runs = runs.filter(|span| span.state == State::Cpu);
        runs.next().map_or(at, |run| run.t1.min(at))
    }

    /// Who of its process kept its processors busy before a wait that the runtime's own thread ended: what was waiting had come, and
    /// nobody had time for it. `None` if nobody ran for half of what that thread lets pass before it looks.
    pub fn busy_beside(&self, slot: usize, wait: &Span) -> Option<usize> {
        if wait.detail != Detail::Condition {
            return None;
        }
        let from = Nanos(wait.t1.0.saturating_sub(LOOKS_NS)).max(wait.t0);
        let window = wait.t1.since(from);
        let process = self.threads[slot].process;
        let others = (0..self.threads.len()).filter(|&other| {
            other != slot && self.threads[other].process == process && !self.is_housekeeping(other)
        });
        let busy = others.filter_map(|other| {
            let ran = self.between(other, from, wait.t1);
            let ran = ran.filter(|(span, _)| matches!(span.state, State::Cpu | State::Ready));
            let ns: u64 = ran.map(|(_, ns)| ns).sum();
            // Where it stands at that moment the path goes on.
            let is_there = self.ran_lately(other, wait.t1, LATE_NS).is_some();
            (is_there && ns * 2 >= window).then_some((ns, std::cmp::Reverse(other)))
        });
        busy.max().map(|(_, std::cmp::Reverse(other))| other)
    }

    /// When a thread did what was seen by another one at this moment: at the moment itself if it was running, else
    /// when it last ran before, or a little after where the clocks of two processors may differ.
    pub fn ran(&self, slot: usize, moment: Nanos) -> Option<Nanos> {
        self.ran_lately(slot, moment, LATE_NS)
    }

    /// The same, at most so long before.
    fn ran_lately(&self, slot: usize, moment: Nanos, late_ns: u64) -> Option<Nanos> {
        /// Between its spans on a processor there are at most these.
        const FEW: usize = 4;
        let spans = self.spans_of(slot);
        let after = begin_before(spans, self.begins[slot], moment);
        let mut before = spans[..after].iter().rev().take(FEW);
        // Where events were lost nothing speaks against it.
        let last = before.find(|span| matches!(span.state, State::Cpu | State::Lost));
        let last = last.map(|span| span.t1.min(moment));
        let last = last.filter(|last| moment.since(*last) <= late_ns);
        if last.is_some() {
            return last;
        }
        let mut later = spans[after..].iter().take(FEW);
        let next = later
            .find(|span| span.state == State::Cpu)
            .map(|span| span.t0);
        next.filter(|next| next.since(moment) <= SKEW_NS)
    }
}

/// How many of the spans of a thread begin before a moment. A million of them are in no cache, and halving them would touch
/// twenty places; they lie rather evenly, so it is near where it would be if they lay so.
fn begin_before(spans: &[Span], begins: Option<Begins>, moment: Nanos) -> usize {
    let is_before = |at: usize| spans[at].t0 < moment;
    let Some(Begins { first, last }) = begins else {
        return 0;
    };
    if last < moment {
        return spans.len();
    }
    if first >= moment {
        return 0;
    }
    let most = spans.len() - 1;
    let (passed, whole) = (moment.since(first), last.since(first).max(1));
    let guess = u128::from(passed) * most as u128 / u128::from(whole);
    let guess = usize::try_from(guess).unwrap_or(most).min(most);
    // The one at `low` begins before it, the one at `high` does not.
    let (mut low, mut high) = (0, most);
    let mut step = 1;
    if is_before(guess) {
        low = guess;
        while guess + step < high {
            match is_before(guess + step) {
                true => low = guess + step,
                false => high = guess + step,
            }
            step *= 2;
        }
    } else {
        high = guess;
        while step < guess && low == 0 {
            match is_before(guess - step) {
                true => low = guess - step,
                false => high = guess - step,
            }
            step *= 2;
        }
    }
    low + 1 + spans[low + 1..high].partition_point(|span| span.t0 < moment)
}

/// Go's monitor looks after goroutines that nobody runs when no thread has looked for so long.
const LOOKS_NS: i64 = 10_000_000;

/// Who is woken on another processor that rests is queued there when that one has come to: in general not later than this.
const LATE_NS: u64 = 1_000_000;

/// So much later at most, where the host of a virtual machine had given that processor to others, or where the kernel's own
/// threads bring what was done.
const BROUGHT_NS: u64 = 100_000_000;

/// Whether a process is one of the kernel's own threads.
pub fn is_of_kernel(process: &Process) -> bool {
    /// `kthreadd`, which starts all of them.
    const STARTS_THEM: u32 = 2;
    process.executable.is_empty() && [process.pid, process.parent_pid].contains(&STARTS_THEM)
}

/// Under which real-time policy a thread is scheduled, and with which priority: it runs ahead of all of the usual policy.
pub fn real_time(row: &Thread) -> Option<(SchedulingPolicy, u32)> {
    let policy = row.policy.filter(|policy| {
        matches!(
            policy,
            SchedulingPolicy::Fifo | SchedulingPolicy::RoundRobin | SchedulingPolicy::Deadline
        )
    })?;
    Some((policy, row.realtime_priority.unwrap_or(0)))
}

/// Who ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// A recorded thread, as an index into [`Spans::threads`], and when it did that.
    Thread { slot: usize, at: Nanos },
    /// A device, a timer, a peer, the kernel or a thread that is not recorded, or nobody is known.
    Outside,
    /// A thread of the runtime that came to it by its own timer: an interruption. What that timer waited for before is
    /// nothing that this wait was about.
    Housekeeping,
    /// The recording names one that was not running.
    Impossible,
}

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_recording::notation::draft;

    /// However spans lie in time, as many are found to begin before a moment as do.
    #[test]
    fn spans_before_a_moment_are_counted_wherever_they_lie() {
        let drawn = draft(
            "process 1 sh
             thread 1.1 sh
             1.1: cpu 0..1us",
        );
        let even = (0..200i64).map(|at| at * 10).collect::<Vec<_>>();
        let crowded = (0..200i64).map(|at| at * at * at).collect();
        let late = (0..200i64).map(|at| 1_000_000 - (200 - at) * (200 - at));
        let alike = vec![5; 40];
        let far = vec![i64::MIN, -1, 0, 0, 1, i64::MAX];
        for starts in [even, crowded, late.collect(), alike, far, vec![7], vec![]] {
            let span = |t0: &i64| {
                let mut span = Span::from(&drawn.spans[0]);
                span.t0 = Nanos(*t0);
                span
            };
            let spans: Vec<Span> = starts.iter().map(span).collect();
            let around = starts
                .iter()
                .flat_map(|t0| [t0.saturating_sub(1), *t0, t0.saturating_add(1)]);
            for moment in around.chain([i64::MIN, 3, i64::MAX]) {
                let found = begin_before(&spans, Begins::of(&spans), Nanos(moment));
                let counted = starts.iter().filter(|t0| **t0 < moment).count();
                assert_eq!(found, counted, "{moment} in {starts:?}");
            }
        }
    }
}
