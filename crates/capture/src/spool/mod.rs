//! What is written while recording: events as they come, in compressed frames, each with its length
//! and checksum. A frame is written at least every quarter of a second with one system call, so a
//! `kill -9` of timesink loses less than a second; the kernel has what was written. (A power failure
//! can lose more: nothing is flushed to the disk, which would disturb what is measured.)
//!
//! Beside the kernel's events stand notes of our own, as JSON: what began, names that only the live
//! system knows, when calls were timed, how it ended.

mod reader;
mod writer;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use timesink_recording::floors::Floors;

pub use reader::{SpoolEnding, SpoolReader};
pub use writer::Writer;

/// The spool's name in a recording's folder.
pub const NAME: &str = "spool.bin";

/// First bytes of a spool.
const MAGIC: &[u8; 8] = b"TSSPOOL1";
/// Bytes before each frame: length of the raw and of the packed bytes, checksum of the packed.
const FRAME_HEAD: usize = 12;
/// No frame is larger than this when unpacked.
const FRAME_LIMIT: usize = 4 << 20;
/// First byte of an entry that is a note.
const NOTE: u8 = 200;

/// What the recording is of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BeginNote {
    pub tool_version: String,
    /// `run` or `attach`.
    pub mode: String,
    pub command: Vec<String>,
    pub directory: String,
    pub started_unix_ns: u64,
    /// The monotonic clock at the start of the recording.
    pub zero: u64,
    pub threshold_ns: u64,
    pub budget_pct: Option<f64>,
    pub exact: bool,
    pub kernel: String,
    pub architecture: String,
    pub processors: u32,
    pub hostname: String,
    pub facts: BTreeMap<String, String>,
    /// What this machine does at best, if that was measured before.
    pub floors: Option<Floors>,
    pub cost: EventCosts,
}

/// What one event costs the program, as measured at the start, nanoseconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct EventCosts {
    pub call_ns: f64,
    /// Of that, what is done as the call returns, which is more for some calls.
    #[serde(default)]
    pub return_ns: f64,
    /// A switch with its wake-up, all in all.
    pub switch_ns: f64,
    /// From the start of timesink until the program ran.
    pub start_ns: u64,
}

impl EventCosts {
    /// What timing a call costs where noting its return takes so long in so many calls: one that looks up a path takes longer than the
    /// one by which the start knows it.
    pub fn call_with_returns(&self, returns_ns: u64, returns: u64) -> f64 {
        match returns {
            0 => self.call_ns,
            _ => (self.call_ns - self.return_ns).max(0.0) + returns_ns as f64 / returns as f64,
        }
    }
}

/// How it ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EndNote {
    /// The monotonic clock at the end.
    pub at: u64,
    pub exit_code: Option<i32>,
    pub exit_signal: Option<i32>,
    /// Lost events by kind.
    pub lost: Vec<u64>,
    /// Nothing more could be written from some moment on.
    pub writing_failed: Option<String>,
    /// The processor time that timesink itself took while it recorded.
    pub recorder_cpu_ns: Option<u64>,
}

/// The file of a module as a process has it: from `start` to `end`, by `moved` beyond the addresses that the file counts by.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct LoadedModule {
    pub pid: u32,
    /// When it was seen.
    pub at: u64,
    pub module: u32,
    pub moved: u64,
    pub start: u64,
    pub end: u64,
}

/// An entry of our own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Note {
    Begin(Box<BeginNote>),
    Probe {
        probe: String,
        attached: bool,
        reason: String,
        without: String,
    },
    Symbol {
        address: u64,
        name: String,
    },
    /// Where code is from; nodes name it by its number. What a runtime made is a module of each process.
    Module {
        module: u32,
        kind: String,
        path: String,
        /// In hexadecimal.
        build_id: String,
        /// Inode, size and time of change of the file.
        stamp: Option<(u64, u64, i64)>,
    },
    Loaded(LoadedModule),
    /// What a map says of code that a runtime made, by address.
    Made {
        module: u32,
        names: Vec<(u64, String)>,
    },
    /// A function of a script, a method of Java or a function of JavaScript; nodes name it by its number.
    Code {
        code: u32,
        function: String,
        file: String,
        /// Where it begins, if frames have no lines of their own.
        line: Option<u32>,
        language: String,
    },
    Outsider {
        tid: u32,
        name: String,
        pid: Option<u32>,
    },
    /// What a process runs that was there before it was recorded; its arguments, each but the last with a zero behind it.
    Program {
        pid: u32,
        executable: String,
        arguments: String,
    },
    /// The control group of a process that was there before it was recorded, or has executed a program since.
    Group {
        pid: u32,
        group: String,
    },
    /// Calls were timed from t0 to t1 on the monotonic clock.
    Window {
        t0: u64,
        t1: u64,
    },
    /// A fact about the environment; words of the table `facts`.
    Fact {
        kind: String,
        key: String,
        value: String,
        moment: String,
    },
    /// Something of the recorded programs could not be read in time, so often.
    GaveUp {
        why: String,
        count: u64,
    },
    End(Box<EndNote>),
}

/// One entry.
pub enum Entry<'a> {
    /// Bytes of an event, for `probes::decode`.
    Event(&'a [u8]),
    Note(Note),
}
