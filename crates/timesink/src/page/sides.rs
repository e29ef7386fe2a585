//! The recordings that a page is about: of one side, or of two that are compared. Of several recordings of a side the page shows one,
//! and compares all.

use timesink_analysis::wall::wall_ns;
use timesink_comparison::middle;
use timesink_recording::Recording;

/// The recordings of one side.
pub struct Recordings {
    /// The one that is shown: that in the middle by its wall time.
    pub shown: Recording,
    pub others: Vec<Recording>,
}

impl Recordings {
    /// `None` if there is none. The same one is shown that `timesink diff` takes.
    pub fn of(mut recordings: Vec<Recording>) -> Option<Recordings> {
        // One whose tables cannot be read is told when it is shown.
        let wall = |one: &Recording| wall_ns(one).unwrap_or_else(|_| one.about().wall_ns);
        let middle = match recordings.as_slice() {
            [] => return None,
            [_] => 0,
            several => middle(&several.iter().map(wall).collect::<Vec<u64>>()),
        };
        Some(Recordings {
            shown: recordings.remove(middle),
            others: recordings,
        })
    }
}

/// What is shown, and what it is compared with.
pub struct Sides {
    pub a: Recordings,
    pub b: Option<Recordings>,
}

impl Sides {
    /// The first so many recordings are of A, the rest of B. `None` if there is none.
    pub fn of(mut recordings: Vec<Recording>, of_a: usize) -> Option<Sides> {
        let others = recordings.split_off(of_a.min(recordings.len()));
        Some(Sides {
            a: Recordings::of(recordings)?,
            b: Recordings::of(others),
        })
    }
}
