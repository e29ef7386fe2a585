//! A recording in, facts out. Nothing here opens a file or knows of a terminal: rows come in by
//! batches, values go out, so that all of it is tested with rows drawn in the test.
//!
//! It deliberately does not judge. What a fact means, and what to do about it, is for findings.

#![forbid(unsafe_code)]

pub mod anatomy;
pub mod at_work;
pub mod facts;
pub mod joined;
pub mod ledger;
pub mod loops;
pub mod machine;
pub mod operations;
pub mod outlook;
pub mod outsiders;
pub mod path;
pub mod replay;
mod slots;
mod span;
pub mod stacks;
pub mod stretches;
pub mod tags;
pub mod tasks;
pub mod timeline;
pub mod waits;
pub mod wall;
