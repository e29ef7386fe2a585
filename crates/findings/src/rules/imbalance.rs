//! Threads, processes or goroutines that share a work unevenly: all but one are done, and that one is waited for.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::Event;
use timesink_analysis::timeline::pools::{over, work_ns, Pool};
use timesink_recording::ids::{ProcessId, TaskId};
use timesink_recording::words::State;
use timesink_recording::Nanos;

use crate::alike::{is_managed, Work, Works};
use crate::awaiting::has_goroutines;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "imbalance",
    looks_for: "threads, processes or goroutines that share the same work, one of which does much more of it than the others",
    why: "The work is done only when the last of them has finished. The others sit idle until then.",
    advice: "divide the work into small parts, and let each of them fetch the next part when it has finished one",
    wrong_if: "the work of the last one cannot be divided",
    limits: &[&limits::RATIO, &limits::ALONE, &limits::TOGETHER],
    blames: Blames::Program,
    needs: &[Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static RATIO: Limit = Limit {
        name: "ratio",
        value: 1.3,
        unit: Unit::Ratio,
        means: "minimum ratio of the work of the busiest one to the average",
    };
    pub static ALONE: Limit = Limit {
        name: "alone",
        value: 0.2,
        unit: Unit::Share,
        means: "minimum share of the time in which the last one works alone",
    };
    pub static TOGETHER: Limit = Limit {
        name: "together",
        value: 0.2,
        unit: Unit::Share,
        means: "maximum share of the time until all are started",
    };
}

/// Who does less of what the busiest does than this part was hardly meant to share it.
const PART: f64 = 0.01;
/// The last one must have been at work for this part of its life.
const AT_WORK: f64 = 0.8;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    // Which thread does what is the runtime's choice there; what a process does is the program's.
    let is_managed = is_managed(inquiry);
    let mut works = Works::new(inquiry);
    let pools = Pool::all(inquiry.timeline).into_iter();
    let pools = pools.filter(|pool| pool.is_processes || !is_managed);
    let pools = pools.filter_map(|pool| of_pool(inquiry, &pool, &mut works));
    let mut suspects: Vec<Suspect> = pools.collect();
    suspects.extend(goroutines(inquiry, &mut works));
    suspects
}

/// One of those who share a work.
struct Worker<Id> {
    who: Id,
    from: Nanos,
    /// When its work was over.
    over: Nanos,
    /// On a CPU.
    work_ns: u64,
    /// On a CPU or waiting for one.
    at_work_ns: u64,
    work: Work,
}

/// A work that is shared, and the one that does most of it.
struct Shared<Id> {
    all: BTreeSet<Id>,
    last: Id,
    /// On a CPU: the last one, and all of them on average.
    most_ns: u64,
    mean_ns: u64,
    /// When all others were done.
    before: Nanos,
    over: Nanos,
    whole_ns: u64,
}

impl<Id: Copy + Ord> Shared<Id> {
    /// What those share that do the same as the busiest of them, if that is the last one.
    fn by(workers: &[Worker<Id>], together: f64) -> Option<Shared<Id>> {
        let busiest = workers.iter().max_by_key(|worker| worker.work_ns)?;
        let least = busiest.work_ns as f64 * PART;
        let some = workers.iter();
        let some = some.filter(|worker| worker.work_ns as f64 > least);
        let alike: Vec<_> = some
            .filter(|worker| busiest.work.is_like(&worker.work))
            .collect();
        let last = *alike.iter().max_by_key(|worker| worker.over)?;
        let others = alike.iter().filter(|worker| worker.who != last.who);
        let before = others.map(|worker| worker.over).max()?;
        let from = alike.iter().map(|worker| worker.from).min()?;
        let started = alike.iter().map(|worker| worker.from).max()?.since(from);
        let whole_ns = last.over.since(from);
        let work_ns: u64 = alike.iter().map(|worker| worker.work_ns).sum();
        let is_one = last.who == busiest.who
            && started as f64 <= whole_ns as f64 * together
            && last.at_work_ns as f64 >= last.over.since(last.from) as f64 * AT_WORK;
        is_one.then(|| Shared {
            all: alike.iter().map(|worker| worker.who).collect(),
            last: last.who,
            most_ns: last.work_ns,
            mean_ns: work_ns / alike.len() as u64,
            before,
            over: last.over,
            whole_ns,
        })
    }

    fn alone_ns(&self) -> u64 {
        self.over.since(self.before)
    }

    /// It with what is told of it, if it is uneven enough.
    fn told(
        &self,
        inquiry: &Inquiry<'_>,
        process: ProcessId,
        title: Sentence,
        fix: Change,
    ) -> Option<Suspect> {
        let ratio = self.most_ns as f64 / self.mean_ns.max(1) as f64;
        let alone = self.alone_ns() as f64 / self.whole_ns.max(1) as f64;
        if ratio < RULE.limit(inquiry, &limits::RATIO)
            || alone < RULE.limit(inquiry, &limits::ALONE)
        {
            return None;
        }
        let weight = Weight::within(inquiry.busy(process), self.alone_ns());
        let suspect = Suspect::new(title, Fix::Change(fix), weight)
            .of(process)
            .held(inquiry, &RULE, "of the average", ratio, &limits::RATIO)
            .held(inquiry, &RULE, "alone", alone, &limits::ALONE)
            .told(say![
                "it is on CPU for ",
                Piece::Time(self.most_ns),
                "; the average of all is ",
                Piece::Time(self.mean_ns)
            ])
            .told(say![
                "it keeps working alone for ",
                Piece::Time(self.alone_ns()),
                " after the others have finished"
            ]);
        Some(suspect)
    }
}

fn of_pool(inquiry: &Inquiry<'_>, pool: &Pool, works: &mut Works<'_>) -> Option<Suspect> {
    let timeline = inquiry.timeline;
    let workers = pool.rows(timeline).filter_map(|row| {
        Some(Worker {
            who: row.thread,
            from: row.start,
            over: over(row),
            work_ns: work_ns(row),
            at_work_ns: row.cpu_ns.saturating_add(row.ready_ns),
            work: works.of_thread(row.thread)?,
        })
    });
    let workers: Vec<_> = workers.collect();
    let shared = Shared::by(&workers, RULE.limit(inquiry, &limits::TOGETHER))?;
    let joins = pool.joins(timeline).into_iter().zip(pool.rows(timeline));
    let mut joins = joins.filter(|(_, row)| row.thread == shared.last);
    joins.find_map(|(join, _)| join)?;
    let slots = shared
        .all
        .iter()
        .filter_map(|thread| timeline.slot(*thread));
    let processes: BTreeSet<ProcessId> = slots.map(|at| timeline.threads[at].process).collect();
    let process = timeline.threads[timeline.slot(shared.last)?].process;
    let count = Piece::Count(shared.all.len() as u64);
    let title = if pool.is_processes {
        let rest = " processes; the others finish early";
        say![process, " does most of the work of ", count, rest]
    } else {
        let rest = " threads, which wait for it";
        say![shared.last, " does most of the work of ", count, rest]
    };
    let fix = Change {
        what: What::Threads(shared.all.clone()),
        processes: Some(processes),
        how: How::Even,
    };
    let mut suspect = shared.told(inquiry, process, title, fix)?;
    suspect.examples = vec![Example {
        thread: shared.last,
        at: shared.before,
    }];
    suspect.frames = inquiry.mostly_in(shared.last);
    Some(suspect)
}

/// The goroutines of each process, as they were seen at work.
fn goroutines(inquiry: &Inquiry<'_>, works: &mut Works<'_>) -> Vec<Suspect> {
    let timeline = inquiry.timeline;
    let mut slots: BTreeMap<ProcessId, Vec<usize>> = BTreeMap::new();
    for slot in timeline.carried().slots() {
        let process = timeline.threads[slot].process;
        slots.entry(process).or_default().push(slot);
    }
    let each = slots
        .iter()
        .filter(|(process, _)| has_goroutines(inquiry, **process));
    each.filter_map(|(process, slots)| of_goroutines(inquiry, *process, slots, works))
        .collect()
}

/// What was seen of a goroutine at work.
struct Seen {
    from: Nanos,
    over: Nanos,
    work_ns: u64,
    at_work_ns: u64,
    events: Vec<Event>,
}

fn seen(inquiry: &Inquiry<'_>, slots: &[usize]) -> BTreeMap<TaskId, Seen> {
    let timeline = inquiry.timeline;
    let mut all: BTreeMap<TaskId, Seen> = BTreeMap::new();
    for &slot in slots {
        let events = inquiry.stacks.events_of(timeline.threads[slot].thread);
        for turn in timeline.carried().turns(slot) {
            let Some(task) = turn.task else { continue };
            let one = all.entry(task).or_insert(Seen {
                from: turn.t0,
                over: turn.t1,
                work_ns: 0,
                at_work_ns: 0,
                events: Vec::new(),
            });
            one.from = one.from.min(turn.t0);
            one.over = one.over.max(turn.t1);
            for (span, ns) in timeline.between(slot, turn.t0, turn.t1) {
                one.work_ns += if span.state == State::Cpu { ns } else { 0 };
                one.at_work_ns += if span.state == State::Wait { 0 } else { ns };
            }
            one.at_work_ns += turn.queued_ns();
            let first = events.partition_point(|event| event.at < turn.t0);
            let within = events[first..].iter().take_while(|e| e.at < turn.t1);
            one.events
                .extend(within.filter(|event| event.account == Account::Cpu));
        }
    }
    all
}

fn of_goroutines(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    slots: &[usize],
    works: &mut Works<'_>,
) -> Option<Suspect> {
    let timeline = inquiry.timeline;
    let seen = seen(inquiry, slots);
    let workers = seen.iter().filter_map(|(task, seen)| {
        Some(Worker {
            who: *task,
            from: seen.from,
            over: seen.over,
            work_ns: seen.work_ns,
            at_work_ns: seen.at_work_ns,
            work: works.of_events(seen.events.iter())?,
        })
    });
    let workers: Vec<_> = workers.collect();
    let shared = Shared::by(&workers, RULE.limit(inquiry, &limits::TOGETHER))?;
    let is_alone = |slot: &usize| {
        let spans = timeline.indexed(*slot);
        let alone = spans.filter(|(_, span)| {
            span.state == State::Cpu && span.t0 < shared.over && span.t1 > shared.before
        });
        alone.map(|(at, _)| at).collect::<Vec<usize>>()
    };
    let sides = inquiry
        .outlook
        .processors
        .max(1)
        .min(shared.all.len() as u32);
    // What one does alone they could do side by side.
    let fix = Change {
        what: What::Spans(slots.iter().flat_map(is_alone).collect()),
        processes: None,
        how: How::Scale(1.0 / f64::from(sides)),
    };
    let count = Piece::Count(shared.all.len() as u64);
    let rest = " does most of the work; the others finish early";
    let title = say!["one of ", count, " goroutines of ", process, rest];
    let mut suspect = shared.told(inquiry, process, title, fix)?;
    let events = &seen[&shared.last].events;
    let last = events.iter().find(|event| event.at >= shared.before)?;
    suspect.examples = vec![Example {
        thread: last.thread,
        at: shared.before,
    }];
    suspect.frames = inquiry.most_of(events.iter());
    Some(suspect)
}
