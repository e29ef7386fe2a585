//! The story of one recording: its facts, its path with the gains, what rules found, what happened again and again.
//!
//! It is put together here and nowhere else, so that every command, and a comparison of two recordings, says the same.
//! Nothing here decides how it is shown, and nothing reads settings: who asks says what is set.

mod loaded;
mod predictor;
mod responses_given;
mod story;
mod touched;

pub use loaded::Loaded;
pub use predictor::{Predicted, Predictor};
pub use story::{Question, Repeated, Story};
pub use touched::AllTouched;
