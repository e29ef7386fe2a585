//! The clock that the probes and the kernel's events use.

/// Nanoseconds by `CLOCK_MONOTONIC`.
pub fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
