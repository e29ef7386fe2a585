//! What would be gained: the wall time without a cause, as an interval.

use std::collections::BTreeSet;

use crate::joined::joined;

use super::tickers::Tickers;
use super::{interruptions, preempted, Change, How, Processors, Recorded, Replay};
use crate::path::Path;

/// What a change would buy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gain {
    /// The predicted wall time: likely, at least, at most. Wider than the time saved: no two runs are alike.
    pub wall_ns: u64,
    pub wall_lo_ns: u64,
    pub wall_hi_ns: u64,
    /// The time saved: likely, at least, at most. Negative where it would take longer.
    pub ns: i64,
    pub lo_ns: i64,
    pub hi_ns: i64,
    /// The time that the change is about, on the path or not, in all threads together.
    pub meant_ns: u64,
    pub doubts: Doubts,
}

/// From where the least of a gain is so far from the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doubts {
    /// A replay misses what was recorded, and shares are known by samples.
    pub replay_ns: u64,
    /// What recording cost may have been in it, or not.
    pub recording_ns: u64,
    /// Threads keep to the processors that they had, or use any.
    pub processors_ns: u64,
    /// Data may stay in the caches that left them during waits.
    pub caches_ns: u64,
    /// The change takes away more or less.
    pub change_ns: u64,
}

impl Gain {
    /// What a change buys that buys this at least, and perhaps as much as another one.
    pub fn at_least(self, most: Gain) -> Gain {
        Gain {
            wall_lo_ns: self.wall_lo_ns.min(most.wall_lo_ns),
            hi_ns: self.hi_ns.max(most.hi_ns),
            doubts: Doubts {
                change_ns: most.hi_ns.saturating_sub(self.hi_ns).max(0).unsigned_abs(),
                ..self.doubts
            },
            ..self
        }
    }

    /// The same if it may also turn out as this, which buys less.
    pub fn at_most(self, least: Gain) -> Gain {
        let less = self.lo_ns.saturating_sub(least.lo_ns).max(0).unsigned_abs();
        Gain {
            wall_hi_ns: self.wall_hi_ns.max(least.wall_hi_ns),
            lo_ns: self.lo_ns.min(least.lo_ns),
            doubts: Doubts {
                change_ns: self.doubts.change_ns.saturating_add(less),
                ..self.doubts
            },
            ..self
        }
    }

    /// The same where it cannot be more than this: the time that its cause took.
    pub fn within(self, most_ns: u64) -> Gain {
        let most = i64::try_from(most_ns).unwrap_or(i64::MAX);
        let over = |ns: i64| ns.saturating_sub(most).max(0).unsigned_abs();
        let wall_ns = self.wall_ns.saturating_add(over(self.ns));
        Gain {
            wall_ns,
            wall_lo_ns: self
                .wall_lo_ns
                .saturating_add(over(self.hi_ns))
                .min(wall_ns),
            wall_hi_ns: self
                .wall_hi_ns
                .saturating_add(over(self.lo_ns))
                .max(wall_ns),
            ns: self.ns.min(most),
            lo_ns: self.lo_ns.min(most),
            hi_ns: self.hi_ns.min(most),
            doubts: Doubts {
                change_ns: self.doubts.change_ns.saturating_sub(over(self.hi_ns)),
                ..self.doubts
            },
            ..self
        }
    }

    /// What a change buys that may turn out as one or as the other.
    pub fn between(one: Gain, other: Gain) -> Gain {
        let middle = |a: i64, b: i64| a / 2 + b / 2;
        let more = match one.ns < other.ns {
            true => other,
            false => one,
        };
        Gain {
            wall_ns: middle(one.wall_ns as i64, other.wall_ns as i64) as u64,
            wall_lo_ns: one.wall_lo_ns.min(other.wall_lo_ns),
            wall_hi_ns: one.wall_hi_ns.max(other.wall_hi_ns),
            ns: middle(one.ns, other.ns),
            lo_ns: one.lo_ns.min(other.lo_ns),
            hi_ns: one.hi_ns.max(other.hi_ns),
            meant_ns: one.meant_ns.max(other.meant_ns),
            doubts: Doubts {
                change_ns: one.ns.abs_diff(other.ns),
                ..more.doubts
            },
        }
    }
}

/// Predicts what changes would buy.
pub struct Gains<'a> {
    replay: &'a Replay<'a>,
    recorded: Recorded<'a>,
    /// The same with processors used in the other way: how far the two are apart is one of the doubts.
    other: Option<Replay<'a>>,
    tickers: Tickers,
    /// The share of the recorded time that recording cost.
    cost: f64,
}

/// Samples tell the share of a function, and sleeps and devices are never the same twice.
const DOUBT: f64 = 0.05;
/// Two runs of the same program on the same machine differ by so much (measured; see bench/whatif.py).
const RUN_TO_RUN: f64 = 0.08;
/// After a wait a program runs slower for a while: its data have left the caches, the processor has slept. How much
/// of the time on a processor goes with the waits is not recorded; it was up to so much of what is left (measured
/// 2026-11-22: naps in one program, a server's sleeps between the requests of 40 clients).
const COLD: f64 = 0.25;
/// The same for functions, which mostly work and seldom wait.
const COLD_AFTER_WORK: f64 = 0.15;
/// That is part of what a change buys; but short waits cannot have cooled all that is left.
const WARMER: f64 = 0.5;
/// What recording costs is not more than this part of what a change takes away: timing a call takes no longer than the cheapest call
/// (2026-11-26: getppid takes 354 ns, and 529 where all calls are timed).
const MOST_COST: f64 = 0.5;
/// A replay that misses the recorded time by more, in percent, is no second opinion.
const FAR_PCT: f64 = 5.0;

impl<'a> Gains<'a> {
    /// `path`: the critical path that the replay is about.
    pub fn new(replay: &'a Replay<'a>, recorded: Recorded<'a>, path: &Path) -> Gains<'a> {
        Gains {
            replay,
            recorded,
            other: None,
            tickers: Tickers::of(recorded.timeline, path),
            cost: 0.0,
        }
    }

    /// What recording cost in percent of the wall time. A change is made to a program that is not recorded: all of that cost may have
    /// been in what it takes away, or none.
    pub fn recorded_at(self, cost_pct: f64) -> Gains<'a> {
        let cost = (cost_pct / 100.0).clamp(0.0, MOST_COST);
        Gains { cost, ..self }
    }

    /// The most that a time may be that a change takes away, if none of it was what recording cost.
    pub fn at_most(&self, ns: u64) -> u64 {
        let most = ns as f64 / (1.0 - self.cost);
        (most as u64).min(self.replay.recorded_ns.max(ns))
    }

    /// The least, if all of that cost was in it.
    fn at_least(&self, ns: i64) -> i64 {
        let cost = self.replay.recorded_ns as f64 * self.cost;
        let cost = cost.min(ns.max(0) as f64 * MOST_COST);
        ns.saturating_sub(cost as i64)
    }

    /// How much one replay costs.
    pub fn steps(&self) -> usize {
        self.replay.steps()
    }

    /// With a second opinion, which costs as much again. `processors`: how many there were.
    pub fn doubted(mut self, processors: u32) -> Gains<'a> {
        let mut other = self.replay.on(match self.replay.processors {
            Processors::Any(_) => Processors::AsRecorded,
            Processors::AsRecorded => Processors::Any(processors),
        });
        other.try_out();
        // What cannot even tell what was does not tell what would be.
        self.other = (other.error_pct().abs() <= FAR_PCT).then_some(other);
        self
    }

    /// The factor of each span under these changes, and the time that they are about.
    pub fn factors(&self, changes: &[Change]) -> (Vec<f32>, u64) {
        let timeline = self.replay.timeline;
        let mut factors = vec![1.0; timeline.len()];
        let meant = changes.iter().fold(0u64, |sum, change| {
            sum.saturating_add(change.apply(&self.recorded, &mut factors))
        });
        preempted::shorten(timeline, &mut factors);
        interruptions::shorten(&self.recorded, &mut factors);
        self.tickers.shorten(timeline, &mut factors);
        (factors, meant)
    }

    /// The replay that tells what changes buy, and the second opinion. Threads that share their work may do so on any
    /// processor, even where the recording is told better by those that they had.
    fn opinions(&self, changes: &[Change]) -> (&Replay<'a>, Option<&Replay<'a>>) {
        let shares = changes.iter().any(|change| change.how == How::Even);
        match &self.other {
            Some(other) if shares && self.replay.processors == Processors::AsRecorded => {
                (other, Some(self.replay))
            }
            other => (self.replay, other.as_ref()),
        }
    }

    /// What each of several sets of changes would buy.
    pub fn of_each<const N: usize>(&self, each: [&[Change]; N]) -> [Gain; N] {
        if !self.replay.go_side_by_side() {
            return each.map(|changes| self.of(changes, None));
        }
        std::thread::scope(|scope| {
            let running = each.map(|changes| scope.spawn(|| self.of(changes, None)));
            running.map(joined)
        })
    }

    /// What these changes together would buy, on other processors if so said.
    pub fn of(&self, changes: &[Change], processors: Option<Processors>) -> Gain {
        let (factors, meant_ns) = self.factors(changes);
        let factor = |index: usize| factors.get(index).map_or(1.0, |&factor| f64::from(factor));
        let later = changes.iter().filter_map(Change::puts_off);
        let later: BTreeSet<usize> = later.flatten().copied().collect();
        let saved = |replay: &Replay<'_>| {
            let mut on = processors.map_or_else(|| replay.clone(), |on| replay.on(on));
            if !later.is_empty() {
                on = on.put_off(&later);
            }
            replay.unchanged_ns as i64 - on.run(factor).wall_ns as i64
        };
        let (first, second) = self.opinions(changes);
        let ns = saved(first);
        let other = second.map_or(ns, saved);
        let by_tasks = self.replay.by_tasks.as_deref().map_or(ns, saved);
        let error = first.unchanged_ns.abs_diff(first.recorded_ns) as f64;
        // What is not touched is not in doubt.
        let doubt = if ns == 0 {
            0
        } else {
            (error.min(ns.unsigned_abs() as f64) + ns.unsigned_abs() as f64 * DOUBT) as i64
        };
        let wall = |saved: i64| (self.replay.recorded_ns as i64 - saved).max(0) as f64;
        let waits = changes.iter().any(Change::is_about_waits) && ns > 0;
        let work = changes.iter().any(Change::is_about_functions) && ns > 0;
        let cold = match (waits, work) {
            (true, _) => COLD,
            (_, true) => COLD_AFTER_WORK,
            _ => 0.0,
        };
        let most = ns.max(other).max(by_tasks) + doubt;
        let least = ns.min(other).min(by_tasks) - doubt;
        let warmer = match waits {
            true => (wall(most) * cold).min(most.max(0) as f64 * WARMER),
            false => 0.0,
        };
        Gain {
            wall_ns: wall(ns) as u64,
            wall_lo_ns: (wall(most) * (1.0 - RUN_TO_RUN - cold)) as u64,
            wall_hi_ns: (wall(least) * (1.0 + RUN_TO_RUN)) as u64,
            ns,
            lo_ns: self.at_least(least),
            hi_ns: match most.saturating_add(warmer as i64) {
                ns @ 0.. => self.at_most(ns.unsigned_abs()) as i64,
                ns => ns,
            }
            .min(self.replay.recorded_ns as i64),
            meant_ns,
            doubts: Doubts {
                replay_ns: doubt.unsigned_abs() * 2 + ns.abs_diff(by_tasks),
                recording_ns: least.abs_diff(self.at_least(least)),
                processors_ns: ns.abs_diff(other),
                caches_ns: warmer as u64,
                change_ns: 0,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use crate::replay::{CallsOfWaits, What};
    use crate::stacks::{Filter, Stacks};
    use crate::timeline::Timeline;
    use std::sync::Arc;
    use timesink_recording::notation::recording;
    use timesink_recording::ThreadId;

    /// Go in which all processors were taken: by tasks the replay missed what was recorded by 21 %, threads told that 14 to 131 ms would
    /// be saved, and 500 to 880 were. Where that is so, what tasks say belongs to the interval.
    #[test]
    fn what_tasks_say_belongs_to_the_interval() {
        let recording = recording(
            "process 1 p
             thread 1.1 t
             thread 1.2 u parent 1.1
             1.1: cpu 0..20ms
             1.2: cpu 0..10ms",
        );
        let timeline = Timeline::of(&recording).expect("a drawn recording reads");
        let facts = Facts::of(&recording).expect("its facts");
        let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("its stacks");
        let calls = CallsOfWaits::of(&recording, &timeline).expect("its calls");
        let recorded = Recorded {
            timeline: &timeline,
            facts: &facts,
            stacks: &stacks,
            calls: &calls,
        };
        let threads = [ThreadId(2)].into();
        let change = Change {
            what: What::Threads(threads),
            processes: None,
            how: How::Scale(0.0),
        };
        let gain = |replay: &Replay<'_>| {
            let path = replay.recorded_path();
            Gains::new(replay, recorded, &path).of(std::slice::from_ref(&change), None)
        };
        let mut replay = Replay::new(&timeline, &[], 0, 2);
        let alone = gain(&replay);
        assert_eq!((alone.ns, alone.lo_ns, alone.hi_ns), (0, 0, 0));
        let mut by_tasks = replay.on(Processors::Any(1));
        by_tasks.try_out();
        replay.by_tasks = Some(Arc::new(by_tasks));
        let both = gain(&replay);
        assert_eq!((both.ns, both.lo_ns), (0, 0));
        assert!(both.hi_ns >= 10_000_000, "{both:?}");
        assert_eq!(both.doubts.replay_ns, 10_000_000);
    }
}
