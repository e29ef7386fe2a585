//! Running a program again: a simulation, event by event. Time is in nanoseconds since its start.
//!
//! Processors are shared evenly: where more threads want to run than there are processors, each runs so much slower.
//! That is what a fair scheduler comes to over more than a few milliseconds, and it needs no guess about turns.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use super::idle::IdleLoops;
use super::program::{ReplayStep, ThreadSteps, NO_SPAN};
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
        // Late in a long replay the rest may be too short to make a moment a later one.
        let due = due || self.next().is_some_and(|next| next <= now);
        due.then(|| {
            self.running.pop();
            slot as usize
        })
    }
}

/// For each thread, when something is over; the first of them is found at once. A tree of which each node has the least of
/// its two children: that changes in a few steps without a branch to be guessed.
struct Soonest {
    /// The root is at 1, the threads are in the last half.
    tree: Vec<f64>,
}

impl Soonest {
    fn new(threads: usize) -> Soonest {
        let leaves = threads.next_power_of_two().max(2);
        Soonest {
            tree: vec![f64::INFINITY; 2 * leaves],
        }
    }

    /// When the first is over; never, if there is none.
    fn at(&self) -> f64 {
        self.tree[1]
    }

    fn set(&mut self, slot: usize, at: f64) {
        let mut node = self.tree.len() / 2 + slot;
        self.tree[node] = at;
        while node > 1 {
            let least = self.tree[node].min(self.tree[node ^ 1]);
            node /= 2;
            self.tree[node] = least;
        }
    }

    /// Takes the first out, among equals the first thread.
    fn take(&mut self) -> usize {
        let (leaves, first) = (self.tree.len() / 2, self.at());
        let mut node = 1;
        while node < leaves {
            node *= 2;
            node += usize::from(self.tree[node] > first);
        }
        self.set(node - leaves, f64::INFINITY);
        node - leaves
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

/// So many steps of each thread are copied at a time. All threads go on side by side, each at a place of its own in arrays that
/// may lie in a file, where one touch brings up to 2 MB into memory: so steps and factors are touched once for many steps.
const AHEAD: usize = 512;

/// A step, with the factor of its span.
#[derive(Clone, Copy)]
struct Scaled {
    step: ReplayStep,
    factor: f64,
}

impl Scaled {
    fn of(step: ReplayStep, factor: impl Fn(usize) -> f64) -> Scaled {
        let span = match step {
            ReplayStep::Run { span, .. }
            | ReplayStep::Pass { span, .. }
            | ReplayStep::Idle { span, .. }
            | ReplayStep::Tick { span, .. }
            | ReplayStep::Await { span, .. }
            | ReplayStep::Hear { span, .. }
            | ReplayStep::Meet { span, .. } => span,
            ReplayStep::Happen { .. } | ReplayStep::Look { .. } => NO_SPAN,
        };
        let factor = match span {
            NO_SPAN => 1.0,
            span => factor(span as usize),
        };
        Scaled { step, factor }
    }
}

/// The steps of a thread that come next.
#[derive(Default)]
struct Ahead {
    /// Where the first of them stands.
    from: usize,
    steps: Vec<Scaled>,
}

impl Ahead {
    fn get(&self, at: usize) -> Option<Scaled> {
        self.steps.get(at.wrapping_sub(self.from)).copied()
    }
}

struct Engine<'a, F> {
    program: &'a ThreadSteps,
    /// By what a span's time is multiplied.
    factor: F,
    /// Of each thread.
    ahead: Vec<Ahead>,
    pools: Vec<Pool>,
    /// When the next thread of each pool is done; never, if none runs there.
    due: Vec<f64>,
    own: bool,
    now: f64,
    passing: Soonest,
    ready: VecDeque<usize>,
    /// For each thread, its next step, and when it began with it.
    next: Vec<usize>,
    began: Vec<f64>,
    done: Vec<bool>,
    /// For each event, who waits for it, or that it has happened.
    events: Vec<u32>,
    /// Threads that had not ended when nothing was left that would have ended a wait, by when they began to wait, the first
    /// of them last.
    stuck: Vec<Due>,
    /// When each moment of a schedule came; never, if it has not yet.
    ticks: Vec<f64>,
    /// Of loops of events.
    idle: IdleLoops,
    times: Option<Times>,
}

const NOBODY: u32 = u32::MAX;
const HAPPENED: u32 = u32::MAX - 1;

/// Runs all threads until the one at `slot` has ended.
pub(super) fn run(
    program: &ThreadSteps,
    timeline: &Timeline,
    slot: usize,
    processors: Processors,
    factor: impl Fn(usize) -> f64,
    with_times: bool,
) -> Run {
    let (pools, own) = match processors {
        Processors::Any(number) => (vec![Pool::new(f64::from(number.max(1)))], false),
        Processors::AsRecorded => {
            let pools = (0..=program.last_processor).map(|_| Pool::new(1.0));
            (pools.collect(), true)
        }
    };
    let mut engine = Engine {
        program,
        factor,
        ahead: (0..program.threads()).map(|_| Ahead::default()).collect(),
        due: vec![f64::INFINITY; pools.len()],
        pools,
        own,
        now: 0.0,
        passing: Soonest::new(program.threads()),
        ready: (0..program.threads()).collect(),
        next: vec![0; program.threads()],
        began: vec![0.0; program.threads()],
        done: vec![false; program.threads()],
        events: vec![NOBODY; program.events],
        stuck: Vec::new(),
        ticks: vec![f64::INFINITY; program.ticks],
        idle: IdleLoops::default(),
        times: with_times.then(|| vec![None; timeline.len()]),
    };
    let forced = engine.until_done(slot);
    Run {
        wall_ns: engine.now,
        forced,
        times: engine.times,
    }
}

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
            let ran = self.due.iter().copied();
            let soonest = ran.fold(self.passing.at(), f64::min);
            if soonest == f64::INFINITY {
                // Everybody waits for somebody: the order of things has changed in a way that the recording
                // knows nothing of. Who waited first goes on.
                let Some(stuck) = self.stuck() else {
                    return forced;
                };
                forced += 1;
                self.finish(stuck);
                continue;
            }
            self.now = self.now.max(soonest);
            while self.passing.at() <= self.now {
                let slot = self.passing.take();
                self.finish(slot);
            }
            for pool in 0..self.pools.len() {
                if self.due[pool] > self.now {
                    continue;
                }
                while let Some(slot) = self.pools[pool].take(self.now) {
                    self.finish(slot);
                }
                self.look_ahead(pool);
            }
        }
    }

    /// Notes when the next thread of a pool is done.
    fn look_ahead(&mut self, pool: usize) {
        self.due[pool] = self.pools[pool].next().unwrap_or(f64::INFINITY);
    }

    /// Of all threads that wait, the one that waited first.
    fn stuck(&mut self) -> Option<usize> {
        // Who began to wait since the list was made did so later than all who are in it.
        while let Some(Due(began, slot)) = self.stuck.pop() {
            let slot = slot as usize;
            if !self.done[slot] && self.began[slot] == began {
                return Some(slot);
            }
        }
        let waiting = (0..self.done.len()).filter(|&slot| !self.done[slot]);
        self.stuck = waiting
            .map(|slot| Due(self.began[slot], slot as u32))
            .collect();
        self.stuck.sort_unstable_by(|a, b| b.cmp(a));
        let Due(_, slot) = self.stuck.pop()?;
        Some(slot as usize)
    }

    /// A step of a thread.
    fn step(&mut self, slot: usize, at: usize) -> Option<Scaled> {
        let known = self.ahead[slot].get(at);
        known.or_else(|| self.read_ahead(slot, at))
    }

    /// The same where it has not been copied yet.
    #[cold]
    fn read_ahead(&mut self, slot: usize, at: usize) -> Option<Scaled> {
        let steps = self.program.of(slot).get(at..)?;
        let factor = &self.factor;
        let scaled = steps.iter().map(|&step| Scaled::of(step, factor));
        let ahead = &mut self.ahead[slot];
        ahead.from = at;
        ahead.steps.clear();
        ahead.steps.extend(scaled.take(AHEAD));
        ahead.get(at)
    }

    /// The thread is through with its present step.
    fn finish(&mut self, slot: usize) {
        if self.times.is_some() || !self.ticks.is_empty() {
            let scaled = self.step(slot, self.next[slot]);
            match scaled.map(|scaled| scaled.step) {
                Some(ReplayStep::Tick { timer, span }) => {
                    self.tick(timer);
                    self.note(span, self.began[slot]);
                }
                Some(
                    ReplayStep::Run { span, .. }
                    | ReplayStep::Pass { span, .. }
                    | ReplayStep::Idle { span, .. }
                    | ReplayStep::Await { span, .. }
                    | ReplayStep::Hear { span, .. },
                ) => self.note(span, self.began[slot]),
                _ => {}
            }
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

    /// Goes through a thread's steps until one takes time.
    fn go_on(&mut self, slot: usize) {
        while let Some(Scaled { step, factor }) = self.step(slot, self.next[slot]) {
            self.began[slot] = self.now;
            match step {
                ReplayStep::Run {
                    ns,
                    span,
                    processor,
                } => {
                    let ns = ns as f64 * factor;
                    if ns > 0.0 {
                        let pool = self.pool(processor);
                        let now = self.now;
                        self.pools[pool].add(slot, ns, now);
                        return self.look_ahead(pool);
                    }
                    self.note(span, self.now);
                }
                ReplayStep::Pass { ns, span } => {
                    let ns = ns as f64 * factor;
                    if ns > 0.0 {
                        return self.pass(slot, ns);
                    }
                    self.note(span, self.now);
                }
                ReplayStep::Idle { ns, span } => {
                    let ns = self.idle.left(slot, ns as f64 * factor);
                    if ns > 0.0 {
                        self.idle.until(slot, self.now, self.now + ns);
                        self.passing.set(slot, self.now + ns);
                        return;
                    }
                    self.note(span, self.now);
                }
                ReplayStep::Tick { timer, span } => {
                    let ns = self.until_tick(timer) * factor;
                    if ns > 0.0 {
                        self.passing.set(slot, self.now + ns);
                        return;
                    }
                    self.tick(timer);
                    self.note(span, self.now);
                }
                ReplayStep::Await { event, span } | ReplayStep::Hear { event, span } => {
                    let waits = self.waits(slot, event, factor);
                    if matches!(step, ReplayStep::Hear { .. }) {
                        self.idle.comes_to(slot, event, waits);
                    }
                    if waits {
                        return;
                    }
                    self.note(span, self.now);
                }
                ReplayStep::Meet { event, .. } => {
                    if self.waits(slot, event, factor) {
                        return;
                    }
                }
                ReplayStep::Happen { event } => self.happen(event as usize),
                ReplayStep::Look { event, to } => {
                    if self.events[event as usize] == HAPPENED {
                        self.leap(slot, to as usize);
                        continue;
                    }
                }
            }
            self.next[slot] += 1;
        }
        self.done[slot] = true;
    }

    /// Whether a thread has to wait for an event. If so it does from now on.
    fn waits(&mut self, slot: usize, event: u32, factor: f64) -> bool {
        let event = &mut self.events[event as usize];
        let waits = factor > 0.0 && *event != HAPPENED;
        if waits {
            *event = slot as u32;
        }
        waits
    }

    /// How long it is until a schedule's next moment. Where the one before has not come yet, things are in another order than they
    /// were, and the timer has the length that it had.
    fn until_tick(&self, timer: u32) -> f64 {
        let Some(timer) = self.program.timers.get(timer as usize) else {
            return 0.0;
        };
        let before = timer.tick.checked_sub(1);
        let before = before.and_then(|tick| self.ticks.get(tick as usize).copied());
        match (timer.after_ns, before) {
            (Some(after_ns), Some(before)) if before.is_finite() => {
                (before + after_ns as f64 - self.now).max(0.0)
            }
            _ => timer.ns as f64,
        }
    }

    /// A schedule's moment has come; of several timers for it the first counts.
    fn tick(&mut self, timer: u32) {
        let timer = self.program.timers.get(timer as usize);
        let tick = timer.and_then(|timer| self.ticks.get_mut(timer.tick as usize));
        if let Some(tick) = tick {
            *tick = tick.min(self.now);
        }
    }

    /// Time passes, and then more of it, as long as nothing else comes.
    fn pass(&mut self, slot: usize, mut ns: f64) {
        // Who asks for the times of spans asks for those in between, too.
        while self.times.is_none() {
            let Some(Scaled { step, factor }) = self.step(slot, self.next[slot] + 1) else {
                break;
            };
            let ReplayStep::Pass { ns: more, .. } = step else {
                break;
            };
            ns += more as f64 * factor;
            self.next[slot] += 1;
        }
        self.passing.set(slot, self.now + ns);
    }

    fn happen(&mut self, event: usize) {
        let waiting = std::mem::replace(&mut self.events[event], HAPPENED);
        if waiting == NOBODY && self.program.is_heard(event) {
            self.idle.happened.insert(event as u32, self.now);
        }
        // One that was made to go on does not wait any more.
        if waiting < HAPPENED && self.awaits(waiting as usize, event) {
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
            if let ReplayStep::Happen { event } = *step {
                self.happen(event as usize);
            }
        }
        self.next[slot] = to.max(self.next[slot] + 1);
    }

    fn awaits(&mut self, slot: usize, event: usize) -> bool {
        let scaled = self.step(slot, self.next[slot]);
        matches!(
            scaled.map(|scaled| scaled.step),
            Some(
                ReplayStep::Await { event: awaited, .. }
                | ReplayStep::Hear { event: awaited, .. }
                | ReplayStep::Meet { event: awaited, .. }
            ) if awaited as usize == event
        )
    }

    fn pool(&self, processor: u16) -> usize {
        match self.own {
            true => usize::from(processor).min(self.pools.len() - 1),
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However late it is, and however little is left to do, who is done when the next one is done is found to be.
    #[test]
    fn a_long_replay_comes_to_its_end() {
        for now in [0.0, 1e9, 4.5e11, 3.6e12, 1e17] {
            for ns in [1e-9, 2e-5, 1.0, 1e6] {
                let mut pool = Pool::new(1.0);
                pool.work = 9e9;
                pool.at = now;
                pool.add(3, ns, now);
                let done = pool.next().expect("one runs");
                assert_eq!(pool.take(done), Some(3), "{ns} ns at {now}");
            }
        }
    }

    /// Who is first over is found first, among equals the first thread, and a later word counts.
    #[test]
    fn the_soonest_is_found() {
        let mut soonest = Soonest::new(5);
        assert_eq!(soonest.at(), f64::INFINITY);
        for (slot, at) in [(4, 3.0), (1, 2.0), (3, 2.0), (0, 9.0), (0, 1.5)] {
            soonest.set(slot, at);
        }
        let mut order = Vec::new();
        while soonest.at() < f64::INFINITY {
            order.push((soonest.at(), soonest.take()));
        }
        assert_eq!(order, [(1.5, 0), (2.0, 1), (2.0, 3), (3.0, 4)]);
    }
}
