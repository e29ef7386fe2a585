//! Opening the kernel's perf events. What an event is for, and what becomes of it, is for its user.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libbpf_sys as sys;

/// From the kernel's interface; `libc` lacks it.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// An event of a kind, of which nothing else is asked yet.
pub fn event(kind: u32, config: u32) -> sys::perf_event_attr {
    // SAFETY: zeroed is the structure's empty state.
    let mut event: sys::perf_event_attr = unsafe { std::mem::zeroed() };
    event.size = size_of::<sys::perf_event_attr>() as u32;
    event.type_ = kind;
    event.config = u64::from(config);
    event
}

/// Open an event for all processes on one processor.
pub fn open(event: &sys::perf_event_attr, processor: u32) -> io::Result<OwnedFd> {
    // SAFETY: a plain system call on a structure that outlives it.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const *event,
            -1,
            processor as libc::c_int,
            -1,
            CLOSE_ON_EXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
