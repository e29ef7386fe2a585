//! Whether what stands in a file may be believed: it may if nobody but root and the caller could have written it. The
//! caller is who runs timesink, or who called sudo. What the file says is no business of this module.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use rustix::fs::OFlags;
use rustix::fs::CWD;

use crate::launch::Identity;
use timesink_recording::files::open_regular;

/// Folders within folders, and files in all of them, beyond which a tree is not looked through. The project's own casebook
/// has 200 files, three folders deep.
const DEEPEST: usize = 32;
const MOST_FILES: usize = 100_000;

const WRITABLE_BY_GROUP: u32 = 0o020;
const WRITABLE_BY_ALL: u32 = 0o002;
/// In such a folder, nobody can remove or rename what belongs to somebody else.
const STICKY: u32 = 0o1000;

/// Who is believed beside root.
#[derive(Debug, Clone, Copy)]
pub struct Trust {
    caller: u32,
}

impl Trust {
    /// The user who called sudo, or else who runs this process.
    pub fn of(identity: Option<&Identity>) -> Trust {
        let own = || rustix::process::geteuid().as_raw();
        Trust {
            caller: identity.map_or_else(own, Identity::uid),
        }
    }

    /// Refuses a file or folder that somebody else owns or can write to, with the reason.
    pub fn look(&self, about: &Metadata) -> Result<(), String> {
        let owner = about.uid();
        if owner != 0 && owner != self.caller {
            return Err(format!(
                "it belongs to user {owner}, and only what root's or your own is believed"
            ));
        }
        if !about.is_symlink() && self.is_open_to_others(about) {
            let mode = about.mode() & 0o7777;
            return Err(format!(
                "others than its owner can write to it (mode {mode:o}); chmod go-w makes it yours alone"
            ));
        }
        Ok(())
    }

    /// A group of the owner's own, which many systems give each user, is nobody else.
    fn is_open_to_others(&self, about: &Metadata) -> bool {
        let (mode, group) = (about.mode(), about.gid());
        let is_private = group == 0 || group == self.caller && about.uid() == self.caller;
        mode & WRITABLE_BY_ALL != 0 || mode & WRITABLE_BY_GROUP != 0 && !is_private
    }

    /// The path without links, if nobody else can put something in its place. It is looked at from the top: what lies in
    /// a folder that was looked at cannot be exchanged any more by others.
    pub fn way_to(&self, path: &Path) -> Result<PathBuf, String> {
        let told = |path: &Path, why: String| format!("{}: {why}", path.display());
        let whole = path
            .canonicalize()
            .map_err(|error| told(path, error.to_string()))?;
        let mut way: Vec<&Path> = whole.ancestors().collect();
        way.reverse();
        for part in way {
            let about =
                fs::symlink_metadata(part).map_err(|error| told(part, error.to_string()))?;
            if about.is_symlink() {
                return Err(told(part, "it became a link just now".to_owned()));
            }
            // As /tmp is: what lies in it stays where it is if it is ours, which is what is looked at next.
            let is_sticky = about.is_dir() && about.mode() & STICKY != 0 && part != whole;
            let looked = match is_sticky && about.uid() == 0 {
                true => Ok(()),
                false => self.look(&about),
            };
            looked.map_err(|why| told(part, why))?;
        }
        Ok(whole)
    }

    /// Refuses a folder if anything in it could be somebody else's. What lies below folders of the name `but` is left
    /// out, and links that are ours may lead wherever they do.
    pub fn all_in(&self, folder: &Path, but: &str) -> Result<(), String> {
        let mut left = MOST_FILES;
        self.below(folder, but, DEEPEST, &mut left)
    }

    fn below(
        &self,
        folder: &Path,
        but: &str,
        deeper: usize,
        left: &mut usize,
    ) -> Result<(), String> {
        let told = |path: &Path, why: String| format!("{}: {why}", path.display());
        let failed = |error: io::Error| told(folder, error.to_string());
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let about = fs::symlink_metadata(&path).map_err(|e| told(&path, e.to_string()))?;
            *left = left.checked_sub(1).ok_or_else(|| {
                told(
                    folder,
                    format!("more than {MOST_FILES} files to look through"),
                )
            })?;
            if path.file_name().is_some_and(|name| name == but) {
                continue;
            }
            self.look(&about).map_err(|why| told(&path, why))?;
            if about.is_dir() {
                let deeper = deeper
                    .checked_sub(1)
                    .ok_or_else(|| told(&path, format!("more than {DEEPEST} folders deep")))?;
                self.below(&path, but, deeper, left)?;
            }
        }
        Ok(())
    }

    /// The bytes of a regular file that nobody else could have written and that is not longer than `most`; `None` if there
    /// is none. Nothing else is opened, so that no device acts and no pipe waits.
    pub fn read(&self, path: &Path, flags: OFlags, most: u64) -> io::Result<Option<Vec<u8>>> {
        let refused = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let file: File = match open_regular(CWD, path, flags) {
            Ok(Some(file)) => file,
            Ok(None) => return Err(refused("it is no regular file".to_owned())),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None)
            }
            Err(error) => return Err(error),
        };
        self.look(&file.metadata()?).map_err(refused)?;
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(refused(format!("it is longer than {} kB", most >> 10)));
        }
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt};

    fn own() -> Trust {
        Trust::of(None)
    }

    /// Somebody else than the user of the tests and root.
    fn other() -> Trust {
        Trust {
            caller: 3_999_999_998,
        }
    }

    fn place(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("timesink-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a folder");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
        path
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
    }

    /// A file of one's own is believed until others can write to it; what is no file is not opened.
    #[test]
    fn files_of_ones_own() {
        let folder = place("trust-files");
        let file = folder.join("f");
        fs::write(&file, "text").expect("a file");
        let read = |most| own().read(&file, OFlags::empty(), most);
        mode(&file, 0o644);
        assert_eq!(read(4).expect("read"), Some(b"text".to_vec()));
        assert!(read(3).is_err(), "longer than allowed");
        mode(&file, 0o646);
        assert!(read(4)
            .expect_err("of all")
            .to_string()
            .contains("mode 646"));
        for odd in ["/proc", "/dev/zero"] {
            let refused = own().read(Path::new(odd), OFlags::empty(), 9);
            assert!(refused.is_err(), "{odd}");
        }
        let none = own().read(&folder.join("none"), OFlags::empty(), 9);
        assert!(none.expect("nothing").is_none());
        fs::remove_dir_all(&folder).expect("it goes");
    }

    /// Each folder on the way counts; a sticky one of root's does not, since in it what is ours stays.
    #[test]
    fn the_way_to_a_file() {
        let folder = place("trust-way");
        let inner = folder.join("a/b");
        fs::create_dir_all(&inner).expect("folders");
        symlink("a", folder.join("link")).expect("a link");
        let whole = own().way_to(&folder.join("link/b"));
        assert_eq!(whole, Ok(inner.canonicalize().expect("it is there")));
        mode(&folder.join("a"), 0o777);
        let why = own().way_to(&inner).expect_err("anybody could");
        assert!(why.contains("/a: others than its owner"), "{why}");
        // Sticky, but not root's (or, for root, one that is not on the way).
        mode(&folder.join("a"), 0o755);
        mode(&inner, 0o1777);
        assert!(
            own().way_to(&inner).is_err(),
            "the folder itself is anybody's"
        );
        fs::remove_dir_all(&folder).expect("it goes");
    }

    /// One file that others can write to spoils a tree, unless it lies where nothing is read from.
    #[test]
    fn all_that_is_in_a_folder() {
        let folder = place("trust-tree");
        fs::create_dir_all(folder.join("case/work")).expect("folders");
        for name in ["case/work/x", "case/script"] {
            fs::write(folder.join(name), "").expect("a file");
            mode(&folder.join(name), 0o644);
        }
        mode(&folder.join("case/work/x"), 0o666);
        assert_eq!(own().all_in(&folder, "work"), Ok(()));
        mode(&folder.join("case/script"), 0o666);
        let why = own()
            .all_in(&folder, "work")
            .expect_err("a script of anybody's");
        assert!(why.contains("case/script"), "{why}");
        fs::remove_dir_all(&folder).expect("it goes");
    }

    /// What belongs to neither root nor the caller is not believed.
    #[test]
    fn files_of_others() {
        let folder = place("trust-others");
        let about = fs::symlink_metadata(&folder).expect("it is there");
        let believed = other().look(&about).is_ok();
        assert_eq!(believed, about.uid() == 0);
        assert!(other().way_to(Path::new("/usr")).is_ok());
        fs::remove_dir_all(&folder).expect("it goes");
    }
}
