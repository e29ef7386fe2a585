//! Keeping the cost of timing system calls within the budget.
//!
//! Timing costs each call some hundred nanoseconds; in the whole system even an untimed call pays for
//! the tracepoint. A program that does little else but call is slowed beyond any budget, so the two
//! programs are detached and come back for a short window now and then; what the windows saw stands
//! for the rest, and the recording says so. Pure: counts and times in, decisions out.
//!
//! The account is kept in time: what the calls of the busiest processor cost is spent, the budget's
//! share of the time that passes is earned. Who starts has some credit, so that a short program, and
//! the burst of calls of a program that starts, are timed whole.

/// How much may be spent in advance.
const CREDIT_NS: f64 = 10e6;
/// A window lasts at least this long.
const WINDOW_NS: u64 = 20_000_000;
/// Never pause longer than this, or short phases would be missed.
const PAUSE_MAX_NS: u64 = 2_000_000_000;
/// The part of the budget that the calls themselves may take: a call that is timed also slows what
/// comes after it, by what it pushes out of the caches, which the measured cost of one does not show.
const AIM: f64 = 0.6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Nothing,
    Pause,
    Resume,
}

pub struct Budget {
    /// The share of a processor's time that timing calls may cost; `None`: no limit.
    share: Option<f64>,
    call_ns: f64,
    timing: bool,
    /// When the present window or pause began.
    since: u64,
    /// When the account was last looked at.
    looked: u64,
    /// How many calls there had been then, by processor.
    counted: Vec<u64>,
    /// What may still be spent.
    credit: f64,
}

impl Budget {
    pub fn new(share: Option<f64>, call_ns: f64, now: u64, counted: Vec<u64>) -> Budget {
        let (timing, credit) = (true, CREDIT_NS);
        Budget {
            share,
            call_ns,
            timing,
            since: now,
            looked: now,
            counted,
            credit,
        }
    }

    /// What to do, given how many calls have been timed so far on each processor.
    pub fn step(&mut self, now: u64, counted: Vec<u64>) -> Step {
        let Some(share) = self.share else {
            return Step::Nothing;
        };
        let before = self.counted.iter().chain(std::iter::repeat(&0));
        let most = counted
            .iter()
            .zip(before)
            .map(|(n, b)| n.saturating_sub(*b))
            .max();
        let passed = now.saturating_sub(self.looked) as f64;
        self.credit += passed * share * AIM - most.unwrap_or(0) as f64 * self.call_ns;
        self.credit = self.credit.min(CREDIT_NS);
        self.looked = now;
        self.counted = counted;
        let lasted = now.saturating_sub(self.since);
        match self.timing {
            true if self.credit < 0.0 && lasted >= WINDOW_NS => Step::Pause,
            // What a window costs is known from the last one, so it begins when that is earned.
            false if self.credit >= 0.0 || lasted >= PAUSE_MAX_NS => Step::Resume,
            _ => Step::Nothing,
        }
    }

    /// Timing has been switched off; the window that ends with it.
    pub fn paused(&mut self, now: u64) -> (u64, u64) {
        let window = (self.since, now);
        self.timing = false;
        self.since = now;
        window
    }

    pub fn resumed(&mut self, now: u64) {
        self.timing = true;
        self.since = now;
    }

    /// The window that is open, ended now.
    pub fn open_window(&self, now: u64) -> Option<(u64, u64)> {
        self.timing.then_some((self.since, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Run the budget against a processor with this rate of calls for 20 s; the share of the last
    /// 19 s in which they were timed.
    fn share_timed(rate: f64, call_ns: f64, share: f64) -> f64 {
        let mut b = Budget::new(Some(share), call_ns, 0, vec![0, 0]);
        let (mut timed, mut calls, step) = (0u64, 0.0, 10_000_000u64);
        for i in 1..=2000u64 {
            let now = i * step;
            if b.timing {
                calls += rate * step as f64 / 1e9;
                timed += if i > 100 { step } else { 0 };
            }
            match b.step(now, vec![7, calls as u64]) {
                Step::Pause => {
                    b.paused(now);
                }
                Step::Resume => b.resumed(now),
                Step::Nothing => {}
            }
        }
        timed as f64 / (1900 * step) as f64
    }

    /// A program that calls rarely is timed all the time.
    #[test]
    fn within_budget_nothing_pauses() {
        assert_eq!(share_timed(10_000.0, 400.0, 0.05), 1.0);
    }

    /// One that does nothing but call is timed so rarely that the cost stays within the budget.
    #[test]
    fn beyond_budget_the_share_holds() {
        let timed = share_timed(1_500_000.0, 400.0, 0.05);
        let cost = timed * 1_500_000.0 * 400.0 / 1e9;
        assert!(cost <= 0.05 && cost > 0.02, "{cost}");
    }

    /// The burst of calls of a program that starts does not use up the credit.
    #[test]
    fn a_burst_is_timed() {
        let mut b = Budget::new(Some(0.05), 400.0, 0, vec![0]);
        assert_eq!(b.step(25_000_000, vec![20_000]), Step::Nothing);
        assert_eq!(b.step(50_000_000, vec![20_100]), Step::Nothing);
        assert_eq!(b.step(75_000_000, vec![60_000]), Step::Pause);
    }

    /// With --exact there is no limit, whatever the rate.
    #[test]
    fn exact_never_pauses() {
        let mut b = Budget::new(None, 400.0, 0, vec![]);
        for i in 1..100 {
            assert_eq!(b.step(i * 50_000_000, vec![i * 1_000_000]), Step::Nothing);
        }
    }

    /// Each window is told when it ends, the open one when it is asked for.
    #[test]
    fn windows_are_told() {
        let mut b = Budget::new(Some(0.05), 400.0, 5, vec![]);
        assert_eq!(b.paused(30), (5, 30));
        assert_eq!(b.open_window(40), None);
        b.resumed(100);
        assert_eq!(b.open_window(120), Some((100, 120)));
    }
}
