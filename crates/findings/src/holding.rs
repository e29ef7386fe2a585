//! What threads do while they hold a lock that others wait for, from their samples and waits in that time.

use std::collections::BTreeMap;

use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::{Event, Spot, StackIx};
use timesink_analysis::timeline::locks::Hold;
use timesink_analysis::waits::quantile;
use timesink_recording::ids::ThreadId;
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use crate::inquiry::Inquiry;
use crate::say;
use crate::sentence::{Piece, Sentence};

/// Whether holders mostly had no processor, or what they did is lost: then the lock is not to blame.
pub fn no_processor(inquiry: &Inquiry<'_>, holds: &[Hold]) -> bool {
    let sum = |ns: &dyn Fn(&Hold) -> u64| holds.iter().map(ns).fold(0, u64::saturating_add);
    let sampling = Sampling::of(inquiry);
    sum(&|hold| sampling.own_ns(hold)) < sum(&Hold::ns) / 2
}

/// How often threads on a processor are sampled, and what samples say of stretches in which a lock was held.
///
/// A machine may stand still without saying so: its host has the processor, or its firmware. The kernel counts that as time
/// of the thread, but its clocks stand still too, so no sample falls into it. Who is told to run for so long that two samples in
/// a row are missing did not run, as far as is known.
pub struct Sampling<'a> {
    inquiry: &'a Inquiry<'a>,
    /// Longer than this there is no time on a processor without a sample.
    still_ns: u64,
}

impl<'a> Sampling<'a> {
    pub fn of(inquiry: &'a Inquiry<'a>) -> Sampling<'a> {
        /// Of a recording without samples: 499 a second are taken if nobody asks for another rate.
        const DEFAULT_NS: u64 = 1_000_000_000 / 499;
        let usual_ns = between_samples(inquiry).or_else(|| time_per_sample(inquiry));
        Sampling {
            inquiry,
            still_ns: usual_ns.unwrap_or(DEFAULT_NS).saturating_mul(2),
        }
    }

    /// For how long of a stretch its holder did something: it waited for something else, or ran and was seen to.
    pub fn own_ns(&self, hold: &Hold) -> u64 {
        if hold.own_ns <= self.still_ns {
            return hold.own_ns;
        }
        hold.own_ns.saturating_sub(self.unseen_ns(hold))
    }

    /// Time on a processor within a stretch between two samples that are too far apart.
    fn unseen_ns(&self, hold: &Hold) -> u64 {
        let timeline = self.inquiry.timeline;
        let events = self
            .inquiry
            .stacks
            .events_of(timeline.threads[hold.holder].thread);
        let spans = timeline.between(hold.holder, hold.from, hold.until);
        // What was taken from a run is not its own already.
        let runs = spans.filter(|(span, _)| {
            span.state == State::Cpu && span.detail != Detail::SwitchingIn && span.taken_ns() == 0
        });
        let mut unseen_ns = 0u64;
        for (span, _) in runs {
            let (from, until) = (span.t0.max(hold.from), span.t1.min(hold.until));
            let first = events.partition_point(|event| event.at <= from);
            let within = events[first..].iter().take_while(|event| event.at < until);
            let samples = within.filter(|event| event.account == Account::Cpu);
            let mut last: Nanos = from;
            for at in samples.map(|sample| sample.at).chain([until]) {
                let ns = at.since(last);
                unseen_ns += if ns > self.still_ns { ns } else { 0 };
                last = at;
            }
        }
        unseen_ns
    }
}

/// The usual time from one sample of a thread that stays on a processor to the next; `None` where there are too few of these. Who is
/// seldom on a processor for so long, and what a machine that stands still adds, do not count.
fn between_samples(inquiry: &Inquiry<'_>) -> Option<u64> {
    /// So many tell what is usual, however many there are.
    const ENOUGH: usize = 1000;
    const FEW: usize = 5;
    let timeline = inquiry.timeline;
    let threads = timeline.threads.iter().enumerate();
    let gaps = threads.flat_map(|(slot, thread)| {
        let moments = samples(inquiry, thread.thread).map(|sample| sample.at);
        let pairs = moments.clone().zip(moments.skip(1));
        let within_a_run = pairs.filter(move |&(from, until)| {
            let run = timeline.between(slot, from, until).next();
            run.is_some_and(|(span, _)| span.state == State::Cpu && span.t1 >= until)
        });
        within_a_run.map(|(from, until)| until.since(from))
    });
    let mut gaps: Vec<u64> = gaps.take(ENOUGH).collect();
    gaps.sort_unstable();
    (gaps.len() >= FEW).then(|| quantile(&gaps, 0.5))
}

/// The samples of a thread on a processor.
fn samples<'a>(
    inquiry: &'a Inquiry<'_>,
    thread: ThreadId,
) -> impl Iterator<Item = &'a Event> + Clone {
    let events = inquiry.stacks.events_of(thread).iter();
    events.filter(|event| event.account == Account::Cpu)
}

/// How long threads were on a processor for each sample.
fn time_per_sample(inquiry: &Inquiry<'_>) -> Option<u64> {
    // Whom no sample found at all says nothing of how often samples are taken.
    let threads = inquiry.timeline.threads.iter().map(|thread| {
        (
            thread.cpu_ns,
            samples(inquiry, thread.thread).count() as u64,
        )
    });
    let sampled = threads.filter(|(_, samples)| *samples > 0);
    let (ran_ns, samples) = sampled.fold((0u64, 0u64), |(ran_ns, all), (cpu_ns, samples)| {
        (ran_ns.saturating_add(cpu_ns), all + samples)
    });
    ran_ns.checked_div(samples)
}

/// What holders mostly do.
#[derive(Clone, Debug)]
pub struct Holding {
    account: Account,
    /// Of what is known of their time.
    share: f64,
    /// Of the heaviest stack, innermost first.
    pub frames: Vec<Spot>,
}

impl Holding {
    /// What is known of these stretches; `None` if no sample and no wait falls into them.
    pub fn of(inquiry: &Inquiry<'_>, holds: &[Hold]) -> Option<Holding> {
        /// So many waits that began before a stretch may reach into it.
        const BEFORE: usize = 4;
        let mut stacks: BTreeMap<(Account, StackIx), u64> = BTreeMap::new();
        let mut accounts: BTreeMap<Account, u64> = BTreeMap::new();
        for hold in holds {
            let thread = inquiry.timeline.threads[hold.holder].thread;
            let events = inquiry.stacks.events_of(thread);
            let from = events.partition_point(|event| event.at < hold.from);
            let until = events.partition_point(|event| event.at < hold.until);
            for event in &events[from.saturating_sub(BEFORE)..until] {
                let end = event.at.0.saturating_add_unsigned(event.ns);
                let ns = match event.account {
                    Account::Cpu if event.at < hold.from => 0,
                    Account::Cpu => event.ns.min(hold.ns()),
                    _ => end
                        .min(hold.until.0)
                        .saturating_sub(event.at.0.max(hold.from.0))
                        .max(0)
                        .unsigned_abs(),
                };
                if ns > 0 {
                    *stacks.entry((event.account, event.stack)).or_default() += ns;
                    *accounts.entry(event.account).or_default() += ns;
                }
            }
        }
        let (&account, &most) = accounts.iter().max_by_key(|(_, ns)| **ns)?;
        let all: u64 = accounts.values().sum();
        let of_it = stacks.iter().filter(|((is, _), _)| *is == account);
        let heaviest = of_it
            .max_by_key(|(_, ns)| **ns)
            .map(|((_, stack), _)| *stack)?;
        Some(Holding {
            account,
            share: most as f64 / all.max(1) as f64,
            frames: inquiry.spots(heaviest),
        })
    }

    /// In a sentence.
    pub fn told(&self, inquiry: &Inquiry<'_>) -> Sentence {
        let does = match self.account {
            Account::Cpu => "on CPU",
            Account::Ready => "runnable (waiting for a CPU)",
            _ => "blocked",
        };
        let percent = Piece::Percent(self.share * 100.0);
        let own = inquiry.stacks.code.own_of(&self.frames);
        match own.first().map(|spot| spot.function) {
            Some(function) => {
                say![
                    "its holder is ",
                    does,
                    " for ",
                    percent,
                    " of that time, in ",
                    function
                ]
            }
            None => say!["its holder is ", does, " for ", percent, " of that time"],
        }
    }
}
