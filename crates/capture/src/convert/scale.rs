//! How many calls stand behind each that was timed, where calls were timed only now and then.
//!
//! The kernel counts each thread's reads and writes of files, and keeps nothing of other calls. So what
//! a thread reads and writes is scaled to the kernel's count, and all its calls are if these are most
//! of them. For the others the time on a processor has to do, less what timing took of it; that is a
//! small difference of large figures where a program does little but call, and a worse estimate.
//!
//! What was timed until that was left for the first time stands for itself, if what was timed later says enough of the
//! rest. A program that ended soon after calls were timed again has nothing else to go by than all that was timed.

use std::collections::HashMap;

use timesink_recording::tables::threads::Thread;
use timesink_recording::ThreadId;

use crate::calls::Transfers;

/// Fewer transfers than this say nothing of the rest.
const ENOUGH: u64 = 100;
/// Later windows with less than this part of the time of the first say nothing either.
const SHORT: u64 = 10;
/// If the kernel counted so many times as many transfers as were seen, the others were made while nobody looked.
const MORE: f64 = 1.1;

/// What is known of the time in which calls were timed.
pub struct CallTiming<'a> {
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

/// How many calls stand behind each that was timed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallScale {
    pub factor: f64,
    /// Behind early ones, too.
    pub of_early: bool,
    /// Others were made that nobody saw, and nothing says of what.
    pub others: bool,
}

impl CallScale {
    /// All were timed.
    const ONE: CallScale = CallScale {
        factor: 1.0,
        of_early: false,
        others: false,
    };
}

/// The calls of one thread that were timed: until that was left for the first time, and later. What was
/// seen early stands for itself, so that a program's start is not taken for what it did all along.
#[derive(Debug, Default, Clone, Copy)]
pub struct SeenCalls {
    pub early: CountedCalls,
    pub late: CountedCalls,
}

/// So many calls.
#[derive(Debug, Default, Clone, Copy)]
pub struct CountedCalls {
    calls: u64,
    /// Those of them that move bytes of files.
    transferring: u64,
    transfers: Transfers,
    /// What those took that wait for nothing.
    pub on_cpu_ns: u64,
}

impl CountedCalls {
    pub fn add(&mut self, of: Transfers, count: u64) {
        self.calls += count;
        self.transferring += if of.any() { count } else { 0 };
        self.transfers.reads += of.reads * count;
        self.transfers.writes += of.writes * count;
    }
}

impl CallTiming<'_> {
    /// How many of a thread's calls stand behind each that was timed. `of`: what one such call counts as, with the
    /// kernel.
    pub fn scale(
        &self,
        row: &Thread,
        windows: &[(i64, i64)],
        seen: &SeenCalls,
        of: Transfers,
    ) -> CallScale {
        let (start, end) = (row.start.0, row.end.0);
        let timed: i64 = windows
            .iter()
            .map(|(a, b)| (*b.min(&end) - *a.max(&start)).max(0))
            .sum();
        if timed <= 0 || timed >= end - start {
            return CallScale::ONE;
        }
        let cpu = self.cpu.get(&row.thread).copied().unwrap_or_default();
        let counted = self.transfers.get(&row.thread).copied();
        let cpu_ns = row.cpu_ns + row.tracer_ns;
        factor(
            seen,
            of,
            counted.unwrap_or_default(),
            cpu,
            (cpu_ns, self.call_ns),
        )
    }
}

impl SeenCalls {
    /// As if all had been timed late.
    fn together(&self) -> SeenCalls {
        let (early, late) = (&self.early, &self.late);
        SeenCalls {
            early: CountedCalls::default(),
            late: CountedCalls {
                calls: early.calls + late.calls,
                transferring: early.transferring + late.transferring,
                on_cpu_ns: early.on_cpu_ns + late.on_cpu_ns,
                transfers: Transfers {
                    reads: early.transfers.reads + late.transfers.reads,
                    writes: early.transfers.writes + late.transfers.writes,
                },
            },
        }
    }
}

/// Of a thread that was not timed all the time: by what the kernel counted, else by its time on a processor and what timing a
/// call took.
fn factor(
    seen: &SeenCalls,
    of: Transfers,
    counted: Transfers,
    cpu: TimedCpu,
    (cpu_ns, call_ns): (u64, f64),
) -> CallScale {
    let of_early = cpu.late_ns.saturating_mul(SHORT) < cpu.early_ns;
    let meant = match of_early {
        true => seen.together(),
        false => *seen,
    };
    if let Some(factor) = by_count(&counted, &meant, of) {
        return CallScale {
            factor,
            of_early,
            others: false,
        };
    }
    let unseen = by_count(&counted, &seen.together(), of);
    let (before_ns, timed_ns) = match of_early {
        true => (0, cpu.early_ns + cpu.late_ns),
        false => (cpu.early_ns, cpu.late_ns),
    };
    let cpu_ns = cpu_ns.saturating_sub(before_ns) as f64;
    let spent = meant.late.calls as f64 * call_ns;
    let factor = by_time(cpu_ns, timed_ns as f64, spent).min(most(cpu_ns, meant.late.on_cpu_ns));
    CallScale {
        factor,
        of_early,
        others: of.any() && unseen.is_some_and(|factor| factor > MORE),
    }
}

/// By what the kernel counted, if it did and if that says something of such calls.
fn by_count(counted: &Transfers, seen: &SeenCalls, of: Transfers) -> Option<f64> {
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

/// No thread is in calls for longer than it is on a processor. A meter that reads a clock by 5,000,000 calls and does little else was told to make
/// 7 million, which took longer than the whole run, because what timing a call costs was measured too high.
fn most(cpu: f64, in_calls_ns: u64) -> f64 {
    match in_calls_ns {
        0 => f64::INFINITY,
        ns => (cpu / ns as f64).max(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls of 500 ns, of which a tenth of the time on a processor was timed: they fill that time at most.
    #[test]
    fn calls_do_not_take_longer_than_there_is() {
        let mut seen = SeenCalls::default();
        seen.late.add(NONE, 200);
        let cpu = TimedCpu {
            early_ns: 0,
            late_ns: 200_000,
        };
        let scale = |seen: &SeenCalls| factor(seen, NONE, NONE, cpu, (2_000_000, 600.0));
        assert!(scale(&seen).factor > 20.0);
        seen.late.on_cpu_ns = 100_000;
        assert_eq!(scale(&seen).factor, 20.0);
        // Where all of it was timed there is no more of it.
        seen.late.on_cpu_ns = 3_000_000;
        assert_eq!(scale(&seen).factor, 1.0);
    }

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

    fn seen(reads: u64, others: u64) -> SeenCalls {
        let mut seen = SeenCalls::default();
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

    /// A program that copies, and ends before calls are timed again for long: only what was timed at first tells of the rest.
    #[test]
    fn what_was_timed_early_speaks_for_an_end_that_was_not() {
        let counted = Transfers {
            reads: 120_000,
            writes: 0,
        };
        let mut seen = SeenCalls::default();
        seen.early.add(READ, 30_000);
        let cpu = |early_ns, late_ns| TimedCpu { early_ns, late_ns };
        let all = CallScale {
            factor: 4.0,
            of_early: true,
            others: false,
        };
        let scale = |cpu| factor(&seen, READ, counted, cpu, (400, 0.0));
        assert_eq!(scale(cpu(100, 0)), all);
        // Where later windows are as long and saw none, the others may be of anything.
        let apart = scale(cpu(100, 100));
        assert!(!apart.of_early && apart.others);
        // By time, where the kernel does not count: as the first window was, if there is no other; else there were no more.
        let by_time = |cpu| factor(&seen, NONE, NONE, cpu, (400, 0.0));
        assert_eq!(by_time(cpu(100, 0)), all);
        assert!(!by_time(cpu(100, 100)).of_early);
    }

    /// A start that reads a lot is not what a program does all along: later windows say that.
    #[test]
    fn a_start_stands_for_itself() {
        let counted = Transfers {
            reads: 2100,
            writes: 0,
        };
        let mut seen = SeenCalls::default();
        seen.early.add(READ, 2000);
        let cpu = TimedCpu {
            early_ns: 100,
            late_ns: 100,
        };
        let scale = factor(&seen, READ, counted, cpu, (1000, 0.0));
        assert!(!scale.of_early && !scale.others);
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
