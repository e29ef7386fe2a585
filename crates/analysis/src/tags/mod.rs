//! What threads were at work for, by what their programs say: tags, as a tree of modules by the parts of their paths.
//!
//! A thread is looked at when it leaves a processor, when a call returns and when it is sampled. So waits in calls and times
//! runnable are known one by one. Time on a processor is divided by samples, for each thread on each processor: all time of a
//! thread is in exactly one tag, or in none.

mod on_path;
mod tagged;
mod tree;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timesink_recording::ids::ThreadId;
use timesink_recording::words::{Detail, State};
use timesink_recording::Recording;

use crate::ledger::Account;
use crate::span::Span;
use crate::stacks::Stacks;
use crate::timeline::Timeline;
pub use on_path::TagsOnPath;
pub use tagged::{Stretch, Tagged, Whose};
pub use tree::{TagNode, TagTree};

/// Time of threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagTime {
    /// On a processor, by samples.
    pub cpu_ns: u64,
    pub ready_ns: u64,
    /// What is not known.
    pub lost_ns: u64,
    /// In calls and page faults, by kind.
    pub waits: BTreeMap<Detail, u64>,
}

impl TagTime {
    pub fn wait_ns(&self) -> u64 {
        self.waits.values().sum()
    }

    pub fn total_ns(&self) -> u64 {
        self.cpu_ns + self.ready_ns + self.lost_ns + self.wait_ns()
    }

    fn add(&mut self, other: &TagTime) {
        self.cpu_ns += other.cpu_ns;
        self.ready_ns += other.ready_ns;
        self.lost_ns += other.lost_ns;
        for (detail, ns) in &other.waits {
            *self.waits.entry(*detail).or_default() += ns;
        }
    }
}

/// What ran on a processor, and what was runnable there meanwhile. Nothing waits on a processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessorTags {
    pub processor: u32,
    pub tree: TagTree,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadTags {
    pub thread: ThreadId,
    pub tree: TagTree,
}

/// All time of the threads of processes that have tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tags {
    pub whole: TagTree,
    pub processors: Vec<ProcessorTags>,
    /// In the order of threads.
    pub threads: Vec<ThreadTags>,
}

type Sums = FxHashMap<Whose, TagTime>;

/// What a thread ran on one processor.
#[derive(Default)]
struct Ran {
    ns: u64,
    /// By samples.
    hits: BTreeMap<Whose, u64>,
    /// By the tag that each run began with.
    begun: BTreeMap<Whose, u64>,
}

impl Ran {
    /// All of it, divided as samples are; as the runs began, if there are no samples.
    fn divided(&self) -> BTreeMap<Whose, u64> {
        let weights = match self.hits.values().any(|weight| *weight > 0) {
            true => &self.hits,
            false => &self.begun,
        };
        let all: u128 = weights.values().map(|weight| u128::from(*weight)).sum();
        let part = |weight: u64| u128::from(self.ns) * u128::from(weight) / all.max(1);
        let mut parts: BTreeMap<Whose, u64> = weights
            .iter()
            .map(|(whose, weight)| (*whose, part(*weight) as u64))
            .collect();
        let rest = self.ns - parts.values().sum::<u64>();
        if let Some(most) = parts.values_mut().max() {
            *most += rest;
        }
        parts
    }
}

impl Tags {
    /// None if no program said anything.
    pub fn of(
        recording: &Recording,
        timeline: &Timeline,
        stacks: &Stacks,
    ) -> timesink_recording::Result<Option<Tags>> {
        let Some(turns) = Tagged::of(recording)? else {
            return Ok(None);
        };
        let paths = &turns.paths;
        let mut whole = Sums::default();
        let mut processors: BTreeMap<u32, Sums> = BTreeMap::new();
        let mut threads = Vec::new();
        for (slot, thread) in timeline.threads.iter().enumerate() {
            if !turns.speaks(thread.process) {
                continue;
            }
            let spans = timeline.spans_of(slot);
            let sums = sums_of(thread.thread, spans, &turns, stacks, &mut processors);
            for (whose, time) in &sums {
                whole.entry(*whose).or_default().add(time);
            }
            threads.push(ThreadTags {
                thread: thread.thread,
                tree: TagTree::of(paths, &sums),
            });
        }
        threads.sort_by_key(|one| one.thread);
        let processors = processors.into_iter();
        Ok(Some(Tags {
            whole: TagTree::of(paths, &whole),
            processors: processors
                .map(|(processor, sums)| ProcessorTags {
                    processor,
                    tree: TagTree::of(paths, &sums),
                })
                .collect(),
            threads,
        }))
    }
}

/// The time of a thread by tags; what it ran, and where it was ready to, is added to the processors.
fn sums_of(
    thread: ThreadId,
    spans: &[Span],
    turns: &Tagged,
    stacks: &Stacks,
    processors: &mut BTreeMap<u32, Sums>,
) -> Sums {
    let mut sums = Sums::default();
    for span in spans.iter().filter(|span| span.state != State::Cpu) {
        let whose = turns.at(thread, span.t0);
        let ns = span.t1.since(span.t0);
        let time = sums.entry(whose).or_default();
        match span.state {
            State::Ready => {
                time.ready_ns += ns;
                let there = processors.entry(span.processor).or_default();
                there.entry(whose).or_default().ready_ns += ns;
            }
            State::Wait => *time.waits.entry(span.detail).or_default() += ns,
            _ => time.lost_ns += ns,
        }
    }
    for (processor, ran) in ran_on(thread, spans, turns, stacks) {
        let there = processors.entry(processor).or_default();
        for (whose, ns) in ran.divided() {
            sums.entry(whose).or_default().cpu_ns += ns;
            there.entry(whose).or_default().cpu_ns += ns;
        }
    }
    sums
}

/// What a thread ran, by processor.
fn ran_on(thread: ThreadId, spans: &[Span], turns: &Tagged, stacks: &Stacks) -> BTreeMap<u32, Ran> {
    let mut by_processor: BTreeMap<u32, Ran> = BTreeMap::new();
    for span in spans.iter().filter(|span| span.state == State::Cpu) {
        let ran = by_processor.entry(span.processor).or_default();
        let ns = span.t1.since(span.t0);
        ran.ns += ns;
        let whose = turns.at(thread, span.t0);
        *ran.begun.entry(whose).or_default() += ns;
    }
    let events = stacks.events_of(thread).iter();
    for event in events.filter(|event| event.account == Account::Cpu) {
        let begun = spans.partition_point(|span| span.t0 <= event.at);
        let span = begun.checked_sub(1).and_then(|at| spans.get(at));
        if let Some(ran) = span.and_then(|span| by_processor.get_mut(&span.processor)) {
            let whose = turns.at(thread, event.at);
            *ran.hits.entry(whose).or_default() += event.ns;
        }
    }
    by_processor
}
