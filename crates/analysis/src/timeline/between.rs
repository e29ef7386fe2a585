//! When the thread of an event loop went from its loop to a task, from a task to the loop, or from one task to the next, within the
//! time between the last sight of the one and the first of the next.
//!
//! Calls and switches show a thread at moments that its program chose: a loop shows itself as it asks for events, a task
//! perhaps at its first line, perhaps never. Samples come at any moment. How often one is the last sight of a loop before a task
//! tells how long the loop takes on average until it runs one, and how often one is the first sight after a task how long
//! it takes until it asks for events. What else lies in between is the task's, which may be microseconds or many milliseconds.
//! It does not look at stacks, and knows no cost of any loop.

use rustc_hash::FxHashMap;
use timesink_recording::ids::{StackId, TaskId};
use timesink_recording::tables::{Sample, TaskTurn};
use timesink_recording::{Nanos, Recording};

use super::placed::Seen;
use super::Spans;

/// The tasks that event loops run, each with its first function.
pub(super) type Coroutines = FxHashMap<TaskId, Option<StackId>>;

/// A change: the turn before and the one after.
#[derive(Clone, Copy)]
pub(super) struct Change<'r> {
    pub slot: usize,
    pub before: &'r TaskTurn,
    pub after: &'r TaskTurn,
}

/// What a thread that runs an event loop was seen at by samples, and what that tells.
#[derive(Default)]
struct Loop {
    /// The moments of its samples, in order.
    sampled: Vec<Nanos>,
    /// What the loop itself takes on average from when it has events until it runs a task.
    until_task_ns: f64,
    /// And from a task until it asks for events.
    after_task_ns: f64,
}

/// The threads that run event loops, by their slots.
#[derive(Default)]
pub(super) struct Between(FxHashMap<usize, Loop>);

impl Between {
    /// Of an open recording with these tasks of event loops. `from`: the earliest that each turn can have begun.
    pub(super) fn of(
        recording: &Recording,
        spans: &Spans,
        seen: &Seen,
        coroutines: &Coroutines,
        from: &FxHashMap<usize, Vec<Nanos>>,
    ) -> timesink_recording::Result<Between> {
        let is_one = |row: &TaskTurn| row.task.is_some_and(|task| coroutines.contains_key(&task));
        let loops = seen.iter().filter(|(_, rows)| rows.iter().any(is_one));
        let mut loops: FxHashMap<usize, Loop> =
            loops.map(|(slot, _)| (*slot, Loop::default())).collect();
        if loops.is_empty() {
            return Ok(Between::default());
        }
        recording.scan(|rows: &[Sample]| {
            for row in rows {
                let slot = spans.slot(row.thread);
                if let Some(one) = slot.and_then(|slot| loops.get_mut(&slot)) {
                    one.sampled.push(row.t);
                }
            }
        })?;
        for (slot, one) in &mut loops {
            one.sampled.sort_unstable();
            let cpu_ns = spans.threads[*slot].cpu_ns as f64;
            one.learn(&seen[slot], &from[slot], cpu_ns, coroutines);
        }
        Ok(Between(loops))
    }

    /// When a thread went from one to the next, if it runs an event loop. What was seen before it was so until `from` at least.
    pub(super) fn moment(&self, change: Change<'_>, from: Nanos) -> Option<Nanos> {
        let one = self.0.get(&change.slot)?;
        let until = change.after.t0.max(from);
        let all_ns = until.since(from) as f64;
        let before_ns = match (change.before.task, change.after.task) {
            (None, _) => one.left_of(one.until_task_ns, change.before.t1).min(all_ns),
            (Some(_), None) => {
                let after_ns = one.left_of(one.after_task_ns, change.after.t0);
                all_ns - after_ns.min(all_ns)
            }
            (Some(_), Some(_)) => all_ns / 2.0,
        };
        Some(Nanos(from.0 + before_ns as i64))
    }
}

impl Loop {
    fn learn(&mut self, rows: &[TaskTurn], from: &[Nanos], cpu_ns: f64, coroutines: &Coroutines) {
        let first = |task: TaskId| coroutines.get(&task).copied().flatten();
        let (mut until, mut after) = (Stretches::default(), Stretches::default());
        for (pair, from) in rows.windows(2).zip(&from[1..]) {
            let (last, next) = (&pair[0], &pair[1]);
            let sights = [last.t1, next.t0].map(|at| self.is_sampled(at));
            let ns = next.t0.since(*from);
            // A task that went on unseen is told as a moment's work in the midst of the loop's: that says nothing of what the loop takes.
            if ns == 0 {
                continue;
            }
            match (last.task, next.task) {
                (None, Some(task)) => until.add(first(task), ns, sights[0], sights[1]),
                (Some(task), None) => after.add(first(task), ns, sights[1], sights[0]),
                _ => {}
            }
        }
        // Without samples this is infinite: none was to be expected.
        let period_ns = cpu_ns / self.sampled.len() as f64;
        self.until_task_ns = until.average_ns(period_ns);
        self.after_task_ns = after.average_ns(period_ns);
    }

    fn is_sampled(&self, at: Nanos) -> bool {
        self.sampled.binary_search(&at).is_ok()
    }

    /// Of a stretch of the loop that takes so long what lies on the other side of a sight of it: a sample hits it anywhere.
    fn left_of(&self, average_ns: f64, sight: Nanos) -> f64 {
        if self.is_sampled(sight) {
            return average_ns / 2.0;
        }
        average_ns
    }
}

/// Stretches of a loop beside tasks, all before or all after them.
#[derive(Default)]
struct Stretches {
    count: u64,
    /// So many of them a sample hit.
    hit: u64,
    /// Of those between calls and switches, how long each is with the task's part, by the first functions of the tasks.
    with_task_ns: FxHashMap<Option<StackId>, Vec<u64>>,
}

/// Fewer stretches have no median to go by.
const ENOUGH: usize = 10;

impl Stretches {
    fn add(&mut self, first: Option<StackId>, ns: u64, is_hit: bool, is_task_hit: bool) {
        self.count += 1;
        self.hit += u64::from(is_hit);
        if !is_hit && !is_task_hit {
            self.with_task_ns.entry(first).or_default().push(ns);
        }
    }

    /// The loop's part is no longer than it is with the task's beside those tasks that show themselves soonest.
    fn most_ns(&self) -> Option<f64> {
        let median = |all: &Vec<u64>| {
            let mut all = all.clone();
            all.sort_unstable();
            all.get(all.len() / 2).copied()
        };
        let enough = self.with_task_ns.values().filter(|all| all.len() >= ENOUGH);
        let least = enough.filter_map(median).min();
        let all = || median(&self.with_task_ns.values().flatten().copied().collect());
        least.or_else(all).map(|ns| ns as f64)
    }

    /// How long the loop takes of each on average: as likely any part of the most that it can be before samples are looked at, then as
    /// likely as so many hits are (Poisson's) with a sample every so often.
    fn average_ns(&self, period_ns: f64) -> f64 {
        const STEPS: u32 = 200;
        let most_ns = self.most_ns().unwrap_or(period_ns);
        if !most_ns.is_finite() {
            return 0.0;
        }
        let likely = |ns: f64| {
            let expected = (self.count as f64 * ns / period_ns).max(f64::MIN_POSITIVE);
            self.hit as f64 * expected.ln() - expected
        };
        let all = (0..STEPS).map(|step| most_ns * (f64::from(step) + 0.5) / f64::from(STEPS));
        let all: Vec<(f64, f64)> = all.map(|ns| (ns, likely(ns))).collect();
        let best = all.iter().map(|(_, log)| *log).fold(f64::MIN, f64::max);
        let weighed = all.iter().map(|(ns, log)| (ns, (log - best).exp()));
        let (sum, weight) = weighed.fold((0.0, 0.0), |(sum, weight), (ns, part)| {
            (sum + ns * part, weight + part)
        });
        sum / weight
    }
}
