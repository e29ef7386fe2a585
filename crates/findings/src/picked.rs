//! Waits of one process, or of those that run one program, picked one by one: how long they are, what they are on the path, and a suspect of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::What;
use timesink_analysis::stacks::{Spot, StackIx};
use timesink_analysis::timeline::Span;
use timesink_analysis::waits;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::Detail;
use timesink_recording::Nanos;

use crate::inquiry::Inquiry;
use crate::rule::{Example, Fix, Suspect, Weight};
use crate::sentence::Sentence;

/// The waits, as indexes of spans, and how long they are.
pub struct Picked {
    /// The one that is named.
    process: ProcessId,
    processes: BTreeSet<ProcessId>,
    spans: BTreeSet<usize>,
    /// Waits of other processes that end when these do.
    others: BTreeSet<usize>,
    /// Shortest first.
    lengths: Vec<u64>,
}

/// So many of them are shown.
const EXAMPLES: usize = 3;

/// How long these waits of each process are together.
pub fn ns_by_process(inquiry: &Inquiry<'_>, spans: &[usize]) -> BTreeMap<ProcessId, u64> {
    let mut by_process: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for span in spans.iter().filter_map(|&at| inquiry.timeline.span(at)) {
        if let Some(process) = inquiry.process_of(span.thread) {
            *by_process.entry(process).or_default() += span.t1.since(span.t0);
        }
    }
    by_process
}

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
            processes: BTreeSet::from([process]),
            spans,
            others: BTreeSet::new(),
            lengths,
        }
    }

    /// Waits of processes that run the same program; the one that waits most is named.
    pub fn of_program(
        inquiry: &Inquiry<'_>,
        spans: impl IntoIterator<Item = usize>,
    ) -> Option<Picked> {
        let spans: Vec<usize> = spans.into_iter().collect();
        let by_process = ns_by_process(inquiry, &spans);
        let most = by_process.iter().max_by_key(|(p, ns)| (**ns, Reverse(**p)));
        let process = *most?.0;
        Some(Picked {
            processes: by_process.into_keys().collect(),
            ..Picked::of(inquiry, process, spans)
        })
    }

    /// The same of several processes.
    pub fn of_all(mut self, processes: &BTreeSet<ProcessId>) -> Picked {
        self.processes.extend(processes);
        self
    }

    /// These, and waits of other processes that end when they do: the path may lead through either, and a fix takes both away. How
    /// many there are, how long they are and where is said of the first alone.
    pub fn and_of_others(
        mut self,
        inquiry: &Inquiry<'_>,
        others: impl IntoIterator<Item = usize>,
    ) -> Picked {
        for at in others {
            let thread = inquiry.timeline.span(at).map(|span| span.thread);
            if let Some(process) = thread.and_then(|thread| inquiry.process_of(thread)) {
                self.processes.insert(process);
                self.others.insert(at);
            }
        }
        self
    }

    pub fn process(&self) -> ProcessId {
        self.process
    }

    pub fn processes(&self) -> &BTreeSet<ProcessId> {
        &self.processes
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

    /// How many of them there are at a time, on average, while there is any.
    pub fn at_a_time(&self, inquiry: &Inquiry<'_>) -> f64 {
        let mut stretches: Vec<(Nanos, Nanos)> =
            self.waits(inquiry).map(|span| (span.t0, span.t1)).collect();
        stretches.sort_unstable();
        let (mut covered_ns, mut end) = (0u64, Nanos(0));
        for (t0, t1) in stretches {
            covered_ns += t1.since(t0.max(end).min(t1));
            end = end.max(t1);
        }
        self.ns() as f64 / covered_ns.max(1) as f64
    }

    /// The length that so much of them (0.5: half) do not exceed.
    pub fn quantile(&self, part: f64) -> u64 {
        waits::quantile(&self.lengths, part)
    }

    /// A suspect whose fix makes them take so many times as long.
    pub fn suspect(&self, inquiry: &Inquiry<'_>, title: Sentence, factor: f64) -> Suspect {
        let what = What::Spans(self.spans.union(&self.others).copied().collect());
        let fix = Fix::scaled(what, self.processes.clone(), factor);
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
        let others = self.others.iter();
        let others = others.filter_map(|&at| inquiry.timeline.span(at));
        let kinds: BTreeSet<(Option<Detail>, Option<ObjectId>)> = self
            .waits(inquiry)
            .chain(others)
            .map(|span| (Some(span.detail), span.object()))
            .collect();
        let causes = inquiry.waits_on_path(|key| {
            kinds.contains(&(key.detail, key.object))
                && self
                    .processes
                    .iter()
                    .any(|process| inquiry.same_program(key.process, *process))
        });
        Weight::within(causes, self.ns())
    }

    /// The functions that most of their time was in; of as much the first.
    fn frames(&self, inquiry: &Inquiry<'_>) -> Vec<Spot> {
        let mut stacks: BTreeMap<StackIx, (u64, Reverse<Nanos>)> = BTreeMap::new();
        for span in self.waits(inquiry) {
            if let Some(stack) = inquiry.stacks.stack_at(span.thread, span.t0) {
                let (ns, _) = stacks.entry(stack).or_insert((0, Reverse(span.t0)));
                *ns += span.t1.since(span.t0);
            }
        }
        let most = stacks.into_iter().max_by_key(|(_, most)| *most);
        most.map_or(Vec::new(), |(stack, _)| inquiry.spots(stack))
    }
}
