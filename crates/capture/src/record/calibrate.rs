//! What timing a call costs on this machine: a small child of ours makes a cheap call many times
//! before the probes are attached and again while it is tracked. Its own records are left out of the
//! recording.

use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::fs::File;

/// Calls in one batch, and batches: the fastest batch counts, the others were disturbed.
const CALLS: u32 = 200;
const BATCHES: u32 = 5;

pub struct Calibrator {
    pid: libc::pid_t,
    go: File,
    answer: File,
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors; both are new and nobody else's.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(ends[0]).into(), OwnedFd::from_raw_fd(ends[1]).into()))
    }
}

/// Nanoseconds per call, in the fastest of a few batches: one that names a descriptor, as most do.
fn measure(zeros: i32) -> f64 {
    let mut byte = 0u8;
    let now = || {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: room for the time.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
        t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
    };
    let mut best = f64::MAX;
    for _ in 0..BATCHES {
        let start = now();
        for _ in 0..CALLS {
            // SAFETY: room for one byte.
            unsafe { libc::read(zeros, (&raw mut byte).cast(), 1) };
        }
        best = best.min((now() - start) / f64::from(CALLS));
    }
    best
}

impl Calibrator {
    /// Start it while nothing is attached yet: it measures the bare cost at once.
    pub fn start() -> io::Result<Calibrator> {
        let (go_read, go) = pipe()?;
        let (answer, answer_write) = pipe()?;
        // SAFETY: we have one thread; the child makes system calls and arithmetic only.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(go);
                let (mut go_read, mut answer_write) = (go_read, answer_write);
                // SAFETY: a plain system call on a constant.
                let zeros = unsafe { libc::open(c"/dev/zero".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
                let bare = measure(zeros);
                let mut byte = [0];
                if answer_write.write_all(&[1]).is_ok() && go_read.read_exact(&mut byte).is_ok() {
                    let cost = (measure(zeros) - bare).max(0.0);
                    let _ = answer_write.write_all(&cost.to_ne_bytes());
                }
                // SAFETY: ends the child without running what belongs to the parent.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Calibrator { pid, go, answer }),
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid as u32
    }

    /// Wait until the bare cost is known: attach only after that.
    pub fn bare_done(&mut self) {
        let _ = self.answer.read_exact(&mut [0]);
    }

    /// Measure again, now with everything attached; nanoseconds per call.
    pub fn cost(mut self) -> f64 {
        let mut bytes = [0; 8];
        let told = self.go.write_all(&[1]).is_ok() && self.answer.read_exact(&mut bytes).is_ok();
        let cost = if told { f64::from_ne_bytes(bytes) } else { 0.0 };
        if cost.is_finite() { cost } else { 0.0 }
    }
}

impl Drop for Calibrator {
    fn drop(&mut self) {
        // SAFETY: our own child, which ends by itself or by this.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}
