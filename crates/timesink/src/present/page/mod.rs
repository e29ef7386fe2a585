//! What the page of a recording is told in words: the same words and figures as the terminal has.
//!
//! One answer a file. What is data without words, `timesink-page` makes of the recording itself.

mod answer;
mod bands;
mod checks;
mod compare;
mod path;
mod whatif;
mod wording;

pub use answer::answer;
pub use bands::bands;
pub use checks::checks;
pub use compare::compare;
pub use whatif::{predicted, Changes};
pub use wording::Words;

use timesink_analysis::replay::Gain;
use timesink_page::model::GainInterval;

fn interval(gain: &Gain) -> GainInterval {
    GainInterval {
        ns: gain.ns,
        lo_ns: gain.lo_ns,
        hi_ns: gain.hi_ns,
        wall_ns: gain.wall_ns,
        wall_lo_ns: gain.wall_lo_ns,
        wall_hi_ns: gain.wall_hi_ns,
    }
}

#[cfg(test)]
mod tests;
