//! What this process was given at its start and the Rust runtime changes before `main`.
//!
//! The runtime ignores SIGPIPE, and opens /dev/null on standard streams that were closed. The
//! program must be given what we were given, so a constructor, which the loader calls before the
//! runtime starts, notes both. SIGCHLD is noted too: where it is ignored the kernel throws exit
//! codes away, so we have to stop ignoring it and the child has to start again.

use std::sync::atomic::{AtomicU32, Ordering};

const PIPE_IGNORED: u32 = 1 << 3;
const CHILD_IGNORED: u32 = 1 << 4;

/// Bits 0 to 2: that standard stream was closed. Then the two above.
static NOTED: AtomicU32 = AtomicU32::new(0);

#[used]
#[link_section = ".init_array"]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    let mut noted = 0;
    for stream in 0..3 {
        // SAFETY: asking for the flags of a descriptor touches no memory.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } < 0 {
            noted |= 1 << stream;
        }
    }
    for (signal, bit) in [
        (libc::SIGPIPE, PIPE_IGNORED),
        (libc::SIGCHLD, CHILD_IGNORED),
    ] {
        // SAFETY: an all-zero sigaction is a valid one, and only the kernel writes to it.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let read = libc::sigaction(signal, std::ptr::null(), &mut action);
            if read == 0 && action.sa_sigaction == libc::SIG_IGN {
                noted |= bit;
            }
        }
    }
    NOTED.store(noted, Ordering::Relaxed);
}

/// What the constructor noted. Copied before the fork, so that the child only reads its stack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inherited(u32);

impl Inherited {
    pub(super) fn noted() -> Inherited {
        Inherited(NOTED.load(Ordering::Relaxed))
    }

    /// Stops ignoring SIGCHLD in this process, so that the exit code of a child is kept.
    pub(super) fn keep_exit_codes(self) {
        if self.0 & CHILD_IGNORED != 0 {
            // SAFETY: the default disposition runs none of our code.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        }
    }

    /// Puts all of it back. Async-signal-safe: the child calls it between fork and exec.
    pub(super) fn restore(self) {
        let disposition = |bit| {
            if self.0 & bit != 0 {
                libc::SIG_IGN
            } else {
                libc::SIG_DFL
            }
        };
        // SAFETY: signal and close are async-signal-safe, and neither disposition runs our code.
        unsafe {
            libc::signal(libc::SIGPIPE, disposition(PIPE_IGNORED));
            if self.0 & CHILD_IGNORED != 0 {
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            }
            for stream in 0..3 {
                if self.0 & (1 << stream) != 0 {
                    libc::close(stream);
                }
            }
        }
    }
}
