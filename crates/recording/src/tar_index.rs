//! Finding the files of a packed recording. A packed recording is a plain tar file, read in place
//! and never extracted: only plain files with names that a recording has are looked at, anything
//! else is a fault, because no packed recording has anything else.

use crate::about::{file_name, MANIFEST};
use crate::error::{Error, ErrorKind, Result};
use crate::files::Slice;
use crate::tables;
use std::collections::BTreeMap;
use std::io::Read;
use tar::EntryType;

/// Reads a slice as a stream.
struct Stream<'s> {
    slice: &'s Slice,
    at: u64,
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.slice.length().saturating_sub(self.at);
        let take = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        self.slice
            .read_at(&mut buffer[..take], self.at)
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        self.at += take as u64;
        Ok(take)
    }
}

impl std::io::Seek for Stream<'_> {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        let at = match to {
            std::io::SeekFrom::Start(at) => Some(at),
            std::io::SeekFrom::Current(by) => self.at.checked_add_signed(by),
            std::io::SeekFrom::End(by) => self.slice.length().checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| std::io::Error::other("an offset out of range"))?;
        Ok(self.at)
    }
}

/// The files in a packed recording, by name.
pub(crate) fn index(packed: &Slice) -> Result<BTreeMap<String, Slice>> {
    let mut magic = [0; 5];
    let is_tar = packed.length() >= 512 && packed.read_at(&mut magic, 257).is_ok();
    if !is_tar || magic != *b"ustar" {
        let fault = "neither a recording folder nor a packed recording";
        return Err(Error::new(ErrorKind::NotARecording, packed.name(), fault));
    }
    let damaged = |fault: String| Error::damaged(packed.name(), fault);
    let broken = |error: std::io::Error| damaged(format!("a damaged tar file: {error}"));
    let mut archive = tar::Archive::new(Stream {
        slice: packed,
        at: 0,
    });
    let mut files = BTreeMap::new();
    for entry in archive.entries_with_seek().map_err(broken)?.raw(true) {
        let entry = entry.map_err(broken)?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = entry.header().entry_type();
        if kind == EntryType::Directory && is_folder(&path) {
            continue;
        }
        if kind != EntryType::Regular {
            return Err(damaged(format!("{path:?} is not a regular file")));
        }
        let Some(name) = known_name(&path) else {
            return Err(damaged(format!("{path:?} is not part of a recording")));
        };
        let start = entry.raw_file_position();
        let slice = packed
            .part(start, entry.size(), &name)
            .ok_or_else(|| damaged(format!("{path:?} extends past the end of the file")))?;
        if files.insert(name, slice).is_some() {
            return Err(damaged(format!("{path:?} occurs twice")));
        }
    }
    Ok(files)
}

/// Whether it is the entry of the folder itself, one level deep.
fn is_folder(path: &str) -> bool {
    let name = path.trim_end_matches('/');
    name != ".." && !name.contains('/')
}

/// The name of a recording's file, if the path is one, in one folder at most.
fn known_name(path: &str) -> Option<String> {
    let name = match path.split_once('/') {
        Some(("" | "..", _)) => return None,
        Some((_, name)) => name,
        None => path,
    };
    let known = name == MANIFEST
        || tables::ALL
            .iter()
            .any(|table| file_name(table.name) == name);
    known.then(|| name.to_owned())
}
