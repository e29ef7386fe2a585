//! What changes to a recording would buy, by replaying it.

use timesink_analysis::path::{Cause, Path};
use timesink_analysis::replay::{processors, Change, Gain, Gains, Processors, Recorded, Replay};
use timesink_analysis::timeline::Timeline;

use crate::Loaded;

/// Predicts what changes would buy.
pub struct Predictor<'a> {
    replay: &'a Replay<'a>,
    gains: Gains<'a>,
}

/// What came out of a question.
pub struct Predicted {
    pub gain: Gain,
    /// The causes of the path that is left, longest first.
    pub path: Vec<Cause>,
}

impl<'a> Predictor<'a> {
    /// The recording as it can be run again; `None` if it has no main thread.
    pub fn replay(loaded: &'a Loaded<'a>) -> timesink_recording::Result<Option<Replay<'a>>> {
        let ledger = &loaded.facts.ledger;
        let main = ledger.main.and_then(|at| ledger.threads.get(at));
        let slot = main.and_then(|main| loaded.timeline.slot(main.row.thread));
        match slot {
            Some(slot) => Replay::of(loaded.recording, &loaded.timeline, slot).map(Some),
            None => Ok(None),
        }
    }

    pub fn of(loaded: &'a Loaded<'a>, replay: &'a Replay<'a>) -> Predictor<'a> {
        let recorded = Recorded {
            timeline: &loaded.timeline,
            facts: &loaded.facts,
            stacks: &loaded.stacks,
            calls: &loaded.waited().calls_of,
        };
        Predictor {
            replay,
            gains: Gains::new(replay, recorded, &replay.recorded_path())
                .recorded_at(loaded.recording.about().cost.pct_of_wall)
                .doubted(processors(loaded.recording)),
        }
    }

    /// What one prediction costs.
    pub fn steps(&self) -> usize {
        self.gains.steps()
    }

    /// The wall time as recorded, and by how much a replay of that misses it, in percent.
    pub fn recorded_ns(&self) -> u64 {
        self.replay.recorded_ns
    }

    pub fn error_pct(&self) -> f64 {
        self.replay.error_pct()
    }

    /// Whether there is anything in the recording that a change is about.
    pub fn is_about_something(&self, change: &Change) -> bool {
        self.gains.factors(std::slice::from_ref(change)).1 > 0
    }

    /// What all changes together buy, and the causes of the path that is left.
    pub fn predict(&self, changes: &[Change], on: Option<Processors>) -> Predicted {
        let gain = self.gains.of(changes, on);
        let (factors, _) = self.gains.factors(changes);
        let factor = |index: usize| factors.get(index).map_or(1.0, |&factor| f64::from(factor));
        let (replayed, path): (Timeline, Path) = match on {
            Some(on) => self.replay.on(on).path(factor),
            None => self.replay.path(factor),
        };
        Predicted {
            gain,
            path: path.causes(&replayed, |process| process),
        }
    }
}
