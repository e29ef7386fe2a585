//! What follows from the spans: the order of rows, sums, lives and the wall time.

use super::parser::Parser;
use super::Draft;
use crate::tables::{Sample, Span, Thread};
use crate::units::Nanos;
use crate::words::{Detail, State};
use std::collections::BTreeSet;

impl Parser {
    /// Sorts the tables and computes what was not given.
    pub(super) fn finish(mut self) -> Draft {
        let draft = &mut self.draft;
        draft.spans.sort_by_key(|row| (row.thread, row.t0));
        draft.waits.sort_by_key(|row| (row.thread, row.t0));
        draft.delays.sort_by_key(|row| (row.thread, row.t0));
        draft.occupants.sort_by_key(|row| (row.thread, row.t0));
        draft.samples.sort_by_key(|row| (row.thread, row.t));
        for thread in &mut draft.threads {
            let samples = |kernel| {
                let of = |row: &&Sample| row.thread == thread.thread && row.kernel == kernel;
                draft.samples.iter().filter(of).count() as u64
            };
            let samples = (samples(false), samples(true));
            let spans: Vec<&Span> = draft
                .spans
                .iter()
                .filter(|span| span.thread == thread.thread)
                .collect();
            let given = self.given.remove(&thread.thread).unwrap_or_default();
            add_up(thread, &spans, &given);
            for (column, key, count) in [
                (&mut thread.samples_user, "samples_user", samples.0),
                (&mut thread.samples_kernel, "samples_kernel", samples.1),
            ] {
                if !given.contains(key) {
                    *column = count;
                }
            }
        }
        for process in &mut draft.processes {
            for thread in draft
                .threads
                .iter()
                .filter(|row| row.process == process.process)
            {
                process.start = process.start.min(thread.start);
                process.end = process.end.max(thread.end);
            }
            if process.start > process.end {
                (process.start, process.end) = (Nanos::ZERO, Nanos::ZERO);
            }
        }
        let end = draft
            .spans
            .iter()
            .map(|span| span.t1)
            .max()
            .unwrap_or_default();
        if !self.wall_given {
            draft.about.wall_ns = end.since(Nanos::ZERO);
        }
        let used = draft
            .spans
            .iter()
            .map(|span| span.processor + 1)
            .max()
            .unwrap_or(1);
        draft.about.processors = draft.about.processors.max(used);
        self.draft
    }
}

/// Sets a thread's sums to those of its spans, where they were not given. The kernel's figures are
/// what a recording without any error would have.
fn add_up(thread: &mut Thread, spans: &[&Span], given: &BTreeSet<String>) {
    let own = |span: &&&Span| span.t1.since(span.t0).saturating_sub(span.tracer_ns);
    let sum = |state| {
        spans
            .iter()
            .filter(|span| span.state == state)
            .map(|s| own(&s))
            .sum::<u64>()
    };
    let count = |detail: fn(&Span) -> bool| spans.iter().filter(|span| detail(span)).count() as u64;
    let set = |column: &mut u64, key: &str, value: u64| {
        if !given.contains(key) {
            *column = value;
        }
    };
    if let (Some(first), false) = (spans.first(), given.contains("start")) {
        thread.start = first.t0;
    }
    if let (Some(last), false) = (
        spans.iter().map(|span| span.t1).max(),
        given.contains("end"),
    ) {
        thread.end = last;
    }
    set(&mut thread.cpu_ns, "cpu", sum(State::Cpu));
    set(&mut thread.ready_ns, "ready", sum(State::Ready));
    set(&mut thread.wait_ns, "wait", sum(State::Wait));
    set(
        &mut thread.tracer_ns,
        "tracer",
        spans.iter().map(|span| span.tracer_ns).sum(),
    );
    if !given.contains("taken") {
        let taken = spans.iter().filter_map(|span| span.taken_ns);
        thread.taken_ns = taken.reduce(u64::saturating_add).or(thread.taken_ns);
    }
    set(
        &mut thread.kernel_cpu_ns,
        "kernel_cpu",
        (thread.cpu_ns + thread.tracer_ns).saturating_sub(thread.taken_ns.unwrap_or(0)),
    );
    set(&mut thread.kernel_ready_ns, "kernel_ready", thread.ready_ns);
    set(
        &mut thread.kernel_life_ns,
        "kernel_life",
        thread.end.since(thread.start),
    );
    let voluntary = count(|span| span.state == State::Wait);
    set(
        &mut thread.switches_voluntary,
        "switches_voluntary",
        voluntary,
    );
    let involuntary = count(|span| span.detail == Detail::Preempted);
    set(
        &mut thread.switches_involuntary,
        "switches_involuntary",
        involuntary,
    );
}
