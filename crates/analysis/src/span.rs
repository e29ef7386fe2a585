//! One span as it is kept: half as large as its row, because there may be a hundred million of them.

use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::tables;
use timesink_recording::words::{Detail, State, WakeSource};
use timesink_recording::{Nanos, Recording};

/// One thread in one state from `t0` to `t1`; see [`tables::Span`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub t0: Nanos,
    pub t1: Nanos,
    pub thread: ThreadId,
    pub processor: u32,
    /// `NONE` where there is none: an `Option` of a number would take twice as much.
    object: u32,
    waker: u32,
    /// In microseconds: what was taken is known by steps of 16 of them.
    taken_us: u32,
    pub state: State,
    pub detail: Detail,
    pub wake_source: Option<WakeSource>,
    is_waker_recorded: bool,
}

/// No object and no thread has this number.
const NONE: u32 = u32::MAX;

impl Span {
    /// The object waited for.
    pub fn object(&self) -> Option<ObjectId> {
        (self.object != NONE).then_some(ObjectId(self.object))
    }

    /// The recorded thread that ended this wait.
    pub fn waker(&self) -> Option<ThreadId> {
        (self.is_waker_recorded && self.waker != NONE).then_some(ThreadId(self.waker))
    }

    /// The kernel's thread id of the thread that ended this wait, if it is not recorded.
    pub fn waker_outsider(&self) -> Option<u32> {
        (!self.is_waker_recorded && self.waker != NONE).then_some(self.waker)
    }

    /// What the kernel charges to no thread; 0 where that is not known.
    pub fn taken_ns(&self) -> u64 {
        u64::from(self.taken_us) * 1000
    }

    /// What ended this wait is not told.
    pub(crate) fn forget_waker(&mut self) {
        self.waker = NONE;
        self.is_waker_recorded = false;
    }

    pub(crate) fn set_object(&mut self, object: ObjectId) {
        self.object = object.0;
    }
}

impl From<&tables::Span> for Span {
    fn from(row: &tables::Span) -> Span {
        let taken_us = row.taken_ns.unwrap_or(0) / 1000;
        Span {
            t0: row.t0,
            t1: row.t1,
            thread: row.thread,
            processor: row.processor,
            object: row.object.map_or(NONE, |object| object.0),
            waker: match (row.waker, row.waker_outsider) {
                (Some(waker), _) => waker.0,
                (None, outsider) => outsider.unwrap_or(NONE),
            },
            taken_us: u32::try_from(taken_us).unwrap_or(u32::MAX),
            state: row.state,
            detail: row.detail,
            wake_source: row.wake_source,
            is_waker_recorded: row.waker.is_some(),
        }
    }
}

// What a recording of a hundred million spans takes hangs on this.
const _: () = assert!(size_of::<Span>() == 40);

/// The spans of a recording in the order of their rows, and what recording each cost, which only the ledger asks.
#[derive(Clone, Debug, Default)]
pub struct KeptSpans {
    pub(crate) spans: Vec<Span>,
    pub(crate) tracer_ns: Vec<u32>,
    runs: Runs,
}

/// The spans of a recording in the order of threads and time.
#[derive(Clone, Debug, Default)]
pub struct SortedSpans {
    pub(crate) spans: Vec<Span>,
    /// The threads of which there are any, in order, and where those of each begin.
    pub(crate) starts: Vec<(ThreadId, usize)>,
}

/// Where the spans of each thread begin: found as they are read, because to search a hundred million of them for that brings most
/// of them into memory.
#[derive(Clone, Debug, Default)]
struct Runs {
    starts: Vec<(ThreadId, usize)>,
    /// Whether any stands where it does not belong: then they tell nothing.
    out_of_order: bool,
}

impl Runs {
    /// Goes on with those from a place on.
    fn add(&mut self, spans: &[Span], from: usize) {
        let joined = &spans[from.saturating_sub(1)..];
        self.out_of_order |= !joined.is_sorted_by_key(Span::key);
        if self.out_of_order {
            return;
        }
        let mut at = from;
        for run in spans[from..].chunk_by(|a, b| a.thread == b.thread) {
            if let Some(first) = run.first() {
                if self.starts.last().is_none_or(|last| last.0 != first.thread) {
                    self.starts.push((first.thread, at));
                }
            }
            at += run.len();
        }
    }
}

impl SortedSpans {
    /// Puts them in order.
    pub fn of(mut spans: Vec<Span>) -> SortedSpans {
        if !spans.is_sorted_by_key(Span::key) {
            spans.sort_by_key(Span::key);
        }
        let mut runs = Runs::default();
        runs.add(&spans, 0);
        SortedSpans {
            spans,
            starts: runs.starts,
        }
    }

    /// Only those of some threads.
    pub(crate) fn retain(self, is_known: impl Fn(ThreadId) -> bool) -> SortedSpans {
        if self.starts.iter().all(|&(thread, _)| is_known(thread)) {
            return self;
        }
        let mut spans = self.spans;
        spans.retain(|span| is_known(span.thread));
        SortedSpans::of(spans)
    }
}

impl Span {
    /// One without length comes before what begins with it, in whichever order the rows are.
    pub(crate) fn key(&self) -> (ThreadId, Nanos, Nanos) {
        (self.thread, self.t0, self.t1)
    }
}

impl KeptSpans {
    pub fn into_spans(self) -> SortedSpans {
        match self.runs.out_of_order {
            true => SortedSpans::of(self.spans),
            false => SortedSpans {
                spans: self.spans,
                starts: self.runs.starts,
            },
        }
    }

    /// Those of an open recording.
    pub fn of(recording: &Recording) -> timesink_recording::Result<KeptSpans> {
        let count = recording.row_count::<tables::Span>()?;
        let mut kept = KeptSpans::default();
        recording.scan(|rows: &[tables::Span]| {
            // As soon as there is a row, the table is known to be allowed as many as it says.
            if kept.spans.is_empty() {
                let count = usize::try_from(count).unwrap_or(0);
                kept.spans.reserve_exact(count);
                kept.tracer_ns.reserve_exact(count);
            }
            let before = kept.spans.len();
            kept.spans.extend(rows.iter().map(Span::from));
            kept.runs.add(&kept.spans, before);
            let tracer_ns = rows.iter().map(|row| row.tracer_ns);
            let tracer_ns = tracer_ns.map(|ns| u32::try_from(ns).unwrap_or(u32::MAX));
            kept.tracer_ns.extend(tracer_ns);
        })?;
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_recording::notation::draft;

    /// However the rows are divided, where the spans of each thread begin is known, and rows in another order are put in order.
    #[test]
    fn where_the_spans_of_each_thread_begin() {
        let drawn = draft(
            "process 1 p
             thread 1.1 t
             thread 1.2 t
             thread 1.3 t
             1.1: cpu 0..1us | ready ..2us | cpu ..3us
             1.3: cpu 0..1us | ready ..2us",
        );
        let spans: Vec<Span> = drawn.spans.iter().map(Span::from).collect();
        let (one, three) = (drawn.threads[0].thread, drawn.threads[2].thread);
        let starts = [(one, 0), (three, 3)];
        for batch in 1..=5 {
            let (mut read, mut runs) = (Vec::new(), Runs::default());
            for rows in spans.chunks(batch) {
                let before = read.len();
                read.extend_from_slice(rows);
                runs.add(&read, before);
            }
            assert!(runs.starts == starts && !runs.out_of_order, "{runs:?}");
        }
        let mut turned = spans.clone();
        turned.reverse();
        let mut runs = Runs::default();
        runs.add(&turned, 0);
        assert!(runs.out_of_order);
        let sorted = SortedSpans::of(turned);
        assert!(sorted.spans == spans && sorted.starts == starts);
        let only = sorted.retain(|thread| thread == three);
        assert_eq!(only.starts, [(three, 0)]);
    }
}
