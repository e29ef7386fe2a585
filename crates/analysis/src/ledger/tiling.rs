//! Whether the spans of each thread tile its life, as the format promises.

use timesink_recording::tables::Thread;
use timesink_recording::units::Nanos;

/// Where spans do not tile. All zero in a sound recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tiling {
    /// Spans read.
    pub spans: u64,
    /// Holes between spans, or between spans and the ends of a thread's life.
    pub gaps: u64,
    pub gap_ns: u64,
    /// Spans that begin before the one before them ended, or reach beyond the thread's life.
    pub overlaps: u64,
    pub overlap_ns: u64,
    /// Spans of threads that the recording does not list.
    pub strays: u64,
    /// Threads whose spans hold more time in a state than the sum kept inside the kernel.
    pub beyond_sums: u64,
    pub beyond_sums_ns: u64,
}

impl Tiling {
    /// Whether there is nothing to say.
    pub fn is_sound(&self) -> bool {
        self.gaps == 0 && self.overlaps == 0 && self.strays == 0 && self.beyond_sums == 0
    }

    /// One seam, from the end of what came before to the start of what comes next.
    fn seam(&mut self, before: Nanos, after: Nanos) {
        if before < after {
            self.gaps += 1;
            self.gap_ns = self.gap_ns.saturating_add(after.since(before));
        } else if after < before {
            self.overlaps += 1;
            self.overlap_ns = self.overlap_ns.saturating_add(before.since(after));
        }
    }
}

/// The check under way: how far the spans of each thread have come.
pub(super) struct Seams {
    reached: Vec<Option<Nanos>>,
    pub(super) found: Tiling,
}

impl Seams {
    pub(super) fn new(threads: usize) -> Seams {
        Seams {
            reached: vec![None; threads],
            found: Tiling::default(),
        }
    }

    /// The next span of a thread.
    pub(super) fn span(&mut self, slot: usize, thread: &Thread, t0: Nanos, t1: Nanos) {
        let before = self.reached[slot].unwrap_or(thread.start);
        if before != t0 {
            self.found.seam(before, t0);
        }
        self.reached[slot] = Some(t1);
    }

    /// The far ends: each thread's last span ends where its life does. A thread without any span
    /// is no hole of its own: its time shows as lost causes.
    pub(super) fn finish(mut self, threads: &[Thread]) -> Tiling {
        for (reached, thread) in self.reached.iter().zip(threads) {
            if let Some(reached) = reached {
                self.found.seam(*reached, thread.end);
            }
        }
        self.found
    }
}
