//! Keeping a thread on one processor, so that what it measures does not depend on where the kernel puts it.

use std::mem::{size_of, MaybeUninit};

/// The processors that this thread may use.
fn allowed() -> Option<libc::cpu_set_t> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: a set of the size given, zeroed before, written by the kernel.
    unsafe {
        let size = size_of::<libc::cpu_set_t>();
        (libc::sched_getaffinity(0, size, set.as_mut_ptr()) == 0).then(|| set.assume_init())
    }
}

/// Two processors to measure on, the second only if there is one. The last ones: the first has more interrupts.
pub(super) fn processors() -> (Option<usize>, Option<usize>) {
    let Some(set) = allowed() else {
        return (None, None);
    };
    let most = libc::CPU_SETSIZE as usize;
    // SAFETY: numbers below the size of the set.
    let mut found = (0..most)
        .rev()
        .filter(|&n| unsafe { libc::CPU_ISSET(n, &set) });
    (found.next(), found.next())
}

/// While it lives, this thread and the processes that it starts are on one processor.
pub(super) struct Pinned(Option<libc::cpu_set_t>);

impl Pinned {
    /// Where that is refused, or there is no such processor, nothing changes.
    pub(super) fn to(processor: Option<usize>) -> Pinned {
        let before = allowed();
        if let Some(processor) = processor {
            let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
            // SAFETY: an empty set is all zeroes; the number is one that the kernel gave.
            unsafe {
                libc::CPU_SET(processor, &mut *set.as_mut_ptr());
                libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set.as_ptr());
            }
        }
        Pinned(before)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(set) = &self.0 {
            // SAFETY: the set that the kernel gave.
            unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) };
        }
    }
}
