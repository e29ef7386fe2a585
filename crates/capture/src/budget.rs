//! Keeping the cost of timing system calls within the budget.
//!
//! Timing costs each call some hundred nanoseconds, in the whole system even an untimed call pays
//! for the tracepoint. A thread that does little else but call is slowed beyond any budget, so the
//! two programs are detached and come back for a short window now and then; what the windows saw
//! stands for the rest, and the recording says so. Pure: rates and times in, decisions out.

/// How long a window lasts once timing is rationed.
const WINDOW_NS: u64 = 20_000_000;
/// The part of the budget that the calls themselves may take: a call that is timed also slows what
/// comes after it, by what it pushes out of the caches, which the measured cost of one does not show.
const AIM: f64 = 0.45;
/// Never pause longer than this, or short phases would be missed.
const PAUSE_MAX_NS: u64 = 2_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Nothing,
    Pause,
    Resume,
}

pub struct Budget {
    /// The share of a thread's time that timing its calls may cost; `None`: no limit.
    share: Option<f64>,
    call_ns: f64,
    timing: bool,
    /// When the present window or pause began.
    since: u64,
    /// When the pause is to end.
    resume_at: u64,
    /// What calls cost the busiest processor in the windows lately, as a share of its time.
    cost: f64,

}

impl Budget {
    pub fn new(share: Option<f64>, call_ns: f64, now: u64) -> Budget {
        Budget { share, call_ns, timing: true, since: now, resume_at: 0, cost: 0.0 }
    }

    /// What to do, given the highest rate of calls per second that any processor reached lately.
    pub fn step(&mut self, now: u64, peak_rate: f64) -> Step {
        let Some(share) = self.share else { return Step::Nothing };
        if !self.timing {
            return if now >= self.resume_at { Step::Resume } else { Step::Nothing };
        }
        let cost = (peak_rate * self.call_ns / 1e9).min(0.95);
        self.cost = if cost > self.cost { cost } else { 0.7 * self.cost + 0.3 * cost };
        if self.cost <= share {
            return Step::Nothing;
        }
        let spent = now - self.since;
        if spent < WINDOW_NS {
            return Step::Nothing;
        }
        // Window and pause together cost the share, less what switching to and fro takes.
        let pause = spent as f64 * (self.cost / (share * AIM) - 1.0);
        self.resume_at = now + (pause as u64).clamp(WINDOW_NS, PAUSE_MAX_NS);
        Step::Pause
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

    #[cfg(test)]
    pub fn timing(&self) -> bool {
        self.timing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Run the budget against a thread with this rate for some seconds; the share of time timed.
    fn share_timed(rate: f64, call_ns: f64, share: f64) -> f64 {
        let mut b = Budget::new(Some(share), call_ns, 0);
        let (mut timed, step) = (0u64, 10_000_000u64);
        for i in 1..=2000u64 {
            let now = i * step;
            if b.timing() {
                timed += step;
            }
            match b.step(now, if b.timing() { rate } else { 0.0 }) {
                Step::Pause => {
                    b.paused(now);
                }
                Step::Resume => b.resumed(now),
                Step::Nothing => {}
            }
        }
        timed as f64 / (2000 * step) as f64
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

    /// With --exact there is no limit, whatever the rate.
    #[test]
    fn exact_never_pauses() {
        let mut b = Budget::new(None, 400.0, 0);
        for i in 1..100 {
            assert_eq!(b.step(i * 50_000_000, 3e6), Step::Nothing);
        }
    }

    /// Each window is told when it ends, the open one when it is asked for.
    #[test]
    fn windows_are_told() {
        let mut b = Budget::new(Some(0.05), 400.0, 5);
        assert_eq!(b.paused(30), (5, 30));
        assert_eq!(b.open_window(40), None);
        b.resumed(100);
        assert_eq!(b.open_window(120), Some((100, 120)));
    }
}
