//! What can go wrong while capturing, each with a kind that does not change.

use std::io;
use std::path::{Path, PathBuf};

use crate::kernel::Refusal;
use timesink_recording::ErrorKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// This user may not record.
    NotPermitted,
    /// This kernel cannot be recorded on.
    Kernel,
    /// The probes would not load or attach.
    Probes,
    /// The program could not be started.
    Launch,
    /// A file could not be written or read.
    File,
    /// The disk is full.
    DiskFull,
    /// What was left of a recording cannot be understood.
    Damaged,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{what}")]
    NotPermitted { what: String },
    #[error("{what}")]
    Kernel { what: String },
    #[error("the probes could not be {step}: {} (see `timesink doctor --verbose`)", why.reason)]
    Probes { step: &'static str, why: Refusal },
    #[error(transparent)]
    Launch(#[from] crate::launch::Error),
    #[error("{}: {doing}: {source}", path.display())]
    File {
        path: PathBuf,
        doing: &'static str,
        source: io::Error,
    },
    #[error("{}: {what}", path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("{}: {what}", path.display())]
    Refused { path: PathBuf, what: String },
    #[error(transparent)]
    Recording(#[from] timesink_recording::Error),
    #[error("{doing}: {source}")]
    System {
        doing: &'static str,
        source: io::Error,
    },
}

impl Error {
    pub fn kind(&self) -> Kind {
        match self {
            Error::NotPermitted { .. } => Kind::NotPermitted,
            Error::Kernel { .. } => Kind::Kernel,
            Error::Probes { .. } | Error::System { .. } => Kind::Probes,
            Error::Launch(_) => Kind::Launch,
            Error::File { source, .. } if source.raw_os_error() == Some(libc::ENOSPC) => {
                Kind::DiskFull
            }
            Error::Recording(error) if error.kind() == ErrorKind::DiskFull => Kind::DiskFull,
            Error::File { .. } | Error::Refused { .. } | Error::Recording(_) => Kind::File,
            Error::Damaged { .. } => Kind::Damaged,
        }
    }

    /// What the kernel said, if it refused the probes.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Error::Probes { why, .. } => Some(why),
            _ => None,
        }
    }

    pub(crate) fn file(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::File {
            path,
            doing,
            source,
        }
    }
}
