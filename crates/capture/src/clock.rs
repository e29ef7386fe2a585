//! The clock that the probes and the kernel's events use, and what we take of the processors ourselves.

use rustix::time::{clock_gettime, ClockId};

/// Nanoseconds by `CLOCK_MONOTONIC`.
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How far the clock of the day is ahead of that one.
pub fn day_clock_ahead_ns() -> i64 {
    let time = clock_gettime(ClockId::Realtime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).saturating_sub(now_ns() as i64)
}

/// The CPU time of a process or a thread.
#[derive(Debug, Clone, Copy)]
pub struct CpuClock(libc::clockid_t);

impl CpuClock {
    /// Of this process, with all of its threads.
    pub const OWN: CpuClock = CpuClock(libc::CLOCK_PROCESS_CPUTIME_ID);
    /// Of this thread.
    #[cfg(test)]
    pub const THREAD: CpuClock = CpuClock(libc::CLOCK_THREAD_CPUTIME_ID);

    /// Of another process, if there is one with this number.
    pub fn of_process(pid: libc::pid_t) -> Option<CpuClock> {
        let mut clock = 0;
        // SAFETY: room for one number.
        let failed = unsafe { libc::clock_getcpuclockid(pid, &mut clock) };
        (failed == 0).then_some(CpuClock(clock))
    }

    /// Nanoseconds; 0 once that process is gone.
    pub fn now_ns(self) -> u64 {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: room for one time; a refusal leaves zero in it.
        unsafe { libc::clock_gettime(self.0, &mut now) };
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
}
