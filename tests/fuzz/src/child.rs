//! The child's side: input after input, until one of them ends it.

use std::io::Write;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Duration;

use crate::formats::FORMATS;
use crate::mutate::Random;

/// Tries these inputs of a format in the current folder, which is the child's own. A fault ends it with a panic, if not
/// with less.
pub fn run(format: &str, seed: u64, range: Range<u64>) -> ExitCode {
    let Some((_, try_one)) = FORMATS.iter().find(|(name, _)| *name == format) else {
        eprintln!("there is no format {format}");
        return ExitCode::from(2);
    };
    let name = format
        .bytes()
        .fold(0u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    let mut out = std::io::stdout().lock();
    let mut most = Most::default();
    for at in range {
        // Who reads this knows which input it was if nothing else comes.
        writeln!(out, "{at}")
            .and_then(|()| out.flush())
            .expect("the parent listens");
        forget_memory();
        let before = processor_time();
        try_one(&mut Random::of(seed ^ name, at));
        let used = processor_time().saturating_sub(before);
        most.time = most.time.max((used.as_micros(), at));
        most.memory = most.memory.max((memory(), at));
    }
    let Most { time, memory } = most;
    eprintln!(
        "most of a processor: {:.1} ms, by {}; most memory: {} MiB, by {}",
        time.0 as f64 / 1e3,
        time.1,
        memory.0 >> 20,
        memory.1
    );
    eprintln!("through");
    ExitCode::SUCCESS
}

/// What an input took at most, and which.
#[derive(Default)]
struct Most {
    /// In microseconds.
    time: (u128, u64),
    memory: (u64, u64),
}

/// From here on the most memory is counted anew.
fn forget_memory() {
    // Where that cannot be done, it is the most of all inputs.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The most memory since then, of this process.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) << 10
}

/// What this process and the children that it waited for have used of a processor.
fn processor_time() -> Duration {
    let of = |who| {
        // SAFETY: an all-zero rusage is valid, and the call fills it.
        let used = unsafe {
            let mut used: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &raw mut used);
            used
        };
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        time(used.ru_utime) + time(used.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}
