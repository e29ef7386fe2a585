//! The child's side: input after input, until one of them ends it.

use std::io::Write;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Duration;

use crate::draws::{Draws, Random};
use crate::formats::FORMATS;
use crate::guide::{self, Guide};

/// Tries inputs of a format in the current folder, which is the child's own: these draws alone, or those of this range, after what an
/// earlier child kept. A fault ends it with a panic, if not with less.
pub fn run(format: &str, seed: u64, range: Range<u64>, only: Option<Draws>) -> ExitCode {
    let Some((_, try_one)) = FORMATS.iter().find(|(name, _)| *name == format) else {
        eprintln!("there is no format {format}");
        return ExitCode::from(2);
    };
    let name = format
        .bytes()
        .fold(0u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    let (mut guide, known) =
        Guide::begin(seed ^ name, &guide::kept(format)).expect("what is kept can be written");
    let mut most = Most::default();
    let mut try_draws = |guide: &mut Guide, at: u64, draws: Draws, is_new: bool| {
        // Who reads this knows which input it was if nothing else comes.
        let mut out = std::io::stdout().lock();
        writeln!(out, "{at} {draws}")
            .and_then(|()| out.flush())
            .expect("the parent listens");
        let mut random = Random::of(draws.clone());
        forget_memory();
        let before = processor_time();
        try_one(&mut random);
        let used = processor_time().saturating_sub(before);
        most.time = most.time.max((used.as_micros(), at));
        most.memory = most.memory.max((memory(), at));
        guide
            .learn(draws, random.drawn(), is_new)
            .expect("what is kept can be written");
    };
    if let Some(draws) = only {
        try_draws(&mut guide, range.start, draws, false);
    } else {
        for draws in known {
            try_draws(&mut guide, range.start, draws, false);
        }
        for at in range {
            let draws = guide.next(at);
            try_draws(&mut guide, at, draws, true);
        }
    }
    let Most { time, memory } = most;
    eprintln!(
        "most of a processor: {:.1} ms, by {}; most memory: {} MiB, by {}",
        time.0 as f64 / 1e3,
        time.1,
        memory.0 >> 20,
        memory.1
    );
    if let Some((kept, reached)) = guide.reached() {
        let reached: Vec<String> = reached.iter().map(ToString::to_string).collect();
        eprintln!("{kept} kept; took {}", reached.join(", and "));
    }
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
