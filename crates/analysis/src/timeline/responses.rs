//! A recording in which responses that somebody slept for are taken as they came: as if who sent them had not been recorded.

use std::collections::{BTreeMap, BTreeSet};

use timesink_recording::ids::ThreadId;
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use super::{Span, Timeline};

/// So much of a wait for a response its sender sleeps...
const MOSTLY: f64 = 0.5;
/// ...and the wait is no longer than one sleep times this: else it is for other responses, too, which the sender makes one at a time.
const ONE_SLEEP: f64 = 1.8;

impl Timeline {
    /// The same without who ended waits for responses that their senders mostly slept for, in these spans; and how many such waits
    /// there are.
    pub fn with_slept_responses_given(&self, sleeps: &BTreeSet<usize>) -> (Timeline, usize) {
        let mut by_thread: BTreeMap<ThreadId, Vec<(Nanos, Nanos)>> = BTreeMap::new();
        for span in sleeps.iter().filter_map(|&at| self.span(at)) {
            let own = by_thread.entry(span.thread).or_default();
            own.push((span.t0, span.t1));
        }
        let mut spans = self.spans.clone();
        let mut given = 0;
        for span in &mut spans.spans {
            let slept = span.waker().and_then(|waker| by_thread.get(&waker));
            if slept.is_some_and(|slept| may_be_response(span) && is_slept_for(span, slept)) {
                span.forget_waker();
                given += 1;
            }
        }
        let mut timeline = Timeline::from(spans);
        timeline.carried = self.carried.clone();
        (timeline, given)
    }
}

fn may_be_response(span: &Span) -> bool {
    span.state == State::Wait
        && matches!(
            span.detail,
            Detail::NetworkReceive | Detail::UnixReceive | Detail::Poll
        )
}

/// Whether a wait is mostly one of these sleeps, which are in order.
fn is_slept_for(wait: &Span, sleeps: &[(Nanos, Nanos)]) -> bool {
    let first = sleeps.partition_point(|(_, until)| *until <= wait.t0);
    let within = sleeps[first..]
        .iter()
        .take_while(|(from, _)| *from < wait.t1);
    let (mut slept_ns, mut longest_ns) = (0u64, 0u64);
    for (from, until) in within {
        slept_ns += until.min(&wait.t1).since(*from.max(&wait.t0));
        longest_ns = longest_ns.max(until.since(*from));
    }
    let ns = wait.t1.since(wait.t0) as f64;
    slept_ns as f64 >= ns * MOSTLY && ns <= longest_ns as f64 * ONE_SLEEP
}
