//! Files in memory, which nobody else has.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// A new, empty one. `flags` as memfd_create takes them, beside the one by which a program that is started does not get it.
pub fn create(name: &CStr, flags: libc::c_uint) -> io::Result<File> {
    // SAFETY: a name that ends and flags; the descriptor is new and nobody else's.
    unsafe {
        match libc::memfd_create(name.as_ptr(), flags | libc::MFD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd).into()),
        }
    }
}
