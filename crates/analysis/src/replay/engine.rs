//! Running a program again: a simulation, event by event. Time is in nanoseconds since its start.
//!
//! Processors are shared evenly: where more threads want to run than there are processors, each runs so much slower.
//! That is what a fair scheduler comes to over more than a few milliseconds, and it needs no guess about turns.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use super::program::{Program, Step, NO_SPAN};
use super::Processors;
use crate::timeline::Timeline;

/// A moment in a heap: the earliest first, among equals by thread.
#[derive(Clone, Copy, PartialEq)]
struct Due(f64, u32);

impl Eq for Due {}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Processors that any of their threads may use, and who does. Work is counted as each thread gets it:
/// all that run get the same, so one clock serves them all.
struct Pool {
    processors: f64,
    work: f64,
    /// The moment that `work` is of.
    at: f64,
    running: BinaryHeap<Reverse<Due>>,
}

impl Pool {
    fn new(processors: f64) -> Pool {
        Pool {
            processors,
            work: 0.0,
            at: 0.0,
            running: BinaryHeap::new(),
        }
    }

    fn rate(&self) -> f64 {
        let wanted = self.running.len() as f64;
        if wanted > self.processors {
            self.processors / wanted
        } else {
            1.0
        }
    }

    fn advance(&mut self, now: f64) {
        self.work += (now - self.at) * self.rate();
        self.at = now;
    }

    fn add(&mut self, slot: usize, ns: f64, now: f64) {
        self.advance(now);
        self.running.push(Reverse(Due(self.work + ns, slot as u32)));
    }

    /// When the next thread is done.
    fn next(&self) -> Option<f64> {
        let Reverse(Due(work, _)) = self.running.peek()?;
        Some(self.at + (work - self.work).max(0.0) / self.rate())
    }

    /// A thread that is done by now.
    fn take(&mut self, now: f64) -> Option<usize> {
        // Less than a millionth of a nanosecond is what rounding leaves.
        const ROUNDED: f64 = 1e-6;
        self.advance(now);
        let Reverse(Due(work, slot)) = *self.running.peek()?;
        let due = work <= self.work + ROUNDED * (1.0 + self.work.abs() * 1e-9);
        due.then(|| {
            self.running.pop();
            slot as usize
        })
    }
}

/// When each span of the recording began and ended in the replay; only those that had steps.
pub(super) type Times = Vec<Option<(f64, f64)>>;

/// How a replay came out.
pub(super) struct Run {
    /// When the thread that is asked about came to its end.
    pub(super) wall_ns: f64,
    /// Waits that had to be ended because nothing was left that would have.
    pub(super) forced: u64,
    pub(super) times: Option<Times>,
}

struct Engine<'a, F> {
    program: &'a Program,
    timeline: &'a Timeline,
    /// By what a span's time is multiplied.
    factor: F,
    pools: Vec<Pool>,
    own: bool,
    now: f64,
    passing: BinaryHeap<Reverse<Due>>,
    ready: VecDeque<usize>,
    /// For each thread, its next step, and when it began with it.
    next: Vec<usize>,
    began: Vec<f64>,
    done: Vec<bool>,
    happened: Vec<bool>,
    /// For each event, who waits for it.
    waiting: Vec<u32>,
    times: Option<Times>,
}

const NOBODY: u32 = u32::MAX;

/// Runs all threads until the one at `slot` has ended.
pub(super) fn run(
    program: &Program,
    timeline: &Timeline,
    slot: usize,
    processors: Processors,
    factor: impl Fn(usize) -> f64,
    with_times: bool,
) -> Run {
    let (pools, own) = match processors {
        Processors::Any(number) => (vec![Pool::new(f64::from(number.max(1)))], false),
        Processors::AsRecorded => {
            let most = (0..timeline.len()).filter_map(|at| timeline.span(at));
            // A damaged recording may name any number.
            let most = most.map(|span| span.processor.min(MOST_PROCESSORS)).max();
            let pools = (0..=most.unwrap_or(0)).map(|_| Pool::new(1.0));
            (pools.collect(), true)
        }
    };
    let mut engine = Engine {
        program,
        timeline,
        factor,
        pools,
        own,
        now: 0.0,
        passing: BinaryHeap::new(),
        ready: (0..program.threads()).collect(),
        next: vec![0; program.threads()],
        began: vec![0.0; program.threads()],
        done: vec![false; program.threads()],
        happened: vec![false; program.events],
        waiting: vec![NOBODY; program.events],
        times: with_times.then(|| vec![None; timeline.len()]),
    };
    let forced = engine.until_done(slot);
    Run {
        wall_ns: engine.now,
        forced,
        times: engine.times,
    }
}

const MOST_PROCESSORS: u32 = 4096;

impl<F: Fn(usize) -> f64> Engine<'_, F> {
    fn until_done(&mut self, asked: usize) -> u64 {
        let mut forced = 0;
        loop {
            while let Some(slot) = self.ready.pop_front() {
                self.go_on(slot);
                if self.done[asked] {
                    return forced;
                }
            }
            let passed = self.passing.peek().map(|Reverse(Due(at, _))| *at);
            let ran = self.pools.iter().filter_map(Pool::next);
            let soonest = ran.chain(passed).min_by(f64::total_cmp);
            let Some(soonest) = soonest else {
                // Everybody waits for somebody: the order of things has changed in a way that the recording
                // knows nothing of. Who waited first goes on.
                let Some(stuck) = self.stuck() else {
                    return forced;
                };
                forced += 1;
                self.finish(stuck);
                continue;
            };
            self.now = self.now.max(soonest);
            while let Some(&Reverse(Due(at, slot))) = self.passing.peek() {
                if at > self.now {
                    break;
                }
                self.passing.pop();
                self.finish(slot as usize);
            }
            for pool in 0..self.pools.len() {
                while let Some(slot) = self.pools[pool].take(self.now) {
                    self.finish(slot);
                }
            }
        }
    }

    fn stuck(&self) -> Option<usize> {
        let stuck = (0..self.done.len()).filter(|&slot| !self.done[slot]);
        stuck.min_by(|&a, &b| self.began[a].total_cmp(&self.began[b]))
    }

    /// The thread is through with its present step.
    fn finish(&mut self, slot: usize) {
        let step = self.program.of(slot).get(self.next[slot]).copied();
        if let Some(Step::Run { span, .. } | Step::Pass { span, .. } | Step::Await { span, .. }) =
            step
        {
            self.note(span, self.began[slot]);
        }
        self.next[slot] += 1;
        self.ready.push_back(slot);
    }

    fn note(&mut self, span: u32, began: f64) {
        let times = self
            .times
            .as_mut()
            .and_then(|times| times.get_mut(span as usize));
        if let Some(time) = times {
            let (from, _) = time.unwrap_or((began, self.now));
            *time = Some((from, self.now));
        }
    }

    fn scaled(&self, ns: u64, span: u32) -> f64 {
        match span {
            NO_SPAN => ns as f64,
            span => ns as f64 * (self.factor)(span as usize),
        }
    }

    /// Goes through a thread's steps until one takes time.
    fn go_on(&mut self, slot: usize) {
        let steps = self.program.of(slot);
        while let Some(&step) = steps.get(self.next[slot]) {
            self.began[slot] = self.now;
            match step {
                Step::Run { ns, span } => {
                    let ns = self.scaled(ns, span);
                    if ns > 0.0 {
                        let pool = self.pool(span);
                        let now = self.now;
                        return self.pools[pool].add(slot, ns, now);
                    }
                    self.note(span, self.now);
                }
                Step::Pass { ns, span } => {
                    let ns = self.scaled(ns, span);
                    if ns > 0.0 {
                        return self.passing.push(Reverse(Due(self.now + ns, slot as u32)));
                    }
                    self.note(span, self.now);
                }
                Step::Await { event, span } => {
                    let waits = span == NO_SPAN || (self.factor)(span as usize) > 0.0;
                    if waits && !self.happened[event as usize] {
                        self.waiting[event as usize] = slot as u32;
                        return;
                    }
                    self.note(span, self.now);
                }
                Step::Meet { event, span } => {
                    let waits = (self.factor)(span as usize) > 0.0;
                    if waits && !self.happened[event as usize] {
                        self.waiting[event as usize] = slot as u32;
                        return;
                    }
                }
                Step::Happen { event } => self.happen(event as usize),
                Step::Look { event, to } => {
                    if self.happened[event as usize] {
                        self.leap(slot, to as usize);
                        continue;
                    }
                }
            }
            self.next[slot] += 1;
        }
        self.done[slot] = true;
    }

    fn happen(&mut self, event: usize) {
        self.happened[event] = true;
        let waiting = std::mem::replace(&mut self.waiting[event], NOBODY);
        // One that was made to go on does not wait any more.
        if waiting != NOBODY && self.awaits(waiting as usize, event) {
            self.finish(waiting as usize);
        }
    }

    /// On to a later step. What others may wait for in between happens all the same.
    fn leap(&mut self, slot: usize, to: usize) {
        let program = self.program;
        for step in program
            .of(slot)
            .get(self.next[slot]..to)
            .unwrap_or_default()
        {
            if let Step::Happen { event } = *step {
                self.happen(event as usize);
            }
        }
        self.next[slot] = to.max(self.next[slot] + 1);
    }

    fn awaits(&self, slot: usize, event: usize) -> bool {
        let step = self.program.of(slot).get(self.next[slot]);
        matches!(
            step,
            Some(Step::Await { event: awaited, .. } | Step::Meet { event: awaited, .. })
                if *awaited as usize == event
        )
    }

    fn pool(&self, span: u32) -> usize {
        let span = self.timeline.span(span as usize).filter(|_| self.own);
        let processor = span.map_or(0, |span| span.processor as usize);
        processor.min(self.pools.len() - 1)
    }
}
