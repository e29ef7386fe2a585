//! Timers beside the work: a thread that outlives what was asked about waits for a timer, and nothing on the critical path waits
//! for that meanwhile. It looks after something from time to time, or ran out of work and waits for more.
//!
//! Others may have taken turns with it all the same: a compiler thread that compiles for it, too, does its next job after that
//! one. A timer that kept its length in a replay in which all else is quicker would hold up that job, and with it the work: of a
//! Java service whose responses all waited 40 ms, timers of 2 and of 10 s took half of the gain away (11.2 to 11.5 s told of 20.6 s,
//! three recordings, 2026-11-26). So they come at the same place in the work: they are as much shorter as what lies beside them on
//! the threads of the path.

use std::collections::{BTreeMap, BTreeSet};

use timesink_recording::words::{Detail, State, WakeSource};
use timesink_recording::Nanos;

use crate::path::Path;
use crate::timeline::{Span, Timeline, Waker};

/// Such waits, and what lies beside them.
#[derive(Clone, Debug, Default)]
pub(super) struct Tickers {
    /// Indexes of spans.
    timers: Vec<usize>,
    /// Slots of the timeline.
    on_path: BTreeSet<usize>,
    from: Nanos,
    until: Nanos,
}

/// The time asked about is divided into so many parts.
const PARTS: usize = 4096;

impl Tickers {
    pub(super) fn of(timeline: &Timeline, path: &Path) -> Tickers {
        let threads = timeline.threads.iter().enumerate();
        let outlive = threads.filter(|(_, thread)| thread.end >= path.until);
        // Whom the thread that was asked about waited for does its work, not something beside it.
        let mut beside: BTreeSet<usize> = outlive.map(|(slot, _)| slot).collect();
        beside.remove(&path.slot);
        for span in timeline.spans_of(path.slot) {
            if let Waker::Thread { slot, .. } = timeline.waker(span) {
                beside.remove(&slot);
            }
        }
        let mut path_in: BTreeMap<usize, Vec<(Nanos, Nanos)>> = BTreeMap::new();
        for segment in path.segments.iter().filter(|at| beside.contains(&at.slot)) {
            let own = path_in.entry(segment.slot).or_default();
            own.push((segment.t0, segment.t1));
        }
        let mut timers = Vec::new();
        for &slot in &beside {
            let own = path_in.get(&slot).map_or(&[][..], Vec::as_slice);
            let is_on_path = |span: &Span| {
                let next = own.partition_point(|&(_, until)| until <= span.t0);
                own.get(next).is_some_and(|&(from, _)| from < span.t1)
            };
            let is_beside = |span: &Span| own.is_empty() || is_idle(span) && !is_on_path(span);
            let spans = timeline.indexed(slot);
            let spans = spans.filter(|(_, span)| is_timer(span) && is_beside(span));
            timers.extend(spans.map(|(index, _)| index));
        }
        Tickers {
            timers,
            on_path: path.segments.iter().map(|segment| segment.slot).collect(),
            from: path.from,
            until: path.until,
        }
    }

    /// Shortens their timers by what becomes shorter on the path's threads meanwhile.
    pub(super) fn shorten(&self, timeline: &Timeline, factors: &mut [f32]) {
        if self.timers.is_empty() {
            return;
        }
        let gone = self.gone(timeline, factors);
        if gone.last().is_none_or(|&all| all <= 0.0) {
            return;
        }
        for &index in &self.timers {
            let Some(span) = timeline.span(index) else {
                continue;
            };
            let (t0, t1) = (span.t0.max(self.from), span.t1.min(self.until));
            let beside = self.until_moment(&gone, t1) - self.until_moment(&gone, t0);
            let share = beside / span.t1.since(span.t0).max(1) as f64;
            if let Some(factor) = factors.get_mut(index).filter(|factor| **factor >= 1.0) {
                *factor = (1.0 - share.clamp(0.0, 1.0)) as f32;
            }
        }
    }

    /// How much of the path's threads is gone until the end of each part, none of the time twice.
    fn gone(&self, timeline: &Timeline, factors: &[f32]) -> Vec<f64> {
        let length = self.part_ns();
        let mut parts = vec![0.0; PARTS];
        for &slot in &self.on_path {
            for (index, span) in timeline.indexed(slot) {
                let factor = factors.get(index).map_or(1.0, |&factor| f64::from(factor));
                let takes_time = matches!(span.state, State::Wait | State::Cpu | State::Ready);
                if factor < 1.0 && takes_time {
                    self.add(&mut parts, span.t0, span.t1, 1.0 - factor);
                }
            }
        }
        let mut sum = 0.0;
        for part in &mut parts {
            sum += part.min(length);
            *part = sum;
        }
        parts
    }

    fn part_ns(&self) -> f64 {
        self.until.since(self.from).max(1) as f64 / PARTS as f64
    }

    /// Where in the parts a moment lies.
    fn place(&self, at: Nanos) -> f64 {
        (at.since(self.from) as f64 / self.part_ns()).clamp(0.0, PARTS as f64)
    }

    fn add(&self, parts: &mut [f64], t0: Nanos, t1: Nanos, share: f64) {
        let (from, until) = (self.place(t0), self.place(t1));
        let first = from as usize;
        for (at, part) in parts.iter_mut().enumerate().skip(first) {
            let (begin, end) = (at as f64, at as f64 + 1.0);
            if begin >= until {
                break;
            }
            *part += (until.min(end) - from.max(begin)) * self.part_ns() * share;
        }
    }

    /// How much is gone until a moment.
    fn until_moment(&self, gone: &[f64], at: Nanos) -> f64 {
        let place = self.place(at);
        let whole = place as usize;
        let before = |part: usize| part.checked_sub(1).map_or(0.0, |last| gone[last]);
        match gone.get(whole) {
            Some(in_part) => before(whole) + (in_part - before(whole)) * (place - whole as f64),
            None => before(gone.len()),
        }
    }
}

fn is_timer(span: &Span) -> bool {
    span.state == State::Wait && span.wake_source == Some(WakeSource::Timer)
}

/// Whether somebody waits for something to come, for a while: not for the time itself.
fn is_idle(span: &Span) -> bool {
    matches!(span.detail, Detail::Condition | Detail::Lock | Detail::Poll)
}
