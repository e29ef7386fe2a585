//! What if: all that was recorded is run again, with some of it made cheaper, and the wall time of the
//! thread asked about is what comes out.
//!
//! Each thread keeps its order of things. Who waited for another recorded thread waits for the same thing again, however
//! long that takes now; who waited for a device, a timer or a peer outside waits as long as it did; who wants a
//! processor shares those that there were. A replay of the unchanged recording says how far that is from what
//! happened, and that difference is the least error of every prediction.

mod calls;
mod change;
mod contention;
mod engine;
mod entries;
mod gains;
mod idle;
mod interruptions;
mod preempted;
mod program;
mod shares;
mod strands;
mod tickers;

pub use calls::CallsOfWaits;
pub use change::{Change, How, What, STARTS};
pub use entries::entered;
pub use gains::{Doubts, Gain, Gains};

use std::collections::BTreeSet;
use std::sync::Arc;

use timesink_recording::tables::Occupant;
use timesink_recording::{Nanos, Recording};

use crate::facts::Facts;
use crate::joined::joined;
use crate::path::Path;
use crate::stacks::Stacks;
use crate::timeline::{Spans, Timeline};
use contention::{BehindRecorded, Contended};
use program::ThreadSteps;
use strands::Strands;

/// Which processors there are in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processors {
    /// So many, and each thread may use any.
    Any(u32),
    /// Those of the recording, and each thread uses the one that it did then.
    AsRecorded,
}

/// A recording, ready to be run again.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    pub timeline: &'a Timeline,
    program: Arc<ThreadSteps>,
    /// Whose end is asked about.
    slot: usize,
    /// The strand that ends then.
    asked: usize,
    from: Nanos,
    /// What reproduces the recording best.
    pub processors: Processors,
    /// The wall time as recorded.
    pub recorded_ns: u64,
    /// The wall time of a replay in which nothing is changed.
    pub unchanged_ns: u64,
    /// The same by tasks, where threads alone reproduce the recording better: what of the two a change is right about is not known.
    by_tasks: Option<Arc<Replay<'a>>>,
}

/// What is known of a recording beside its timeline: to find what a change is about.
#[derive(Clone, Copy)]
pub struct Recorded<'a> {
    pub timeline: &'a Timeline,
    pub facts: &'a Facts,
    pub stacks: &'a Stacks,
    pub calls: &'a CallsOfWaits,
}

/// How a replay came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub wall_ns: u64,
    /// Waits that had to be ended because nothing was left that would have.
    pub forced: u64,
}

impl<'a> Replay<'a> {
    /// Reads what a replay to the end of a thread's life needs, and tries it.
    pub fn of(
        recording: &Recording,
        timeline: &'a Timeline,
        slot: usize,
    ) -> timesink_recording::Result<Replay<'a>> {
        let mut behind_recorded = BehindRecorded::default();
        recording.scan(|rows| behind_recorded.add(rows, timeline))?;
        let processors = processors(recording);
        Ok(Replay::to_the_end(
            timeline,
            &behind_recorded.finish(),
            slot,
            processors,
        ))
    }

    /// A replay to the end of the thread at `slot`, on so many processors.
    pub fn new(
        timeline: &'a Timeline,
        occupants: &[Occupant],
        slot: usize,
        processors: u32,
    ) -> Replay<'a> {
        let mut behind_recorded = BehindRecorded::default();
        behind_recorded.add(occupants, timeline);
        Replay::to_the_end(timeline, &behind_recorded.finish(), slot, processors)
    }

    fn to_the_end(
        timeline: &'a Timeline,
        behind_recorded: &Contended,
        slot: usize,
        processors: u32,
    ) -> Replay<'a> {
        let thread = &timeline.threads[slot];
        let build = |strands, contended: &Contended| {
            Arc::new(program::build(timeline, strands, contended, thread.start))
        };
        let mut replay = Replay {
            timeline,
            program: build(Strands::of(timeline), behind_recorded),
            slot,
            asked: slot,
            from: thread.start,
            processors: Processors::Any(processors),
            recorded_ns: thread.end.since(thread.start),
            unchanged_ns: 0,
            by_tasks: None,
        };
        // Threads that are bound to processors do not share all of them, and programs outside may have had some; which of
        // these it was, the recording itself tells.
        replay.asked = replay.find_asked();
        replay.try_out();
        if replay.is_good() {
            return replay;
        }
        let bound = || replay.on(Processors::AsRecorded).tried_out();
        let contended = || {
            let contended = behind_recorded.while_all_taken(timeline, processors);
            let program = build(Strands::of(timeline), &contended);
            let replay = replay.clone();
            Replay { program, ..replay }.tried_out()
        };
        // What tasks are seen at is not all that they do: now and then who waits for whom comes out as a ring.
        let by_threads = |replay: Replay<'a>| {
            if timeline.carried().is_empty() || replay.error_pct().abs() <= MARKED_PCT {
                return replay;
            }
            let program = build(Strands::of_threads(timeline), behind_recorded);
            let tells = replay.error_pct().abs() <= NOTHING_PCT;
            let by_tasks = tells.then(|| Arc::new(replay.clone()));
            let (asked, same) = (slot, replay.clone());
            replay.or_better(
                Replay {
                    program,
                    asked,
                    by_tasks,
                    ..same
                }
                .tried_out(),
            )
        };
        if replay.go_side_by_side() {
            let (bound, contended) = std::thread::scope(|scope| {
                let bound = scope.spawn(bound);
                let contended = contended();
                (joined(bound), contended)
            });
            return by_threads(replay.or_better(bound).or_if_not_good(|| contended));
        }
        let bound = bound();
        by_threads(replay.clone().or_better(bound).or_if_not_good(contended))
    }

    fn is_good(&self) -> bool {
        self.error_pct().abs() <= GOOD_PCT
    }

    /// Runs it with nothing changed.
    fn try_out(&mut self) {
        self.unchanged_ns = self.run(|_| 1.0).wall_ns;
    }

    fn tried_out(mut self) -> Replay<'a> {
        self.try_out();
        self
    }

    fn or_if_not_good(self, other: impl FnOnce() -> Replay<'a>) -> Replay<'a> {
        match self.is_good() {
            true => self,
            false => self.or_better(other()),
        }
    }

    /// Whether several should go side by side: a short one takes less time than a thread takes to start, and of long ones
    /// each takes much memory.
    fn go_side_by_side(&self) -> bool {
        (SIDE_BY_SIDE_LEAST..SIDE_BY_SIDE_MOST).contains(&self.steps())
    }

    /// Another one, if that comes nearer to what was recorded.
    fn or_better(self, other: Replay<'a>) -> Replay<'a> {
        match other.error_pct().abs() < self.error_pct().abs() {
            true => other,
            false => self,
        }
    }

    /// How many steps it has: what a run of it costs grows with that.
    pub fn steps(&self) -> usize {
        self.program.steps()
    }

    /// The same on other processors.
    pub fn on(&self, processors: Processors) -> Replay<'a> {
        Replay {
            processors,
            ..self.clone()
        }
    }

    /// The same with these waits of a thread, by their spans, all where the last of them is.
    fn put_off(&self, waits: &BTreeSet<usize>) -> Replay<'a> {
        Replay {
            program: Arc::new(self.program.put_off(waits)),
            ..self.clone()
        }
    }

    /// By how much the unchanged replay misses the recorded wall time, in percent of it.
    pub fn error_pct(&self) -> f64 {
        if self.recorded_ns == 0 {
            return 0.0;
        }
        (self.unchanged_ns as f64 - self.recorded_ns as f64) * 100.0 / self.recorded_ns as f64
    }

    /// The wall time when the time of each span is multiplied by a factor: on a processor, or waiting
    /// for something that no recorded thread did.
    pub fn run(&self, factor: impl Fn(usize) -> f64) -> Outcome {
        let run = self.engine(factor, false);
        Outcome {
            wall_ns: run.wall_ns.round() as u64,
            forced: run.forced,
        }
    }

    /// The critical path as recorded.
    pub fn recorded_path(&self) -> Path {
        Path::of_thread(self.timeline, self.slot)
    }

    /// The critical path of such a replay: what the path turns into.
    pub fn path(&self, factor: impl Fn(usize) -> f64) -> (Timeline, Path) {
        let run = self.engine(factor, true);
        let moment = |at: f64| Nanos(self.from.0.saturating_add(at.round() as i64));
        let end = moment(run.wall_ns);
        let times = run.times.unwrap_or_default();
        let mut threads = self.timeline.threads.clone();
        let mut spans = Vec::new();
        for (slot, thread) in threads.iter_mut().enumerate() {
            let mut life: Option<(Nanos, Nanos)> = None;
            for (index, span) in self.timeline.indexed(slot) {
                let Some((t0, t1)) = times.get(index).copied().flatten() else {
                    continue;
                };
                let (t0, t1) = (moment(t0), moment(t1));
                let (start, _) = life.unwrap_or((t0, t1));
                life = Some((start, t1));
                if t1 > t0 {
                    let mut moved = *span;
                    (moved.t0, moved.t1) = (t0, t1);
                    spans.push(moved);
                }
            }
            if let Some((start, end)) = life {
                (thread.start, thread.end) = (start, end);
            }
        }
        if let Some(thread) = threads.get_mut(self.slot) {
            (thread.start, thread.end) = (self.from, end);
        }
        let mut timeline = Timeline::from(Spans::new(threads, spans));
        timeline.are_kinds_as_in(self.timeline);
        let path = Path::of_thread(&timeline, self.slot);
        (timeline, path)
    }

    /// The strand whose end is asked about. A thread that carries tasks ends because one of them ended the process: the last
    /// one that its path comes from.
    fn find_asked(&self) -> usize {
        if !self.timeline.carried().has(self.slot) {
            return self.slot;
        }
        let path = Path::of_thread(self.timeline, self.slot);
        let strands = path.segments.iter().rev().map(|segment| {
            let at = segment.t1;
            self.program.strand(segment.slot, at)
        });
        let mut tasks = strands.filter(|strand| *strand >= self.timeline.threads.len());
        tasks.next().unwrap_or(self.slot)
    }

    fn engine(&self, factor: impl Fn(usize) -> f64, with_times: bool) -> engine::Run {
        engine::run(
            &self.program,
            self.timeline,
            self.asked,
            self.processors,
            factor,
            with_times,
        )
    }
}

/// How many processors there were; where that is not known, enough for everybody.
pub fn processors(recording: &Recording) -> u32 {
    match recording.about().processors {
        0 => u32::MAX,
        known => known,
    }
}

/// In steps. The most: two recordings of 1 and 12 million spans took 135 and 898 MB side by side, 124 and 718 MB one after the
/// other, and 0.60 and 11.2 s instead of 0.77 and 12.9 s (2026-11-24).
const SIDE_BY_SIDE_LEAST: usize = 20_000;
const SIDE_BY_SIDE_MOST: usize = 5_000_000;
/// A replay that misses the recorded time by less, in percent, is not tried otherwise.
const GOOD_PCT: f64 = 2.0;
/// One that misses it by more is marked: then threads alone may tell more. Of 72 recordings of programs under load 70 are within 3.4 % by
/// tasks, and two miss by 21 and 39 %; by threads all are within 4.7 % (2026-11-26).
const MARKED_PCT: f64 = 5.0;
/// One by tasks that misses it by more tells nothing, not even that more or less may be saved. Of Go those that did were off by 21 and
/// 39 %, of asyncio those that told 0.01 to 0.26 s where 1.2 to 1.8 are saved by 70 to 92 % (2026-11-27).
const NOTHING_PCT: f64 = 50.0;
