//! What is made cheaper in a replay, and by how much: from a cause to a factor for each span.

use std::collections::BTreeSet;

use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::tables::Span;
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use super::shares::Shares;
use crate::stacks::Stacks;
use crate::timeline::{Timeline, Waker};

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
    /// Wanting a processor.
    Ready,
    /// On a processor or waiting, in a function of this name or in what it called.
    Function(String),
}

/// What is done to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    /// It takes so many times as long: 0 is not at all.
    Scale(f64),
    /// So many become one.
    Batch(u32),
    /// Of each thread only the first stays.
    KeepFirst,
    /// Those of a thread take place at the same time.
    Overlap,
}

/// A change to a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub what: What,
    /// Only in these processes.
    pub processes: Option<BTreeSet<ProcessId>>,
    pub how: How,
}

impl Change {
    /// Multiplies the factors of the spans that this is about; how much of the recorded time they are.
    pub fn apply(&self, timeline: &Timeline, stacks: &Stacks, factors: &mut [f32]) -> u64 {
        let shares = match &self.what {
            What::Function(name) => Some(Shares::of(stacks, name)),
            _ => None,
        };
        let mut meant_ns = 0u64;
        for (slot, thread) in timeline.threads.iter().enumerate() {
            let elsewhere = |processes: &BTreeSet<_>| !processes.contains(&thread.process);
            if self.processes.as_ref().is_some_and(elsewhere) {
                continue;
            }
            let mut meant: Vec<(usize, &Span, f64)> = Vec::new();
            let shares = shares.as_ref().map(|shares| shares.thread(thread.thread));
            for (index, span) in timeline.indexed(slot) {
                let share = match &shares {
                    Some(shares) => shares.of(span),
                    None => f64::from(u8::from(self.means(span))),
                };
                if share > 0.0 {
                    meant.push((index, span, share));
                    meant_ns =
                        meant_ns.saturating_add((span.t1.since(span.t0) as f64 * share) as u64);
                }
            }
            self.scale(timeline, thread.thread, stacks, &meant, factors);
        }
        meant_ns
    }

    fn means(&self, span: &Span) -> bool {
        match (&self.what, span.state) {
            (
                What::Cause {
                    state,
                    detail,
                    object,
                },
                is,
            ) => {
                let exactly = detail.is_none_or(|detail| detail == span.detail);
                *state == is && exactly && (is != State::Wait || *object == span.object)
            }
            (What::All, _) => true,
            (What::Cpu, State::Cpu) | (What::Ready, State::Ready) => true,
            (What::Waits { detail, objects }, State::Wait) => {
                detail.is_none_or(|detail| detail == span.detail)
                    && objects.as_ref().is_none_or(|objects| {
                        span.object.is_some_and(|object| objects.contains(&object))
                    })
            }
            _ => false,
        }
    }

    /// The factors of one thread's spans that are meant, each with the share of it that is.
    fn scale(
        &self,
        timeline: &Timeline,
        thread: ThreadId,
        stacks: &Stacks,
        meant: &[(usize, &Span, f64)],
        factors: &mut [f32],
    ) {
        let longest = meant
            .iter()
            .max_by_key(|(_, span, _)| span.t1.since(span.t0))
            .map(|(index, _, _)| *index);
        let first_until = match (&self.what, self.how) {
            (What::Function(name), How::KeepFirst) => first_call(stacks, thread, name),
            _ => meant.first().map_or(Nanos::MAX, |(_, span, _)| span.t1),
        };
        for (number, &(index, span, share)) in meant.iter().enumerate() {
            let by_thread = matches!(timeline.waker(span), Waker::Thread { .. });
            let waits = span.state == State::Wait && by_thread;
            // What another thread did takes as long as it does there. A lock can be done without; answers can
            // come together.
            let factor = match self.how {
                How::Scale(_) if waits && !is_lock(span.detail) => 1.0,
                How::Scale(factor) if waits => f64::from(u8::from(factor > 0.0)),
                How::Scale(factor) => factor,
                How::Batch(many) if waits => {
                    f64::from(u8::from((number + 1) % many.max(1) as usize == 0))
                }
                How::Batch(many) => 1.0 / f64::from(many.max(1)),
                How::KeepFirst => f64::from(u8::from(span.t1 <= first_until)),
                How::Overlap => f64::from(u8::from(Some(index) == longest)),
            };
            // All of a wait for a thread, or nothing of it.
            let factor = if waits && factor <= 0.0 {
                0.0
            } else {
                1.0 - share * (1.0 - factor)
            };
            if let Some(kept) = factors.get_mut(index) {
                *kept *= factor as f32;
            }
        }
    }
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
