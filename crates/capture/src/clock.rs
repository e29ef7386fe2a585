//! The clock that the probes and the kernel's events use, and what we take of the processors ourselves.

use rustix::time::{clock_gettime, ClockId};

/// Nanoseconds by `CLOCK_MONOTONIC`.
pub fn now_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// The processor time that all threads of this process have taken so far, in nanoseconds.
pub fn own_cpu_ns() -> u64 {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
