//! The few system calls of this room that neither `std` nor `libc` wraps as values.

use super::Error;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A pipe that no program inherits: its reading end, then its writing end.
pub(super) fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    let mut ends = [-1; 2];
    // SAFETY: the kernel fills the array, and the descriptors are nobody else's.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(Error::last("cannot make a pipe"));
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// A descriptor that stands for a process and becomes readable when it ends.
pub(super) fn open_pidfd(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers and gives a descriptor that is ours.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, i64::from(pid), 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // The kernel sets close-on-exec on every pidfd.
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Sends a signal to the process behind a pidfd. `info` is either null or a whole `siginfo_t`.
pub(super) fn send_signal(
    process: BorrowedFd<'_>,
    signal: i32,
    info: *const libc::siginfo_t,
) -> io::Result<()> {
    let fd = i64::from(process.as_raw_fd());
    // SAFETY: the caller's pointer is null or valid, and the kernel only reads it.
    let sent = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, info, 0) };
    if sent == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Waits until one of the descriptors is readable, and tells which. `None` waits for ever.
pub(super) fn poll(fds: &[BorrowedFd<'_>], timeout_ms: Option<i32>) -> io::Result<Vec<bool>> {
    let mut entries: Vec<libc::pollfd> = fds
        .iter()
        .map(|fd| libc::pollfd {
            fd: fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    // SAFETY: the vector outlives the call and its length is the one given.
    let ready = unsafe {
        libc::poll(
            entries.as_mut_ptr(),
            entries.len() as libc::nfds_t,
            timeout_ms.unwrap_or(-1),
        )
    };
    if ready < 0 {
        let fault = io::Error::last_os_error();
        if fault.kind() != io::ErrorKind::Interrupted {
            return Err(fault);
        }
    }
    Ok(entries
        .iter()
        .map(|entry| ready > 0 && entry.revents != 0)
        .collect())
}

/// Reaps a child. `None`: it has not ended, which only `WNOHANG` can give.
pub(super) fn wait(pid: u32, options: i32) -> io::Result<Option<i32>> {
    loop {
        let mut word = 0;
        // SAFETY: the kernel writes one word, which outlives the call.
        let reaped = unsafe { libc::waitpid(pid as libc::pid_t, &mut word, options) };
        if reaped > 0 {
            return Ok(Some(word));
        }
        if reaped == 0 {
            return Ok(None);
        }
        let fault = io::Error::last_os_error();
        if fault.kind() != io::ErrorKind::Interrupted {
            return Err(fault);
        }
    }
}

/// Whether this thread may execute a file, by the rights that it uses for files (fsuid and not
/// the real user, which is what plain `access` asks about).
pub(super) fn may_execute(path: &CStr) -> io::Result<()> {
    may(path, libc::X_OK)
}

fn may(path: &CStr, what: libc::c_int) -> io::Result<()> {
    // SAFETY: the path ends in a zero byte, and the kernel only reads it.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_faccessat2,
            libc::AT_FDCWD,
            path.as_ptr(),
            what,
            libc::AT_EACCESS,
        )
    };
    if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
