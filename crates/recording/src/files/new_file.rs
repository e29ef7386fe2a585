//! A file that is being made. Until it is kept it is a half of something, which helps nobody: dropped, it is gone. Where somebody's
//! path says, it has that name only when it is whole, and until then none at all, so that nothing is left if we are killed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, CWD};
use rustix::io::Errno;

use super::{place, remove_same, About, Folder};
use crate::error::{Error, ErrorKind, Result};

/// A new file, for its owner only.
pub struct NewFile {
    folder: Folder,
    /// What it is called now; nothing, where the file system can do that.
    name: Option<OsString>,
    /// What it will be called.
    wanted: OsString,
    file: File,
    kept: bool,
}

impl NewFile {
    /// Makes a file that must not be there yet, where somebody's path says.
    pub fn at(path: &Path) -> Result<NewFile> {
        let (folder, name) = place(path)?;
        match folder.about_within(&name) {
            Ok(_) => return Err(Error::io(path, &Errno::EXIST.into())),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(&folder, ".", flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(NewFile {
                folder,
                name: None,
                wanted: name,
                file: File::from(file),
                kept: false,
            }),
            // What file systems and kernels say that have no such files.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                NewFile::on_the_way(&folder, name)
            }
            Err(error) => Err(Error::io(path, &error.into())),
        }
    }

    /// One that has another name until it is whole. What a killed timesink left of it is an error, and told with its name.
    pub(super) fn on_the_way(folder: &Folder, wanted: OsString) -> Result<NewFile> {
        let mut name = wanted.clone();
        name.push(".partial");
        let mut file = NewFile::within(folder, &name)?;
        file.wanted = wanted;
        Ok(file)
    }

    /// Makes a file that must not be there yet.
    pub fn within(folder: &Folder, name: impl AsRef<OsStr>) -> Result<NewFile> {
        let name = name.as_ref();
        let file = folder.create_file(name)?;
        Ok(NewFile {
            folder: folder.another()?,
            name: Some(name.to_owned()),
            wanted: name.to_owned(),
            file,
            kept: false,
        })
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// It is whole, and stays; it is on the disk when this returns.
    pub fn keep(mut self) -> Result<()> {
        let path = self.folder.path_of(&self.wanted);
        let fault = |error: io::Error| Error::io(&path, &error);
        self.file.sync_all().map_err(fault)?;
        match &self.name {
            None => self.link().map_err(|error| fault(error.into()))?,
            Some(name) if *name == self.wanted => {}
            Some(name) => self.rename(name).map_err(|error| fault(error.into()))?,
        }
        self.kept = true;
        Ok(())
    }

    /// The name, if it is nobody's by now, for a file that has none.
    fn link(&self) -> rustix::io::Result<()> {
        let open = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let through = AtFlags::SYMLINK_FOLLOW;
        rustix::fs::linkat(CWD, open, &self.folder, &self.wanted, through)
    }

    fn rename(&self, name: &OsStr) -> rustix::io::Result<()> {
        let (here, wanted) = (&self.folder, &self.wanted);
        let nobodys = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(here, name, here, wanted, nobodys) {
            // File systems that cannot do that can do this.
            Err(Errno::INVAL) => {
                rustix::fs::linkat(here, name, here, wanted, AtFlags::empty())?;
                rustix::fs::unlinkat(here, name, AtFlags::empty())
            }
            renamed => renamed,
        }
    }

    /// It is whole, and takes this name in its folder, in one step, in place of what had it.
    pub fn keep_as(mut self, name: impl AsRef<OsStr>) -> Result<()> {
        if let Some(own) = &self.name {
            self.folder.rename(own, name.as_ref())?;
        }
        self.kept = true;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        let name = self.name.as_ref().filter(|_| !self.kept);
        if let (Some(name), Ok(about)) = (name, About::of(&self.file)) {
            remove_same(&self.folder, name, about.which);
        }
    }
}
