//! The commands, one a file.

pub mod attach;
pub mod casebook;
pub mod completions;
pub mod doctor;
pub mod export;
pub mod floors;
pub mod last;
pub mod named;
pub mod operations;
pub mod pack;
pub mod read;
pub mod recording;
pub mod report;
pub mod rules;
pub mod run;
pub mod selection;
pub mod symbolize;
pub mod whatif;
pub mod why;
