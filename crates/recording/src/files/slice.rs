//! Reading stretches of files, and writing tables.

use crate::error::{Error, Result};
use bytes::Bytes;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// A table's file while it is written. It counts and sums its bytes as they pass.
#[doc(hidden)]
pub struct TableFile {
    file: File,
    bytes: u64,
    crc: crc32fast::Hasher,
}

impl TableFile {
    pub(crate) fn new(file: File) -> TableFile {
        let crc = crc32fast::Hasher::new();
        TableFile {
            file,
            bytes: 0,
            crc,
        }
    }

    /// Length and CRC-32 of what was written.
    pub(crate) fn sums(self) -> (u64, u32) {
        (self.bytes, self.crc.finalize())
    }
}

impl Write for TableFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.crc.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// A stretch of an open file: a file of a folder, or a member of a packed recording.
#[derive(Clone)]
pub(crate) struct Slice {
    file: Arc<File>,
    start: u64,
    length: u64,
    /// What to call it in errors.
    name: String,
}

impl Slice {
    /// A whole file.
    pub fn whole(file: File, path: &Path) -> Result<Slice> {
        let metadata = file.metadata().map_err(|error| Error::io(path, &error))?;
        Ok(Slice {
            file: Arc::new(file),
            start: 0,
            length: metadata.len(),
            name: path.display().to_string(),
        })
    }

    /// A stretch of this one; `None` if it would reach beyond its end.
    pub fn part(&self, start: u64, length: u64, name: &str) -> Option<Slice> {
        if start.checked_add(length)? > self.length {
            return None;
        }
        Some(Slice {
            file: self.file.clone(),
            start: self.start.checked_add(start)?,
            length,
            name: format!("{}({name})", self.name),
        })
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads `buffer.len()` bytes at `offset`.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let at = self.start.saturating_add(offset);
        self.file
            .read_exact_at(buffer, at)
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => {
                    Error::damaged(&self.name, "shorter than it was when it was opened")
                }
                _ => Error::io(&self.name, &error),
            })
    }

    /// All of it, in memory: what is checked must be what is decoded, whatever happens to the file
    /// in between. A table is a fraction of what its rows take.
    pub fn read(&self) -> Result<Bytes> {
        let length = usize::try_from(self.length)
            .map_err(|_| Error::damaged(&self.name, "too long for this machine"))?;
        let mut bytes = vec![0; length];
        self.read_at(&mut bytes, 0)?;
        Ok(Bytes::from(bytes))
    }
}
