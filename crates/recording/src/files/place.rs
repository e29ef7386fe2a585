//! Where something new is to be made, by a path that somebody typed. Folders on the way may belong to other users, and a
//! link that one of them put there would lead root to where that user cannot write.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags, CWD};

use super::Folder;
use crate::error::{Error, ErrorKind, Result};

/// As many links as the kernel follows.
const MOST_LINKS: u32 = 40;

const NAMED: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The folder in which `path` is to be made, held open, and its name there. Links on the way are followed if they are
/// root's or belong to who does this.
pub fn place(path: &Path) -> Result<(Folder, OsString)> {
    let Some(name) = path.file_name() else {
        let fault = "not a valid name for a new file or folder";
        return Err(Error::new(ErrorKind::Io, path, fault));
    };
    let parent = path.parent().unwrap_or(Path::new(""));
    let handle = walk(parent).map_err(|error| Error::io(path, &error))?;
    let shown = match parent.as_os_str().is_empty() {
        true => Path::new("."),
        false => parent,
    };
    Ok((Folder::held(handle, shown), name.to_owned()))
}

fn walk(path: &Path) -> io::Result<OwnedFd> {
    let us = acting_user()?;
    let mut left: VecDeque<OsString> = VecDeque::new();
    let mut at = begin(path, &mut left)?;
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        let next = rustix::fs::openat(&at, &name, NAMED, Mode::empty())?;
        let about = rustix::fs::fstat(&next)?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory => at = next,
            FileType::Symlink => {
                if about.st_uid != 0 && about.st_uid != us {
                    let name = name.to_string_lossy();
                    let fault = format!(
                        "{name} in this path is a symbolic link of another user, which is not followed"
                    );
                    return Err(io::Error::other(fault));
                }
                links += 1;
                if links > MOST_LINKS {
                    return Err(rustix::io::Errno::LOOP.into());
                }
                let to = rustix::fs::readlinkat(&next, "", Vec::new())?;
                let to = OsString::from_vec(to.into_bytes());
                let mut first = VecDeque::new();
                if Path::new(&to).is_absolute() {
                    at = begin(Path::new(&to), &mut first)?;
                } else {
                    first.extend(names(Path::new(&to)));
                }
                first.append(&mut left);
                left = first;
            }
            _ => return Err(rustix::io::Errno::NOTDIR.into()),
        }
    }
    Ok(at)
}

/// Where a path begins; the names on its way go to `left`.
fn begin(path: &Path, left: &mut VecDeque<OsString>) -> io::Result<OwnedFd> {
    left.extend(names(path));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let first = if path.is_absolute() { "/" } else { "." };
    Ok(rustix::fs::openat(CWD, first, flags, Mode::empty())?)
}

fn names(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// With whose rights this thread uses files: the last of the four users that the kernel keeps for it.
fn acting_user() -> io::Result<u32> {
    let status = std::fs::read_to_string("/proc/thread-self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let user = line.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    user.ok_or_else(|| io::Error::other("/proc does not show which user and group own new files"))
}
