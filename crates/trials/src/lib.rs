//! Is it really faster? Schedules, estimators and verdicts for runs that are held against each other.
//!
//! A run is a closure that returns whatever it measured: this room starts no process, reads no clock and prints nothing.
//! Each round holds every command once, in random order; what counts is the ratio of two runs of the same round, so that a
//! machine that slows down for a minute speaks neither for nor against anybody.

#![forbid(unsafe_code)]

mod apart;
mod changes;
mod experiment;
mod looks;
mod paired;
mod schedule;
mod several;
mod signed_rank;
mod steady;
mod summary;
mod verdict;

pub use apart::Apart;
pub use changes::{best_place, changes, Change, Place};
pub use experiment::{rounds, Flow, Round, Stopped};
pub use looks::{doubling, per_look};
pub use paired::{Estimate, Interval};
pub use schedule::Schedule;
pub use several::adjusted;
pub use steady::{shift, slow_start, Shift};
pub use summary::Summary;
pub use verdict::{gate, smallest_visible, verdict, Gate, Verdict};

#[cfg(test)]
mod tests;
