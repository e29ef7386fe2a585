//! The waits of a thread in order, those of one call joined: a call may wait several times (a flush does, once
//! for data and once for the journal), and a recording has each of these waits but not where one call ends.

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::tables::Call;
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use crate::timeline::{Span, Timeline};
use crate::waits::Waited;

/// Waits of a thread that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The first of them, and its index in [`Timeline::span`].
    pub span: &'a Span,
    pub first: usize,
    /// The index of the last.
    pub last: usize,
    /// The end of the last.
    pub until: Nanos,
}

/// What a wait is, as far as it tells which call it was in.
type Kind = (Detail, Option<ObjectId>);

impl Waited {
    /// The waits of the thread at a place. Where there were fewer calls of a kind than waits of it, those with the
    /// least time between them are one call's: within a call there is less to do than from one to the next.
    pub fn runs<'a>(&self, timeline: &'a Timeline, slot: usize) -> Vec<Run<'a>> {
        let waits = timeline.indexed(slot);
        let waits = waits.filter(|(_, span)| span.state == State::Wait);
        let mut runs: Vec<Run> = waits
            .map(|(index, span)| Run {
                span,
                first: index,
                last: index,
                until: span.t1,
            })
            .collect();
        let widest = self.widest_gaps(timeline.threads[slot].thread, &runs);
        if widest.is_empty() {
            return runs;
        }
        runs.dedup_by(|next, before| {
            let same = kind(next.span) == kind(before.span);
            let most = widest.get(&kind(next.span)).filter(|_| same);
            let joins = most.is_some_and(|most| next.span.t0.since(before.until) <= *most);
            if joins {
                (before.last, before.until) = (next.last, next.until);
            }
            joins
        });
        runs
    }

    /// For each kind of wait of which there were more than calls, how far apart those of one call are at most.
    fn widest_gaps(&self, thread: ThreadId, runs: &[Run]) -> FxHashMap<Kind, u64> {
        let mut counts: FxHashMap<Kind, (u64, Vec<u64>)> = FxHashMap::default();
        for (at, run) in runs.iter().enumerate() {
            let (count, gaps) = counts.entry(kind(run.span)).or_default();
            *count += 1;
            let before = at.checked_sub(1).map(|before| &runs[before]);
            if let Some(before) = before.filter(|before| kind(before.span) == kind(run.span)) {
                gaps.push(run.span.t0.since(before.until));
            }
        }
        let calls = self.calls_by_object(thread);
        let widest = counts.into_iter().filter_map(|(kind, (waits, mut gaps))| {
            let of_object = calls.get(&kind.1).map_or(&[][..], Vec::as_slice);
            let calls = self.calls_of_kind(of_object, kind)?;
            let surplus = usize::try_from(waits.checked_sub(calls)?).ok()?;
            let last = surplus.min(gaps.len()).checked_sub(1)?;
            let (_, gap, _) = gaps.select_nth_unstable(last);
            Some((kind, *gap))
        });
        widest.collect()
    }

    /// The calls of a thread, by what they were about: that may be as many things as there are waits.
    fn calls_by_object(&self, thread: ThreadId) -> FxHashMap<Option<ObjectId>, Vec<&Call>> {
        let from = self.calls.partition_point(|row| row.thread < thread);
        let own = self.calls[from..].iter();
        let mut calls: FxHashMap<Option<ObjectId>, Vec<&Call>> = FxHashMap::default();
        for row in own.take_while(|row| row.thread == thread) {
            calls.entry(row.object).or_default().push(row);
        }
        calls
    }

    /// How many of these calls wait so; `None` if they were not all seen, or it is not known which they are.
    fn calls_of_kind(&self, calls: &[&Call], (detail, object): Kind) -> Option<u64> {
        let names = self.calls_of.of_kind(detail, object);
        let mut sum = 0u64;
        for row in calls.iter().filter(|row| names.contains(&row.call)) {
            if row.estimated {
                return None;
            }
            sum = sum.saturating_add(row.count);
        }
        (sum > 0).then_some(sum)
    }
}

fn kind(span: &Span) -> Kind {
    (span.detail, span.object())
}
