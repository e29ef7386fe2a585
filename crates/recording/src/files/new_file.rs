//! A file that is being made. Until it is kept it is a half of something, which helps nobody: dropped, it is gone.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::{place, remove_same, About, Folder};
use crate::error::{Error, Result};

/// A new file, for its owner only.
pub struct NewFile {
    folder: Folder,
    name: OsString,
    file: File,
    kept: bool,
}

impl NewFile {
    /// Makes a file that must not be there yet, where somebody's path says.
    pub fn at(path: &Path) -> Result<NewFile> {
        let (folder, name) = place(path)?;
        NewFile::within(&folder, &name)
    }

    /// Makes a file that must not be there yet.
    pub fn within(folder: &Folder, name: impl AsRef<OsStr>) -> Result<NewFile> {
        let name = name.as_ref();
        let file = folder.create_file(name)?;
        Ok(NewFile {
            folder: folder.another()?,
            name: name.to_owned(),
            file,
            kept: false,
        })
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// It is whole, and stays; it is on the disk when this returns.
    pub fn keep(mut self) -> Result<()> {
        self.kept = true;
        self.file
            .sync_all()
            .map_err(|error| Error::io(&self.folder.path_of(&self.name), &error))
    }

    /// It is whole, and takes this name in its folder, in one step, in place of what had it.
    pub fn keep_as(mut self, name: impl AsRef<OsStr>) -> Result<()> {
        self.folder.rename(&self.name, name.as_ref())?;
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
        if !self.kept {
            if let Ok(about) = About::of(&self.file) {
                remove_same(&self.folder, &self.name, about.which);
            }
        }
    }
}
