//! The lines of source that findings name, where they can be read.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use timesink_page::model::{Answer, PlacedFrame, SourceLine};

use crate::project::lines;

/// Of a finding, from the innermost function of the program's own.
const FRAMES: usize = 3;
/// Lines before the one that is meant, and after it.
const AROUND: u32 = 3;

/// Adds the lines of files below a folder. What is not there, or not to be shown, is left out.
pub fn add(answer: &mut Answer, folder: &Path, started_unix_ns: u64) {
    for card in &mut answer.findings {
        let own = card.frames.iter_mut().filter(|frame| frame.is_own);
        for frame in own.take(FRAMES) {
            add_to_frame(frame, folder, started_unix_ns);
        }
    }
}

fn add_to_frame(frame: &mut PlacedFrame, folder: &Path, started_unix_ns: u64) {
    let Some(line) = frame.line else {
        return;
    };
    let (from, to) = (
        line.saturating_sub(AROUND).max(1),
        line.saturating_add(AROUND),
    );
    let Ok(found) = lines::excerpt(folder, &frame.file, from as usize, to as usize) else {
        return;
    };
    let started = UNIX_EPOCH + Duration::from_nanos(started_unix_ns);
    frame.is_changed = found.changed.is_some_and(|changed| changed > started);
    frame.source = found
        .lines
        .into_iter()
        .map(|line| SourceLine {
            number: line.number as u32,
            text: line.text,
        })
        .collect();
}
