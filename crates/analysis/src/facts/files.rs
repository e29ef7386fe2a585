//! Files: how often each was opened and how much of it was read, and paths that were looked for
//! in vain.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::tables::Lookup;
use timesink_recording::tables::Object;
use timesink_recording::words::ObjectKind;

use crate::facts::calls::CallSum;

/// What was done with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    pub object: ObjectId,
    /// Successful and failed opens alike.
    pub opened: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Its size when last seen.
    pub size: Option<u64>,
    /// Some of the figures are scaled up from calls that were timed.
    pub estimated: bool,
}

/// A path that was looked up and not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub path: String,
    pub count: u64,
    /// How many processes looked.
    pub processes: u64,
}

/// The files among the objects of these calls, most opened first.
pub fn files(calls: &[CallSum], objects: &[Object]) -> Vec<FileUse> {
    let mut uses: BTreeMap<ObjectId, FileUse> = objects
        .iter()
        .filter(|object| object.kind == ObjectKind::File)
        .map(|object| {
            let nothing = FileUse {
                object: object.object,
                opened: 0,
                bytes_read: 0,
                bytes_written: 0,
                size: object.size,
                estimated: false,
            };
            (object.object, nothing)
        })
        .collect();
    for call in calls {
        let Some(file) = call.object.and_then(|object| uses.get_mut(&object)) else {
            continue;
        };
        match call.call.as_str() {
            "open" | "openat" | "openat2" | "creat" => {
                file.opened = file.opened.saturating_add(call.count);
            }
            "read" | "pread64" | "readv" | "preadv" | "preadv2" => {
                file.bytes_read = file.bytes_read.saturating_add(call.bytes);
            }
            "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => {
                file.bytes_written = file.bytes_written.saturating_add(call.bytes);
            }
            _ => continue,
        }
        file.estimated |= call.estimated;
    }
    let touched = |file: &FileUse| file.opened > 0 || file.bytes_read > 0 || file.bytes_written > 0;
    let mut uses: Vec<FileUse> = uses.into_values().filter(touched).collect();
    uses.sort_by_key(|file| {
        (
            std::cmp::Reverse((file.opened, file.bytes_read, file.bytes_written)),
            file.object,
        )
    });
    uses
}

/// A path that one process queried again and again, whether it is there or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queried {
    pub process: ProcessId,
    pub path: String,
    pub count: u64,
}

/// Look-ups under way.
#[derive(Default)]
pub struct LookedUp {
    missing: BTreeMap<String, (u64, BTreeSet<ProcessId>)>,
    queried: FxHashMap<(ProcessId, String), u64>,
}

/// Who queried a path less often did not query it again and again.
const OFTEN: u64 = 50;

impl LookedUp {
    /// Adds up look-ups: those that ended in `ENOENT`, and those that only ask what a whole path names.
    pub fn lookups(&mut self, rows: &[Lookup]) {
        for row in rows {
            if row.error == "ENOENT" {
                let (count, processes) = self.missing.entry(row.path.clone()).or_default();
                *count = count.saturating_add(row.count);
                processes.insert(row.process);
            }
            // Where a path begins that does not begin at the root is not known: two may be two files.
            let is_answered = row.error.is_empty() || row.error == "ENOENT";
            if is_answered && row.path.starts_with('/') && LOOKS.contains(&&*row.call) {
                let key = (row.process, row.path.clone());
                let count = self.queried.entry(key).or_default();
                *count = count.saturating_add(row.count);
            }
        }
    }

    /// Paths that were not there, and paths that were queried again and again, most looked for first.
    pub fn finish(self) -> (Vec<Missing>, Vec<Queried>) {
        let missing = self.missing.into_iter();
        let mut missing: Vec<Missing> = missing
            .map(|(path, (count, processes))| Missing {
                path,
                count,
                processes: processes.len() as u64,
            })
            .collect();
        missing.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.path.cmp(&b.path)));
        let often = self.queried.into_iter();
        let mut queried: Vec<Queried> = often
            .filter(|(_, count)| *count >= OFTEN)
            .map(|((process, path), count)| Queried {
                process,
                path,
                count,
            })
            .collect();
        queried.sort_by(|a, b| {
            let key = |path: &Queried| (std::cmp::Reverse(path.count), path.process);
            key(a).cmp(&key(b)).then_with(|| a.path.cmp(&b.path))
        });
        (missing, queried)
    }
}

/// The calls that look at what a path names and do nothing to it.
pub const LOOKS: [&str; 7] = [
    "stat",
    "lstat",
    "newfstatat",
    "statx",
    "access",
    "faccessat",
    "faccessat2",
];
