//! The kernel's description of its types, as bytes. Mapped where the kernel lets it be (since 6.16). Elsewhere it is read, which a
//! file of its kind only lets happen a page at a time: 1,300 reads, 3 ms of each start.

use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::slice;

use crate::host;

/// All of it, for as long as this lives.
pub enum Description {
    Mapped { start: NonNull<u8>, length: usize },
    Read(Vec<u8>),
}

impl Description {
    pub fn of_kernel() -> io::Result<Description> {
        let file = File::open(host::KERNEL_TYPES)?;
        match map(&file) {
            Some(mapped) => Ok(mapped),
            None => Ok(Description::Read(fs::read(host::KERNEL_TYPES)?)),
        }
    }
}

fn map(file: &File) -> Option<Description> {
    let length = usize::try_from(file.metadata().ok()?.len()).ok()?;
    // SAFETY: a new mapping, which nobody writes to. What it shows is the kernel's, as long as that runs.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_PRIVATE,
            file.as_raw_fd(),
            0,
        )
    };
    let start = NonNull::new(start.cast()).filter(|_| start != libc::MAP_FAILED)?;
    Some(Description::Mapped { start, length })
}

impl Deref for Description {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            // SAFETY: mapped with this length for as long as self lives, and never changed.
            Description::Mapped { start, length } => unsafe {
                slice::from_raw_parts(start.as_ptr(), *length)
            },
            Description::Read(bytes) => bytes,
        }
    }
}

impl Drop for Description {
    fn drop(&mut self) {
        if let Description::Mapped { start, length } = self {
            // SAFETY: mapped by us with this length; no slice of it outlives self.
            unsafe { libc::munmap(start.as_ptr().cast(), *length) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_is_what_is_read() {
        let description =
            Description::of_kernel().expect("tests run on a kernel that describes its types");
        let read = fs::read(host::KERNEL_TYPES).expect("it can be read");
        assert!(*description == *read);
    }
}
