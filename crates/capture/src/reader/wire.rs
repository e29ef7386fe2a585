//! What is said between us and a helper: a length, a text or bytes, and with the first of them perhaps a descriptor.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::net::{
    recvmsg, sendmsg, socketpair, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage,
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::{Deserialize, Serialize};

use super::files::{FileFacts, ProcessFolder};
use crate::address_space::{FileNumber, Mapped};

/// Nothing that is said is longer.
const LONGEST: usize = 32 << 20;

/// What a helper may be asked to do; with some of it comes the descriptor of a file or a folder.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ask {
    /// The bytes of this file at an offset, as many as there are.
    Part {
        offset: u64,
        length: usize,
    },
    /// So many bytes from each of these offsets on, one after the other; zeros where there are none.
    Parts {
        offsets: Vec<u64>,
        length: usize,
    },
    /// What is to be known of this file.
    About,
    Text {
        path: String,
        most: u64,
    },
    Memory {
        pid: u32,
    },
    Mapping {
        pid: u32,
        start: u64,
        length: u64,
        inode: u64,
        generation: u64,
        mapped: Vec<u8>,
        path: Vec<u8>,
    },
    Named {
        path: Vec<u8>,
    },
    /// The same with the rights of who runs timesink.
    AsCaller {
        path: Vec<u8>,
    },
    /// A configuration, in the same way.
    Configuration {
        path: Vec<u8>,
    },
    /// The names in a folder, in the same way.
    Names {
        path: Vec<u8>,
        most: usize,
    },
    /// A file in this folder.
    In {
        name: String,
    },
    Folder {
        pid: u32,
        which: ProcessFolder,
    },
}

fn as_bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

pub fn as_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

impl Ask {
    pub fn mapping(mapped: &Mapped, path: &Path) -> Ask {
        Ask::Mapping {
            pid: mapped.pid,
            start: mapped.start,
            length: mapped.length,
            inode: mapped.file.inode,
            generation: mapped.file.generation,
            mapped: as_bytes(&mapped.path),
            path: as_bytes(path),
        }
    }

    pub fn named(path: &Path) -> Ask {
        let path = as_bytes(path);
        Ask::Named { path }
    }

    pub fn configuration(path: &Path) -> Ask {
        let path = as_bytes(path);
        Ask::Configuration { path }
    }

    pub fn names(path: &Path, most: usize) -> Ask {
        let path = as_bytes(path);
        Ask::Names { path, most }
    }

    pub fn as_caller(path: &Path) -> Ask {
        let path = as_bytes(path);
        Ask::AsCaller { path }
    }

    pub fn bytes(&self) -> Vec<u8> {
        // Of what it is made of, all can be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The mapping that was meant.
    pub fn as_mapped(
        (pid, start, length): (u32, u64, u64),
        (inode, generation): (u64, u64),
        mapped: &[u8],
    ) -> Mapped {
        Mapped {
            pid,
            start,
            length,
            offset: 0,
            file: FileNumber {
                device: (0, 0),
                inode,
                generation,
            },
            path: as_path(mapped),
        }
    }
}

/// An answer: bytes or a fault's number, and perhaps a descriptor.
#[derive(Debug, Default)]
pub struct Reply {
    pub bytes: Vec<u8>,
    pub fd: Option<OwnedFd>,
}

/// The first byte of an answer.
pub const DONE: u8 = 0;
pub const REFUSED: u8 = 1;

impl Reply {
    /// Without its first byte; what was refused is a fault.
    pub fn or_refused(mut self) -> io::Result<Reply> {
        match self.bytes.split_first() {
            Some((&DONE, _)) => {
                self.bytes.remove(0);
                Ok(self)
            }
            Some((_, why)) => {
                let number = why
                    .first_chunk()
                    .map_or(0, |bytes| i32::from_le_bytes(*bytes));
                match number {
                    0 => Err(io::Error::other("it is not there, or not what it was")),
                    number => Err(io::Error::from_raw_os_error(number)),
                }
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    pub fn fd(self) -> io::Result<OwnedFd> {
        self.fd.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    pub fn about(&self) -> io::Result<FileFacts> {
        Ok(serde_json::from_slice(&self.bytes)?)
    }
}

/// Two ends.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    Ok(socketpair(family, kind, SocketFlags::CLOEXEC, None)?)
}

pub fn send(to: &OwnedFd, bytes: &[u8], fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    let all = [&length.to_le_bytes(), bytes].concat();
    let mut sent = 0;
    let fds: Vec<BorrowedFd<'_>> = fd.into_iter().collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    while sent < all.len() {
        let mut control = SendAncillaryBuffer::new(&mut space);
        if sent == 0 && !fds.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&fds));
        }
        let part = [IoSlice::new(&all[sent..])];
        sent +=
            rustix::io::retry_on_intr(|| sendmsg(to, &part, &mut control, SendFlags::NOSIGNAL))?;
    }
    Ok(())
}

/// What is received at once: most of what is said is no longer.
const AT_ONCE: usize = 8 << 10;

/// What the other end says, as long as `wait` says that there is something to read. `None`: there is not, or the other
/// end is gone.
pub fn receive(from: &OwnedFd, wait: &mut dyn FnMut() -> bool) -> Option<Reply> {
    let mut reply = Reply::default();
    let mut start = [0; AT_ONCE];
    let mut got = 0;
    while got < 4 {
        got += receive_some(from, &mut start[got..], &mut reply.fd, wait)?;
    }
    let (length, there) = start[..got].split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    // Nobody says a second thing before the first is answered.
    if length > LONGEST || there.len() > length {
        return None;
    }
    reply.bytes = there.to_vec();
    reply.bytes.resize(length, 0);
    let mut got = there.len();
    while got < length {
        got += receive_some(from, &mut reply.bytes[got..], &mut reply.fd, wait)?;
    }
    Some(reply)
}

/// How much was received, at least something.
fn receive_some(
    from: &OwnedFd,
    bytes: &mut [u8],
    fd: &mut Option<OwnedFd>,
    wait: &mut dyn FnMut() -> bool,
) -> Option<usize> {
    if !wait() {
        return None;
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut part = [IoSliceMut::new(bytes)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let message = recvmsg(from, &mut part, &mut control, flags).ok()?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            *fd = fds.last().or(fd.take());
        }
    }
    (message.bytes > 0).then_some(message.bytes)
}
