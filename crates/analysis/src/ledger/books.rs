//! The books: our sums against the kernel's own figures. What differs is printed, never hidden.

use super::{Sums, ThreadLedger};
use crate::ledger::measure::percent;

/// One of our figures beside the kernel's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    pub ours_ns: u64,
    pub kernel_ns: u64,
}

impl Balance {
    /// How much more we have than the kernel, in percent of the kernel's figure; `None` where the
    /// kernel has nothing and we have something.
    pub fn difference_pct(&self) -> Option<f64> {
        if self.ours_ns == self.kernel_ns {
            return Some(0.0);
        }
        let kernel = self.kernel_ns as f64;
        (self.kernel_ns > 0).then(|| (self.ours_ns as f64 - kernel) * 100.0 / kernel)
    }

    fn add(&mut self, other: Balance) {
        self.ours_ns = self.ours_ns.saturating_add(other.ours_ns);
        self.kernel_ns = self.kernel_ns.saturating_add(other.kernel_ns);
    }
}

/// Which comparison is far off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imbalance {
    Cpu,
    Ready,
    Life,
}

/// What is off by more than this share cannot be trusted: of the kernel's time on processors; of the time for which one was
/// wanted; of all life.
const MUCH_PCT: f64 = 2.0;
/// But not by less than this: half of the smallest cause that is ever told.
const MUCH_NS: u64 = 10_000_000;

/// The three comparisons, and what no state accounts for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// Our cpu and tracer, without what was taken, against `se.sum_exec_runtime`.
    pub cpu: Balance,
    /// Our ready against `sched_info.run_delay`.
    pub ready: Balance,
    /// All our states against the kernel's life of the thread.
    pub life: Balance,
    /// Summed thread by thread without regard to sign: what is too much in one does not make up
    /// for what is too little in another.
    pub unaccounted_ns: u64,
    /// Threads for which the kernel's figures are missing. They are in none of the above.
    pub unchecked: u64,
}

impl Books {
    /// The books of one thread.
    pub fn of(sums: &Sums) -> Books {
        if sums.kernel_life_ns == 0 {
            return Books {
                unchecked: 1,
                ..Books::default()
            };
        }
        let on_processor = sums.cpu_ns.saturating_add(sums.tracer_ns);
        Books {
            cpu: Balance {
                ours_ns: on_processor.saturating_sub(sums.taken_ns),
                kernel_ns: sums.kernel_cpu_ns,
            },
            ready: Balance {
                ours_ns: sums.ready_ns,
                kernel_ns: sums.kernel_ready_ns,
            },
            life: Balance {
                ours_ns: sums.accounted_ns(),
                kernel_ns: sums.kernel_life_ns,
            },
            unaccounted_ns: sums.unaccounted_ns(),
            unchecked: 0,
        }
    }

    /// The books of all threads together.
    pub(super) fn of_all(threads: &[ThreadLedger]) -> Books {
        let mut all = Books::default();
        for books in threads.iter().map(|thread| Books::of(&thread.sums)) {
            all.cpu.add(books.cpu);
            all.ready.add(books.ready);
            all.life.add(books.life);
            all.unaccounted_ns = all.unaccounted_ns.saturating_add(books.unaccounted_ns);
            all.unchecked += books.unchecked;
        }
        all
    }

    /// What is so far off that no figure of the recording is to be trusted.
    pub fn out_of_balance(&self) -> Option<Imbalance> {
        let cpu = self.cpu.ours_ns.abs_diff(self.cpu.kernel_ns);
        let ready = self.ready.ours_ns.abs_diff(self.ready.kernel_ns);
        let wanted = self.cpu.kernel_ns.saturating_add(self.ready.kernel_ns);
        let far = |off_ns: u64, of_ns: u64| off_ns >= MUCH_NS && percent(off_ns, of_ns) > MUCH_PCT;
        if far(cpu, self.cpu.kernel_ns) {
            Some(Imbalance::Cpu)
        } else if far(ready, wanted) {
            Some(Imbalance::Ready)
        } else {
            far(self.unaccounted_ns, self.life.kernel_ns).then_some(Imbalance::Life)
        }
    }

    /// The share of the kernel's life that no state accounts for, in percent.
    pub fn unaccounted_pct(&self) -> f64 {
        percent(self.unaccounted_ns, self.life.kernel_ns)
    }
}
