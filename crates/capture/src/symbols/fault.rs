//! Why a file gave no names, or fewer than it could have.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("it cannot be read: {0}")]
    File(#[from] io::Error),
    #[error("it is not a regular file")]
    NotRegular,
    #[error("it belongs to user {0}, who is neither the program's user nor root")]
    Owner(u32),
    #[error("it is larger than what is read of one file")]
    TooLarge,
    #[error("it is not an ELF file for this machine")]
    NotElf,
    #[error("it is not the file that ran: its build id is another one")]
    Replaced,
    #[error("its bytes make no sense: {0}")]
    Damaged(String),
    #[error("finding its names would take too long")]
    Time,
    /// As it was told by the process that looked.
    #[error("{0}")]
    Told(String),
}

impl From<gimli::Error> for Fault {
    fn from(fault: gimli::Error) -> Fault {
        Fault::Damaged(fault.to_string())
    }
}

/// What is damaged, in words.
pub(super) fn damaged(what: &str) -> Fault {
    Fault::Damaged(what.to_owned())
}
