//! What is read of a recording before anything is asked.

use std::sync::OnceLock;

use timesink_analysis::at_work::instead_of_main;
use timesink_analysis::facts::programs::Programs;
use timesink_analysis::facts::{Facts, Gathering};
use timesink_analysis::joined::joined;
use timesink_analysis::operations::Recorded;
use timesink_analysis::stacks::goroutines::OfGoroutines;
use timesink_analysis::stacks::{tell_waits_apart, StackGathering, Stacks};
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
    waited: OnceLock<Waited>,
    pub programs: Programs,
}

/// Whether single waits are read as well.
#[derive(Clone, Copy)]
enum Waits {
    Now,
    Later,
}

impl Loaded<'_> {
    pub fn of(recording: &Recording) -> timesink_recording::Result<Loaded<'_>> {
        Loaded::read(recording, Waits::Now)
    }

    /// Without what is known of single waits: whoever asks the rules has it read first ([`Loaded::read_waits`]).
    pub fn to_look_at(recording: &Recording) -> timesink_recording::Result<Loaded<'_>> {
        Loaded::read(recording, Waits::Later)
    }

    fn read(recording: &Recording, waits: Waits) -> timesink_recording::Result<Loaded<'_>> {
        tell_waits_apart(recording)?;
        // Who waits for a report does not want to wait for one thing after the other.
        let (mut facts, stacks, (mut timeline, waited)) = std::thread::scope(|scope| {
            // Nothing is as large as the spans: they are read once for all.
            let spans = scope.spawn(|| KeptSpans::of(recording));
            let gathered = gathered(recording);
            let kept = joined(spans)?;
            let (mut facts, stacks, calls) = gathered?;
            let asking = Asking::of(facts.objects(), &calls);
            facts.kept_spans(&kept);
            let spans = kept.into_spans();
            let timed = scope.spawn(move || {
                let timeline = Timeline::from(Spans::with(recording, spans, &asking)?);
                let waited = match waits {
                    Waits::Now => Waited::with(recording, &timeline, calls)?.into(),
                    Waits::Later => OnceLock::new(),
                };
                timesink_recording::Result::Ok((timeline, waited))
            });
            let facts = facts.finish();
            let stacks = stacks.finish(&facts);
            timesink_recording::Result::Ok((facts, stacks, joined(timed)?))
        })?;
        timeline.set_housekeeping(&stacks.housekeeping());
        timeline.read_carried(recording, &OfGoroutines::new(&stacks))?;
        if let Some(at) = instead_of_main(&facts.ledger, &timeline) {
            facts.ledger.main = Some(at);
        }
        Ok(Loaded {
            recording,
            programs: Programs::of(&facts),
            facts,
            stacks,
            timeline,
            waited,
        })
    }

    /// Reads what is known of single waits, if that was put off.
    pub fn read_waits(&self) -> timesink_recording::Result<()> {
        if self.waited.get().is_none() {
            let waited = Waited::of(self.recording, &self.timeline)?;
            self.waited.get_or_init(|| waited);
        }
        Ok(())
    }

    /// What is known of single waits: nothing where they were not read.
    pub fn waited(&self) -> &Waited {
        static NOT_READ: OnceLock<Waited> = OnceLock::new();
        let not_read = || NOT_READ.get_or_init(Waited::default);
        self.waited.get().unwrap_or_else(not_read)
    }

    pub fn recorded(&self) -> Recorded<'_> {
        Recorded {
            timeline: &self.timeline,
            facts: &self.facts,
            waited: self.waited(),
            programs: &self.programs,
        }
    }
}

type Gathered = (Gathering, StackGathering<'static>, Vec<Call>);

/// All but the spans. Waits are many, too, and both facts and stacks are made of them.
fn gathered(recording: &Recording) -> timesink_recording::Result<Gathered> {
    let calls = recording.rows::<Call>()?;
    let mut facts = Gathering::of(recording, &calls)?;
    let mut stacks = StackGathering::of(recording)?;
    recording.scan(|rows| {
        facts.waits(rows);
        stacks.waits(rows);
    })?;
    Ok((facts, stacks, calls))
}
