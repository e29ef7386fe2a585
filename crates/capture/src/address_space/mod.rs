//! Which code was mapped where, in which process, at which time: also for processes that are gone.
//!
//! `Watch` is told by the kernel what happens on the machine; `Spaces` applies that, in the order of time, to the
//! processes that descend from those it was given; each executable mapping leads to an `Image`, the
//! file it is from, which is opened as soon as it is seen, so that it can be read when the process, or the
//! file, is gone. What is in a stack is for `unwind`; names of functions are nobody's business here.

mod elf;
mod image;
mod maps;
mod records;
mod spaces;
#[allow(unsafe_code)]
pub mod vdso;
#[allow(unsafe_code)]
mod watch;

use std::fmt;
use std::path::PathBuf;

pub use elf::{Elf, ElfError, FilePart, ThreadLocal};
pub use image::{Image, ImageKind};
pub use spaces::{Mapping, Space, Spaces};
pub use watch::Watch;

/// Something and when it happened, by `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed<T> {
    pub time_ns: u64,
    pub what: T,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Mapped(Mapped),
    Executed { pid: u32 },
    Forked { pid: u32, parent_pid: u32, tid: u32 },
    Ended { pid: u32, tid: u32 },
}

/// Executable memory that came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    pub pid: u32,
    pub start: u64,
    pub length: u64,
    /// Where in the file it begins.
    pub offset: u64,
    pub file: FileNumber,
    /// The path as the process sees it, or what the kernel calls the memory.
    pub path: PathBuf,
}

/// What the kernel knows a file by. All of it may be 0: there is no file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FileNumber {
    pub device: (u32, u32),
    pub inode: u64,
    /// Counts who had that inode; 0: not known.
    pub generation: u64,
}

/// What tells one build of a program from all others.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BuildId(Box<[u8]>);

impl BuildId {
    /// None of no bytes.
    pub fn new(bytes: &[u8]) -> Option<BuildId> {
        (!bytes.is_empty()).then(|| BuildId(bytes.into()))
    }
}

/// In hexadecimal, as everybody writes it.
impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some linkers make longer ones than the kernel knows: cut, it would be another program's, and no file would be
    /// believed to be it.
    #[test]
    fn a_long_build_id_stays_whole() {
        let id = BuildId::new(&[0xab; 32]).expect("a build id");
        assert_eq!(id.to_string(), "ab".repeat(32));
    }
}
