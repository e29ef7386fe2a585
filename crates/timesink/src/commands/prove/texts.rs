//! What stands in files that two runs used: to run a command with the one or the other, it must be there.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{flock, FlockOperation};
use rustix::process::geteuid;
use serde::Deserialize;
use timesink_capture::launch::Identity;
use timesink_recording::files::{remove_same, About, Folder, NewFile};

use crate::commands::as_caller;
use crate::commands::asked;
use crate::commands::bench::memory_groups::is_left_over;

/// What files begin with that are put in the place of others.
const NAME: &str = "timesink-prove-";
/// No file is put in the place of another that is longer.
const LONGEST: u64 = 16 << 20;

/// What stands in the files of both recordings, by path, where it was kept; and the files that were made of them.
pub struct Texts {
    a: Kept,
    b: Kept,
    /// Gone when this is.
    placed: RefCell<Vec<NewFile>>,
}

/// The files of a recording by path, with what stood in them if that was kept.
type Kept = BTreeMap<String, Option<String>>;

#[derive(Deserialize)]
struct Told {
    facts: Vec<Fact>,
}

#[derive(Deserialize)]
struct Fact {
    kind: String,
    key: String,
    text: Option<String>,
}

impl Texts {
    pub fn of(first: &Path, second: &Path) -> anyhow::Result<Texts> {
        // What cannot be removed does no harm here.
        let _ = as_caller(|| remove_leftovers(&std::env::temp_dir()));
        Ok(Texts {
            a: told(first)?,
            b: told(second)?,
            placed: RefCell::default(),
        })
    }

    /// A file with what stood in B's.
    pub fn placed_b(&self, path: &str, known: &str) -> Result<String, String> {
        let name = self.name_in_b(path);
        let bytes = kept(self.b.get(&name)).unwrap_or_else(|| bytes_here(&name, known));
        self.placed(path, &bytes.map_err(|why| why.of("B"))?)
    }

    /// A file with what stood in A's, if it is another one by now.
    pub fn placed_a(&self, path: &str, known: &str) -> Result<Option<String>, String> {
        let Err(why) = bytes_here(path, known) else {
            return Ok(None);
        };
        let bytes = kept(self.a.get(path)).unwrap_or(Err(why));
        self.placed(path, &bytes.map_err(|why| why.of("A"))?)
            .map(Some)
    }

    /// Makes a file of these bytes, with the rights of A's, until we end.
    fn placed(&self, path: &str, bytes: &[u8]) -> Result<String, String> {
        let own = fs::metadata(path).map_err(|_| "A's file is not here".to_owned())?;
        let number = self.placed.borrow().len();
        let name = format!("{NAME}{}-{number}", std::process::id());
        let folder = std::env::temp_dir();
        let make = || -> anyhow::Result<NewFile> {
            let mut made = NewFile::within(&Folder::open(&folder)?, &name)?;
            // As long as we live, whoever looks for what is left over sees that this is not.
            flock(made.file(), FlockOperation::NonBlockingLockExclusive)?;
            made.write_all(bytes)?;
            // Nobody becomes another user by it.
            let rights = Permissions::from_mode(own.mode() & 0o777);
            made.file().set_permissions(rights)?;
            Ok(made)
        };
        let made = as_caller(make).map_err(|error| format!("{error:#}"))?;
        self.placed.borrow_mut().push(made);
        Ok(folder.join(name).to_string_lossy().into_owned())
    }

    /// Where B has the file that A has here: there, or the only one of its name.
    fn name_in_b(&self, path: &str) -> String {
        let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
        if self.b.contains_key(path) {
            return path.to_owned();
        }
        let mut alike = self.b.keys().filter(|other| name(other) == name(path));
        match (alike.next(), alike.next()) {
            (Some(only), None) => only.clone(),
            _ => path.to_owned(),
        }
    }
}

/// Removes files that a prover which was killed left there: ours by their owner, locked by nobody, and named after a process that is not
/// there. The very file that was looked at, or none.
fn remove_leftovers(place: &Path) -> anyhow::Result<()> {
    let folder = Folder::open(place)?;
    let own = match Identity::from_sudo()? {
        Some(user) => user.uid(),
        None => geteuid().as_raw(),
    };
    for name in folder.names()? {
        if !name.to_str().is_some_and(|name| is_left_over(name, NAME)) {
            continue;
        }
        let Ok(file) = folder.open_file(&name) else {
            continue;
        };
        let about = About::of(&file)?;
        let is_free = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if about.user == own && is_free {
            remove_same(&folder, &name, about.which);
        }
    }
    Ok(())
}

/// Why what stood in a file of a recording is not known.
enum Unknown {
    Redacted,
    NotHere,
    NotRegular,
    Changed,
}

impl Unknown {
    fn of(&self, side: &str) -> String {
        match self {
            Unknown::Redacted => format!("the text of {side}'s file was redacted"),
            Unknown::NotHere => {
                format!("{side}'s file is not here; record {side} with --keep-files")
            }
            Unknown::NotRegular => format!(
                "{side}'s file is too large or not a regular file; record {side} with --keep-files"
            ),
            Unknown::Changed => format!(
                "{side}'s file has changed since it was recorded; record {side} with --keep-files"
            ),
        }
    }
}

/// The bytes of a file of a recording, if its text was kept.
fn kept(text: Option<&Option<String>>) -> Option<Result<Vec<u8>, Unknown>> {
    let text = text?.as_deref()?;
    Some(match text.contains(timesink_capture::REDACTED) {
        true => Err(Unknown::Redacted),
        false => Ok(text.as_bytes().to_vec()),
    })
}

/// The bytes of a file as they are here, if they are the same as then.
fn bytes_here(path: &str, known: &str) -> Result<Vec<u8>, Unknown> {
    let read = || {
        let about = fs::metadata(path)?;
        match about.is_file() && about.len() <= LONGEST {
            true => Ok(Some(fs::read(path)?)),
            false => Ok(None),
        }
    };
    let bytes = as_caller(read).map_err(|_| Unknown::NotHere)?;
    let bytes = bytes.ok_or(Unknown::NotRegular)?;
    // Of large files parts were summed up, which do not tell whether it is the same.
    if !known.contains("crc32=") {
        return Err(Unknown::NotRegular);
    }
    let sum = format!("crc32={:08x}", crc32fast::hash(&bytes));
    match known.split(' ').any(|word| word == sum) {
        true => Ok(bytes),
        false => Err(Unknown::Changed),
    }
}

fn told(path: &Path) -> anyhow::Result<Kept> {
    let told: Told = asked("env", &[path])?;
    let files = told.facts.into_iter().filter(|fact| fact.kind == "file");
    Ok(files.map(|fact| (fact.key, fact.text)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a killed prover left is removed; what lives, is locked, or is something else is not.
    #[test]
    fn leftovers_of_the_dead_are_removed() {
        let place = std::env::temp_dir().join(format!("timesink-left-{}", std::process::id()));
        fs::create_dir(&place).expect("a folder");
        // No process has the largest number.
        let dead = format!("{NAME}{}-0", i32::MAX);
        let locked = format!("{NAME}{}-1", i32::MAX);
        let linked = format!("{NAME}{}-2", i32::MAX);
        let alive = format!("{NAME}{}-0", std::process::id());
        for name in [&dead, &locked, &alive] {
            fs::write(place.join(name), "text").expect("a file");
        }
        std::os::unix::fs::symlink("/etc/passwd", place.join(&linked)).expect("a link");
        let held = fs::File::open(place.join(&locked)).expect("it is there");
        flock(&held, FlockOperation::NonBlockingLockExclusive).expect("a lock");
        remove_leftovers(&place).expect("it looks");
        let is_there = |name: &str| place.join(name).symlink_metadata().is_ok();
        assert!(!is_there(&dead));
        assert!(is_there(&locked) && is_there(&linked) && is_there(&alive));
        fs::remove_dir_all(&place).expect("it goes");
    }
}
