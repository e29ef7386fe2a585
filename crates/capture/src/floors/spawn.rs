//! Starting a process that ends at once, by how large its parent is: by `fork`, by `vfork`, and by `posix_spawn` with an
//! empty program.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use timesink_recording::floors::{Floors, StartFloors};

use super::memory::{may_use, Area};
use super::pinned::{processors, Pinned};
use super::{Kind, Lengths};
use crate::memory_file;

/// How large the parent is.
const SIZES: [u64; 3] = [10_000_000, 100_000_000, 500_000_000];
/// Starts of each kind in a round: at most so many, for no longer than this, and one at least.
const STARTS: usize = 8;
const TIME: Duration = Duration::from_millis(40);

#[derive(Default)]
struct Size {
    resident_bytes: u64,
    fork: Lengths,
    vfork: Lengths,
    spawn: Lengths,
}

pub(super) struct Starts {
    sizes: Vec<Size>,
    program: Option<EmptyProgram>,
}

impl Starts {
    pub(super) fn new(left_out: &mut Vec<String>) -> Starts {
        let (most, now) = (may_use(), resident());
        let mut sizes = Vec::new();
        for bytes in SIZES {
            if bytes.saturating_sub(now) <= most {
                sizes.push(Size {
                    resident_bytes: bytes,
                    ..Size::default()
                });
            } else {
                let size = bytes / 1_000_000;
                left_out.push(format!("starting from {size} MB: not enough free memory"));
            }
        }
        let program = EmptyProgram::new();
        let failed = |error| left_out.push(format!("posix_spawn: {error}"));
        Starts {
            sizes,
            program: program.map_err(failed).ok(),
        }
    }
}

impl Kind for Starts {
    fn name(&self) -> &'static str {
        "starts of processes"
    }

    fn round(&mut self) -> io::Result<()> {
        let _here = Pinned::to(processors().0);
        for size in &mut self.sizes {
            let more = size.resident_bytes.saturating_sub(resident());
            let ballast = Area::new(usize::try_from(more).unwrap_or(0).max(1))?;
            ballast.touch();
            again(&mut size.fork, fork)?;
            again(&mut size.vfork, vfork)?;
            if let Some(program) = &self.program {
                again(&mut size.spawn, || program.spawn())?;
            }
        }
        Ok(())
    }

    fn tell(&mut self, floors: &mut Floors) {
        let starts = self.sizes.iter().map(|size| StartFloors {
            resident_bytes: size.resident_bytes,
            fork: size.fork.figure(),
            vfork: size.vfork.figure(),
            posix_spawn: size.spawn.figure(),
        });
        floors.starts = starts.collect();
    }
}

/// Starts children and waits for each.
fn again(lengths: &mut Lengths, start: impl Fn() -> io::Result<libc::pid_t>) -> io::Result<()> {
    let begun = Instant::now();
    for _ in 0..STARTS {
        let from = Instant::now();
        let child = start()?;
        let status = reap(child)?;
        lengths.add(from.elapsed(), 1);
        if status != 0 {
            return Err(io::Error::other("a child that does nothing failed at that"));
        }
        if begun.elapsed() > TIME {
            break;
        }
    }
    Ok(())
}

fn reap(child: libc::pid_t) -> io::Result<i32> {
    let mut status = 0;
    loop {
        // SAFETY: a child of ours, and a number to write to.
        if unsafe { libc::waitpid(child, &raw mut status, 0) } == child {
            return Ok(status);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn fork() -> io::Result<libc::pid_t> {
    // SAFETY: the child does nothing but end, which is allowed whatever other threads were doing.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => unsafe { libc::_exit(0) },
        child => Ok(child),
    }
}

extern "C" fn end(_: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the plain end of a process.
    unsafe { libc::_exit(0) }
}

/// As vfork does, but on a stack of its own: a function that returns twice is more than a compiler can know.
fn vfork() -> io::Result<libc::pid_t> {
    const STACK: usize = 16 << 10;
    let mut stack = vec![0u128; STACK / size_of::<u128>()];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child has the whole stack, which grows down, and is gone before we go on.
    let child = unsafe {
        let top = stack.as_mut_ptr_range().end;
        libc::clone(end, top.cast(), flags, std::ptr::null_mut())
    };
    match child {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(child),
    }
}

/// What we have in memory.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    pages * 4096
}

/// The smallest program there is, in memory.
struct EmptyProgram {
    _file: File,
    path: CString,
}

impl EmptyProgram {
    fn new() -> io::Result<EmptyProgram> {
        if !cfg!(target_arch = "x86_64") {
            return Err(io::Error::other("only known for x86-64"));
        }
        let mut file = empty_file()?;
        file.write_all(&empty_program())?;
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        Ok(EmptyProgram { _file: file, path })
    }

    fn spawn(&self) -> io::Result<libc::pid_t> {
        let mut child = 0;
        let none = [std::ptr::null_mut()];
        // SAFETY: a path, and empty lists of arguments and of the environment, which end as they must.
        let error = unsafe {
            libc::posix_spawn(
                &raw mut child,
                self.path.as_ptr(),
                std::ptr::null(),
                std::ptr::null(),
                none.as_ptr(),
                none.as_ptr(),
            )
        };
        match error {
            0 => Ok(child),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// A file in memory that may be executed. Kernels from 6.3 on want to be told so, others do not know the word.
fn empty_file() -> io::Result<File> {
    let name = c"timesink-empty-program";
    memory_file::create(name, libc::MFD_EXEC).or_else(|_| memory_file::create(name, 0))
}

/// An ELF file with one segment, whose code is `exit(0)`.
fn empty_program() -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADS: u64 = 64 + 56;
    // xor edi, edi; mov eax, 60; syscall
    let code = [0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05];
    let length = HEADS + code.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // An executable for x86-64, version 1.
    file.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    for word in [BASE + HEADS, 64, 0] {
        file.extend(u64::to_le_bytes(word));
    }
    // No flags; the sizes of the heads and their number; no sections.
    file.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    // To be loaded, readable and executable.
    file.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for word in [0, BASE, BASE, length, length, 0x1000] {
        file.extend(u64::to_le_bytes(word));
    }
    file.extend(code);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Children of each kind start, end well and are reaped.
    #[test]
    fn children_end_well() {
        let program = EmptyProgram::new().expect("a program");
        for start in [&fork as &dyn Fn() -> _, &vfork, &|| program.spawn()] {
            let child = start().expect("a child");
            assert_eq!(reap(child).expect("its end"), 0);
        }
    }
}
