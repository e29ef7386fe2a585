//! The recording that is meant where none is named: the one made last in this folder.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;

use crate::present::shell;

/// The recording made last in a folder.
pub fn last(folder: &Path) -> Option<PathBuf> {
    all(folder).into_iter().next().map(PathBuf::from)
}

/// The recordings in a folder, by the names that recordings have; the one made last first.
pub fn all(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let made = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let name = entry.file_name();
        let name = name.to_str()?;
        if !name.ends_with(".timesink") && !name.ends_with(".timesink.tar") {
            return None;
        }
        Some((made(&entry.path())?, name.to_owned()))
    });
    let mut made: Vec<(SystemTime, String)> = made.collect();
    made.sort();
    made.into_iter().rev().map(|(_, name)| name).collect()
}

/// When a recording was made. A folder's own time would be that of the last file put into it, by whomever.
fn made(path: &Path) -> Option<SystemTime> {
    let about = path.metadata().ok()?;
    let inner = match about.is_dir() {
        true => path.join("recording.json").metadata().ok(),
        false => None,
    };
    inner.unwrap_or(about).modified().ok()
}

/// What names a recording on a command line: nothing, where it is the one that is meant without a name.
pub fn argument(recording: &Path) -> String {
    let same = |last: PathBuf| last.canonicalize().ok() == recording.canonicalize().ok();
    match last(Path::new(".")).is_some_and(same) {
        true => String::new(),
        false => shell::word(&recording.to_string_lossy()),
    }
}

/// The recording that was named, or the one made last in this folder.
pub fn or_last(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    match named {
        Some(named) => Ok(named.to_owned()),
        None => last(Path::new(".")).context(
            "this folder has no recording (NAME.timesink or NAME.timesink.tar): say which one is meant, as in \
             `timesink report FILE`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The newest counts, of those that are called as recordings are, in either form.
    #[test]
    fn the_last_recording() {
        let folder = std::env::temp_dir().join(format!("timesink-last-{}", std::process::id()));
        let day = |n: u64| SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(n * 86_400);
        std::fs::create_dir_all(folder.join("a.timesink")).expect("a folder");
        assert_eq!(last(&folder.join("a.timesink")), None);
        for (name, at) in [
            ("a.timesink/recording.json", 2),
            ("b.timesink.tar", 3),
            ("c.txt", 4),
        ] {
            let file = std::fs::File::create(folder.join(name)).expect("a file");
            file.set_modified(day(at)).expect("a time");
        }
        assert_eq!(last(&folder), Some("b.timesink.tar".into()));
        let file = std::fs::File::create(folder.join("a.timesink/recording.json"));
        file.and_then(|file| file.set_modified(day(5)))
            .expect("a time");
        assert_eq!(last(&folder), Some("a.timesink".into()));
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}
