//! What is read of a recording before anything is asked.

use timesink_analysis::facts::programs::Programs;
use timesink_analysis::facts::{Facts, Gathering};
use timesink_analysis::joined::joined;
use timesink_analysis::operations::Recorded;
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::timeline::{Asking, KeptSpans, Spans, Timeline};
use timesink_analysis::waits::Waited;
use timesink_recording::tables::Call;
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
            // Nothing is as large as the spans: they are read once for all.
            let spans = scope.spawn(|| KeptSpans::of(recording));
            let gathered = recording.rows::<Call>().and_then(|calls| {
                let gathering = Gathering::of(recording, &calls)?;
                let asking = Asking::of(gathering.objects(), &calls);
                Ok((gathering, asking, calls))
            });
            let kept = joined(spans)?;
            let (mut gathering, asking, calls) = gathered?;
            gathering.kept_spans(&kept);
            let spans = kept.into_spans();
            let timed = scope.spawn(move || {
                let timeline = Timeline::from(Spans::with(recording, spans, &asking)?);
                let waited = Waited::with(recording, &timeline, calls)?;
                timesink_recording::Result::Ok((timeline, waited))
            });
            let facts = gathering.finish();
            let stacks = Stacks::of(recording, &facts, &Filter::default());
            let read = stacks.map(|stacks| (facts, stacks));
            timesink_recording::Result::Ok((read, joined(timed)))
        })?;
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
