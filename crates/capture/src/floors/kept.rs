//! Floors as they are kept from one day to the next: one file in the user's folder for such things, replaced in one step.
//! What stands in it is believed only if it can have been measured on this machine.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use timesink_recording::files::Folder;
use timesink_recording::floors::{Floors, Machine, FLOORS_VERSION};

use crate::error::Error;
use crate::launch::Identity;
use crate::trust::Trust;
use crate::user_folder::user_folder;

const NAME: &str = "floors.json";
/// More than any has; a file above this is not one.
const LONGEST: u64 = 1 << 20;

/// The file; `None` where the user has no folder.
fn place(identity: Option<&Identity>) -> Option<PathBuf> {
    let folder = user_folder(identity, "XDG_STATE_HOME", ".local/state")?;
    Some(folder.join(NAME))
}

/// Keeps them in place of those that were kept before, and tells where.
pub fn keep(floors: &Floors, identity: Option<&Identity>) -> Result<PathBuf, Error> {
    let no_home = || Error::System {
        doing: "no directory to save the floors in",
        source: io::Error::other("neither HOME nor XDG_STATE_HOME is set"),
    };
    let path = place(identity).ok_or_else(no_home)?;
    Identity::acting(identity, || replace(&path, floors))??;
    Ok(path)
}

fn replace(path: &Path, floors: &Floors) -> Result<(), Error> {
    let mut text = serde_json::to_vec_pretty(floors)
        .map_err(|fault| Error::file(path, "cannot be written")(fault.into()))?;
    text.push(b'\n');
    let folder = Folder::ensure(path.parent().unwrap_or(path))?;
    let new = format!("{NAME}.{}.new", std::process::id());
    Ok(folder.replace(NAME, &new, &text)?)
}

/// The floors of this machine, if there are any. An error says in a sentence why those that are there are of no use.
pub fn kept(machine: &Machine, identity: Option<&Identity>) -> Result<Option<Floors>, String> {
    let Some(path) = place(identity) else {
        return Ok(None);
    };
    let read = Identity::acting(identity, || {
        let read = Trust::of(identity).read(&path, OFlags::NOFOLLOW, LONGEST);
        read.map_err(Error::file(&path, "cannot be read"))
    });
    let read = read.map_err(Error::from).and_then(|read| read);
    let useless = |why: String| {
        format!(
            "{}: {why}; run `timesink floors` to measure again",
            path.display()
        )
    };
    match read {
        Ok(None) => Ok(None),
        Ok(Some(text)) => fitting(&text, machine).map(Some).map_err(useless),
        Err(error) => Err(format!("the saved floors are not used: {error}")),
    }
}

/// What a kept file says, if that is of use on this machine.
fn fitting(text: &[u8], machine: &Machine) -> Result<Floors, String> {
    #[derive(serde::Deserialize)]
    struct Version {
        version: u32,
    }
    let unusable = "not a valid floors file";
    let version: Version = serde_json::from_slice(text).map_err(|_| unusable.to_owned())?;
    if version.version != FLOORS_VERSION {
        return Err("saved by another version of timesink".to_owned());
    }
    let floors: Floors = serde_json::from_slice(text).map_err(|_| unusable.to_owned())?;
    if !floors.is_sound() {
        return Err("the figures are implausible".to_owned());
    }
    let differs = [
        ("name", floors.machine.hostname != machine.hostname),
        ("kernel", floors.machine.kernel != machine.kernel),
        ("processor", floors.machine.processor != machine.processor),
        (
            "number of processors",
            floors.machine.processors != machine.processors,
        ),
    ];
    match differs.iter().find(|(_, differs)| *differs) {
        Some((what, _)) => Err(format!("measured on a machine with a different {what}")),
        None => Ok(floors),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_recording::floors::Figure;

    fn machine() -> Machine {
        Machine {
            hostname: "h".to_owned(),
            kernel: "6.1.0".to_owned(),
            processor: "P".to_owned(),
            processors: 2,
        }
    }

    fn floors() -> Floors {
        Floors {
            version: FLOORS_VERSION,
            machine: machine(),
            switch: Figure::of(vec![900.0, 1000.0, 1100.0]),
            ..Floors::default()
        }
    }

    fn why_not(floors: &Floors) -> String {
        let text = serde_json::to_vec(floors).expect("JSON");
        fitting(&text, &machine()).expect_err("it is of no use")
    }

    /// What was kept on this machine is used as it was measured; a machine is the same by what it is, not by when.
    #[test]
    fn what_was_kept_here_fits() {
        let text = serde_json::to_vec(&floors()).expect("JSON");
        assert_eq!(fitting(&text, &machine()), Ok(floors()));
    }

    /// Floors of another machine, another kernel or another processor are not those of this one.
    #[test]
    fn another_machine_does_not_fit() {
        for (word, change) in [
            ("name", (|m| m.hostname.push('x')) as fn(&mut Machine)),
            ("kernel", |m| m.kernel.push('x')),
            ("processor", |m| m.processor.push('x')),
            ("number of processors", |m| m.processors += 1),
        ] {
            let mut other = floors();
            change(&mut other.machine);
            let why = why_not(&other);
            assert!(why.ends_with(&format!("different {word}")), "{why}");
        }
    }

    /// A file that is cut short, of nonsense, of a later version or with impossible figures is of no use, and says so.
    #[test]
    fn a_hostile_file_is_of_no_use() {
        let text = serde_json::to_vec(&floors()).expect("JSON");
        for length in 0..text.len() {
            assert!(fitting(&text[..length], &machine()).is_err(), "{length}");
        }
        let deep = "[".repeat(100_000);
        for text in [
            &b"{\"version\": 1}"[..],
            b"null",
            b"\xff\xfe",
            deep.as_bytes(),
        ] {
            assert!(fitting(text, &machine()).is_err());
        }
        let later = Floors {
            version: FLOORS_VERSION + 1,
            ..floors()
        };
        assert!(why_not(&later).contains("version"));
        let impossible = Figure {
            ns: -1.0,
            low_ns: -1.0,
            high_ns: -1.0,
            times: 3,
        };
        let impossible = Floors {
            switch: Some(impossible),
            ..floors()
        };
        assert!(why_not(&impossible).contains("implausible"));
    }

    /// Kept floors are replaced in one step, in a folder that is made for them; what is no file is not read.
    #[test]
    fn kept_again_replaces() {
        let read = |path: &Path| Trust::of(None).read(path, OFlags::NOFOLLOW, LONGEST);
        let folder = std::env::temp_dir().join(format!("timesink-kept-{}", std::process::id()));
        let path = folder.join("a/b").join(NAME);
        assert!(read(&path).expect("nothing there").is_none());
        for took_ns in [1, 2] {
            let again = Floors {
                took_ns,
                ..floors()
            };
            replace(&path, &again).expect("it is kept");
            let text = read(&path).expect("it is read").expect("it is there");
            assert_eq!(fitting(&text, &machine()), Ok(again));
        }
        let files = std::fs::read_dir(folder.join("a/b")).expect("the folder");
        assert_eq!(files.count(), 1);
        std::fs::remove_file(&path).expect("it goes");
        std::os::unix::fs::symlink("/etc/passwd", &path).expect("a link");
        assert!(read(&path).is_err());
        std::fs::remove_file(&path).expect("it goes");
        std::fs::create_dir(&path).expect("a folder");
        assert!(read(&path).is_err());
        std::fs::remove_dir_all(&folder).expect("it goes");
    }
}
