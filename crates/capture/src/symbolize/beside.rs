//! What is to replace a recording, made in a folder of ours beside it: whatever goes wrong, and whenever timesink is
//! killed, the recording is whole, the old one or the new one.
//!
//! The folder that the recording lies in may be another user's, who can rename what is in it at any moment. So all is done
//! with the rights of the recording's owner, in folders that are held open.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use timesink_recording::files::{About, Folder};
use timesink_recording::{ErrorKind, Recording, RecordingWriter};

use crate::error::Error;
use crate::launch::Identity;

/// What the new recording is called until it takes the old one's place.
const NEW: &str = "folder";

/// A recording that is to be replaced in place.
pub struct Standing {
    path: PathBuf,
    parent: Folder,
    name: OsString,
    about: About,
    /// With whose rights it is replaced, if not our own.
    owner: Option<Identity>,
}

impl Standing {
    /// Finds it. Links are followed; the replacement must be on the same file system.
    pub fn at(path: &Path) -> Result<Standing, Error> {
        let path = path
            .canonicalize()
            .map_err(Error::file(Path::new("the recording"), "cannot be found"))?;
        let parent = Folder::open(path.parent().unwrap_or(&path))?;
        let name = path.file_name().unwrap_or_default().to_owned();
        let about = parent.about_within(&name)?;
        let owner = Identity::of_owner(about.user)?;
        // What is root's can only be replaced with root's rights, where nobody else can rename.
        if about.user == 0 && Identity::is_root() && !parent.about()?.is_roots_alone() {
            let what = "it is root's, in a folder in which others may put something in its place: \
                        move it to a folder of root's first";
            let what = what.to_owned();
            return Err(Error::Refused { path, what });
        }
        Ok(Standing {
            path,
            parent,
            name,
            about,
            owner,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its owner must be able to read it, because its content ends up in the new one.
    pub fn open(&self) -> Result<Recording, Error> {
        Ok(self.acting(|| Recording::within(&self.parent, &self.name))??)
    }

    /// The folder beside it.
    pub fn beside(&self) -> Result<Beside<'_>, Error> {
        self.acting(|| Beside::make(self))?
    }

    fn acting<T>(&self, work: impl FnOnce() -> T) -> Result<T, Error> {
        Ok(Identity::acting(self.owner.as_ref(), work)?)
    }
}

/// The folder beside a recording. It goes with its owner, and with it what was replaced.
pub struct Beside<'s> {
    standing: &'s Standing,
    name: OsString,
    folder: Folder,
    /// Held as long as somebody works here.
    _lock: File,
}

impl Beside<'_> {
    /// Makes it. What a killed timesink left there is removed.
    fn make(standing: &Standing) -> Result<Beside<'_>, Error> {
        let Standing { parent, about, .. } = standing;
        let mut name = standing.name.clone();
        name.push(".new");
        match parent.folder_within(&name) {
            Ok(left) => {
                if left.about()?.user != about.user {
                    let what =
                        "it is in the way, and does not belong to the owner of the recording"
                            .to_owned();
                    let path = left.path().to_owned();
                    return Err(Error::Refused { path, what });
                }
                let _alone = left.lock()?;
                left.clear()?;
                parent.remove_folder(&name)?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        // Recordings can be secret, and nobody else is to put anything here.
        let folder = parent.make_within(&name)?;
        let _lock = folder.lock()?;
        Ok(Beside {
            standing,
            name,
            folder,
            _lock,
        })
    }

    /// Makes the new recording.
    pub fn write(
        &self,
        rows: impl FnOnce(RecordingWriter) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.standing.acting(|| {
            let made = self.folder.make_within(NEW)?;
            rows(RecordingWriter::within(made)?)
        })?
    }

    /// Puts the new recording in the place of the old one, packed if that one was.
    pub fn replace(&self) -> Result<(), Error> {
        self.standing.acting(|| self.replace_now())?
    }

    fn replace_now(&self) -> Result<(), Error> {
        let Standing {
            path,
            parent,
            name,
            about,
            ..
        } = self.standing;
        let made = self.folder.folder_within(NEW)?;
        let packed = !about.is_folder();
        if packed {
            Recording::of(&made)?.pack_within(&self.folder, name)?;
        } else {
            let old = parent.folder_within(name)?;
            for entry in old.names()? {
                dress(&made, &entry, &old.about_within(&entry)?, path)?;
            }
            for entry in made.names()? {
                made.sync_file(&entry)?;
            }
        }
        let from = if packed { name.clone() } else { NEW.into() };
        let own = self.folder.about_within(&from)?;
        if own.user != about.user {
            let what = "the new recording does not belong to the owner of the old one".to_owned();
            let path = path.clone();
            return Err(Error::Refused { path, what });
        }
        self.folder.dress(&from, about)?;
        if packed {
            self.folder.move_to(&from, parent, name)?;
        } else {
            self.exchange()?;
        }
        // The old one is gone at the end: first the new one has to be on the disk.
        Ok(parent.sync()?)
    }

    /// Moves the old folder, and nothing else, into ours, where it is removed.
    fn exchange(&self) -> Result<(), Error> {
        let Standing {
            path,
            parent,
            name,
            about,
            ..
        } = self.standing;
        let swap = || self.folder.exchange(NEW, parent, name);
        swap().map_err(|error| Error::Refused {
            path: path.clone(),
            what: format!(
                "cannot be replaced in one step, because this file system cannot exchange directories: pack the recording ({error})"
            ),
        })?;
        if !self.folder.about_within(NEW)?.is_same(about) {
            swap()?;
            let what = "something else was put in its place meanwhile".to_owned();
            let path = path.clone();
            return Err(Error::Refused { path, what });
        }
        Ok(())
    }
}

/// Gives a file of the new recording the permissions of the old one.
fn dress(made: &Folder, entry: &OsString, old: &About, path: &Path) -> Result<(), Error> {
    let is_part = made.about_within(entry).is_ok() && !old.is_folder();
    if !is_part {
        let name = entry.to_string_lossy();
        return Err(Error::Refused {
            path: path.to_owned(),
            what: format!("it contains {name}, which is not part of a recording and would be lost"),
        });
    }
    Ok(made.dress(entry, old)?)
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        // What is left in the way is removed by the next one.
        let _ = self.standing.acting(|| {
            let cleared = self.folder.clear();
            cleared.and_then(|()| self.standing.parent.remove_folder(&self.name))
        });
    }
}
