//! A live system -> a recording.
//!
//! The flow: `host` says what this machine may do; `launch` starts and holds the program; `kernel`
//! loads and attaches the `probes`; `record` drains their ring into the `spool`, with `budget`
//! switching the timing of calls on and off; at the end, or after a crash, `convert` turns the spool
//! into the tables of a recording. What comes after a recording is not this crate's business.

mod budget;
mod calls;
pub mod convert;
mod error;
pub mod host;
mod kernel;
pub mod launch;
mod probes;
pub mod record;
mod spool;

pub use error::{Error, Kind};
pub use kernel::{try_probes, Granted};
