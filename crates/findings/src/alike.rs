//! Whether threads do the same work, by where their samples are: parts of one work can be dealt out otherwise, works of
//! different kinds cannot.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::{is_beam, Event, FunctionIx, StackIx};
use timesink_recording::ids::ThreadId;

use crate::inquiry::Inquiry;

/// The shares of a thread's time on a processor.
pub struct Work {
    /// By the innermost function of the program itself.
    inner: BTreeMap<FunctionIx, f64>,
    /// The outermost one of most of it.
    outer: Option<FunctionIx>,
    /// All functions that it was seen in.
    within: BTreeSet<FunctionIx>,
}

/// So much of their time must be in the same functions.
const ALIKE: f64 = 0.3;

/// The works of threads; what is known of a stack is kept.
pub struct Works<'a> {
    inquiry: &'a Inquiry<'a>,
    known: BTreeMap<StackIx, Option<(FunctionIx, FunctionIx)>>,
}

impl<'a> Works<'a> {
    pub fn new(inquiry: &'a Inquiry<'a>) -> Works<'a> {
        Works {
            inquiry,
            known: BTreeMap::new(),
        }
    }

    /// The innermost and the outermost function of the program itself.
    fn ends(&mut self, stack: StackIx) -> Option<(FunctionIx, FunctionIx)> {
        let code = &self.inquiry.stacks.code;
        *self.known.entry(stack).or_insert_with(|| {
            let functions = code.functions_of(stack);
            let mut own = functions.iter().filter(|&&f| !code.is_system(f));
            let first = *own.next()?;
            Some((first, own.next_back().copied().unwrap_or(first)))
        })
    }

    /// `None` if there is no sample of it.
    pub fn of_thread(&mut self, thread: ThreadId) -> Option<Work> {
        self.of_events(self.inquiry.stacks.events_of(thread).iter())
    }

    /// The same of what samples show.
    pub fn of_events<'e>(&mut self, events: impl Iterator<Item = &'e Event>) -> Option<Work> {
        let mut inner: BTreeMap<FunctionIx, f64> = BTreeMap::new();
        let mut outer: BTreeMap<FunctionIx, f64> = BTreeMap::new();
        let mut all = 0.0;
        let mut stacks: BTreeSet<StackIx> = BTreeSet::new();
        for event in events.filter(|event| event.account == Account::Cpu) {
            if let Some((first, last)) = self.ends(event.stack) {
                stacks.insert(event.stack);
                *inner.entry(first).or_default() += event.ns as f64;
                *outer.entry(last).or_default() += event.ns as f64;
                all += event.ns as f64;
            }
        }
        inner.values_mut().for_each(|ns| *ns /= all);
        let outer = outer.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let code = &self.inquiry.stacks.code;
        let within = stacks.iter().flat_map(|&stack| code.functions_of(stack));
        (all > 0.0).then_some(Work {
            inner,
            outer: outer.map(|(function, _)| function),
            within: within.collect(),
        })
    }
}

impl Work {
    /// Whether another one does the same.
    pub fn is_like(&self, other: &Work) -> bool {
        self.outer == other.outer && self.is_in_the_same_functions(other)
    }

    /// Whether another one does part of this: it begins in a function that this one calls, too, and is mostly in the same ones.
    pub fn has_part_in(&self, other: &Work) -> bool {
        let begins = other.outer.filter(|outer| self.within.contains(outer));
        begins.is_some() && self.is_in_the_same_functions(other)
    }

    fn is_in_the_same_functions(&self, other: &Work) -> bool {
        let shared = self.inner.iter().map(|(function, share)| {
            let theirs = other.inner.get(function).copied().unwrap_or(0.0);
            share.min(theirs)
        });
        shared.sum::<f64>() >= ALIKE
    }
}

/// Whether a runtime hands out work among threads of its own, as those of Java, JavaScript, Python, Go and Erlang do: which
/// thread does what is not the program's choice there.
pub fn is_managed(inquiry: &Inquiry<'_>) -> bool {
    let code = &inquiry.stacks.code;
    let mut functions = code.functions.iter();
    functions.any(|function| {
        function.is_script()
            || code.file_of(function).is_some_and(is_beam)
            || matches!(
                function.name.as_str(),
                "runtime.mstart" | "runtime.mcall" | "runtime.goexit"
            )
    })
}
