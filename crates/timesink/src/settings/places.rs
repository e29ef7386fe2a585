//! Where settings are looked for, and how they are read: only regular files that no other user can write, of limited size.

use std::path::{Path, PathBuf};

use timesink_capture::trust::{OFlags, Trust};

/// A folder and those above it, nearest first, up to where a repository begins or to the user's home. Where neither is
/// above it there is only the folder itself: what is further up may be anybody's.
pub fn folders(from: &Path, home: Option<&Path>, is_root: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let above: Vec<&Path> = from.ancestors().collect();
    let last = above
        .iter()
        .position(|folder| is_root(folder) || Some(*folder) == home);
    above[..=last.unwrap_or(0)]
        .iter()
        .map(PathBuf::from)
        .collect()
}

/// The user's own settings: in `$XDG_CONFIG_HOME`, else in `.config` in the home.
pub fn general(own: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let own = own.filter(|folder| folder.is_absolute());
    // What is relative is in the folder that we are in, which may be a stranger's.
    let home = home.filter(|folder| folder.is_absolute());
    let folder = own.or_else(|| home.map(|home| home.join(".config")))?;
    Some(folder.join("timesink/config.toml"))
}

/// Longer than anything that a person writes by hand.
const LONGEST: u64 = 1 << 20;

/// The text of a file; `None` if there is none. Who else could have written it is asked first: in a folder such as /tmp it
/// may be somebody else's.
pub fn text(path: &Path, trust: Trust) -> Result<Option<String>, String> {
    let read = trust.read(path, OFlags::empty(), LONGEST);
    let Some(bytes) = read.map_err(|error| format!("is not read: {error}"))? else {
        return Ok(None);
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
            Err(format!("is not read: line {line} is not valid UTF-8"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It ends at the repository's root or at home, and goes nowhere where there is neither.
    #[test]
    fn where_settings_are_looked_for() {
        let looked = |from: &str, home: Option<&str>, root: &str| {
            let is_root = |folder: &Path| folder == Path::new(root);
            let folders = folders(Path::new(from), home.map(Path::new), is_root);
            let shown = folders.iter().map(|folder| folder.display().to_string());
            shown.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(looked("/h/r/a", Some("/h"), "/h/r"), "/h/r/a /h/r");
        assert_eq!(looked("/h/r/a", Some("/h"), "-"), "/h/r/a /h/r /h");
        assert_eq!(looked("/tmp/x/y", Some("/h"), "-"), "/tmp/x/y");
        assert_eq!(looked("/tmp/x", None, "/tmp/x"), "/tmp/x");
        let config = |own: &str, home: &str| general(Some(own.into()), Some(home.into()));
        assert_eq!(config("/c", "/h"), Some("/c/timesink/config.toml".into()));
        assert_eq!(
            config("c", "/h"),
            Some("/h/.config/timesink/config.toml".into())
        );
    }

    /// A file that does not exist is no error; one that is not a regular file, is too long or is not text is one.
    #[test]
    fn what_is_read() {
        let text = |path: &Path| text(path, Trust::of(None));
        assert_eq!(text(Path::new("/nowhere/timesink.toml")), Ok(None));
        assert!(text(Path::new("/proc")).is_err());
        assert!(text(Path::new("/dev/zero")).is_err());
        let path = std::env::temp_dir().join(format!("timesink-places-{}", std::process::id()));
        for (bytes, is_fault) in [
            (b"a = 1".to_vec(), false),
            (b"a\n\xff".to_vec(), true),
            (vec![b' '; (1 << 20) + 1], true),
        ] {
            std::fs::write(&path, &bytes).expect("a file");
            assert_eq!(text(&path).is_err(), is_fault);
        }
        std::fs::remove_file(&path).expect("it was there");
    }
}
