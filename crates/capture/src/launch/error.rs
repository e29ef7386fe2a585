//! What can go wrong before and while the program runs, each with a kind that does not change.

use std::io;
use std::path::PathBuf;

/// The stable kind of an [`Error`], for those who decide rather than print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// There is no such command.
    NotFound,
    /// There is such a file, but it cannot be executed.
    NotExecutable,
    /// The command, or a process to attach to, was not given in a usable form.
    Usage,
    /// The identity of the user who called sudo could not be taken.
    Identity,
    /// There is no process of that number.
    NoSuchProcess,
    /// The kernel refused something that it should not refuse.
    System,
}

/// An error of the launch, as a sentence.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No file of that name, or none on the search path.
    #[error("{}: command not found", .0.display())]
    NotFound(PathBuf),
    /// The file is there, but the interpreter that it names is not.
    #[error("{}: interpreter not found (named in the first line or the ELF header)", .0.display())]
    InterpreterNotFound(PathBuf),
    /// A directory was named as the command.
    #[error("{}: is a directory", .0.display())]
    Directory(PathBuf),
    /// The file is there, but executing it was refused.
    #[error("{}: cannot be executed: {source}", .path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// There was no command at all.
    #[error("no command given")]
    NoCommand,
    /// An argument has a zero byte in it, which no argument can have.
    #[error("argument {0:?} contains a null byte")]
    ZeroByte(std::ffi::OsString),
    /// The child could not become the user who called sudo.
    #[error("cannot become user {uid}: {step}: {source}")]
    Identity {
        /// The user that was to be taken.
        uid: u32,
        /// Which of the calls failed.
        step: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
    /// No process of that number.
    #[error("no such process: {0}")]
    NoSuchProcess(u32),
    /// No process has that name.
    #[error("no process named {0} is running; nothing was started")]
    NobodyCalled(String),
    /// The number is that of a thread which does not lead its process.
    #[error("{tid} is a thread of process {pid}: attach to {pid}")]
    NotAProcess {
        /// What was given.
        tid: u32,
        /// The process that it belongs to.
        pid: u32,
    },
    /// Recording the recorder would never end.
    #[error("{0} is timesink itself, which cannot be recorded")]
    Ourselves(u32),
    /// A call to the kernel failed.
    #[error("{step}: {source}")]
    System {
        /// Which call.
        step: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
}

impl Error {
    /// The stable kind.
    pub fn kind(&self) -> Kind {
        match self {
            Error::NotFound(_) | Error::InterpreterNotFound(_) => Kind::NotFound,
            Error::Directory(_) | Error::NotExecutable { .. } => Kind::NotExecutable,
            Error::NoCommand | Error::ZeroByte(_) => Kind::Usage,
            Error::NotAProcess { .. } | Error::Ourselves(_) => Kind::Usage,
            Error::Identity { .. } => Kind::Identity,
            Error::NoSuchProcess(_) | Error::NobodyCalled(_) => Kind::NoSuchProcess,
            Error::System { .. } => Kind::System,
        }
    }

    /// The exit code that a shell would give, where the fault is the command's and not ours.
    pub fn command_exit_code(&self) -> Option<i32> {
        match self.kind() {
            Kind::NotFound => Some(127),
            Kind::NotExecutable => Some(126),
            Kind::Usage | Kind::Identity | Kind::NoSuchProcess | Kind::System => None,
        }
    }

    /// The error that `errno` now stands for.
    pub(super) fn last(step: &'static str) -> Error {
        Error::System {
            step,
            source: io::Error::last_os_error(),
        }
    }
}
