//! What two recordings, or several of each of two sides, say in; what differs out.
//!
//! A [`Digest`] is one recording told by what its work is, without any number of it: programs, calls on things, functions.
//! A [`Comparison`] puts two of them beside each other. The critical path of each is divided into the same kinds of work, so
//! that the differences of all kinds add up to the difference of the wall times to the nanosecond; what is not known is a
//! kind of its own. Nothing here reads or prints anything, and nothing says why two recordings differ.

#![forbid(unsafe_code)]

mod act;
mod alignment;
mod branch;
mod branch_lines;
mod change;
mod code;
mod comparison;
mod counts;
mod digest;
mod environment;
mod operations;
mod phase;
mod predicted;
mod roles;
mod spread;
mod thing;
mod together;
mod work;

pub use act::Act;
pub use alignment::Aligned;
pub use branch::{Branch, Weights};
pub use branch_lines::{BranchLine, BranchStep};
pub use change::{difference, Change, Effect};
pub use comparison::{Comparison, Difference, Row, Total, Wall, With};
pub use counts::{CallCount, CallDifference};
pub use digest::{Counts, Digest, Program, Weather};
pub use environment::{
    is_known_variable, resource_of, varies, Environment, EnvironmentDifferences, FactDifference,
    KnownFact, LineDifference, Resource, Sources, Varies,
};
pub use operations::{Recurrence, RecurrenceDifference, RecurrenceKind, RecurrenceTimes};
pub use phase::Phase;
pub use predicted::{Accused, Found, Prediction, Side, Verdict};
pub use roles::{Role, RoleDifference, RoleTimes, ThreadRole};
pub use spread::{middle, Range};
pub use thing::Thing;
pub use work::{Does, Sum, Work};
