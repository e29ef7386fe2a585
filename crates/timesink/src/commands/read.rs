//! Opening a recording, and what its report is asked for.

use std::path::{Path, PathBuf};

use timesink_analysis::operations::Wanted;
use timesink_analysis::outlook::Patience;
use timesink_analysis::stacks::tell_waits_apart;
use timesink_capture::{convert, privileges};
use timesink_recording::files::{Folder, NewFile};
use timesink_recording::tables::Span;
use timesink_recording::{ErrorKind, Recording};
use timesink_story::Question;

use super::last;
use crate::present::Shown;
use crate::settings::Settings;
use crate::{large_blocks, out};

/// Opens a recording to read it and do nothing else: from here on that is all that we may do.
pub fn open(path: &Path) -> anyhow::Result<Recording> {
    privileges::for_opening()?;
    let recording = whole(path)?;
    make_room(&recording);
    privileges::for_reading()?;
    tell_waits_apart(&recording)?;
    Ok(recording)
}

/// Opens several recordings to read them and do nothing else.
pub fn open_all(paths: &[&Path]) -> anyhow::Result<Vec<Recording>> {
    privileges::for_opening()?;
    let recordings = all_whole(paths)?;
    privileges::for_reading()?;
    Ok(recordings)
}

/// The same where something is made of them, which belongs to who called sudo.
pub fn open_all_to_make(paths: &[&Path]) -> anyhow::Result<Vec<Recording>> {
    privileges::for_opening()?;
    let recordings = all_whole(paths)?;
    privileges::for_making()?;
    Ok(recordings)
}

/// Opens several recordings, with room for the largest.
pub fn all_whole(paths: &[&Path]) -> anyhow::Result<Vec<Recording>> {
    let recordings = paths.iter().map(|path| whole(path));
    let recordings: Vec<Recording> = recordings.collect::<anyhow::Result<_>>()?;
    let largest = recordings
        .iter()
        .max_by_key(|recording| recording.row_count::<Span>().unwrap_or(0));
    largest.iter().for_each(|recording| make_room(recording));
    Ok(recordings)
}

/// Opens a file for what the report of a large recording keeps, as long as we may. Where there is none it is kept in memory.
pub fn make_room(recording: &Recording) {
    if recording.row_count::<Span>().unwrap_or(0) < MANY_SPANS {
        return;
    }
    // `/tmp` often is memory itself.
    let folder = std::env::var_os("TMPDIR").map_or_else(|| "/var/tmp".into(), PathBuf::from);
    let name = format!("timesink-{}", std::process::id());
    let made = NewFile::at(&folder.join(name)).map(|made| made.file().try_clone());
    if let Ok(Ok(file)) = made {
        // Without the thread that looks after it there is no room.
        let _ = large_blocks::begin(file);
    }
}

/// A report keeps some 200 bytes of each span (measured): of fewer than these it needs half a gigabyte at most.
const MANY_SPANS: u64 = 2_500_000;

/// The same where something is made of it, which belongs to who called sudo.
pub fn open_to_make(path: &Path) -> anyhow::Result<Recording> {
    privileges::for_opening()?;
    let recording = whole(path)?;
    make_room(&recording);
    privileges::for_making()?;
    tell_waits_apart(&recording)?;
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

/// A recording's name, as the user gave it and as commands need it.
pub struct Named {
    path: String,
    argument: String,
    size_bytes: u64,
}

impl Named {
    pub fn of(recording: &Recording) -> Named {
        Named {
            path: recording.path().to_string_lossy().into_owned(),
            argument: last::argument(recording.path()),
            size_bytes: recording.size_bytes(),
        }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn shown(&self) -> Shown<'_> {
        Shown {
            path: &self.path,
            argument: &self.argument,
            size_bytes: self.size_bytes,
        }
    }
}

/// What a report at once asks of a recording.
pub fn question(settings: &Settings, operations: Wanted, closely: bool) -> Question<'_> {
    Question {
        patience: Patience::SHORT,
        limits: &settings.limits,
        mutes: &settings.mutes,
        today: settings.today,
        operations,
        closely,
        tasks: false,
        tags: false,
    }
}
