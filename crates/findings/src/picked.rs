//! Waits of one process, picked one by one: how long they are, what they are on the path, and a suspect of them.

use std::collections::BTreeSet;

use timesink_analysis::replay::What;
use timesink_analysis::stacks::Spot;
use timesink_analysis::timeline::Span;
use timesink_analysis::waits;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::Detail;

use crate::inquiry::Inquiry;
use crate::rule::{Example, Fix, Suspect, Weight};
use crate::sentence::Sentence;

/// The waits, as indexes of spans, and how long they are.
pub struct Picked {
    process: ProcessId,
    spans: BTreeSet<usize>,
    /// Shortest first.
    lengths: Vec<u64>,
}

/// So many of them are shown.
const EXAMPLES: usize = 3;

impl Picked {
    pub fn of(
        inquiry: &Inquiry<'_>,
        process: ProcessId,
        spans: impl IntoIterator<Item = usize>,
    ) -> Picked {
        let spans: BTreeSet<usize> = spans.into_iter().collect();
        let waits = spans.iter().filter_map(|&at| inquiry.timeline.span(at));
        let mut lengths: Vec<u64> = waits.map(|span| span.t1.since(span.t0)).collect();
        lengths.sort_unstable();
        Picked {
            process,
            spans,
            lengths,
        }
    }

    pub fn spans(&self) -> &BTreeSet<usize> {
        &self.spans
    }

    pub fn count(&self) -> u64 {
        self.lengths.len() as u64
    }

    pub fn ns(&self) -> u64 {
        self.lengths
            .iter()
            .fold(0, |sum, ns| sum.saturating_add(*ns))
    }

    /// The length that so much of them (0.5: half) do not exceed.
    pub fn quantile(&self, part: f64) -> u64 {
        waits::quantile(&self.lengths, part)
    }

    /// A suspect whose fix makes them take so many times as long.
    pub fn suspect(&self, inquiry: &Inquiry<'_>, title: Sentence, factor: f64) -> Suspect {
        let what = What::Spans(self.spans.clone());
        let fix = Fix::scaled(what, BTreeSet::from([self.process]), factor);
        let mut suspect = Suspect::new(title, fix, self.weight(inquiry)).of(self.process);
        let first = self.waits(inquiry).take(EXAMPLES);
        suspect.examples = first
            .map(|span| Example {
                thread: span.thread,
                at: span.t0,
            })
            .collect();
        suspect.frames = self.frames(inquiry);
        suspect
    }

    pub fn waits<'a>(&'a self, inquiry: &'a Inquiry<'_>) -> impl Iterator<Item = &'a Span> {
        self.spans
            .iter()
            .filter_map(|&at| inquiry.timeline.span(at))
    }

    fn weight(&self, inquiry: &Inquiry<'_>) -> Weight {
        let kinds: BTreeSet<(Option<Detail>, Option<ObjectId>)> = self
            .waits(inquiry)
            .map(|span| (Some(span.detail), span.object()))
            .collect();
        let causes = inquiry.waits_on_path(|key| {
            kinds.contains(&(key.detail, key.object))
                && inquiry.same_program(key.process, self.process)
        });
        Weight::within(causes, self.ns())
    }

    /// The functions that one of them was in, the first with a stack.
    fn frames(&self, inquiry: &Inquiry<'_>) -> Vec<Spot> {
        let stack = self.waits(inquiry).find_map(|span| {
            let events = inquiry.stacks.events_of(span.thread);
            let at = events.partition_point(|event| event.at < span.t0);
            let event = events.get(at).filter(|event| event.at == span.t0)?;
            Some(event.stack)
        });
        stack.map_or(Vec::new(), |stack| inquiry.spots(stack))
    }
}
