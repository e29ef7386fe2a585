//! How time on a processor divides into user and kernel: an estimate from processor samples.
//!
//! Crossing into the kernel and back is not recorded, it would cost more than it tells. A thread
//! with few samples borrows the share of its process, then of the recording; without any samples
//! the kernel's own tick counts serve. Tear-down after exit is known exactly and runs in the
//! kernel, so its samples are taken out of the kernel's share first.

use timesink_recording::tables::Thread;

/// Fewer samples than this say too little: with 20, a share of a half is known to about a tenth.
const ENOUGH: u64 = 20;

/// What an estimate of user against kernel rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The thread's own samples.
    Thread,
    /// Its process's samples.
    Process,
    /// All samples of the recording.
    Recording,
    /// The kernel's user and system time, counted in ticks on most kernels.
    KernelTicks,
    /// Nothing; the time stays undivided.
    Nothing,
}

impl Basis {
    /// The word for it, as in the JSON report.
    pub fn word(self) -> &'static str {
        match self {
            Basis::Thread => "thread samples",
            Basis::Process => "process samples",
            Basis::Recording => "recording samples",
            Basis::KernelTicks => "kernel ticks",
            Basis::Nothing => "nothing",
        }
    }
}

/// An estimate of user against kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    pub basis: Basis,
    /// Samples it rests on; zero for kernel ticks.
    pub samples: u64,
    /// The user's share of the time before tear-down, from 0 to 1.
    pub user: f64,
}

/// What is known of a thread, a process or the recording for estimating its split.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    samples_user: u64,
    samples_kernel: u64,
    ticks_user: u64,
    ticks_system: u64,
    running_ns: u64,
    exit_ns: u64,
}

impl Evidence {
    /// The evidence of one thread whose spans hold this much running and tear-down.
    pub(super) fn of(thread: &Thread, running_ns: u64, exit_ns: u64) -> Evidence {
        Evidence {
            samples_user: thread.samples_user,
            samples_kernel: thread.samples_kernel,
            ticks_user: thread.kernel_user_ns,
            ticks_system: thread.kernel_system_ns,
            running_ns,
            exit_ns,
        }
    }

    pub(super) fn add(&mut self, other: &Evidence) {
        self.samples_user = self.samples_user.saturating_add(other.samples_user);
        self.samples_kernel = self.samples_kernel.saturating_add(other.samples_kernel);
        self.ticks_user = self.ticks_user.saturating_add(other.ticks_user);
        self.ticks_system = self.ticks_system.saturating_add(other.ticks_system);
        self.running_ns = self.running_ns.saturating_add(other.running_ns);
        self.exit_ns = self.exit_ns.saturating_add(other.exit_ns);
    }

    fn samples(&self) -> u64 {
        self.samples_user.saturating_add(self.samples_kernel)
    }

    fn ticks(&self) -> u64 {
        self.ticks_user.saturating_add(self.ticks_system)
    }

    /// The user's share of the running time, given its share of running and tear-down together.
    fn user_share(&self, user: u64, all: u64) -> f64 {
        if all == 0 {
            return 0.0;
        }
        let of_all = user as f64 / all as f64;
        let with_exit = self.running_ns as f64 + self.exit_ns as f64;
        if self.running_ns == 0 {
            return of_all;
        }
        (of_all * with_exit / self.running_ns as f64).min(1.0)
    }

    fn by_samples(&self, basis: Basis) -> Split {
        let samples = self.samples();
        Split {
            basis,
            samples,
            user: self.user_share(self.samples_user, samples),
        }
    }

    fn by_ticks(&self) -> Split {
        let user = self.user_share(self.ticks_user, self.ticks());
        Split {
            basis: Basis::KernelTicks,
            samples: 0,
            user,
        }
    }
}

/// The best estimate that the evidence allows.
pub(super) fn split(thread: &Evidence, process: &Evidence, recording: &Evidence) -> Split {
    let levels = [
        (thread, Basis::Thread),
        (process, Basis::Process),
        (recording, Basis::Recording),
    ];
    if let Some((level, basis)) = levels.iter().find(|(level, _)| level.samples() >= ENOUGH) {
        return level.by_samples(*basis);
    }
    match levels.iter().find(|(level, _)| level.ticks() > 0) {
        Some((level, _)) => level.by_ticks(),
        None => Split {
            basis: Basis::Nothing,
            samples: 0,
            user: 0.0,
        },
    }
}
