//! Whether threads do the same work, by where their samples are: parts of one work can be dealt out otherwise, works of
//! different kinds cannot.

use std::collections::BTreeMap;

use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::FunctionIx;
use timesink_recording::ids::ThreadId;

use crate::inquiry::Inquiry;

/// The shares of a thread's time on a processor.
pub struct Work {
    /// By the innermost function of the program itself.
    inner: BTreeMap<FunctionIx, f64>,
    /// The outermost one of most of it.
    outer: Option<FunctionIx>,
}

/// So much of their time must be in the same functions.
const ALIKE: f64 = 0.3;

impl Work {
    /// `None` if there is no sample of it.
    pub fn of(of: &Inquiry<'_>, thread: ThreadId) -> Option<Work> {
        let code = &of.stacks.code;
        let mut inner: BTreeMap<FunctionIx, f64> = BTreeMap::new();
        let mut outer: BTreeMap<FunctionIx, f64> = BTreeMap::new();
        let mut all = 0.0;
        let events = of.stacks.events_of(thread).iter();
        for event in events.filter(|event| event.account == Account::Cpu) {
            let functions = code.functions_of(event.stack);
            let own = || functions.iter().filter(|&&f| !code.is_system(f));
            if let (Some(&first), Some(&last)) = (own().next(), own().next_back()) {
                *inner.entry(first).or_default() += event.ns as f64;
                *outer.entry(last).or_default() += event.ns as f64;
                all += event.ns as f64;
            }
        }
        inner.values_mut().for_each(|ns| *ns /= all);
        let outer = outer.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        (all > 0.0).then_some(Work {
            inner,
            outer: outer.map(|(function, _)| function),
        })
    }

    /// Whether another one does the same.
    pub fn is_like(&self, other: &Work) -> bool {
        let shared = self.inner.iter().map(|(function, share)| {
            let theirs = other.inner.get(function).copied().unwrap_or(0.0);
            share.min(theirs)
        });
        self.outer == other.outer && shared.sum::<f64>() >= ALIKE
    }
}
