//! How many calls stand behind each that was timed, where calls were timed only now and then.
//!
//! The kernel counts each thread's reads and writes of files, and keeps nothing of other calls. So what
//! a thread reads and writes is scaled to the kernel's count, and all its calls are if these are most
//! of them. For the others the time on a processor has to do, less what timing took of it; that is a
//! small difference of large figures where a program does little but call, and a worse estimate.

use std::collections::HashMap;

use timesink_recording::tables::threads::Thread;
use timesink_recording::ThreadId;

use crate::calls::Transfers;

/// Fewer transfers than this say nothing of the rest.
const ENOUGH: u64 = 100;

/// What is known of the time in which calls were timed.
pub struct Timed<'a> {
    /// How long each thread was on a processor in it.
    pub cpu: HashMap<ThreadId, TimedCpu>,
    /// What timing one call took.
    pub call_ns: f64,
    /// What the kernel counted of each thread in its whole life.
    pub transfers: &'a HashMap<ThreadId, Transfers>,
}

/// How long a thread was on a processor while calls were timed: until that was left for the first time, and later.
#[derive(Debug, Default, Clone, Copy)]
pub struct TimedCpu {
    pub early_ns: u64,
    pub late_ns: u64,
}

/// The calls of one thread that were timed: until that was left for the first time, and later. What was
/// seen early stands for itself, so that a program's start is not taken for what it did all along.
#[derive(Debug, Default, Clone, Copy)]
pub struct Seen {
    pub early: Counted,
    pub late: Counted,
}

/// So many calls.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counted {
    calls: u64,
    /// Those of them that move bytes of files.
    transferring: u64,
    transfers: Transfers,
}

impl Counted {
    pub fn add(&mut self, of: Transfers, count: u64) {
        self.calls += count;
        self.transferring += if of.any() { count } else { 0 };
        self.transfers.reads += of.reads * count;
        self.transfers.writes += of.writes * count;
    }
}

impl Timed<'_> {
    /// How many of a thread's calls stand behind each that was timed late; 1 if all were timed. `of`: what
    /// one such call counts as, with the kernel.
    pub fn scale(&self, row: &Thread, windows: &[(i64, i64)], seen: &Seen, of: Transfers) -> f64 {
        let (start, end) = (row.start.0, row.end.0);
        let timed: i64 = windows
            .iter()
            .map(|(a, b)| (*b.min(&end) - *a.max(&start)).max(0))
            .sum();
        if timed <= 0 || timed >= end - start {
            return 1.0;
        }
        let counted = self.transfers.get(&row.thread);
        counted
            .and_then(|c| by_count(c, seen, of))
            .unwrap_or_else(|| {
                let cpu = self.cpu.get(&row.thread).copied().unwrap_or_default();
                by_time(
                    (row.cpu_ns + row.tracer_ns).saturating_sub(cpu.early_ns) as f64,
                    cpu.late_ns as f64,
                    seen.late.calls as f64 * self.call_ns,
                )
            })
    }
}

/// By what the kernel counted, if it did and if that says something of such calls.
fn by_count(counted: &Transfers, seen: &Seen, of: Transfers) -> Option<f64> {
    let meant = |of_them: &Transfers| match (of.reads > 0, of.writes > 0) {
        (true, false) => of_them.reads,
        (false, true) => of_them.writes,
        _ => of_them.reads + of_them.writes,
    };
    let (early, late) = (&seen.early.transfers, &seen.late);
    let (all, timed) = (meant(counted), meant(&late.transfers));
    let all = all.saturating_sub(meant(early));
    let says = of.any() || late.transferring * 2 > late.calls;
    (says && counted.any() && timed >= ENOUGH).then(|| (all as f64 / timed as f64).max(1.0))
}

/// Calls are made on a processor, so it is the time there that counts: what a thread waited, in or
/// outside of the windows, says nothing. Of its time in the windows `spent` went into timing itself: a
/// program that does little but call makes fewer calls in them than in others.
fn by_time(cpu: f64, timed: f64, spent: f64) -> f64 {
    // A cost measured too high must not leave nothing of the program.
    let spent = spent.min(timed * 0.8);
    if timed <= 0.0 || cpu <= timed {
        return 1.0;
    }
    (cpu - spent) / (timed - spent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tenth of its time on a processor was timed, and half of that tenth was the timing's own: each
    /// call seen stands for nineteen. Without that cost it stands for ten, and for one where all was timed.
    #[test]
    fn timing_slows_what_it_times() {
        assert_eq!(by_time(1000.0, 100.0, 0.0), 10.0);
        assert_eq!(by_time(1000.0, 100.0, 50.0), 19.0);
        assert_eq!(by_time(1000.0, 1000.0, 50.0), 1.0);
        assert!(by_time(1000.0, 100.0, 1e9) < 50.0);
    }

    const READ: Transfers = Transfers {
        reads: 1,
        writes: 0,
    };
    const SEND_FILE: Transfers = Transfers {
        reads: 1,
        writes: 1,
    };
    const NONE: Transfers = Transfers {
        reads: 0,
        writes: 0,
    };

    fn seen(reads: u64, others: u64) -> Seen {
        let mut seen = Seen::default();
        seen.late.add(READ, reads);
        seen.late.add(NONE, others);
        seen
    }

    /// What the kernel counted of reads says how many there were, whatever timing cost.
    #[test]
    fn reads_are_scaled_to_the_count() {
        let counted = Transfers {
            reads: 4000,
            writes: 0,
        };
        assert_eq!(by_count(&counted, &seen(1000, 9000), READ), Some(4.0));
        // Those that were seen early are among them, and stand for themselves.
        let mut started = seen(1000, 0);
        started.early.add(READ, 2000);
        assert_eq!(by_count(&counted, &started, READ), Some(2.0));
        // Never fewer than were seen.
        assert_eq!(by_count(&counted, &seen(5000, 0), READ), Some(1.0));
        assert_eq!(by_count(&counted, &seen(1000, 0), SEND_FILE), Some(4.0));
    }

    /// Reads speak for the other calls of a thread only if they are most of them, and for nothing if
    /// they are few or the kernel does not count.
    #[test]
    fn reads_speak_for_others_if_they_are_most() {
        let counted = Transfers {
            reads: 4000,
            writes: 0,
        };
        assert_eq!(by_count(&counted, &seen(1000, 900), NONE), Some(4.0));
        assert_eq!(by_count(&counted, &seen(1000, 1000), NONE), None);
        assert_eq!(by_count(&counted, &seen(50, 0), READ), None);
        assert_eq!(by_count(&NONE, &seen(1000, 0), READ), None);
    }
}
