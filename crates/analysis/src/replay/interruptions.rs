//! Waits that a runtime's own thread ends because of what another thread of the process does: Go's monitor gives the processor
//! of a thread that is long in a system call to the next one. Without that call there is nothing to hand over, so that the part
//! of the wait that lies beside it goes with it. So it is with the monitor's own sleeps: it looks as long as there is something
//! to look after. And so it is with a thread that has no goroutine to run and sleeps until the next timer: who has one for it
//! meanwhile wakes it.

use std::collections::BTreeMap;

use timesink_recording::ids::ProcessId;
use timesink_recording::words::State;
use timesink_recording::Nanos;

use super::Recorded;
use crate::stacks::goroutines::OfGoroutines;
use crate::timeline::carried::Told;
use crate::timeline::{Span, Waker};

/// What takes less than it did: from when, until when, and how much of it is gone.
type Shorter = (Nanos, Nanos, f64);

/// Shortens what is interrupted by what becomes shorter.
pub(super) fn shorten(recorded: &Recorded<'_>, factors: &mut [f32]) {
    let shorter = shorter(recorded, factors);
    if shorter.is_empty() {
        return;
    }
    let goroutines = OfGoroutines::new(recorded.stacks);
    let looks_for_work = |span: &Span| goroutines.looks(span.thread, span.t0);
    for (slot, thread) in recorded.timeline.threads.iter().enumerate() {
        let Some(shorter) = shorter.get(&thread.process) else {
            continue;
        };
        let is_housekeeping = recorded.timeline.is_housekeeping(slot);
        for (index, span) in recorded.timeline.indexed(slot) {
            let is_interrupted = span.state == State::Wait
                && match recorded.timeline.waker(span) {
                    Waker::Housekeeping => true,
                    // It looks after what the others do as long as they do it.
                    Waker::Outside => is_housekeeping || looks_for_work(span),
                    Waker::Thread { .. } | Waker::Impossible => false,
                };
            let Some(factor) = factors
                .get_mut(index)
                .filter(|f| is_interrupted && **f >= 1.0)
            else {
                continue;
            };
            *factor = (1.0 - gone(shorter, span.t0, span.t1)) as f32;
        }
    }
}

/// Those of processes that a runtime looks after, in order.
fn shorter(recorded: &Recorded<'_>, factors: &[f32]) -> BTreeMap<ProcessId, Vec<Shorter>> {
    let timeline = recorded.timeline;
    let slots = || 0..timeline.threads.len();
    let kept = slots().filter(|&slot| timeline.is_housekeeping(slot));
    let mut shorter: BTreeMap<ProcessId, Vec<Shorter>> = kept
        .map(|slot| (timeline.threads[slot].process, Vec::new()))
        .collect();
    for slot in slots().filter(|&slot| !timeline.is_housekeeping(slot)) {
        let Some(of_process) = shorter.get_mut(&timeline.threads[slot].process) else {
            continue;
        };
        for (index, span) in timeline.indexed(slot) {
            let factor = factors.get(index).map_or(1.0, |&factor| f64::from(factor));
            let takes_time = matches!(span.state, State::Wait | State::Cpu | State::Ready);
            if takes_time && factor < 1.0 {
                of_process.push((span.t0, span.t1, 1.0 - factor));
            }
        }
    }
    shorter.retain(|_, waits| !waits.is_empty());
    for waits in shorter.values_mut() {
        waits.sort_by_key(|&(t0, t1, _)| (t0, t1));
        // They are of several threads and may overlap: none of the time goes twice.
        let mut reached = Nanos::ZERO;
        for (from, until, _) in waits.iter_mut() {
            *from = (*from).max(reached);
            reached = reached.max(*until);
        }
        waits.retain(|&(from, until, _)| until > from);
    }
    shorter
}

/// How much of a wait lies beside waits that are gone.
fn gone(shorter: &[Shorter], t0: Nanos, t1: Nanos) -> f64 {
    let from = shorter.partition_point(|&(_, until, _)| until <= t0);
    let beside = shorter[from..].iter().take_while(|(from, ..)| *from < t1);
    let gone_ns =
        beside.map(|&(from, until, share)| until.min(t1).since(from.max(t0)) as f64 * share);
    (gone_ns.sum::<f64>() / t1.since(t0).max(1) as f64).clamp(0.0, 1.0)
}
