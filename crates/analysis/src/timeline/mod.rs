//! The spans of every thread in their order, and what follows from them alone: the locks that threads hold and wait for,
//! loops that poll, who hands work to whom, which threads wait for each other, herds, pools. What the rows of single waits
//! add is in [`crate::waits`].

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::OnceLock;

use timesink_recording::ids::ThreadId;
use timesink_recording::tables::{self, Thread};
use timesink_recording::Recording;

mod between;
pub mod carried;
pub mod exchanges;
pub mod hand_overs;
pub mod herds;
pub mod locks;
pub mod paces;
mod placed;
mod polled;
pub mod polls;
pub mod pools;
mod responses;
mod spans;
pub mod touched;

pub use crate::span::{KeptSpans, SortedSpans, Span};
use carried::{Carried, Told};
use locks::Locks;
use paces::Paces;
pub use polled::Asking;
use polls::Polls;
pub use spans::{is_of_kernel, real_time, Spans, Waker, SKEW_NS};

/// The spans of a recording, with the locks and the polling loops in them, which are looked for when they are asked for.
#[derive(Clone, Debug)]
pub struct Timeline {
    spans: Spans,
    polls: OnceLock<Polls>,
    locks: OnceLock<Locks>,
    file_locks: OnceLock<Locks>,
    paces: OnceLock<Paces>,
    carried: Carried,
}

impl Timeline {
    /// The timeline of an open recording.
    pub fn of(recording: &Recording) -> timesink_recording::Result<Timeline> {
        Spans::of(recording).map(Timeline::from)
    }

    /// A timeline of these threads; spans of others are left out.
    pub fn new(threads: Vec<Thread>, spans: &[tables::Span]) -> Timeline {
        Timeline::from(Spans::new(threads, spans.iter().map(Span::from).collect()))
    }

    /// The loops that look now and then whether something is done.
    pub fn polls(&self) -> &Polls {
        self.polls.get_or_init(|| Polls::of(&self.spans))
    }

    /// The locks that threads waited for, and who held them meanwhile.
    pub fn locks(&self) -> &Locks {
        self.locks.get_or_init(|| Locks::of(&self.spans))
    }

    /// The same of locks on files, which processes share.
    pub fn file_locks(&self) -> &Locks {
        self.file_locks.get_or_init(|| Locks::of_files(&self.spans))
    }

    /// The schedules that threads keep: rate limits, tickers.
    pub fn paces(&self) -> &Paces {
        self.paces
            .get_or_init(|| Paces::of(&self.spans, &self.carried))
    }
}

impl From<Spans> for Timeline {
    fn from(spans: Spans) -> Timeline {
        Timeline {
            spans,
            polls: OnceLock::new(),
            locks: OnceLock::new(),
            file_locks: OnceLock::new(),
            paces: OnceLock::new(),
            carried: Carried::default(),
        }
    }
}

impl Timeline {
    /// Says which threads a runtime looks after itself with: before anything else is asked.
    pub fn set_housekeeping(&mut self, threads: &BTreeSet<ThreadId>) {
        self.spans.set_housekeeping(threads);
    }

    /// The same threads are the runtime's and the kernel's as in another timeline of theirs.
    pub(crate) fn are_kinds_as_in(&mut self, other: &Timeline) {
        self.spans.are_kinds_as_in(&other.spans);
    }

    /// Which tasks the threads carried; nothing, if nobody said so.
    pub fn carried(&self) -> &Carried {
        &self.carried
    }

    /// Reads which tasks the threads carried.
    pub fn read_carried(
        &mut self,
        recording: &Recording,
        told: &impl Told,
    ) -> timesink_recording::Result<()> {
        self.carried = Carried::of(recording, &self.spans, told)?;
        Ok(())
    }
}

impl Deref for Timeline {
    type Target = Spans;

    fn deref(&self) -> &Spans {
        &self.spans
    }
}
