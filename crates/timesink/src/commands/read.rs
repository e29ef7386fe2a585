//! Opening a recording, and reading what commands ask about.

use std::path::Path;

use timesink_analysis::facts::Facts;
use timesink_analysis::operations::Recorded;
use timesink_analysis::programs::Programs;
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::timeline::Timeline;
use timesink_analysis::waited::Waited;
use timesink_capture::{convert, privileges};
use timesink_recording::files::Folder;
use timesink_recording::{ErrorKind, Recording};

use crate::out;

/// A recording, and all that is read of it.
pub struct Read {
    pub recording: Recording,
    pub facts: Facts,
    pub stacks: Stacks,
    pub timeline: Timeline,
    pub waited: Waited,
}

impl Read {
    pub fn of(recording: Recording) -> anyhow::Result<Read> {
        // Who waits for a report does not want to wait for one thing after the other.
        let (read, again) = std::thread::scope(|scope| {
            let again = scope.spawn(|| {
                let timeline = Timeline::of(&recording)?;
                let waited = Waited::of(&recording, &timeline)?;
                timesink_recording::Result::Ok((timeline, waited))
            });
            let facts = Facts::of(&recording);
            let read = facts.and_then(|facts| {
                let stacks = Stacks::of(&recording, &facts, &Filter::default())?;
                Ok((facts, stacks))
            });
            (read, joined(again))
        });
        let ((facts, stacks), (timeline, waited)) = (read?, again?);
        Ok(Read {
            recording,
            facts,
            stacks,
            timeline,
            waited,
        })
    }

    pub fn recorded<'a>(&'a self, programs: &'a Programs) -> Recorded<'a> {
        Recorded {
            timeline: &self.timeline,
            facts: &self.facts,
            waited: &self.waited,
            programs,
        }
    }
}

/// What a thread of ours came to; its panic is ours.
pub fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    let ended = thread.join();
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Opens a recording to read it and do nothing else: from here on that is all that we may do.
pub fn open(path: &Path) -> anyhow::Result<Recording> {
    privileges::for_opening()?;
    let recording = whole(path)?;
    privileges::for_reading()?;
    Ok(recording)
}

/// The same where something is made of it, which belongs to who called sudo.
pub fn open_to_make(path: &Path) -> anyhow::Result<Recording> {
    privileges::for_opening()?;
    let recording = whole(path)?;
    privileges::for_making()?;
    Ok(recording)
}

/// Opens a recording. One that was never finished is mended first, from what was written of it.
pub fn whole(path: &Path) -> anyhow::Result<Recording> {
    match Recording::open(path) {
        Err(error) if error.kind() == ErrorKind::Unfinished => {
            let shown = path.display();
            out::tell(format_args!("{shown} was never finished: mending it"));
            let folder = Folder::open(path)?;
            convert::mend(&folder)?;
            Ok(Recording::of(&folder)?)
        }
        // The error names the file and the fault.
        opened => Ok(opened?),
    }
}
