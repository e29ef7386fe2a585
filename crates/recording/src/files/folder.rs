//! An open folder: what is done in it, relative to it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, RenameFlags, Stat, CWD};
use rustix::io::Errno;

use super::{open_regular, place, NewFile, Slice};
use crate::error::{Error, ErrorKind, Result};

/// What is made is for its owner only: a recording can hold what others must not read.
const FOLDER_MODE: Mode = Mode::RWXU;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A folder is held by a descriptor that only names it, which needs no right to list it.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// How deep what timesink makes goes, when it is removed.
const DEEPEST: u32 = 3;

/// An open folder. It stays the same folder if its path comes to mean another one.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

/// Whose something is, who may use it, and which one it is.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub user: u32,
    pub group: u32,
    mode: Mode,
    /// The device and the number on it.
    pub which: (u64, u64),
    kind: FileType,
    pub length: u64,
    /// When its content changed, in seconds and nanoseconds.
    pub changed: (i64, u64),
}

impl About {
    pub fn of(thing: impl AsFd) -> io::Result<About> {
        Ok(About::from(&rustix::fs::fstat(thing)?))
    }

    pub fn is_same(&self, other: &About) -> bool {
        self.which == other.which
    }

    pub fn is_folder(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// Whether nobody but root decides what lies in this folder under which name.
    pub fn is_roots_alone(&self) -> bool {
        let others = self.mode.intersects(Mode::WGRP | Mode::WOTH);
        self.user == 0 && (!others || self.mode.contains(Mode::SVTX))
    }
}

impl From<&Stat> for About {
    fn from(stat: &Stat) -> About {
        About {
            user: stat.st_uid,
            group: stat.st_gid,
            mode: Mode::from_raw_mode(stat.st_mode),
            which: (stat.st_dev, stat.st_ino),
            kind: FileType::from_raw_mode(stat.st_mode),
            length: u64::try_from(stat.st_size).unwrap_or(0),
            changed: (stat.st_mtime, stat.st_mtime_nsec),
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl Folder {
    /// Opens the folder that somebody pointed us to, through links or not.
    pub fn open(path: &Path) -> Result<Folder> {
        Folder::open_with(path, OFlags::empty())
    }

    /// Opens a folder that must not be a link itself.
    pub fn open_no_link(path: &Path) -> Result<Folder> {
        Folder::open_with(path, OFlags::NOFOLLOW)
    }

    fn open_with(path: &Path, flags: OFlags) -> Result<Folder> {
        let handle = rustix::fs::openat(CWD, path, FOLDER | flags, Mode::empty());
        let handle = handle.map_err(|error| Error::io(path, &error.into()))?;
        Ok(Folder::held(handle, path))
    }

    pub(super) fn held(handle: OwnedFd, path: &Path) -> Folder {
        let path = path.to_owned();
        Folder { handle, path }
    }

    /// The same one, held once more.
    pub fn another(&self) -> Result<Folder> {
        let handle = self.handle.try_clone();
        let handle = handle.map_err(|error| Error::io(&self.path, &error))?;
        Ok(Folder::held(handle, &self.path))
    }

    /// Makes a folder that must not be there yet, where somebody's path says.
    pub fn make(path: &Path) -> Result<Folder> {
        let (parent, name) = place(path)?;
        let mut made = parent.make_within(&name)?;
        made.path = path.to_owned();
        Ok(made)
    }

    /// Makes a folder in this one that must not be there yet.
    pub fn make_within(&self, name: impl AsRef<OsStr>) -> Result<Folder> {
        let name = name.as_ref();
        let path = self.path_of(name);
        let fault = |error: Errno| Error::io(&path, &error.into());
        rustix::fs::mkdirat(&self.handle, name, FOLDER_MODE).map_err(fault)?;
        let made = self.folder_within(name)?;
        // Who may rename here may have put another one in its place: it has to be as we make them, empty, and belong to
        // whom our files belong. (Not to our own user: some file systems say that all is somebody's.)
        let about = made.about()?;
        let file = NewFile::within(&made, ".new")?;
        let own = About::of(file.file()).map_err(|error| Error::io(&path, &error))?;
        drop(file);
        if about.user != own.user || !made.names()?.is_empty() {
            let fault = "the new folder was replaced by another one";
            return Err(Error::new(ErrorKind::Exists, &path, fault));
        }
        Ok(made)
    }

    /// Makes a control group in this one: a folder of the kernel's, in which nobody can make a file.
    pub fn make_group_within(&self, name: impl AsRef<OsStr>) -> Result<()> {
        let name = name.as_ref();
        rustix::fs::mkdirat(&self.handle, name, FOLDER_MODE)
            .map_err(|error| Error::io(&self.path_of(name), &error.into()))
    }

    /// Opens a folder that must not be a link itself, and makes it and those above it if there is none. For the folders
    /// of the user with whose rights it is done: links on the way are followed.
    pub fn ensure(path: &Path) -> Result<Folder> {
        match Folder::open_no_link(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
        if let Some(parent) = parent.filter(|parent| Folder::open(parent).is_err()) {
            Folder::ensure(parent)?;
        }
        match rustix::fs::mkdir(path, FOLDER_MODE) {
            Ok(()) | Err(Errno::EXIST) => Folder::open_no_link(path),
            Err(error) => Err(Error::io(path, &error.into())),
        }
    }

    /// Opens a folder in this one, which must not be a link.
    pub fn folder_within(&self, name: impl AsRef<OsStr>) -> Result<Folder> {
        let path = self.path_of(name.as_ref());
        let flags = FOLDER | OFlags::NOFOLLOW;
        let handle = rustix::fs::openat(&self.handle, name.as_ref(), flags, Mode::empty());
        let handle = handle.map_err(|error| Error::io(&path, &error.into()))?;
        Ok(Folder::held(handle, &path))
    }

    /// Where it was opened, to show.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it, to show.
    pub fn path_of(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.path.join(name.as_ref())
    }

    pub fn about(&self) -> Result<About> {
        About::of(&self.handle).map_err(|error| Error::io(&self.path, &error))
    }

    /// What has this name in it, which may be a link.
    pub fn about_within(&self, name: impl AsRef<OsStr>) -> Result<About> {
        let stat = rustix::fs::statat(&self.handle, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(|error| Error::io(&self.path_of(name.as_ref()), &error.into()))?;
        Ok(About::from(&stat))
    }

    /// Makes a file that must not be there yet.
    pub fn create_file(&self, name: impl AsRef<OsStr>) -> Result<File> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.handle, name.as_ref(), flags, FILE_MODE)
            .map(File::from)
            .map_err(|error| Error::io(&self.path_of(name.as_ref()), &error.into()))
    }

    /// Opens a file to read it. It must be a regular one and no link.
    pub fn open_file(&self, name: impl AsRef<OsStr>) -> Result<File> {
        let path = self.path_of(name.as_ref());
        let opened = open_regular(&self.handle, name.as_ref(), OFlags::NOFOLLOW);
        let opened = opened.map_err(|error| Error::io(&path, &error))?;
        opened.ok_or_else(|| Error::not_plain(&path))
    }

    pub(crate) fn slice(&self, name: impl AsRef<OsStr>) -> Result<Slice> {
        let file = self.open_file(name.as_ref())?;
        Slice::whole(file, &self.path_of(name.as_ref()))
    }

    /// The names of all that is in it.
    pub fn names(&self) -> Result<Vec<OsString>> {
        let fault = |error: Errno| Error::io(&self.path, &error.into());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = rustix::fs::openat(&self.handle, ".", flags, Mode::empty()).map_err(fault)?;
        let mut names = Vec::new();
        for entry in Dir::new(listed).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(names)
    }

    pub fn remove(&self, name: impl AsRef<OsStr>) -> Result<()> {
        rustix::fs::unlinkat(&self.handle, name.as_ref(), AtFlags::empty())
            .map_err(|error| Error::io(&self.path_of(name.as_ref()), &error.into()))
    }

    /// Removes what timesink left there: an empty folder.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> Result<()> {
        rustix::fs::unlinkat(&self.handle, name.as_ref(), AtFlags::REMOVEDIR)
            .map_err(|error| Error::io(&self.path_of(name.as_ref()), &error.into()))
    }

    /// Removes all that is in it, as deep as what timesink makes.
    pub fn clear(&self) -> Result<()> {
        self.clear_to(DEEPEST)
    }

    fn clear_to(&self, depth: u32) -> Result<()> {
        for name in self.names()? {
            if !self.about_within(&name)?.is_folder() {
                self.remove(&name)?;
                continue;
            }
            if depth > 0 {
                self.folder_within(&name)?.clear_to(depth - 1)?;
            }
            self.remove_folder(&name)?;
        }
        Ok(())
    }

    /// Puts `bytes` under `name`, in one step, in place of what had it. `on_the_way` is what they are called until
    /// then; what a killed timesink left of that name goes.
    pub fn replace(
        &self,
        name: impl AsRef<OsStr>,
        on_the_way: impl AsRef<OsStr>,
        bytes: &[u8],
    ) -> Result<()> {
        self.put(on_the_way.as_ref(), bytes)?.keep_as(name)
    }

    fn put(&self, name: &OsStr, bytes: &[u8]) -> Result<NewFile> {
        match self.remove(name) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = NewFile::within(self, name)?;
        let written = file.write_all(bytes);
        written.map_err(|error| Error::io(&self.path_of(name), &error))?;
        Ok(file)
    }

    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        rustix::fs::renameat(&self.handle, from, &self.handle, to)
            .map_err(|error| Error::io(&self.path_of(from), &error.into()))
    }

    /// What is `name` here and what is `there_name` there take each other's place, in one step.
    pub fn exchange(
        &self,
        name: impl AsRef<OsStr>,
        there: &Folder,
        there_name: impl AsRef<OsStr>,
    ) -> Result<()> {
        let (from, to) = (name.as_ref(), there_name.as_ref());
        let both = RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(&self.handle, from, &there.handle, to, both)
            .map_err(|error| Error::io(&there.path_of(to), &error.into()))
    }

    /// What is `name` here takes the place of what is `there_name` there.
    pub fn move_to(
        &self,
        name: impl AsRef<OsStr>,
        there: &Folder,
        there_name: impl AsRef<OsStr>,
    ) -> Result<()> {
        let (from, to) = (name.as_ref(), there_name.as_ref());
        rustix::fs::renameat(&self.handle, from, &there.handle, to)
            .map_err(|error| Error::io(&there.path_of(to), &error.into()))
    }

    /// What was made, renamed or removed in it is on the disk when this returns.
    pub fn sync(&self) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.handle, ".", flags, Mode::empty())
            .and_then(rustix::fs::fsync)
            .map_err(|error| Error::io(&self.path, &error.into()))
    }

    /// What was written to a file in it is on the disk when this returns.
    pub fn sync_file(&self, name: impl AsRef<OsStr>) -> Result<()> {
        let synced = self.open_file(name.as_ref())?.sync_all();
        synced.map_err(|error| Error::io(&self.path_of(name.as_ref()), &error))
    }

    /// Nobody else is at work in it as long as what is given lives.
    pub fn lock(&self) -> Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let locked = rustix::fs::openat(&self.handle, ".", flags, Mode::empty());
        let locked = locked.and_then(|folder| {
            let alone = rustix::fs::FlockOperation::NonBlockingLockExclusive;
            rustix::fs::flock(&folder, alone).map(|()| folder)
        });
        match locked {
            Ok(folder) => Ok(File::from(folder)),
            Err(Errno::WOULDBLOCK) => {
                let fault = "another process is working in this folder";
                Err(Error::new(ErrorKind::Exists, &self.path, fault))
            }
            Err(error) => Err(Error::io(&self.path, &error.into())),
        }
    }

    /// Gives a file or a folder in this one, which must be no link, the rights and the group of another thing, and puts
    /// it on the disk. Its owner is who made it.
    pub fn dress(&self, name: impl AsRef<OsStr>, like: &About) -> Result<()> {
        let path = self.path_of(name.as_ref());
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let dressed = rustix::fs::openat(&self.handle, name.as_ref(), flags, Mode::empty())
            .and_then(|thing| {
                dress(&thing, like)?;
                rustix::fs::fsync(thing)
            });
        dressed.map_err(|error| Error::io(&path, &error.into()))
    }
}

/// Removes the very file that was looked at, by its device and number. Should its owner put another one there in this
/// moment, that goes, which the owner could have had without us. One that cannot be removed does no harm.
pub fn remove_same(folder: impl AsFd, name: impl AsRef<OsStr>, file: (u64, u64)) {
    let there = rustix::fs::statat(&folder, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW);
    if there.is_ok_and(|there| (there.st_dev, there.st_ino) == file) {
        let _ = rustix::fs::unlinkat(&folder, name.as_ref(), AtFlags::empty());
    }
}

fn dress(thing: &OwnedFd, like: &About) -> rustix::io::Result<()> {
    let own = About::from(&rustix::fs::fstat(thing)?);
    // What a file may do to who executes it is nothing that a recording has.
    let mut mode = like.mode & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
    if own.group != like.group
        && rustix::fs::fchown(thing, None, Some(Gid::from_raw(like.group))).is_err()
    {
        // The rights were those of another group.
        mode -= Mode::RWXG;
    }
    rustix::fs::fchmod(thing, mode)
}
