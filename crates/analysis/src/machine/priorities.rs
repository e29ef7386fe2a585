//! Priorities and affinities: who waited for a CPU because of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use timesink_recording::ids::ProcessId;
use timesink_recording::processors;
use timesink_recording::tables::Thread;
use timesink_recording::words::{SchedulingPolicy, State};
use timesink_recording::Nanos;

use super::{longest_first, ProgramTime};
use crate::facts::Facts;
use crate::ledger::Who;
use crate::stretches::Stretches;
use crate::timeline::{real_time, Timeline};

/// How the kernel schedules a program otherwise than most.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheduling {
    /// It runs ahead of all programs of the usual policy.
    RealTime {
        policy: SchedulingPolicy,
        priority: u32,
    },
    /// Its nice value is below that of others.
    Nice { nice: i64 },
    /// It is allowed to use these CPUs alone, as the kernel lists them.
    Bound { allowed: String },
}

/// A program that is scheduled so, and how long somebody was runnable for that reason.
#[derive(Clone, Debug)]
pub struct SchedulingEffect {
    /// As an index into [`super::MachineTime::programs`].
    pub program: usize,
    pub scheduling: Scheduling,
    /// Others behind it; of one that is bound, itself, while another CPU was idle.
    pub ready_ns: u64,
    /// Programs that were runnable behind it, longest first.
    pub kept_waiting: Vec<(usize, u64)>,
}

/// Those of a machine, the longest time first. The kernel sets the priorities of its own threads.
pub(super) fn effects(
    programs: &[ProgramTime],
    processors_in_all: usize,
    at: &BTreeMap<ProcessId, usize>,
    timeline: &Timeline,
    facts: &Facts,
) -> Vec<SchedulingEffect> {
    let mut all = ahead(programs, at, facts);
    all.extend(bound(programs, processors_in_all, at, timeline));
    all.retain(|one| one.ready_ns > 0);
    all.sort_by_key(|one| (Reverse(one.ready_ns), one.program));
    all
}

/// What puts a thread ahead of another one that waits for its CPU.
fn advantage(row: &Thread, of_waiting: &Thread) -> Option<Scheduling> {
    match (real_time(row), real_time(of_waiting)) {
        (Some((policy, priority)), None) => Some(Scheduling::RealTime { policy, priority }),
        (None, None) => {
            let nice = row.nice.filter(|nice| *nice < 0)?;
            let is_ahead = of_waiting.nice.is_some_and(|its| nice < its);
            is_ahead.then_some(Scheduling::Nice { nice })
        }
        _ => None,
    }
}

fn ahead(
    programs: &[ProgramTime],
    at: &BTreeMap<ProcessId, usize>,
    facts: &Facts,
) -> Vec<SchedulingEffect> {
    let ledger = &facts.ledger;
    let mut sums: BTreeMap<(usize, Scheduling), BTreeMap<usize, u64>> = BTreeMap::new();
    for waiting in &ledger.threads {
        let Some(&waiting_program) = at.get(&waiting.row.process) else {
            continue;
        };
        for behind in &waiting.behind {
            let Who::Thread(other) = behind.who else {
                continue;
            };
            let Some(row) = ledger.thread(other).map(|other| &other.row) else {
                continue;
            };
            let own = at.get(&row.process).copied();
            let own = own.filter(|&own| !programs[own].is_kernel);
            if let Some((own, scheduling)) = own.zip(advantage(row, &waiting.row)) {
                let waited = sums.entry((own, scheduling)).or_default();
                let sum = waited.entry(waiting_program).or_default();
                *sum = sum.saturating_add(behind.ns);
            }
        }
    }
    let each = sums.into_iter();
    each.map(|((program, scheduling), waited)| SchedulingEffect {
        program,
        scheduling,
        ready_ns: waited.values().fold(0, |sum, ns| sum.saturating_add(*ns)),
        kept_waiting: longest_first(waited),
    })
    .collect()
}

/// Threads that may not use all CPUs, and were runnable while one of the others was idle.
fn bound(
    programs: &[ProgramTime],
    processors_in_all: usize,
    at: &BTreeMap<ProcessId, usize>,
    timeline: &Timeline,
) -> Vec<SchedulingEffect> {
    let mut bound: Vec<(usize, usize, &str)> = Vec::new();
    for (slot, thread) in timeline.threads.iter().enumerate() {
        let allowed = thread.allowed_processors.as_deref();
        let own = at.get(&thread.process).copied();
        let own = own.filter(|&own| !programs[own].is_kernel);
        let (Some(allowed), Some(own)) = (allowed, own) else {
            continue;
        };
        // A machine may have CPUs that are off line: then one more is not known to be there.
        let count = processors::parse(allowed).len();
        if count > 0 && count < processors_in_all && thread.ready_ns > 0 {
            bound.push((slot, own, allowed));
        }
    }
    if bound.is_empty() {
        return Vec::new();
    }
    let busy = busy_times(timeline);
    let mut sums: BTreeMap<(usize, &str), u64> = BTreeMap::new();
    for (slot, own, allowed) in bound {
        let own_processors = processors::parse(allowed);
        let others = busy.iter().filter(|(cpu, _)| !own_processors.contains(cpu));
        let others: Vec<&Stretches> = others.map(|(_, busy)| busy).collect();
        let ready = timeline.spans_of(slot).iter();
        let ready = ready.filter(|span| span.state == State::Ready);
        let idle = ready.map(|span| {
            let each = others.iter().map(|busy| idle(busy, span.t0, span.t1)).max();
            // One that nobody ran on at all was idle throughout.
            let seen = others.len() + own_processors.len();
            match seen < processors_in_all {
                true => span.t1.since(span.t0),
                false => each.unwrap_or(0),
            }
        });
        let sum = sums.entry((own, allowed)).or_default();
        *sum = idle.fold(*sum, u64::saturating_add);
    }
    let each = sums.into_iter();
    each.map(|((program, allowed), ready_ns)| SchedulingEffect {
        program,
        scheduling: Scheduling::Bound {
            allowed: allowed.to_owned(),
        },
        ready_ns,
        kept_waiting: Vec::new(),
    })
    .collect()
}

/// How long a CPU was idle between two moments.
fn idle(busy: &Stretches, from: Nanos, to: Nanos) -> u64 {
    to.since(from).saturating_sub(busy.within(from, to))
}

/// When each CPU that anybody ran on was busy.
fn busy_times(timeline: &Timeline) -> BTreeMap<u32, Stretches> {
    let mut spans: BTreeMap<u32, Vec<(Nanos, Nanos)>> = BTreeMap::new();
    for slot in 0..timeline.threads.len() {
        for span in timeline.spans_of(slot) {
            if span.state == State::Cpu {
                let own = spans.entry(span.processor).or_default();
                own.push((span.t0, span.t1));
            }
        }
    }
    let each = spans.into_iter();
    each.map(|(processor, spans)| (processor, Stretches::of(spans)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_times_between_busy_ones() {
        let times = |spans: &[(i64, i64)]| {
            let spans = spans.iter().map(|&(from, to)| (Nanos(from), Nanos(to)));
            Stretches::of(spans.collect())
        };
        let busy = times(&[(30, 40), (10, 20), (15, 25)]);
        let idle_of = |from, to| idle(&busy, Nanos(from), Nanos(to));
        assert_eq!(idle_of(0, 10), 10);
        assert_eq!(idle_of(0, 50), 25);
        assert_eq!(idle_of(12, 18), 0);
        assert_eq!(idle_of(22, 32), 5);
        assert_eq!(idle_of(40, 45), 5);
        assert_eq!(idle(&times(&[]), Nanos(3), Nanos(7)), 4);
    }
}
