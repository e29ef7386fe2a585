//! What rules are asked about: the facts of one recording, gathered once.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::programs::{program, Programs};
use timesink_analysis::facts::Facts;
use timesink_analysis::ledger::{Account, Cause, Kind};
use timesink_analysis::outlook::Outlook;
use timesink_analysis::path::Key;
use timesink_analysis::stacks::{Event, Function, FunctionIx, Spot, StackIx, Stacks};
use timesink_analysis::timeline::{Span, Timeline};
use timesink_analysis::waits::arrivals::Arrivals;
use timesink_analysis::waits::peers::Peer;
use timesink_analysis::waits::WaitGroup;
use timesink_analysis::waits::Waited;
use timesink_recording::floors::Floors;
use timesink_recording::ids::{ObjectId, ProcessId, StackId, ThreadId};
use timesink_recording::words::{Detail, LossKind, State};

use crate::limit::Limits;
use crate::need::Need;

/// All that a rule may look at.
pub struct Inquiry<'a> {
    pub facts: &'a Facts,
    pub stacks: &'a Stacks,
    pub timeline: &'a Timeline,
    pub outlook: &'a Outlook,
    pub programs: &'a Programs,
    /// What is known of single waits, and of calls thread by thread.
    pub waited: &'a Waited,
    /// Where the program was started; empty if that is not known.
    pub directory: &'a str,
    /// Limits that the user set otherwise than the rules.
    pub limits: &'a Limits,
    /// What the machine does at best, if that was measured.
    pub floors: Option<&'a Floors>,
}

impl Inquiry<'_> {
    /// Waits that are alike, longest first.
    pub fn waits(&self) -> &[WaitGroup] {
        &self.waited.groups
    }

    /// Whom processes asked, and how they waited for the answers.
    pub fn peers(&self) -> &[Peer] {
        &self.waited.peers(self.facts, self.timeline).all
    }

    /// By whom processes were asked, and how they waited for that.
    pub fn asking(&self) -> &[Peer] {
        &self.waited.peers(self.facts, self.timeline).asking
    }

    /// The waits of these processes one by one, each with its index; but for those of a runtime's own threads that wake up by a timer.
    pub fn single_waits<'a>(
        &'a self,
        is_meant: impl Fn(ProcessId) -> bool + 'a,
    ) -> impl Iterator<Item = (usize, &'a Span)> + 'a {
        let threads = self.timeline.threads.iter().enumerate();
        let theirs = threads.filter(move |(slot, thread)| {
            is_meant(thread.process) && !self.timeline.is_housekeeping(*slot)
        });
        let spans = theirs.flat_map(|(slot, _)| self.timeline.indexed(slot));
        spans.filter(|(_, span)| span.state == State::Wait)
    }

    /// What comes in to threads in so many pieces or more.
    pub fn arrivals(&self, least: usize) -> impl Iterator<Item = &Arrivals> + Clone {
        let all = self.waited.arrivals(self.timeline).iter();
        all.filter(move |arrivals| arrivals.at.len() >= least)
    }

    /// Whether the recording has what a rule needs.
    pub fn has(&self, need: Need) -> bool {
        match need {
            Need::Calls => self.facts.calls_timed_ns > 0 || !self.facts.calls.is_empty(),
            Need::WholeCalls => {
                let lost = [LossKind::Calls, LossKind::Waits];
                self.has(Need::Calls) && !lost.iter().any(|kind| self.has_lost(*kind))
            }
            Need::Stacks => self.stacks.any(),
        }
    }

    /// Whether rows of this kind were lost.
    pub fn has_lost(&self, kind: LossKind) -> bool {
        self.facts.losses.iter().any(|loss| loss.kind == kind)
    }

    /// How often a process waited so for a thing: the short waits too, which are not recorded one by one.
    pub fn waited_for(&self, process: ProcessId, detail: Detail, object: ObjectId) -> u64 {
        let waits = self.waits_of(process, detail, object);
        waits.map(|cause| cause.count).sum()
    }

    /// How long it waited in all of them.
    pub fn waited_ns(&self, process: ProcessId, detail: Detail, object: ObjectId) -> u64 {
        let waits = self.waits_of(process, detail, object);
        waits.map(|cause| cause.ns).fold(0, u64::saturating_add)
    }

    fn waits_of(
        &self,
        process: ProcessId,
        detail: Detail,
        object: ObjectId,
    ) -> impl Iterator<Item = &Cause> {
        let threads = self.facts.ledger.threads.iter();
        let own = threads.filter(move |thread| thread.row.process == process);
        own.flat_map(|thread| &thread.causes).filter(move |cause| {
            cause.key.account == Account::Wait
                && cause.key.kind == Kind::As(detail)
                && cause.key.object == Some(object)
        })
    }

    /// The causes on the path that are so.
    pub fn causes(&self, is: impl Fn(&Key) -> bool) -> Vec<usize> {
        let causes = self.outlook.causes.iter().enumerate();
        let known = causes.filter(|(_, on_path)| on_path.cause.key.unknown.is_none());
        known
            .filter(|(_, on_path)| is(&on_path.cause.key))
            .map(|(at, _)| at)
            .collect()
    }

    /// The waits on the path that are so.
    pub fn waits_on_path(&self, is: impl Fn(&Key) -> bool) -> Vec<usize> {
        self.causes(|key| key.state == State::Wait && is(key))
    }

    /// What the path did while somebody waited for a response in this way: it led through who sent that.
    pub fn during_waits(&self, is: impl Fn(&Key) -> bool) -> BTreeMap<usize, u64> {
        let mut during = self.outlook.responses.during(is);
        for (&cause, ns) in &mut during {
            *ns = (*ns).min(self.on_path_ns(&[cause]));
        }
        during
    }

    /// All that is on the path of these processes and those that run the same programs.
    pub fn all_of(&self, processes: &BTreeSet<ProcessId>) -> Vec<usize> {
        let firsts = processes
            .iter()
            .map(|&process| self.programs.first(process));
        let firsts: BTreeSet<ProcessId> = firsts.collect();
        self.causes(|key| {
            key.state != State::Lost && firsts.contains(&self.programs.first(key.process))
        })
    }

    /// What a process did on processors.
    pub fn busy(&self, process: ProcessId) -> Vec<usize> {
        self.causes(|key| key.state == State::Cpu && self.same_program(key.process, process))
    }

    /// How long these causes are together.
    pub fn on_path_ns(&self, causes: &[usize]) -> u64 {
        let causes = causes.iter().filter_map(|&at| self.outlook.causes.get(at));
        causes.fold(0, |sum, on_path| sum.saturating_add(on_path.cause.ns))
    }

    /// Whether two processes run the same program: the path tells such as one.
    pub fn same_program(&self, one: ProcessId, other: ProcessId) -> bool {
        self.programs.first(one) == self.programs.first(other)
    }

    /// The processes that run the same program as this one.
    pub fn of_program(&self, process: ProcessId) -> BTreeSet<ProcessId> {
        self.programs.alike(self.programs.first(process))
    }

    /// Whose thread it is.
    pub fn process_of(&self, thread: ThreadId) -> Option<ProcessId> {
        let slot = self.timeline.slot(thread)?;
        Some(self.timeline.threads[slot].process)
    }

    /// The threads of these processes.
    pub fn threads_of(&self, processes: &BTreeSet<ProcessId>) -> Vec<ThreadId> {
        let threads = self.timeline.threads.iter();
        let own = threads.filter(|thread| processes.contains(&thread.process));
        own.map(|thread| thread.thread).collect()
    }

    /// How long these processes were on a processor together.
    pub fn cpu_ns(&self, processes: &BTreeSet<ProcessId>) -> u64 {
        let threads = self.timeline.threads.iter();
        let own = threads.filter(|thread| processes.contains(&thread.process));
        own.fold(0, |sum, thread| sum.saturating_add(thread.cpu_ns))
    }

    /// These processes, and all that they started.
    pub fn with_descendants(&self, mut processes: BTreeSet<ProcessId>) -> BTreeSet<ProcessId> {
        // Processes are numbered in the order in which they start, so parents come first.
        for row in self.facts.ledger.processes.iter().map(|known| &known.row) {
            if row.parent.is_some_and(|parent| processes.contains(&parent)) {
                processes.insert(row.process);
            }
        }
        processes
    }

    /// Of a process and those that it comes from the nearest that made this call with success.
    pub fn who_called(&self, call: &str, process: ProcessId) -> Option<ProcessId> {
        let calls = self.facts.calls.iter();
        let calls = calls.filter(|row| row.call == call && row.count > row.errors);
        let callers: BTreeSet<ProcessId> = calls.filter_map(|row| row.process).collect();
        let parent = |process: &ProcessId| self.facts.ledger.process(*process)?.row.parent;
        // Parents have smaller numbers; what says otherwise could be a circle.
        let mut line = std::iter::successors(Some(process), |process| {
            parent(process).filter(|parent| parent < process)
        });
        line.find(|process| callers.contains(process))
    }

    /// What a process runs.
    pub fn program(&self, process: ProcessId) -> Option<&str> {
        Some(program(&self.facts.ledger.process(process)?.row))
    }

    /// Where a thread mostly is while it is on a processor: the functions of its heaviest stack.
    pub fn mostly_in(&self, thread: ThreadId) -> Vec<Spot> {
        let events = self.stacks.events_of(thread).iter();
        self.most_of(events.filter(|event| event.account == Account::Cpu))
    }

    /// Where most of these events are.
    pub fn most_of<'e>(&self, events: impl Iterator<Item = &'e Event>) -> Vec<Spot> {
        let mut stacks: BTreeMap<StackIx, u64> = BTreeMap::new();
        for event in events {
            *stacks.entry(event.stack).or_default() += event.ns;
        }
        let heaviest = stacks.into_iter().max_by_key(|(_, ns)| *ns);
        heaviest.map_or(Vec::new(), |(stack, _)| self.spots(stack))
    }

    /// Where in a function the path mostly was, or in what that called.
    pub fn mostly_at(&self, function: FunctionIx) -> Spot {
        let on_processors = &self.outlook.on_processors;
        let within = on_processors.within(&BTreeSet::from([function]), self.stacks);
        let times = within.iter().map(|on| (on.stack, on.ns));
        self.stacks.code.busiest_spot(function, times)
    }

    /// The functions of a stack, innermost first, each with where it is in it.
    pub fn frames(&self, stack: Option<StackId>) -> Vec<Spot> {
        let stack = stack.and_then(|stack| self.stacks.code.stack(stack));
        stack.map_or(Vec::new(), |stack| self.spots(stack))
    }

    /// The same functions, without where it is in them.
    pub fn functions(&self, stack: Option<StackId>) -> impl Iterator<Item = &Function> {
        let code = &self.stacks.code;
        let spots = self.frames(stack).into_iter();
        spots.map(|spot| code.function(spot.function))
    }

    /// The same of a stack that is known already. Of a deep one the innermost, and of what is around them the program's own functions:
    /// an interpreter may be between them.
    pub fn spots(&self, stack: StackIx) -> Vec<Spot> {
        const MOST: usize = 32;
        let code = &self.stacks.code;
        let mut spots = code.spots_of(stack);
        let outer = spots.split_off(spots.len().min(MOST)).into_iter();
        let own = outer.filter(|spot| code.is_of_program(spot.function));
        spots.extend(own.take(MOST));
        spots
    }
}
