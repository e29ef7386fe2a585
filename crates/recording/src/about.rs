//! The manifest, `recording.json`: what was recorded, where, how, at what cost, and which tables
//! there are. It is written last, so that a folder without it is known to be unfinished.

use crate::error::{Error, ErrorKind, Result};
use crate::floors::Floors;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

/// The version of the format that this crate writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 15;

/// The manifest's name in the folder.
pub const MANIFEST: &str = "recording.json";

/// What the manifest is called until it is whole.
pub(crate) const MANIFEST_ON_THE_WAY: &str = "recording.json.new";

/// The file of a table.
pub(crate) fn file_name(table: &str) -> String {
    format!("{table}.parquet")
}

/// More than any manifest has; a file above this is not one.
pub(crate) const MANIFEST_LIMIT: u64 = 16 << 20;

/// How the recording came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// timesink started the program.
    Run,
    /// The program ran before.
    Attach,
    /// All programs of the machine.
    Machine,
}

/// The manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The version of the format. See `FORMAT.md`.
    pub format_version: u32,
    /// The version of the timesink that made it.
    pub tool_version: String,
    /// `run`, `attach` or `machine`.
    pub mode: Mode,
    /// The command and its arguments; empty for attach.
    pub command: Vec<String>,
    /// The directory it was started in.
    pub directory: String,
    /// The start of the recording, nanoseconds since 1970 UTC.
    pub started_unix_ns: u64,
    /// How long it lasted.
    pub wall_ns: u64,
    /// The exit code of the command, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended the command, if one did.
    pub exit_signal: Option<i32>,
    /// Waits at or above this are in `waits` one by one.
    pub threshold_ns: u64,
    /// The share of wall time, in percent, that recording was allowed to cost.
    pub budget_pct: Option<f64>,
    /// Every call was to be timed, whatever it cost.
    pub exact: bool,
    /// The kernel's release.
    pub kernel: String,
    /// The machine's architecture, such as `x86_64`.
    pub architecture: String,
    /// Processors that were on line.
    pub processors: u32,
    /// The machine's name.
    pub hostname: String,
    /// Other facts about the machine, by name.
    pub host: BTreeMap<String, String>,
    /// What this machine does at best, if that was measured before.
    pub floors: Option<Floors>,
    /// What recording cost.
    pub cost: Costs,
    /// The share of the recorded time in which calls were timed; 1 if always.
    #[serde(serialize_with = "finite")]
    pub call_timing_share: f64,
    /// What was wrong and was mended, in a sentence, if the recording was cut short.
    pub mended: Option<String>,
    /// The tables. The writer fills this in.
    pub tables: Vec<TableEntry>,
}

/// What recording cost: each kind of event as measured on this machine at the start, and how many
/// of each there were.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Nanoseconds that timing one call takes.
    #[serde(serialize_with = "finite")]
    pub call_ns: f64,
    /// Nanoseconds that noting one switch with its wake-up takes, all in all.
    #[serde(serialize_with = "finite")]
    pub switch_ns: f64,
    /// Calls that were timed.
    pub calls: u64,
    /// Wake-ups that were noted.
    pub wakes: u64,
    /// Switches that were noted.
    pub switches: u64,
    /// Samples that were taken.
    pub samples: u64,
    /// Nanoseconds from timesink's start to the start of the recording.
    pub start_ns: u64,
    /// Nanoseconds from the end of the recording to the finished folder.
    pub finish_ns: u64,
    /// What recording cost within the recorded threads, in percent of wall time.
    #[serde(serialize_with = "finite")]
    pub pct_of_wall: f64,
    /// Nanoseconds of processor time that timesink itself took from the start of the recording to its end, on whatever
    /// processor, beside what it cost within the recorded threads; `None` where that was not measured.
    pub recorder_cpu_ns: Option<u64>,
}

/// A table as the manifest knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    /// The table's name; its file is `NAME.parquet`.
    pub name: String,
    pub rows: u64,
    /// The file's length.
    pub bytes: u64,
    /// The CRC-32 (IEEE) of the file.
    pub crc32: u32,
}

impl Default for About {
    /// A recording of nothing by nobody, to be filled in.
    fn default() -> About {
        About {
            format_version: FORMAT_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            mode: Mode::Run,
            command: Vec::new(),
            directory: String::new(),
            started_unix_ns: 0,
            wall_ns: 0,
            exit_code: None,
            exit_signal: None,
            threshold_ns: 0,
            budget_pct: None,
            exact: false,
            kernel: String::new(),
            architecture: String::new(),
            processors: 0,
            hostname: String::new(),
            host: BTreeMap::new(),
            floors: None,
            cost: Costs::default(),
            call_timing_share: 1.0,
            mended: None,
            tables: Vec::new(),
        }
    }
}

/// JSON has no word for infinity, and serde writes null, which would not read as a number again. A
/// figure that could not be measured must not make a recording unreadable: it becomes 0.
fn finite<S: Serializer>(value: &f64, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_f64(if value.is_finite() { *value } else { 0.0 })
}

impl About {
    /// What the machine does at best, if that is in the recording and can have been measured.
    pub fn floors(&self) -> Option<&Floors> {
        self.floors.as_ref().filter(|floors| floors.is_sound())
    }

    /// The manifest as it stands in the file.
    pub(crate) fn to_json(&self) -> std::result::Result<Vec<u8>, serde_json::Error> {
        let mut json = serde_json::to_vec_pretty(self)?;
        json.push(b'\n');
        Ok(json)
    }

    /// Reads a manifest. The version is looked at first: the rest of a newer one may be anything.
    pub(crate) fn from_json(file: &str, json: &[u8]) -> Result<About> {
        #[derive(Deserialize)]
        struct Version {
            format_version: u32,
        }
        let version: Version = serde_json::from_slice(json)
            .map_err(|error| Error::damaged(file, format!("not a manifest: {error}")))?;
        let format = version.format_version;
        if format > FORMAT_VERSION {
            return Err(Error::new(
                ErrorKind::Newer,
                file,
                format!(
                    "made by a newer timesink (format {format}, this one reads up to \
                     {FORMAT_VERSION}); open it with the timesink that made it, or a later one"
                ),
            ));
        }
        if format == 0 {
            return Err(Error::damaged(file, "format version 0 does not exist"));
        }
        serde_json::from_slice(json)
            .map_err(|error| Error::damaged(file, format!("not a manifest: {error}")))
    }
}
