//! A live system -> a recording.
//!
//! The flow: `host` says what this machine may do; `launch` starts and holds the program; `kernel`
//! loads and attaches the `probes`; `record` drains their ring into the `spool`, with `budget`
//! switching the timing of calls on and off; at the end, or after a crash, `convert` turns the spool
//! into the tables of a recording. `address_space` knows which code is where in which process, `unwind`
//! makes frames of copied stacks, `symbols` names them, `python`, `bash` and `interpreters` know interpreters' own. What comes after a recording is not this
//! crate's business.

// Rooms that may be unsafe are named here and in their folders; ARCHITECTURE.md says why each is.
#![deny(unsafe_code)]

pub mod address_space;
mod bash;
mod budget;
mod build_id;
mod calls;
#[allow(unsafe_code)]
mod clock;
mod code_flow;
pub mod convert;
mod environment;
mod error;
#[allow(unsafe_code)]
pub mod floors;
mod go_layout;
mod go_memory;
mod go_table;
pub mod host;
#[allow(unsafe_code)]
mod in_child;
mod interpreters;
mod java;
#[allow(unsafe_code)]
mod kernel;
#[allow(unsafe_code)]
pub mod launch;
#[allow(unsafe_code)]
mod memory_file;
#[allow(unsafe_code)]
mod only_these;
pub mod patience;
#[allow(unsafe_code)]
mod perf_event;
#[allow(unsafe_code)]
pub mod privileges;
mod probes;
mod python;
#[allow(unsafe_code)]
mod reader;
pub mod record;
mod redact;
mod spool;
pub mod symbolize;
pub mod symbols;
mod tags_note;
mod tokio_word;
pub mod trust;
pub mod unwind;
mod user_folder;
mod v8;

pub use environment::groups as control_groups;
pub use environment::{of_what_we_start, Fact};
pub use error::{Error, Kind};
pub use kernel::{check_fields, try_probes, Fields, Granted, Refusal, Tried, Verified};

pub use redact::REDACTED;
