//! What can go wrong with a recording: a stable kind to decide by, and a sentence that names the
//! file and the fault to show.

use std::fmt;
use std::path::Path;

pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, to decide by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is nothing at that path.
    NotFound,
    /// It is not a recording at all.
    NotARecording,
    /// A recording that was never finished: it can be mended from its spool.
    Unfinished,
    /// Made by a newer timesink than this one.
    Newer,
    /// Bytes are missing or not what they were.
    Damaged,
    /// The recording has no such table.
    NoSuchTable,
    /// There is something already where the recording should go.
    Exists,
    /// No room left to write it.
    DiskFull,
    /// A row with more text in it than a table may hold.
    TooLong,
    /// The system refused to read or write it.
    Io,
}

impl ErrorKind {
    /// A stable word for the kind, for machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "not-found",
            ErrorKind::NotARecording => "not-a-recording",
            ErrorKind::Unfinished => "unfinished",
            ErrorKind::Newer => "newer",
            ErrorKind::Damaged => "damaged",
            ErrorKind::NoSuchTable => "no-such-table",
            ErrorKind::Exists => "exists",
            ErrorKind::DiskFull => "disk-full",
            ErrorKind::TooLong => "too-long",
            ErrorKind::Io => "io",
        }
    }
}

/// A fault, and the file it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    file: String,
    fault: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, file: impl AsFile, fault: impl Into<String>) -> Error {
        Error {
            kind,
            file: file.as_file(),
            fault: fault.into(),
        }
    }

    pub(crate) fn damaged(file: impl AsFile, fault: impl Into<String>) -> Error {
        Error::new(ErrorKind::Damaged, file, fault)
    }

    /// Where a regular file should be: a device or a pipe may have no end.
    pub(crate) fn not_plain(file: impl AsFile) -> Error {
        Error::new(ErrorKind::NotARecording, file, "not a regular file")
    }

    /// Turns what the system said about `file` into a kind.
    pub(crate) fn io(file: impl AsFile, error: &std::io::Error) -> Error {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::NotFound => ErrorKind::NotFound,
            Io::AlreadyExists => ErrorKind::Exists,
            Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge => ErrorKind::DiskFull,
            _ => ErrorKind::Io,
        };
        let fault = match kind {
            ErrorKind::Exists => "exists already: choose another name, or remove it".to_owned(),
            _ => without_number(&error.to_string()),
        };
        Error::new(kind, file, fault)
    }

    /// What went wrong, to decide by.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The file the fault is in.
    pub fn file(&self) -> &str {
        &self.file
    }
}

/// What the system said, without the number that it has for that.
fn without_number(said: &str) -> String {
    let said = said
        .split_once(" (os error ")
        .map_or(said, |(said, _)| said);
    said.to_owned()
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.fault)
    }
}

impl std::error::Error for Error {}

/// What can name a file in an error.
pub(crate) trait AsFile {
    fn as_file(&self) -> String;
}

impl AsFile for &Path {
    fn as_file(&self) -> String {
        self.display().to_string()
    }
}

impl AsFile for &std::path::PathBuf {
    fn as_file(&self) -> String {
        self.display().to_string()
    }
}

impl AsFile for &str {
    fn as_file(&self) -> String {
        (*self).to_owned()
    }
}

impl AsFile for &String {
    fn as_file(&self) -> String {
        (*self).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ex: File exists (os error 17)` said neither what to do nor anything that the number adds to.
    #[test]
    fn what_the_system_says_is_told_in_words() {
        let told = |kind: i32| {
            let error = std::io::Error::from_raw_os_error(kind);
            Error::io("ex", &error).to_string()
        };
        assert_eq!(
            told(17),
            "ex: exists already: choose another name, or remove it"
        );
        assert_eq!(told(13), "ex: Permission denied");
    }
}
