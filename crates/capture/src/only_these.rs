//! A process of ours that may be left behind must not hold what others wait for: streams, pipes, the kernel's objects.

use std::os::fd::RawFd;

/// Closes all descriptors but these, and puts nothing in the place of the three streams.
pub fn close_all_but(kept: &[RawFd]) {
    let mut kept: Vec<u32> = kept
        .iter()
        .filter_map(|fd| u32::try_from(*fd).ok())
        .collect();
    kept.sort_unstable();
    let mut from = 0;
    for next in kept.into_iter().chain([u32::MAX]) {
        if next > from {
            // SAFETY: plain numbers; nobody in this process uses what is closed here.
            unsafe { libc::syscall(libc::SYS_close_range, from, next - 1, 0) };
        }
        from = next.saturating_add(1);
    }
    // What is opened takes the lowest numbers: those of the streams that were closed.
    for _ in 0..3 {
        // SAFETY: a constant name; one that is not needed is closed at once.
        unsafe {
            let fd = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            if fd > 2 {
                libc::close(fd);
            }
        }
    }
}
