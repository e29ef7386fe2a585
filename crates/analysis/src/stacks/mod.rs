//! Where in the code the time went: stacks, each with the time it stands for.
//!
//! Time on a processor comes from samples, time waited and time ready from the waits and delays that were recorded one
//! by one. What none of them tells (those below the threshold, threads that were never sampled) is kept as remainders, so that stacks and remainders together are the ledger's time and every view
//! of them adds up to it.
//!
//! It does not say what a frame means or what to do about it, and knows no thread's order of events
//! beyond the moments of its samples and waits.

mod call_sites;
mod code;
mod crates;
mod filter;
pub mod futures;
mod gather;
pub mod goroutines;
mod housekeeping;
mod java_libraries;
mod libraries_of_vms;
mod lines;
pub mod memory;
mod names_on_demand;
mod region;
mod runtime_locks;
mod runtime_sleeps;
mod top;
mod tree;
mod view;

pub use call_sites::CallSite;
pub use code::{Code, Function, FunctionIx, Node as CodeNode, Spot, StackIx};
pub use filter::{Filter, Selected};
pub use gather::StackGathering;
pub use lines::{LineShare, Lines};
pub use names_on_demand::{is_beam, names_on_demand, NamesOnDemand};
pub(crate) use region::without_recursion;
pub use region::{ItemPart, Region};
pub use runtime_locks::tell_waits_apart;
pub use top::{TopRow, What};
pub use tree::{Direction, Node, Step, Tree};
pub use view::{Amount, Dominant, View};

use std::collections::BTreeMap;

use timesink_recording::ids::ThreadId;
use timesink_recording::words::Detail;
use timesink_recording::{Nanos, Recording};

use crate::facts::Facts;
use crate::ledger::Account;

/// One sample, one wait or one time ready, and where in the code it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub thread: ThreadId,
    /// The moment of the sample, or the start of the wait or the time ready.
    pub at: Nanos,
    /// `Cpu`, `Wait` or `Ready`.
    pub account: Account,
    /// The kind of wait, why it was ready; `running` for a sample.
    pub detail: Detail,
    pub stack: StackIx,
    /// The time that it stands for.
    pub ns: u64,
}

/// Time for which there is no stack, by why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Missing {
    /// On a processor, in samples without a stack or between too few samples.
    Cpu,
    /// Ready, but not long, or without a stack.
    Ready,
    /// In waits that were recorded one by one, without a stack.
    Wait,
    /// In waits that were not recorded one by one: below the threshold, or lost.
    ShortWait,
    /// In timesink's own programs.
    Tracer,
    /// Not known, because events were lost.
    Lost,
}

impl Missing {
    /// The state of the ledger that it is part of.
    pub fn account(self) -> Account {
        match self {
            Missing::Cpu => Account::Cpu,
            Missing::Ready => Account::Ready,
            Missing::Wait | Missing::ShortWait => Account::Wait,
            Missing::Tracer => Account::Tracer,
            Missing::Lost => Account::Lost,
        }
    }

    /// The word for it, as in the JSON report.
    pub fn word(self) -> &'static str {
        match self {
            Missing::Cpu => "cpu without a stack",
            Missing::Ready => "ready",
            Missing::Wait => "waits without a stack",
            Missing::ShortWait => "short waits",
            Missing::Tracer => "recording",
            Missing::Lost => "lost",
        }
    }
}

/// A remainder of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rest {
    pub thread: ThreadId,
    pub missing: Missing,
    pub ns: u64,
}

/// How many samples or waits there were, and how many of them have a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    pub count: u64,
    pub with_stack: u64,
}

/// What is known of the stacks as such, whatever the filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Samples and waits that have a stack.
    pub taken: u64,
    /// Those of them that reach to where the thread began.
    pub complete: u64,
    /// Frames that stacks are made of, each counted once.
    pub frames: u64,
    /// Those of them without a function's name.
    pub nameless_frames: u64,
    pub samples: Coverage,
    /// Waits that were recorded one by one, by kind.
    pub waits: BTreeMap<Detail, Coverage>,
    /// Stacks of those who ended a wait.
    pub wakers: u64,
}

/// The stacks of a recording, or of the part of it that a filter lets pass.
#[derive(Clone, Debug)]
pub struct Stacks {
    pub code: Code,
    /// Sorted by thread, then moment.
    pub events: Vec<Event>,
    /// Sorted by thread.
    pub rests: Vec<Rest>,
    pub counts: Counts,
    /// From where calls are made; sorted by thread, then moment.
    pub sites: Vec<CallSite>,
}

impl Stacks {
    /// The stacks of an open recording whose facts are these, as far as the filter lets them pass.
    pub fn of(
        recording: &Recording,
        facts: &Facts,
        filter: &Filter,
    ) -> timesink_recording::Result<Stacks> {
        gather::gather(recording, facts, filter)
    }

    /// Whether there is any stack at all.
    pub fn any(&self) -> bool {
        !self.events.is_empty()
    }

    /// All of it.
    pub fn view(&self) -> View<'_> {
        self.view_of(|_, _| true)
    }

    /// The part of it in these threads and states.
    pub fn view_of(&self, wanted: impl Fn(ThreadId, Account) -> bool) -> View<'_> {
        let events = self.events.iter();
        let rests = self.rests.iter();
        View::new(
            &self.code,
            events.filter(|event| wanted(event.thread, event.account)),
            rests.filter(|rest| wanted(rest.thread, rest.missing.account())),
        )
    }

    /// One thread's part.
    pub fn view_of_thread(&self, thread: ThreadId) -> View<'_> {
        View::new(
            &self.code,
            self.events_of(thread).iter(),
            self.rests_of(thread).iter(),
        )
    }

    /// The remainders of one thread.
    pub fn rests_of(&self, thread: ThreadId) -> &[Rest] {
        let from = self.rests.partition_point(|rest| rest.thread < thread);
        let to = self.rests.partition_point(|rest| rest.thread <= thread);
        &self.rests[from..to]
    }

    /// The stack of a thread at a moment: of a wait that began then, or of a sample.
    pub fn stack_at(&self, thread: ThreadId, moment: Nanos) -> Option<StackIx> {
        let events = self.events_of(thread);
        let at = events.partition_point(|event| event.at < moment);
        let event = events.get(at).filter(|event| event.at == moment)?;
        Some(event.stack)
    }

    /// The samples of one thread on a processor, from one moment to before another, in order.
    pub fn samples_of(
        &self,
        thread: ThreadId,
        from: Nanos,
        until: Nanos,
    ) -> impl Iterator<Item = &Event> {
        let events = self.events_of(thread);
        let begun = events.partition_point(|event| event.at < from);
        let within = events[begun..].iter();
        let within = within.take_while(move |event| event.at < until);
        within.filter(|event| event.account == Account::Cpu)
    }

    /// The samples, waits and times ready of one thread, in order.
    pub fn events_of(&self, thread: ThreadId) -> &[Event] {
        let from = self.events.partition_point(|event| event.thread < thread);
        let to = self.events.partition_point(|event| event.thread <= thread);
        &self.events[from..to]
    }
}
