//! The files of a recording as the system sees them. timesink may run as root in a folder that
//! another user can write to, so files are made and opened relative to the open folder, never
//! through a link, and never over something that is there already.

use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How files are opened to be read. `NONBLOCK` keeps a pipe that was put there from holding us.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// An open folder. It stays the same folder if its path comes to mean another one.
pub(crate) struct Directory {
    handle: OwnedFd,
    path: PathBuf,
}

impl Directory {
    /// Opens a folder that is there.
    pub fn open(path: &Path) -> Result<Directory> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|error| Error::io(path, &error.into()))?;
        let path = path.to_owned();
        Ok(Directory { handle, path })
    }

    /// Makes a folder, or opens the one that is there.
    pub fn create(path: &Path) -> Result<Directory> {
        match rustix::fs::mkdir(path, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => Directory::open(path),
            Err(error) => Err(Error::io(path, &error.into())),
        }
    }

    /// The path of a file in it, to show.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Makes a file that must not be there yet.
    pub fn create_file(&self, name: &str) -> Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.handle, name, flags, Mode::from_raw_mode(0o644))
            .map(File::from)
            .map_err(|error| Error::io(&self.path_of(name), &error.into()))
    }

    /// Opens a file to read it.
    pub fn open_file(&self, name: &str) -> Result<Slice> {
        let path = self.path_of(name);
        let flags = READ | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(&self.handle, name, flags, Mode::empty())
            .map(File::from)
            .map_err(|error| Error::io(&path, &error.into()))?;
        Slice::whole(file, &path)
    }

    /// The names of all files in it.
    pub fn names(&self) -> Result<Vec<String>> {
        let fault = |error: rustix::io::Errno| Error::io(&self.path, &error.into());
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.handle).map_err(fault)? {
            let name = entry
                .map_err(fault)?
                .file_name()
                .to_string_lossy()
                .into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    pub fn remove(&self, name: &str) -> Result<()> {
        rustix::fs::unlinkat(&self.handle, name, rustix::fs::AtFlags::empty())
            .map_err(|error| Error::io(&self.path_of(name), &error.into()))
    }

    /// Puts `bytes` under `name` so that at any moment, also after a crash, either all of it is
    /// there or nothing.
    pub fn publish(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let temporary = format!("{name}.new");
        let path = self.path_of(&temporary);
        let mut file = self.create_file(&temporary)?;
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .map_err(|error| Error::io(&path, &error))?;
        rustix::fs::renameat(&self.handle, &temporary, &self.handle, name)
            .and_then(|()| rustix::fs::fsync(&self.handle))
            .map_err(|error| Error::io(&path, &error.into()))
    }
}

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
    /// The file that somebody pointed us to, through links or not.
    pub fn open(path: &Path) -> Result<Slice> {
        let file = rustix::fs::open(path, READ, Mode::empty())
            .map_err(|error| Error::io(path, &error.into()))?;
        Slice::whole(File::from(file), path)
    }

    /// A whole file, which must be a plain one: a device or a pipe may have no end.
    fn whole(file: File, path: &Path) -> Result<Slice> {
        let metadata = file.metadata().map_err(|error| Error::io(path, &error))?;
        if !metadata.is_file() {
            return Err(Error::new(
                ErrorKind::NotARecording,
                path,
                "not a plain file",
            ));
        }
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
