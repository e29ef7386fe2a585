//! Keeping the cost of recording within the budget, by timing system calls less.
//!
//! Timing costs each call some hundred nanoseconds; in the whole system even an untimed call pays for
//! the tracepoint. A program that does little else but call is slowed beyond any budget, so the two
//! programs are detached and come back for a short window now and then; what the windows saw stands
//! for the rest, and the recording says so. Pure: counts and times in, decisions out.
//!
//! The account is kept in time: what the calls of the busiest processor cost is spent; earned is the
//! budget's share of the time that passes, less what the switches and samples there cost, and a processor's share of
//! what timesink itself takes to write down what it is told: they cannot be left out. Who starts has some credit, so that a short program,
//! and the burst of calls of a program that starts, are timed whole.

use crate::spool::EventCosts;

/// How much may be spent in advance.
const CREDIT_NS: f64 = 10e6;
/// A window lasts at least this long.
const WINDOW_NS: u64 = 20_000_000;
/// Never pause longer than this, or short phases would be missed.
const PAUSE_MAX_NS: u64 = 2_000_000_000;
/// The part of the budget that the calls themselves may take: a call that is timed also slows what
/// comes after it, by what it pushes out of the caches, which the measured cost of one does not show.
const AIM: f64 = 0.6;
/// The part from when so many were timed that more of them tell hardly more: of a call that is one in a hundred the share is known
/// within 2 % by then, and who calls so often for longer is a server at full load. There a timed call costs three to four times what it
/// costs in a loop of one call, by which its price is measured: nginx lost 22 % with all its calls timed, 134,000 a second on each of two
/// processors at 350 ns.
const AIM_WHEN_KNOWN: f64 = 0.3;
const KNOWN_CALLS: u64 = 200_000;
/// And the part that they may take whatever the switches cost.
const LEAST: f64 = 0.05;
/// What a call of a thread that is not recorded costs while calls are timed, of one that is: the way into two programs, which was
/// measured at 163 of 350 ns.
const UNRECORDED: f64 = 0.5;
/// From then on it counts what timesink itself takes. Before, it reads the files of the programs, which is soon over and says nothing of
/// the calls.
const SETTLED_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetStep {
    Nothing,
    Pause,
    Resume,
}

/// What has been recorded on one processor so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CountedEvents {
    pub calls: u64,
    /// Calls of threads that are not recorded, while calls were timed.
    pub unrecorded_calls: u64,
    pub switches: u64,
    /// What noting the return of so many calls took.
    pub returns_ns: u64,
    pub returns: u64,
    /// What stacks of calls took, and what samples did.
    pub call_stacks_ns: u64,
    pub samples_ns: u64,
}

impl CountedEvents {
    fn since(self, before: CountedEvents) -> CountedEvents {
        CountedEvents {
            calls: self.calls.saturating_sub(before.calls),
            unrecorded_calls: self
                .unrecorded_calls
                .saturating_sub(before.unrecorded_calls),
            switches: self.switches.saturating_sub(before.switches),
            returns_ns: self.returns_ns.saturating_sub(before.returns_ns),
            returns: self.returns.saturating_sub(before.returns),
            call_stacks_ns: self.call_stacks_ns.saturating_sub(before.call_stacks_ns),
            samples_ns: self.samples_ns.saturating_sub(before.samples_ns),
        }
    }
}

/// What noting the return of a call took, 0 if of none it was measured.
pub fn mean_return_ns(counted: &[CountedEvents]) -> f64 {
    let ns: u64 = counted.iter().map(|one| one.returns_ns).sum();
    let returns: u64 = counted.iter().map(|one| one.returns).sum();
    ns as f64 / returns.max(1) as f64
}

/// What was spent on one processor, nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    /// On calls, which need not be.
    calls: f64,
    /// On switches and samples.
    others: f64,
}

fn spent_on(events: CountedEvents, prices: &EventCosts) -> Spent {
    let call_ns = prices.call_with_returns(events.returns_ns, events.returns);
    let unrecorded_ns = prices.call_ns * UNRECORDED;
    Spent {
        calls: events.calls as f64 * call_ns
            + events.unrecorded_calls as f64 * unrecorded_ns
            + events.call_stacks_ns as f64,
        others: events.switches as f64 * prices.switch_ns + events.samples_ns as f64,
    }
}

pub struct Budget {
    /// The share of a processor's time that recording may cost; `None`: no limit.
    share: Option<f64>,
    prices: EventCosts,
    timing: bool,
    /// When all began.
    began: u64,
    /// When the present window or pause began.
    since: u64,
    /// When the account was last looked at.
    looked: u64,
    /// What had been counted then, by processor.
    counted: Vec<CountedEvents>,
    /// The CPU time that timesink had taken then.
    own_ns: u64,
    /// What may still be spent.
    credit: f64,
}

impl Budget {
    pub fn new(
        share: Option<f64>,
        prices: EventCosts,
        now: u64,
        own_ns: u64,
        counted: Vec<CountedEvents>,
    ) -> Budget {
        let (timing, credit) = (true, CREDIT_NS);
        Budget {
            share,
            prices,
            timing,
            began: now,
            since: now,
            looked: now,
            counted,
            own_ns,
            credit,
        }
    }

    /// What to do, given what has been counted so far on each processor, and the CPU time that timesink has taken.
    pub fn step(&mut self, now: u64, own_ns: u64, counted: Vec<CountedEvents>) -> BudgetStep {
        let Some(share) = self.share else {
            return BudgetStep::Nothing;
        };
        let spent = self.busiest(&counted);
        let passed = now.saturating_sub(self.looked) as f64;
        let own = match now.saturating_sub(self.began) {
            ..SETTLED_NS => 0.0,
            _ => own_ns.saturating_sub(self.own_ns) as f64 / counted.len().max(1) as f64,
        };
        let earned =
            (passed * share * self.aim(&counted) - spent.others - own).max(passed * share * LEAST);
        self.credit = (self.credit + earned - spent.calls).min(CREDIT_NS);
        self.looked = now;
        self.own_ns = own_ns;
        self.counted = counted;
        let lasted = now.saturating_sub(self.since);
        match self.timing {
            true if self.credit < 0.0 && lasted >= WINDOW_NS => BudgetStep::Pause,
            // What a window costs is known from the last one, so it begins when that is earned.
            false if self.credit >= 0.0 || lasted >= PAUSE_MAX_NS => BudgetStep::Resume,
            _ => BudgetStep::Nothing,
        }
    }

    /// Nothing is taken back: what was counted before this began is little.
    fn aim(&self, counted: &[CountedEvents]) -> f64 {
        let calls: u64 = counted.iter().map(|one| one.calls).sum();
        match calls {
            ..KNOWN_CALLS => AIM,
            _ => AIM_WHEN_KNOWN,
        }
    }

    /// What has been spent since the last look, where that is most.
    fn busiest(&self, counted: &[CountedEvents]) -> Spent {
        let before = self.counted.iter().copied();
        let before = before.chain(std::iter::repeat(CountedEvents::default()));
        counted
            .iter()
            .zip(before)
            .map(|(now, before)| spent_on(now.since(before), &self.prices))
            .max_by(|a, b| (a.calls + a.others).total_cmp(&(b.calls + b.others)))
            .unwrap_or_default()
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

    const PRICES: EventCosts = EventCosts {
        call_ns: 400.0,
        return_ns: 200.0,
        switch_ns: 500.0,
        start_ns: 0,
    };

    fn calls(calls: u64) -> Vec<CountedEvents> {
        vec![CountedEvents {
            calls,
            ..CountedEvents::default()
        }]
    }

    /// Run the budget against a processor with these rates of calls and of switches for 20 s; the
    /// share of the last 19 s in which calls were timed.
    fn share_timed(call_rate: f64, switch_rate: f64, share: f64) -> f64 {
        share_timed_beside(call_rate, switch_rate, share, 0.0)
    }

    /// The same where timesink itself takes that share of a processor.
    fn share_timed_beside(call_rate: f64, switch_rate: f64, share: f64, own: f64) -> f64 {
        let mut b = Budget::new(Some(share), PRICES, 0, 0, vec![CountedEvents::default(); 2]);
        let (mut timed, mut calls, step) = (0u64, 0.0, 10_000_000u64);
        for i in 1..=2000u64 {
            let now = i * step;
            if b.timing {
                calls += call_rate * step as f64 / 1e9;
                timed += if i > 100 { step } else { 0 };
            }
            let busy = CountedEvents {
                calls: calls as u64,
                switches: (switch_rate * now as f64 / 1e9) as u64,
                ..CountedEvents::default()
            };
            let quiet = CountedEvents {
                calls: 7,
                switches: i,
                ..CountedEvents::default()
            };
            match b.step(now, (own * now as f64) as u64, vec![quiet, busy]) {
                BudgetStep::Pause => {
                    b.paused(now);
                }
                BudgetStep::Resume => b.resumed(now),
                BudgetStep::Nothing => {}
            }
        }
        timed as f64 / (1900 * step) as f64
    }

    /// A program that calls rarely is timed all the time.
    #[test]
    fn within_budget_nothing_pauses() {
        assert_eq!(share_timed(10_000.0, 5_000.0, 0.05), 1.0);
    }

    /// One that does nothing but call is timed so rarely that the cost stays within the budget.
    #[test]
    fn beyond_budget_the_share_holds() {
        let timed = share_timed(1_500_000.0, 0.0, 0.05);
        let cost = timed * 1_500_000.0 * 400.0 / 1e9;
        assert!(cost <= 0.05 && cost > 0.01, "{cost}");
    }

    /// Once many calls were timed, fewer are: what they tell is known.
    #[test]
    fn what_is_known_is_timed_less() {
        let few = share_timed(150_000.0, 0.0, 0.05);
        assert!(few < 0.5, "{few}");
        assert_eq!(share_timed(35_000.0, 0.0, 0.05), 1.0);
    }

    /// While calls are timed those of threads that are not recorded cost something, too: of a client, say.
    #[test]
    fn calls_of_others_are_paid_for() {
        let mut b = Budget::new(Some(0.05), PRICES, 0, 0, calls(0));
        let mut counted = calls(1_000);
        counted[0].unrecorded_calls = 40_000;
        assert_eq!(b.step(25_000_000, 0, counted.clone()), BudgetStep::Nothing);
        counted[0].unrecorded_calls = 100_000;
        assert_eq!(b.step(50_000_000, 0, counted), BudgetStep::Pause);
    }

    /// Where the switches alone use up the budget, calls are still looked at now and then.
    #[test]
    fn switches_are_paid_for_first() {
        let timed = share_timed(900_000.0, 450_000.0, 0.05);
        let cost = timed * 900_000.0 * 400.0 / 1e9;
        assert!(cost <= 0.005 && cost > 0.001, "{cost}");
        let some = share_timed(900_000.0, 15_000.0, 0.05);
        assert!(some > 2.0 * timed && some < share_timed(900_000.0, 0.0, 0.05));
    }

    /// What timesink takes to write down what it is told is a cost too.
    #[test]
    fn its_own_time_is_paid_for_first() {
        let alone = share_timed(900_000.0, 0.0, 0.05);
        let beside = share_timed_beside(900_000.0, 0.0, 0.05, 0.015);
        assert!(
            beside > 0.3 * alone && beside < 0.7 * alone,
            "{beside} of {alone}"
        );
        let much = share_timed_beside(900_000.0, 0.0, 0.05, 0.5);
        assert!(much > 0.0 && much < 0.3 * alone, "{much} of {alone}");
    }

    /// In a Ruby program a sample took 16 us, 1.6 % of a processor at 1,000 a second, and a call that looked up a path half again
    /// as much as the one by which the price was known: with a budget of 5 % recording cost 10.
    #[test]
    fn samples_and_dear_calls_are_paid_for() {
        let all_of = |counted: CountedEvents| {
            let mut b = Budget::new(Some(0.05), PRICES, 0, 0, calls(0));
            b.credit = 0.0;
            b.step(100_000_000, 0, vec![counted]);
            b.credit
        };
        let cheap = CountedEvents {
            calls: 5_000,
            ..CountedEvents::default()
        };
        assert_eq!(all_of(cheap), 3e6 - 2e6);
        let sampled = CountedEvents {
            samples_ns: 1_600_000,
            ..cheap
        };
        assert_eq!(all_of(sampled), 3e6 - 2e6 - 1.6e6);
        let dear = CountedEvents {
            returns_ns: 250_000,
            returns: 625,
            call_stacks_ns: 100_000,
            ..cheap
        };
        assert_eq!(all_of(dear), 3e6 - 5_000.0 * (200.0 + 400.0) - 1e5);
    }

    /// The burst of calls of a program that starts does not use up the credit.
    #[test]
    fn a_burst_is_timed() {
        let mut b = Budget::new(Some(0.05), PRICES, 0, 0, calls(0));
        assert_eq!(b.step(25_000_000, 0, calls(6_000)), BudgetStep::Nothing);
        assert_eq!(b.step(50_000_000, 0, calls(6_100)), BudgetStep::Nothing);
        assert_eq!(b.step(75_000_000, 0, calls(60_000)), BudgetStep::Pause);
    }

    /// With --exact there is no limit, whatever the rate.
    #[test]
    fn exact_never_pauses() {
        let mut b = Budget::new(None, PRICES, 0, 0, vec![]);
        for i in 1..100 {
            assert_eq!(
                b.step(i * 50_000_000, 0, calls(i * 1_000_000)),
                BudgetStep::Nothing
            );
        }
    }

    /// Each window is told when it ends, the open one when it is asked for.
    #[test]
    fn windows_are_told() {
        let mut b = Budget::new(Some(0.05), PRICES, 5, 0, vec![]);
        assert_eq!(b.paused(30), (5, 30));
        assert_eq!(b.open_window(40), None);
        b.resumed(100);
        assert_eq!(b.open_window(120), Some((100, 120)));
    }
}
