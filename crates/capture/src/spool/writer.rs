//! Appending to the spool. A write that fails (a full disk) ends the writing, not the program: what
//! was written stays, and the failure is told at the end.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use timesink_recording::files::Folder;

use super::{Note, FRAME_HEAD, FRAME_LIMIT, MAGIC, NAME, NOTE};
use crate::error::Error;
use crate::probes;

/// A frame is written when it has this many bytes, or when the caller says so.
const FRAME_FULL: usize = 1 << 20;
/// Of 50 MB of events of a busy server, level 1 makes 4.77 MB in 184 ms of CPU time, this 4.82 MB in 93 ms, -3 6.17 MB in 84 ms (2026-11-27).
const LEVEL: i32 = -1;

pub struct Writer {
    path: PathBuf,
    file: File,
    raw: Vec<u8>,
    packed: Vec<u8>,
    packer: zstd::bulk::Compressor<'static>,
    /// Why writing ended early.
    failed: Option<Error>,
    pub events: u64,
    pub bytes: u64,
}

impl Writer {
    /// A new spool in a folder that must not have one.
    pub fn create(folder: &Folder) -> Result<Writer, Error> {
        let path = folder.path_of(NAME);
        let mut file = folder.create_file(NAME)?;
        file.write_all(MAGIC)
            .map_err(Error::file(&path, "cannot be written"))?;
        let packer =
            zstd::bulk::Compressor::new(LEVEL).map_err(Error::file(&path, "cannot be packed"))?;
        Ok(Writer {
            path,
            file,
            raw: Vec::with_capacity(FRAME_FULL + 4096),
            packed: Vec::new(),
            packer,
            failed: None,
            events: 0,
            bytes: MAGIC.len() as u64,
        })
    }

    pub fn event(&mut self, bytes: &[u8]) {
        self.events += 1;
        self.entry(probes::without_zeros(bytes));
    }

    pub fn note(&mut self, note: &Note) {
        let mut bytes = vec![NOTE];
        // A note is made of strings and numbers: it always becomes JSON.
        if serde_json::to_writer(&mut bytes, note).is_ok() {
            self.entry(&bytes);
        }
    }

    fn entry(&mut self, bytes: &[u8]) {
        if self.failed.is_some() || bytes.len() > FRAME_LIMIT / 2 {
            return;
        }
        self.raw
            .extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.raw.extend_from_slice(bytes);
        if self.raw.len() >= FRAME_FULL {
            self.flush();
        }
    }

    /// Write what has come together.
    pub fn flush(&mut self) {
        if self.raw.is_empty() || self.failed.is_some() {
            return;
        }
        if let Err(error) = self.write_frame() {
            self.failed = Some(error);
        }
        self.raw.clear();
    }

    fn write_frame(&mut self) -> Result<(), Error> {
        let fault = Error::file(&self.path, "cannot be written");
        self.packed.clear();
        self.packed.resize(
            FRAME_HEAD + zstd::zstd_safe::compress_bound(self.raw.len()),
            0,
        );
        let length = match self
            .packer
            .compress_to_buffer(&self.raw, &mut self.packed[FRAME_HEAD..])
        {
            Ok(length) => length,
            Err(e) => return Err(fault(e)),
        };
        self.packed.truncate(FRAME_HEAD + length);
        let checksum = crc32fast::hash(&self.packed[FRAME_HEAD..]);
        self.packed[0..4].copy_from_slice(&(self.raw.len() as u32).to_le_bytes());
        self.packed[4..8].copy_from_slice(&(length as u32).to_le_bytes());
        self.packed[8..12].copy_from_slice(&checksum.to_le_bytes());
        self.bytes += self.packed.len() as u64;
        self.file.write_all(&self.packed).map_err(fault)
    }

    /// Why writing ended early, if it did.
    pub fn failure(&self) -> Option<&Error> {
        self.failed.as_ref()
    }
}
