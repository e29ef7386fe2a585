//! What stands in files that two runs used: to run a command with the one or the other, it must be there.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use serde::Deserialize;
use timesink_recording::files::{Folder, NewFile};

use crate::commands::as_caller;
use crate::commands::asked;

/// No file is put in the place of another that is longer.
const LONGEST: u64 = 16 << 20;

/// B's files by path, with what stands in them if that was kept; and those that were made of them.
pub struct Texts {
    b: BTreeMap<String, Option<String>>,
    /// Gone when this is.
    placed: RefCell<Vec<NewFile>>,
}

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
    pub fn of(second: &Path) -> anyhow::Result<Texts> {
        Ok(Texts {
            b: told(second)?,
            placed: RefCell::default(),
        })
    }

    /// Makes a file of what stands in B's, with the rights of A's, until we end.
    pub fn placed(&self, path: &str, known: &str) -> Result<String, String> {
        let own = fs::metadata(path).map_err(|_| "A's file is not here".to_owned())?;
        let bytes = self.bytes_of_b(&self.name_in_b(path), known)?;
        let number = self.placed.borrow().len();
        let name = format!("timesink-prove-{}-{number}", std::process::id());
        let folder = std::env::temp_dir();
        let make = || -> anyhow::Result<NewFile> {
            let mut made = NewFile::within(&Folder::open(&folder)?, &name)?;
            made.write_all(&bytes)?;
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

    /// The bytes of a file of B's: as they were kept, else as they are here, if they are the same as then.
    fn bytes_of_b(&self, path: &str, known: &str) -> Result<Vec<u8>, String> {
        if let Some(text) = self.b.get(path).and_then(Option::as_deref) {
            return match text.contains(timesink_capture::REDACTED) {
                true => Err("its text was redacted".to_owned()),
                false => Ok(text.as_bytes().to_vec()),
            };
        }
        let refused = |what: &str| format!("{what}; record B with --keep-files");
        let read = || {
            let about = fs::metadata(path)?;
            match about.is_file() && about.len() <= LONGEST {
                true => Ok(Some(fs::read(path)?)),
                false => Ok(None),
            }
        };
        let bytes = as_caller(read).map_err(|_| refused("B's file is not here"))?;
        let bytes = bytes.ok_or_else(|| refused("B's file is none that can be put there"))?;
        let sum = format!("crc32={:08x}", crc32fast::hash(&bytes));
        match known.split(' ').any(|word| word == sum) {
            true => Ok(bytes),
            false => Err(refused("B's file is another one by now")),
        }
    }
}

fn told(path: &Path) -> anyhow::Result<BTreeMap<String, Option<String>>> {
    let told: Told = asked("env", &[path])?;
    let files = told.facts.into_iter().filter(|fact| fact.kind == "file");
    Ok(files.map(|fact| (fact.key, fact.text)).collect())
}
