//! The format of a recording: what one run of timesink left behind, as a folder of Parquet tables
//! with a manifest, or the same folder packed into one file.
//!
//! [`RecordingWriter`] makes one, [`Recording`] reads one, [`tables`] declares what is in it and
//! [`notation`] writes small ones from text, for tests. This crate knows nothing of how a recording
//! comes about or of what it means: the recording is the contract between those two.

#![forbid(unsafe_code)]

pub mod about;
pub mod cells;
pub mod error;
#[doc(hidden)]
pub mod fault;
pub mod files;
pub mod floors;
pub mod format_doc;
pub mod ids;
pub mod notation;
pub mod processors;
pub mod retold;
pub mod store;
pub mod table;
pub mod tables;
pub mod units;
pub mod words;

mod caught;
mod limits;
mod page_limits;
mod reader;
mod tar_index;
mod writer;

pub use about::{About, Costs, Mode, TableEntry, FORMAT_VERSION, MANIFEST};
pub use caught::caught;
pub use error::{Error, ErrorKind, Result};
pub use ids::{FrameId, ModuleId, ObjectId, ProcessId, StackId, TagId, TaskId, ThreadId};
pub use store::{pack, Recording};
pub use table::TableRow;
pub use units::Nanos;
pub use writer::{RecordingWriter, TableWriter};
