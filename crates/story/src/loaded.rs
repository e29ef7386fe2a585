//! What is read of a recording before anything is asked.

use timesink_analysis::facts::programs::Programs;
use timesink_analysis::facts::Facts;
use timesink_analysis::operations::Recorded;
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::timeline::Timeline;
use timesink_analysis::waits::Waited;
use timesink_recording::Recording;

/// An open recording, with what its tables say.
pub struct Loaded<'a> {
    pub recording: &'a Recording,
    pub facts: Facts,
    pub stacks: Stacks,
    pub timeline: Timeline,
    pub waited: Waited,
    pub programs: Programs,
}

impl Loaded<'_> {
    pub fn of(recording: &Recording) -> timesink_recording::Result<Loaded<'_>> {
        // Who waits for a report does not want to wait for one thing after the other.
        let (read, timed) = std::thread::scope(|scope| {
            let timed = scope.spawn(|| {
                let timeline = Timeline::of(recording)?;
                let waited = Waited::of(recording, &timeline)?;
                timesink_recording::Result::Ok((timeline, waited))
            });
            let facts = Facts::of(recording);
            let read = facts.and_then(|facts| {
                let stacks = Stacks::of(recording, &facts, &Filter::default())?;
                Ok((facts, stacks))
            });
            (read, joined(timed))
        });
        let ((facts, stacks), (mut timeline, waited)) = (read?, timed?);
        timeline.set_housekeeping(&stacks.housekeeping());
        Ok(Loaded {
            recording,
            programs: Programs::of(&facts),
            facts,
            stacks,
            timeline,
            waited,
        })
    }

    pub fn recorded(&self) -> Recorded<'_> {
        Recorded {
            timeline: &self.timeline,
            facts: &self.facts,
            waited: &self.waited,
            programs: &self.programs,
        }
    }
}

/// What a thread of ours came to; its panic is ours.
pub fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    let ended = thread.join();
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
