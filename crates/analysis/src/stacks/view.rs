//! A view: stacks with the sums of their times, of which the tables and trees are made.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Code, Event, FunctionIx, Missing, Rest, StackIx};
use crate::ledger::Account;

/// Time by state, and how many samples, waits and times ready it is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub cpu_ns: u64,
    pub wait_ns: u64,
    pub ready_ns: u64,
    /// In timesink's own programs, or lost.
    pub other_ns: u64,
    /// Samples, waits and times ready; remainders have none.
    pub count: u64,
}

impl Amount {
    /// All of it.
    pub fn ns(&self) -> u64 {
        [self.cpu_ns, self.wait_ns, self.ready_ns, self.other_ns]
            .iter()
            .fold(0, |sum, ns| sum.saturating_add(*ns))
    }

    pub(super) fn add(&mut self, other: &Amount) {
        let pairs = [
            (&mut self.cpu_ns, other.cpu_ns),
            (&mut self.wait_ns, other.wait_ns),
            (&mut self.ready_ns, other.ready_ns),
            (&mut self.other_ns, other.other_ns),
            (&mut self.count, other.count),
        ];
        for (mine, theirs) in pairs {
            *mine = mine.saturating_add(theirs);
        }
    }

    fn of(account: Account, ns: u64, count: u64) -> Amount {
        let mut amount = Amount {
            count,
            ..Amount::default()
        };
        match account {
            Account::Cpu => amount.cpu_ns = ns,
            Account::Wait => amount.wait_ns = ns,
            Account::Ready => amount.ready_ns = ns,
            Account::Tracer | Account::Lost => amount.other_ns = ns,
        }
        amount
    }
}

/// Some part of the stacks, summed up by stack.
#[derive(Clone, Debug)]
pub struct View<'a> {
    pub code: &'a Code,
    /// Each stack once, in the order of the table.
    pub stacks: Vec<(StackIx, Amount)>,
    pub rests: BTreeMap<Missing, Amount>,
    pub total: Amount,
}

/// The function through which most of the time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dominant {
    pub function: FunctionIx,
    /// The time that passes through it.
    pub amount: Amount,
    /// Of so much.
    pub whole_ns: u64,
}

impl<'a> View<'a> {
    pub(super) fn new<'e>(
        code: &'a Code,
        events: impl Iterator<Item = &'e Event>,
        rests: impl Iterator<Item = &'e Rest>,
    ) -> View<'a> {
        let mut by_stack: FxHashMap<StackIx, Amount> = FxHashMap::default();
        let mut total = Amount::default();
        for event in events {
            let amount = Amount::of(event.account, event.ns, 1);
            by_stack.entry(event.stack).or_default().add(&amount);
            total.add(&amount);
        }
        let mut by_cause: BTreeMap<Missing, Amount> = BTreeMap::new();
        for rest in rests {
            let amount = Amount::of(rest.missing.account(), rest.ns, 0);
            by_cause.entry(rest.missing).or_default().add(&amount);
            total.add(&amount);
        }
        let mut stacks: Vec<(StackIx, Amount)> = by_stack.into_iter().collect();
        stacks.sort_unstable_by_key(|(stack, _)| *stack);
        View {
            code,
            stacks,
            rests: by_cause,
            total,
        }
    }

    /// The time that passes through each function. A function that calls itself counts once.
    pub fn inclusive(&self) -> FxHashMap<FunctionIx, Amount> {
        let mut sums: FxHashMap<FunctionIx, Amount> = FxHashMap::default();
        for (stack, amount) in &self.stacks {
            let mut functions = self.code.functions_of(*stack);
            functions.sort_unstable();
            functions.dedup();
            for function in functions {
                sums.entry(function).or_default().add(amount);
            }
        }
        sums
    }

    /// The deepest of the program's own functions through which at least so much (0.8: four
    /// fifths) of the time passes, all of it, also that of which no stack tells. The deepest is the one
    /// that is on average farthest from the outermost frame.
    pub fn dominant(&self, least: f64) -> Option<Dominant> {
        let whole_ns = self.total.ns();
        let inclusive = self.inclusive();
        let mut candidates: Vec<(FunctionIx, Amount)> = inclusive
            .into_iter()
            .filter(|(function, amount)| {
                amount.ns() > 0
                    && amount.ns() as f64 >= whole_ns as f64 * least
                    && !self.code.is_system(*function)
            })
            .collect();
        candidates.sort_unstable_by_key(|(function, _)| *function);
        let mut depths: FxHashMap<FunctionIx, u128> = FxHashMap::default();
        for (stack, amount) in &self.stacks {
            let functions = self.code.functions_of(*stack);
            for (function, _) in &candidates {
                // Of a function that calls itself, the outermost call.
                if let Some(place) = functions.iter().rposition(|found| found == function) {
                    let depth = (functions.len() - place) as u128;
                    *depths.entry(*function).or_default() += depth * u128::from(amount.ns());
                }
            }
        }
        let mean = |function: &FunctionIx, amount: &Amount| {
            let depth = depths.get(function).copied().unwrap_or(0);
            depth as f64 / amount.ns().max(1) as f64
        };
        let deepest = candidates.into_iter().reduce(|best, next| {
            if mean(&next.0, &next.1) > mean(&best.0, &best.1) {
                next
            } else {
                best
            }
        })?;
        Some(Dominant {
            function: deepest.0,
            amount: deepest.1,
            whole_ns,
        })
    }
}
