//! Commands held against each other: what a run is measured by, and what runs allow to be said. Nothing here starts a
//! process or prints; `commands/bench` does the one, `present` and `export` the other.

use std::path::PathBuf;
use std::time::Duration;

pub mod figure;
pub mod imported;
pub mod outcome;
pub mod resumed;
#[cfg(test)]
pub mod samples;

pub use figure::{Figure, MemoryOf, Metric, RunPage, Sample};
pub use outcome::{Comparison, Outcome, Question};

/// One command that is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// As it was given, parameters filled in.
    pub text: String,
    /// Its words: program and arguments.
    pub words: Vec<String>,
    /// Where it runs; `None`: where we are.
    pub directory: Option<PathBuf>,
    /// Parameters that were filled in.
    pub parameters: Vec<(String, String)>,
    /// The number of the command that it is held against.
    pub reference: Option<usize>,
}

/// What people wait for without being asked.
pub const MINUTE: Duration = Duration::from_secs(60);

/// How many rounds of this length fit into a minute, but not fewer than `least` and not more than `most`.
pub fn rounds_in_a_minute(round: Duration, (least, most): (usize, usize)) -> usize {
    let fit = MINUTE.as_secs_f64() / round.as_secs_f64().max(1e-6);
    (fit as usize).clamp(least, most)
}

/// What a command is called: A, B, ... Z, then 27, 28.
pub fn label(number: usize) -> String {
    match u8::try_from(number) {
        Ok(small) if small < 26 => char::from(b'A' + small).to_string(),
        _ => (number + 1).to_string(),
    }
}
