//! What a helper does with files and folders of recorded programs; also done directly, where nobody can be asked.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use timesink_recording::files::open_regular;

use super::MOST_AT_ONCE;
use crate::address_space::Mapped;

/// What is known of a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub modified: (i64, i64),
    pub user: u32,
    /// Anybody may read it.
    pub public: bool,
    /// It is root's, and nobody else may write it.
    pub roots_alone: bool,
    /// No process serves the file system that it is on, so that reading it takes no longer than the disk does.
    pub direct: bool,
}

/// A folder of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessFolder {
    /// Its own `/tmp`. What is a link in it leads where it leads for the process.
    Temporary,
    /// Where it is.
    Own,
}

const READABLE_BY_ALL: u32 = 0o004;
const WRITABLE_BY_OTHERS: u32 = 0o022;

impl FileFacts {
    pub fn of(file: &File) -> io::Result<FileFacts> {
        let about: Metadata = file.metadata()?;
        Ok(FileFacts {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            user: about.uid(),
            public: about.mode() & READABLE_BY_ALL != 0,
            roots_alone: about.uid() == 0 && about.mode() & WRITABLE_BY_OTHERS == 0,
            direct: is_direct(file),
        })
    }
}

/// File systems on disks and in memory. Others are served by processes or by other machines, or stand on some that may be.
fn is_direct(file: impl AsFd) -> bool {
    const EXT: u64 = 0xef53;
    const XFS: u64 = 0x5846_5342;
    const BTRFS: u64 = 0x9123_683e;
    const F2FS: u64 = 0xf2f5_2010;
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    const SQUASHFS: u64 = 0x7371_7368;
    const EROFS: u64 = 0xe0f5_e1e2;
    const ISOFS: u64 = 0x9660;
    const ZFS: u64 = 0x2fc1_2fc1;
    const BCACHEFS: u64 = 0xca45_1a4e;
    const DIRECT: [u64; 11] = [
        EXT, XFS, BTRFS, F2FS, TMPFS, RAMFS, SQUASHFS, EROFS, ISOFS, ZFS, BCACHEFS,
    ];
    let about = rustix::fs::fstatfs(file);
    // The numbers have 32 bits, whatever the type says.
    about.is_ok_and(|about| DIRECT.contains(&(about.f_type as u64 & 0xffff_ffff)))
}

/// Opens a file by a name that somebody may have put a link under.
pub fn regular(path: &Path) -> io::Result<File> {
    open(path, OFlags::NOFOLLOW)
}

/// A configuration of a server's, which may be one link away, as in `sites-enabled`.
pub fn configuration(path: &Path) -> io::Result<File> {
    match regular(path) {
        Err(fault) if fault.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            let to = std::fs::read_link(path)?;
            regular(&path.parent().unwrap_or(Path::new("/")).join(to))
        }
        opened => opened,
    }
}

/// A folder that can be listed.
pub fn listed(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// The names in a folder, as many as are wanted.
pub fn names(folder: &File, most: usize) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
        if names.len() >= most {
            break;
        }
    }
    Ok(names)
}

/// The same in a folder.
pub fn regular_in(folder: impl AsFd, name: &str) -> io::Result<File> {
    let file = open_regular(folder, Path::new(name), OFlags::NOFOLLOW)?;
    file.ok_or_else(not_regular)
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let file = open_regular(rustix::fs::CWD, path, flags)?;
    file.ok_or_else(not_regular)
}

fn not_regular() -> io::Error {
    io::Error::other("it is no regular file")
}

/// The file of a mapping, by the surest way that is left.
pub fn of_mapping(mapped: &Mapped, path: &Path) -> io::Result<File> {
    let (pid, start) = (mapped.pid, mapped.start);
    let end = start.saturating_add(mapped.length);
    let link = PathBuf::from(format!("/proc/{pid}/map_files/{start:x}-{end:x}"));
    // The kernel's own link to what was mapped is followed.
    let by_link = open(&link, OFlags::empty()).ok().filter(|file| {
        // The process may have executed another program since, with a mapping at the same place. On
        // stacked file systems the numbers differ, but then the paths are the same.
        is_file(file, mapped) || std::fs::read_link(&link).is_ok_and(|to| to == mapped.path)
    });
    if let Some(file) = by_link {
        return Ok(file);
    }
    let mut inside = PathBuf::from(format!("/proc/{pid}/root"));
    inside.push(path.strip_prefix("/").unwrap_or(path));
    let file = match regular(&inside).ok().filter(|f| is_file(f, mapped)) {
        Some(file) => file,
        None => regular(path)?,
    };
    let same = is_file(&file, mapped).then_some(file);
    same.ok_or_else(|| io::Error::other("another file has taken its place"))
}

/// Whether this is the file with that number. Of which device is not asked: some file systems say one thing
/// to who maps a file and another to who asks.
fn is_file(file: &File, mapped: &Mapped) -> bool {
    let number = mapped.file;
    let inode = file.metadata().map(|about| about.ino());
    let generation = generation_of(file).filter(|_| number.generation != 0);
    number.inode == 0
        || inode.is_ok_and(|inode| inode == number.inode)
            && generation.is_none_or(|generation| generation == number.generation)
}

/// Inode numbers are soon taken by other files; most file systems count those.
pub fn generation_of(file: &File) -> Option<u64> {
    let mut generation: libc::c_long = 0;
    // SAFETY: the call writes at most a long to where it is told.
    let done = unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            libc::FS_IOC_GETVERSION,
            &raw mut generation,
        )
    };
    (done == 0).then_some(u64::from(generation as u32))
}

/// A folder of a process, which is only named and not read by this.
pub fn folder(pid: u32, which: ProcessFolder) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let name = match which {
        ProcessFolder::Temporary => "root",
        ProcessFolder::Own => "cwd",
    };
    let folder = rustix::fs::open(format!("/proc/{pid}/{name}"), flags, Mode::empty())?;
    match which {
        ProcessFolder::Own => Ok(folder),
        ProcessFolder::Temporary => {
            let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
            let found = rustix::fs::openat2(folder, "tmp", flags, Mode::empty(), inside);
            Ok(found?)
        }
    }
}
/// So many bytes of a file from each of these offsets on, one after the other; what cannot be read is zero.
pub fn parts(file: impl AsFd, offsets: &[u64], length: usize) -> io::Result<Vec<u8>> {
    let all = offsets.len().checked_mul(length);
    let all = all.filter(|all| *all <= MOST_AT_ONCE);
    let mut bytes = vec![0; all.ok_or(io::ErrorKind::InvalidInput)?];
    for (part, offset) in bytes.chunks_exact_mut(length.max(1)).zip(offsets) {
        let _ = rustix::io::retry_on_intr(|| rustix::io::pread(&file, &mut *part, *offset));
    }
    Ok(bytes)
}
