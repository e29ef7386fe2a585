//! A live system -> a recording.
//!
//! The flow: `host` says what this machine may do; `launch` starts and holds the program; `kernel`
//! loads and attaches the `probes`; `record` drains their ring into the `spool`, with `budget`
//! switching the timing of calls on and off; at the end, or after a crash, `convert` turns the spool
//! into the tables of a recording. `address_space` knows which code is where in which process, `unwind`
//! makes frames of copied stacks, `symbols` names them, `python` and `bash` know these interpreters' own. What comes after a recording is not this
//! crate's business.

pub mod address_space;
mod bash;
mod budget;
mod build_id;
mod calls;
mod clock;
pub mod convert;
mod error;
pub mod floors;
mod go_table;
pub mod host;
mod java;
mod kernel;
pub mod launch;
mod perf_event;
mod probes;
mod python;
pub mod record;
mod regular_file;
mod spool;
pub mod symbolize;
pub mod symbols;
pub mod unwind;
mod user_folder;
mod v8;

pub use error::{Error, Kind};
pub use kernel::{try_probes, Granted};
