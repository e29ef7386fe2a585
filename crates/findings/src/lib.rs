//! Facts in, findings out: the cause in plain words, with evidence, what to do about it, and what that would buy.
//!
//! One rule is one file in `rules/`, and `registry.rs` lists them. A rule looks at facts and names suspects; it
//! does not know of other rules, nor how much a thing must matter before it is told: that is `engine.rs`. Nothing
//! here opens a file or knows of a terminal.

#![forbid(unsafe_code)]

mod alike;
pub mod around;
mod awaiting;
mod contended;
mod crowd;
mod database_code;
mod disk_waits;
pub mod engine;
mod event_loop;
mod file_functions;
pub mod floor;
mod goroutine_sleeps;
mod handed_over;
mod heaviest;
mod holding;
mod in_code;
pub mod inquiry;
mod interpreter_lock;
pub mod limit;
mod made_calls;
mod memory;
pub mod mutes;
mod need;
pub mod neighbour;
mod on_cpu;
mod picked;
mod placed;
pub mod registry;
pub mod rule;
mod rules;
pub mod sentence;
mod served;
mod shells;
pub mod signature;
mod sleep_rows;
mod start_up;
mod started;
