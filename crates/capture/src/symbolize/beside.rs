//! What is to replace a recording, made in a folder of ours beside it: whatever goes wrong, and whenever timesink is
//! killed, the recording is whole, the old one or the new one.

use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, RenameFlags, CWD};
use timesink_recording::{Recording, MANIFEST};

use crate::error::Error;

/// The folder beside a recording. It goes with its owner, and with it what was replaced.
pub struct Beside {
    recording: PathBuf,
    path: PathBuf,
    /// Held as long as somebody works here.
    _lock: File,
}

impl Beside {
    /// Make it. What a killed timesink left there is removed.
    pub fn make(recording: &Path) -> Result<Beside, Error> {
        let mut name = recording.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let path = recording.with_file_name(name);
        if let Ok(left) = open_folder(&path) {
            lock(&left).map_err(Error::file(&path, "somebody else is at work here"))?;
            std::fs::remove_dir_all(&path).map_err(Error::file(&path, "cannot be removed"))?;
        }
        // Recordings can be secret, and nobody else is to put anything here.
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(Error::file(&path, "cannot be made"))?;
        let failed = Error::file(&path, "cannot be locked");
        let locked = open_folder(&path).and_then(|folder| lock(&folder).map(|()| folder));
        Ok(Beside {
            recording: recording.to_owned(),
            _lock: locked.map_err(failed)?,
            path,
        })
    }

    /// Where the new recording is to be made.
    pub fn folder(&self) -> PathBuf {
        self.path.join("folder")
    }

    /// Put the new recording into the old one's place, packed if that was.
    pub fn replace(&self) -> Result<(), Error> {
        let recording = &self.recording;
        let failed = |doing| Error::file(recording, doing);
        let about = std::fs::metadata(recording).map_err(failed("cannot be read"))?;
        let folder = self.folder();
        if about.is_dir() {
            self.dress().map_err(failed("cannot be replaced"))?;
            let exchanged =
                rustix::fs::renameat_with(CWD, &folder, CWD, recording, RenameFlags::EXCHANGE);
            let why = "cannot be replaced, which some file systems cannot do with folders: pack it";
            exchanged.map_err(io::Error::from).map_err(failed(why))?;
        } else {
            let packed = self.path.join(recording.file_name().unwrap_or_default());
            Recording::open(&folder)?.pack(&packed)?;
            let replaced =
                make_like(&about, &packed).and_then(|()| std::fs::rename(&packed, recording));
            replaced.map_err(failed("cannot be replaced"))?;
        }
        // The old one is gone at the end: first the new one has to be on the disk.
        let parent = recording.parent().unwrap_or(Path::new("/"));
        let synced = File::open(parent).and_then(|parent| parent.sync_all());
        synced.map_err(failed("cannot be replaced"))
    }

    /// The new folder belongs to whom the old one does, and all of it is on the disk.
    fn dress(&self) -> io::Result<()> {
        let (old, new) = (&self.recording, self.folder());
        for entry in std::fs::read_dir(old)? {
            let entry = entry?;
            let file = new.join(entry.file_name());
            if !file.is_file() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let what = format!("it holds {name}, which is not part of it and would be lost");
                return Err(io::Error::other(what));
            }
            make_like(&entry.metadata()?, &file)?;
        }
        // The manifest is synced as it is written.
        for entry in std::fs::read_dir(&new)? {
            let file = entry?;
            if file.file_name() != MANIFEST {
                File::open(file.path())?.sync_all()?;
            }
        }
        make_like(&std::fs::metadata(old)?, &new)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // What is left in the way is removed by the next one.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Whatever else is there under that name is nothing of ours.
fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

fn lock(folder: &File) -> io::Result<()> {
    Ok(rustix::fs::flock(
        folder,
        FlockOperation::NonBlockingLockExclusive,
    )?)
}

/// Give a file the owner and the rights of another.
fn make_like(old: &Metadata, new: &Path) -> io::Result<()> {
    let own = std::fs::metadata(new)?;
    if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
        std::os::unix::fs::chown(new, Some(old.uid()), Some(old.gid()))?;
    }
    std::fs::set_permissions(new, old.permissions())
}
