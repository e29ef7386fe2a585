//! A recording in, facts out. Nothing here opens a file or knows of a terminal: rows come in by
//! batches, values go out, so that all of it is tested with rows drawn in the test.
//!
//! It deliberately does not judge. What a fact means, and what to do about it, is for findings.

#![forbid(unsafe_code)]

pub mod arrivals;
pub mod calls;
pub mod disk_reads;
pub mod exchanges;
pub mod facts;
pub mod files;
pub mod hand_overs;
pub mod herds;
pub mod ledger;
pub mod locks;
pub mod loops;
pub mod measure;
pub mod memory;
pub mod operations;
pub mod outlook;
pub mod path;
pub mod peers;
pub mod polls;
pub mod pools;
pub mod programs;
pub mod replay;
mod runs;
mod slots;
pub mod stacks;
pub mod starts;
pub mod timeline;
pub mod touched;
pub mod uses;
pub mod waited;
pub mod waits;
