//! Where in the code a path was, by the stacks of samples and waits that lie on it.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use timesink_recording::words::State;

use super::{Key, Path, Segment};
use crate::ledger::Account;
use crate::stacks::{FunctionIx, StackIx, Stacks};
use crate::timeline::Timeline;

/// Where in the code the path was.
#[derive(Clone, Debug, Default)]
pub struct InCode {
    stacks: FxHashMap<Key, FxHashMap<StackIx, u64>>,
    own: FxHashMap<FunctionIx, u64>,
}

impl InCode {
    /// Adds where a path was; what it was in there is told by `key`.
    pub fn add(
        &mut self,
        path: &Path,
        timeline: &Timeline,
        stacks: &Stacks,
        key: impl Fn(&Segment) -> Key,
    ) {
        // A path comes back to a thread again and again, later each time.
        let mut reached: FxHashMap<usize, usize> = FxHashMap::default();
        for segment in &path.segments {
            let account = match segment.state {
                State::Cpu => Account::Cpu,
                State::Wait => Account::Wait,
                State::Ready | State::Lost => continue,
            };
            let thread = &timeline.threads[segment.slot];
            let events = stacks.events_of(thread.thread);
            let from = reached.entry(segment.slot).or_default();
            *from += events[*from..].partition_point(|event| event.at < segment.t0);
            let until = events[*from..].partition_point(|event| event.at < segment.t1);
            let key = key(segment);
            for event in events[*from..*from + until]
                .iter()
                .filter(|e| e.account == account)
            {
                let ns = event.ns.min(segment.ns().max(SAMPLE_NS));
                let sum = self
                    .stacks
                    .entry(key)
                    .or_default()
                    .entry(event.stack)
                    .or_default();
                *sum = sum.saturating_add(ns);
                let functions = stacks.code.functions_of(event.stack);
                let mut own = functions.iter().filter(|&&f| !stacks.code.is_system(f));
                if let Some(&function) = own.next() {
                    let sum = self.own.entry(function).or_default();
                    *sum = sum.saturating_add(ns);
                }
            }
            *from += until;
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: InCode) {
        for (key, stacks) in other.stacks {
            let sums = self.stacks.entry(key).or_default();
            for (stack, ns) in stacks {
                let sum = sums.entry(stack).or_default();
                *sum = sum.saturating_add(ns);
            }
        }
        for (function, ns) in other.own {
            let sum = self.own.entry(function).or_default();
            *sum = sum.saturating_add(ns);
        }
    }

    /// The functions of the heaviest stack of a cause, innermost first.
    pub fn frames(&self, key: &Key, stacks: &Stacks) -> Vec<FunctionIx> {
        const MOST: usize = 32;
        let heaviest = self.stacks.get(key).and_then(|sums| {
            let most = sums
                .iter()
                .max_by_key(|(stack, ns)| (**ns, Reverse(**stack)));
            most.map(|(stack, _)| *stack)
        });
        let mut frames = heaviest.map_or(Vec::new(), |stack| stacks.code.functions_of(stack));
        frames.truncate(MOST);
        frames
    }

    /// The program's own functions by the time in them and in what of the system they called, longest first.
    pub fn functions(&self) -> Vec<(FunctionIx, u64)> {
        const MOST: usize = 100;
        let mut functions: Vec<_> = self.own.iter().map(|(f, ns)| (*f, *ns)).collect();
        functions.sort_unstable_by_key(|(function, ns)| (Reverse(*ns), *function));
        functions.truncate(MOST);
        functions
    }
}

/// A sample stands for the time since the one before it, which may be longer than the stretch it fell into.
const SAMPLE_NS: u64 = 2_000_000;
