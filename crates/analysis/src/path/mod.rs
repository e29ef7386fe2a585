//! The critical path: the chain of spans, across threads and processes, that the end of a thread waited for.
//!
//! It is walked backwards. What ran is part of it; what waited leads to whoever ended the wait, at that moment;
//! the start of a thread leads to who created it. A wait that no recorded thread ended is a leaf, and so is one
//! whose waker cannot be right, which is said. The segments tile the time asked about to the nanosecond.
//!
//! It does not say what would be gained without a segment: that is for the replay.

mod causes;
mod code;
mod division;
mod on_processors;
mod responses;
mod walk;

pub use causes::{causes_of, Cause, Key};
pub use code::{own_function, InCode, Seen};
pub use division::{walked, DividedPart, Division, Within};
pub use on_processors::{OnProcessors, OnStack};
pub use responses::Responses;
pub use walk::Walker;

use timesink_recording::ids::ObjectId;
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use crate::timeline::Timeline;

/// A piece of the path: one thread in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// As an index into [`Timeline::threads`].
    pub slot: usize,
    pub t0: Nanos,
    pub t1: Nanos,
    pub state: State,
    pub detail: Detail,
    /// What was waited for.
    pub object: Option<ObjectId>,
    /// Why the path is not known here, if it is not.
    pub unknown: Option<Unknown>,
}

impl Segment {
    /// How long it is.
    pub fn ns(&self) -> u64 {
        self.t1.since(self.t0)
    }
}

/// Why a part of the path is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unknown {
    /// Events were lost, or the thread's spans have a hole.
    Lost,
    /// A wait for another thread, and nothing tells who ended it.
    NoWaker,
    /// The thread that is said to have ended it was not running.
    Impossible,
    /// Threads that are said to have woken each other at the same moment.
    Circle,
    /// Before the thread was there, and nobody is known to have created it.
    Unborn,
}

impl Unknown {
    /// The word for it, as in the JSON report.
    pub fn word(self) -> &'static str {
        match self {
            Unknown::Lost => "lost",
            Unknown::NoWaker => "no waker",
            Unknown::Impossible => "impossible waker",
            Unknown::Circle => "circle",
            Unknown::Unborn => "unborn",
        }
    }
}

/// The path to the end of one thread.
#[derive(Clone, Debug)]
pub struct Path {
    /// Whose end it leads to, as an index into [`Timeline::threads`].
    pub slot: usize,
    pub from: Nanos,
    pub until: Nanos,
    /// In the order of time, without holes.
    pub segments: Vec<Segment>,
    /// The waits for responses from which it went on to who sent them, the last first.
    pub(crate) responses: Vec<ResponseWait>,
}

/// A wait for a response that a recorded thread sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseWait {
    pub(crate) slot: usize,
    pub(crate) t0: Nanos,
    pub(crate) t1: Nanos,
    pub(crate) detail: Detail,
    pub(crate) object: ObjectId,
}

impl Path {
    /// The path through the whole recorded life of a thread.
    pub fn of_thread(timeline: &Timeline, slot: usize) -> Path {
        let thread = &timeline.threads[slot];
        Path::between(timeline, slot, thread.start, thread.end)
    }

    /// The path from one moment to another, at which the thread has come to what is asked about.
    pub fn between(timeline: &Timeline, slot: usize, from: Nanos, until: Nanos) -> Path {
        Walker::new(timeline).between(slot, from, until)
    }

    /// The time that it tiles.
    pub fn wall_ns(&self) -> u64 {
        self.until.since(self.from)
    }

    /// How much of it is not known.
    pub fn unknown_ns(&self) -> u64 {
        let unknown = self.segments.iter().filter(|s| s.unknown.is_some());
        unknown.fold(0, |sum, segment| sum.saturating_add(segment.ns()))
    }
}
