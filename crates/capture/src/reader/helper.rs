//! The helpers' side. Each stands ready until it is asked for the first time; then it makes the next one, which will be asked when
//! this one does not answer. They end when the other end is closed.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use rustix::process::{getpid, pidfd_open, PidfdFlags};

use super::files::{self, FileFacts};
use super::wire::{self, as_path, Ask, Reply, DONE, REFUSED};
use super::MOST_AT_ONCE;
use crate::launch::Identity;
use crate::only_these::close_all_but;
use crate::privileges;
use rustix::process::geteuid;

/// Answers for as long as there is somebody to ask.
pub fn serve(mut ends: VecDeque<OwnedFd>, identity: Option<&Identity>) -> ! {
    let kept: Vec<RawFd> = ends.iter().map(AsRawFd::as_raw_fd).collect();
    close_all_but(&kept);
    if privileges::for_helping(identity).is_err() {
        // Who asks gets no answer, as from one that hangs.
        ends.clear();
    }
    while let Some(end) = ends.pop_front() {
        let Some(first) = stand_by(&end) else { break };
        // SAFETY: one thread; both go on from here with what they have.
        match unsafe { libc::fork() } {
            // The next one, in its own turn of the loop.
            0 => continue,
            _ => {
                ends.clear();
                answer_all(&end, first, identity);
                break;
            }
        }
    }
    // SAFETY: ends the helper without running what belongs to who started it.
    unsafe { libc::_exit(0) }
}

/// Says who this is, and waits to be asked.
fn stand_by(end: &OwnedFd) -> Option<Reply> {
    let this = pidfd_open(getpid(), PidfdFlags::empty()).ok()?;
    let number = getpid().as_raw_nonzero().get().to_le_bytes();
    wire::send(end, &number, Some(this.as_fd())).ok()?;
    wire::receive(end, &mut || true)
}

fn answer_all(end: &OwnedFd, first: Reply, identity: Option<&Identity>) {
    let mut asked = Some(first);
    while let Some(ask) = asked {
        let sent = match answer(ask, identity) {
            Ok((bytes, fd)) => {
                let bytes = [&[DONE], bytes.as_slice()].concat();
                wire::send(end, &bytes, fd.as_ref().map(AsFd::as_fd))
            }
            Err(fault) => {
                let number = fault.raw_os_error().unwrap_or(0).to_le_bytes();
                let bytes = [&[REFUSED], number.as_slice()].concat();
                wire::send(end, &bytes, None)
            }
        };
        // Who asked may not wait any more.
        if sent.is_err() {
            return;
        }
        asked = wire::receive(end, &mut || true);
    }
    // SAFETY: our child is the next helper, if there is one; it ends as we do, because the same process asks it.
    unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) };
}

/// No text is longer: a process may have 65,530 mappings, unless somebody set that otherwise.
const MOST_TEXT: u64 = 16 << 20;

type Answer = (Vec<u8>, Option<OwnedFd>);

fn answer(asked: Reply, identity: Option<&Identity>) -> io::Result<Answer> {
    let ask: Ask = serde_json::from_slice(&asked.bytes)?;
    let with_fd = || {
        asked
            .fd
            .as_ref()
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
    };
    match ask {
        Ask::Part { offset, length } => Ok((part(with_fd()?, offset, length)?, None)),
        Ask::Parts { offsets, length } => Ok((files::parts(with_fd()?, &offsets, length)?, None)),
        Ask::About => {
            let file = File::from(with_fd()?.try_clone()?);
            Ok((serde_json::to_vec(&FileFacts::of(&file)?)?, None))
        }
        Ask::Text { path, most } => {
            let mut text = Vec::new();
            let most = most.min(MOST_TEXT);
            // What was read until an error is what there is.
            let _ = File::open(path)?.take(most).read_to_end(&mut text);
            Ok((text, None))
        }
        Ask::Memory { pid } => {
            let file = File::open(format!("/proc/{pid}/mem"))?;
            Ok((Vec::new(), Some(file.into())))
        }
        Ask::Mapping {
            pid,
            start,
            length,
            inode,
            generation,
            mapped,
            path,
        } => {
            let mapped = Ask::as_mapped((pid, start, length), (inode, generation), &mapped);
            opened(files::of_mapping(&mapped, &as_path(&path))?)
        }
        Ask::Named { path } => opened(files::regular(&as_path(&path))?),
        Ask::AsCaller { path } => opened(with_rights_of(identity, || {
            files::regular(&as_path(&path))
        })?),
        Ask::Configuration { path } => opened(with_rights_of(identity, || {
            files::configuration(&as_path(&path))
        })?),
        Ask::Names { path, most } => {
            let folder = with_rights_of(identity, || files::listed(&as_path(&path)))?;
            let about = FileFacts::of(&folder)?;
            // With root's rights nothing is told of what is not everybody's, nor is what others may put somewhere followed.
            if !about.public || (is_root(identity) && !about.roots_alone) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            let names = files::names(&folder, most)?;
            Ok((serde_json::to_vec(&names)?, None))
        }
        Ask::In { name } => {
            let folder = with_fd()?;
            opened(with_rights_of(identity, || {
                files::regular_in(folder, &name)
            })?)
        }
        Ask::Folder { pid, which } => opened(File::from(files::folder(pid, which)?)),
    }
}

/// Whether who runs timesink is root.
pub fn is_root(identity: Option<&Identity>) -> bool {
    identity.map_or(geteuid().is_root(), |user| user.uid() == 0)
}

fn with_rights_of(
    identity: Option<&Identity>,
    open: impl FnOnce() -> io::Result<File>,
) -> io::Result<File> {
    match identity {
        Some(identity) => identity.with_files(open).map_err(io::Error::other)?,
        None => open(),
    }
}

fn opened(file: File) -> io::Result<Answer> {
    let about = serde_json::to_vec(&FileFacts::of(&file)?)?;
    Ok((about, Some(file.into())))
}

fn part(file: &OwnedFd, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length.min(MOST_AT_ONCE)];
    let read = rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut *bytes, offset))?;
    bytes.truncate(read);
    Ok(bytes)
}
