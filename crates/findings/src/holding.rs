//! What threads do while they hold a lock that others wait for, from their samples and waits in that time.

use std::collections::BTreeMap;

use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::{Spot, StackIx};
use timesink_analysis::timeline::locks::Hold;

use crate::inquiry::Inquiry;
use crate::say;
use crate::sentence::{Piece, Sentence};

/// Whether holders mostly had no processor, or what they did is lost: then the lock is not to blame.
pub fn no_processor(holds: &[Hold]) -> bool {
    let sum = |ns: fn(&Hold) -> u64| holds.iter().map(ns).fold(0, u64::saturating_add);
    sum(|hold| hold.own_ns) < sum(Hold::ns) / 2
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
        let mut own = self
            .frames
            .iter()
            .map(|spot| spot.function)
            .filter(|&f| !inquiry.stacks.code.is_system(f));
        match own.next() {
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
