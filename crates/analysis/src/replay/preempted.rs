//! Who has less to do on a processor is preempted for less long: a scheduler gives others their turns so often by the time that a
//! thread runs. What recorded threads took of that is simulated; what programs outside of the recording took goes with the
//! work. A web server whose handlers compressed each answer, on a machine that others used too, was predicted to save at most
//! 31 % without any of its work, because the time behind the others stayed; it saved 99 % (2026-11-26).
//!
//! The way back to a processor after a wait is another matter: it is as long however little there is to do then.

use timesink_recording::words::{Detail, State};

use crate::timeline::Timeline;

/// One turn of a thread, from a wait to the next one.
#[derive(Default)]
struct Turn {
    /// On a processor, in nanoseconds: as recorded, and as it is now.
    ran: f64,
    runs: f64,
    /// The spans in which it was preempted.
    preempted: Vec<usize>,
}

impl Turn {
    fn end(&mut self, factors: &mut [f32]) {
        let share = if self.ran > 0.0 {
            self.runs / self.ran
        } else {
            1.0
        };
        for index in self.preempted.drain(..) {
            if let Some(factor) = factors.get_mut(index).filter(|_| share < 1.0) {
                *factor = factor.min(share as f32);
            }
        }
        (self.ran, self.runs) = (0.0, 0.0);
    }
}

/// Shortens the times of threads without a processor as their work around these is shorter.
pub(super) fn shorten(timeline: &Timeline, factors: &mut [f32]) {
    let mut turn = Turn::default();
    for slot in 0..timeline.threads.len() {
        for (index, span) in timeline.indexed(slot) {
            match (span.state, span.detail) {
                (State::Cpu, _) => {
                    let ns = span.t1.since(span.t0) as f64;
                    let factor = factors.get(index).map_or(1.0, |&factor| f64::from(factor));
                    turn.ran += ns;
                    turn.runs += ns * factor;
                }
                (State::Ready, Detail::Preempted) => turn.preempted.push(index),
                (State::Wait, _) => turn.end(factors),
                _ => {}
            }
        }
        turn.end(factors);
    }
}
