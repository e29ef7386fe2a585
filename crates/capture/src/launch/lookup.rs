//! Finding the file behind a command's name, as `execvp` does.
//!
//! It is done before the fork, because the answer decides between exit codes 126 and 127, and
//! because searching allocates, which a child of a fork must not. It is done with the rights of
//! the user that the program will run as: root can reach files that this user cannot.

use super::{system, Error};
use std::ffi::{CString, OsStr};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where `execvp` of glibc looks when there is no PATH.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Finds the files that may be meant, in the order in which they are to be tried. There is at
/// least one. With the right to execute being known, the second only matters where the first is
/// a script whose interpreter is gone.
pub(super) fn candidates(name: &OsStr, path: Option<&OsStr>) -> Result<Vec<CString>, Error> {
    let searching = !name.as_bytes().contains(&b'/');
    choose(name, places(name, path), |place| {
        match std::fs::metadata(place) {
            // A folder on the path that this user cannot look into does not have the command, as a
            // shell sees it: root's own folders are on the path that sudo hands on.
            Err(_) if searching => Err(Error::NotFound(place.clone())),
            Err(fault) => Err(refusal(place, fault)),
            Ok(facts) => examine(place, &facts),
        }
    })
}

/// The files that a name may stand for: itself if it has a slash, else one in each directory.
fn places(name: &OsStr, path: Option<&OsStr>) -> Vec<PathBuf> {
    if name.is_empty() {
        return Vec::new();
    }
    if name.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(name)];
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    // An empty directory in the list is the current one, and joining with it adds no slash.
    path.as_bytes()
        .split(|&byte| byte == b':')
        .map(|directory| PathBuf::from(OsStr::from_bytes(directory)).join(name))
        .collect()
}

/// Keeps those that can be executed; else says why, preferring a refusal to an absence.
fn choose(
    name: &OsStr,
    places: Vec<PathBuf>,
    examine: impl Fn(&PathBuf) -> Result<CString, Error>,
) -> Result<Vec<CString>, Error> {
    let mut found = Vec::new();
    let mut refused = None;
    for place in places {
        match examine(&place) {
            Ok(file) => found.push(file),
            Err(Error::NotFound(_)) => {}
            Err(refusal) => refused = refused.or(Some(refusal)),
        }
    }
    match (found.is_empty(), refused) {
        (false, _) => Ok(found),
        (true, Some(refusal)) => Err(refusal),
        (true, None) => Err(Error::NotFound(PathBuf::from(name))),
    }
}

/// Whether a file that is there can be executed by this thread.
fn examine(path: &Path, facts: &Metadata) -> Result<CString, Error> {
    if facts.is_dir() {
        return Err(Error::Directory(path.to_path_buf()));
    }
    if !facts.is_file() {
        return Err(refusal(path, io::Error::from_raw_os_error(libc::EACCES)));
    }
    let file = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::ZeroByte(path.as_os_str().to_owned()))?;
    system::may_execute(&file).map_err(|fault| refusal(path, fault))?;
    Ok(file)
}

/// Words the kernel's answer about one file.
fn refusal(path: &Path, source: io::Error) -> Error {
    let path = path.to_path_buf();
    match source.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => Error::NotFound(path),
        _ => Error::NotExecutable { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Kind;

    fn chosen(
        name: &str,
        path: &str,
        answer: fn(&str) -> Option<i32>,
    ) -> Result<Vec<String>, Kind> {
        let examine = |path: &PathBuf| match answer(path.to_str().unwrap()) {
            None => Ok(CString::new(path.as_os_str().as_bytes()).unwrap()),
            Some(libc::ENOENT) => Err(Error::NotFound(path.clone())),
            Some(errno) => Err(Error::NotExecutable {
                path: path.clone(),
                source: io::Error::from_raw_os_error(errno),
            }),
        };
        let places = places(OsStr::new(name), Some(OsStr::new(path)));
        choose(OsStr::new(name), places, examine)
            .map(|files| {
                files
                    .into_iter()
                    .map(|file| file.into_string().unwrap())
                    .collect()
            })
            .map_err(|fault| fault.kind())
    }

    /// A name with a slash is a file, and the search path is not asked.
    #[test]
    fn a_slash_stops_the_search() {
        assert_eq!(chosen("./x", "/a:/b", |_| None), Ok(vec!["./x".to_owned()]));
    }

    /// The directories are tried in order, and an empty one is the current directory.
    #[test]
    fn directories_in_order() {
        assert_eq!(
            chosen("x", "/a::/b/", |_| None),
            Ok(vec!["/a/x".to_owned(), "x".to_owned(), "/b/x".to_owned()])
        );
    }

    /// A file that may not be executed does not hide a later one that may.
    #[test]
    fn a_refusal_does_not_end_the_search() {
        let answer = |path: &str| path.starts_with("/a").then_some(libc::EACCES);
        assert_eq!(chosen("x", "/a:/b", answer), Ok(vec!["/b/x".to_owned()]));
    }

    /// A refusal is 126 even where other directories do not have the file; nothing at all is 127.
    #[test]
    fn a_refusal_outranks_an_absence() {
        let answer = |path: &str| {
            Some(if path.starts_with("/a") {
                libc::EACCES
            } else {
                libc::ENOENT
            })
        };
        assert_eq!(chosen("x", "/b:/a:/c", answer), Err(Kind::NotExecutable));
        assert_eq!(chosen("x", "/b:/c", answer), Err(Kind::NotFound));
        assert_eq!(chosen("", "/b:/c", |_| None), Err(Kind::NotFound));
    }
}
