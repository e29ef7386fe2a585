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
}

impl KeptSpans {
    pub fn into_spans(self) -> Vec<Span> {
        self.spans
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
            kept.spans.extend(rows.iter().map(Span::from));
            let tracer_ns = rows.iter().map(|row| row.tracer_ns);
            let tracer_ns = tracer_ns.map(|ns| u32::try_from(ns).unwrap_or(u32::MAX));
            kept.tracer_ns.extend(tracer_ns);
        })?;
        Ok(kept)
    }
}
