//! The recordings that a page is about: of one side, or of two that are compared. Of several recordings of a side the page shows one,
//! and compares all.

use timesink_recording::Recording;

/// The recordings of one side.
pub struct Recordings {
    /// The one that is shown: that in the middle by its wall time.
    pub shown: Recording,
    pub others: Vec<Recording>,
}

impl Recordings {
    /// `None` if there is none.
    pub fn of(mut recordings: Vec<Recording>) -> Option<Recordings> {
        recordings.sort_by_key(|recording| recording.about().wall_ns);
        let middle = recordings.len().checked_sub(1)? / 2;
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
