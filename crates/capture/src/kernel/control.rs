//! The page that the probes and user space both see.

use std::ptr::NonNull;

use crate::clock::day_clock_ahead_ns;
use crate::error::Error;
use crate::probes::events;

/// The page that the probes and we both see.
pub struct Control {
    page: NonNull<events::ts_control>,
}

// SAFETY: the page is shared with the kernel anyway; all access is by volatile words.
unsafe impl Send for Control {}

const PAGE: usize = 4096;

impl Control {
    pub fn map(fd: i32) -> Result<Control, Error> {
        // SAFETY: a fresh shared mapping of a map of one page.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd,
                0,
            )
        };
        NonNull::new(page.cast::<events::ts_control>())
            .filter(|_| page != libc::MAP_FAILED)
            .map(|page| Control { page })
            .inspect(|control| control.tell_day_clock(day_clock_ahead_ns()))
            .ok_or_else(|| Error::System {
                doing: "mapping the control page",
                source: std::io::Error::last_os_error(),
            })
    }

    /// Raise the epoch: what was entered before is not taken for a call of this window.
    pub fn next_call_epoch(&self) {
        // SAFETY: the page lives as long as self; the kernel only reads this word.
        unsafe {
            let word = &raw mut (*self.page.as_ptr()).call_epoch;
            word.write_volatile(word.read_volatile() + 1);
        }
    }

    /// From now on processes come in that exchange something with those that are recorded.
    pub fn follow(&self) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.page.as_ptr()).following).write_volatile(1) }
    }

    /// How far the clock of the day is ahead: somebody may set it.
    pub fn tell_day_clock(&self, ahead_ns: i64) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.page.as_ptr()).day_clock_ahead).write_volatile(ahead_ns) }
    }

    /// There are processes whose tasks are to be told.
    pub fn tell_tasks(&self) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.page.as_ptr()).tasks).write_volatile(1) }
    }

    /// There are processes that have tags.
    pub fn tell_tags(&self) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.page.as_ptr()).tags).write_volatile(1) }
    }

    /// How many threads are tracked that have not ended.
    pub fn alive(&self) -> u32 {
        // SAFETY: as above.
        unsafe { (&raw const (*self.page.as_ptr()).alive).read_volatile() }
    }

    pub fn stop(&self) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.page.as_ptr()).stopped).write_volatile(1) }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length.
        unsafe { libc::munmap(self.page.as_ptr().cast(), PAGE) };
    }
}
