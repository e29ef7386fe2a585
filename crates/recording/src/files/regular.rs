//! Opening files that others put there: only regular ones, and nothing that could block or act.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a file to read it, if it is a regular one. A device or a pipe is not even touched: the first descriptor only
/// names it. `flags` say more of how the name is followed.
pub fn open_regular(
    folder: impl AsFd,
    path: impl AsRef<Path>,
    flags: OFlags,
) -> io::Result<Option<File>> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | flags;
    let name = rustix::fs::openat(folder, path.as_ref(), flags, Mode::empty())?;
    opened(&File::from(name))
}

/// The same, of a file that a descriptor names already.
pub(super) fn opened(name: &File) -> io::Result<Option<File>> {
    if !name.metadata()?.is_file() {
        return Ok(None);
    }
    // The very file that was just looked at, whatever its name leads to by now.
    let again = format!("/proc/self/fd/{}", name.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = rustix::fs::open(again, flags, Mode::empty())?;
    Ok(Some(File::from(file)))
}
