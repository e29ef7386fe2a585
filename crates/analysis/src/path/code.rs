//! Where in the code a path was, by the stacks of samples and waits that lie on it.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use timesink_recording::ids::ThreadId;
use timesink_recording::words::State;
use timesink_recording::Nanos;

use super::{Key, Path, Segment};
use crate::ledger::Account;
use crate::stacks::{Code, FunctionIx, StackIx, Stacks};
use crate::timeline::Timeline;

/// One stack of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The time on the path that it stands for.
    pub ns: u64,
    /// Where it was seen first.
    pub thread: ThreadId,
    pub at: Nanos,
}

impl Seen {
    fn add(&mut self, ns: u64) {
        self.ns = self.ns.saturating_add(ns);
    }
}

/// Where in the code the path was.
#[derive(Clone, Debug, Default)]
pub struct InCode {
    stacks: FxHashMap<Key, FxHashMap<StackIx, Seen>>,
    own: FxHashMap<FunctionIx, u64>,
    /// Of that, on a processor.
    own_cpu: FxHashMap<FunctionIx, u64>,
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
                let seen = Seen {
                    ns: 0,
                    thread: event.thread,
                    at: event.at,
                };
                let of_cause = self.stacks.entry(key).or_default();
                of_cause.entry(event.stack).or_insert(seen).add(ns);
                let functions = stacks.code.functions_of(event.stack);
                if let Some(function) = own_function(&stacks.code, &functions) {
                    let sum = self.own.entry(function).or_default();
                    *sum = sum.saturating_add(ns);
                    if account == Account::Cpu {
                        let sum = self.own_cpu.entry(function).or_default();
                        *sum = sum.saturating_add(ns);
                    }
                }
            }
            *from += until;
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: InCode) {
        for (key, stacks) in other.stacks {
            let sums = self.stacks.entry(key).or_default();
            for (stack, seen) in stacks {
                sums.entry(stack)
                    .or_insert(Seen { ns: 0, ..seen })
                    .add(seen.ns);
            }
        }
        for (mine, others) in [
            (&mut self.own, other.own),
            (&mut self.own_cpu, other.own_cpu),
        ] {
            for (function, ns) in others {
                let sum = mine.entry(function).or_default();
                *sum = sum.saturating_add(ns);
            }
        }
    }

    /// The stacks of each cause, in no order.
    pub fn stacks(&self) -> impl Iterator<Item = (&Key, StackIx, &Seen)> {
        let causes = self.stacks.iter();
        causes.flat_map(|(key, sums)| sums.iter().map(move |(stack, seen)| (key, *stack, seen)))
    }

    /// The functions of the heaviest stack of a cause, innermost first.
    pub fn frames(&self, key: &Key, stacks: &Stacks) -> Vec<FunctionIx> {
        const MOST: usize = 32;
        let heaviest = self.stacks.get(key).and_then(|sums| {
            let most = sums
                .iter()
                .max_by_key(|(stack, seen)| (seen.ns, Reverse(**stack)));
            most.map(|(stack, _)| *stack)
        });
        let mut frames = heaviest.map_or(Vec::new(), |stack| stacks.code.functions_of(stack));
        frames.truncate(MOST);
        frames
    }

    /// How much of a function's time was on a processor.
    pub fn on_processors(&self, function: FunctionIx) -> u64 {
        self.own_cpu.get(&function).copied().unwrap_or(0)
    }

    /// The program's own functions by the time in them and in what of the system they called, longest first.
    pub fn functions(&self, stacks: &Stacks) -> Vec<(FunctionIx, u64)> {
        const MOST: usize = 100;
        let mut functions: Vec<_> = self.own.iter().map(|(f, ns)| (*f, *ns)).collect();
        // Of those that are alike the name says which is first: numbers differ from recording to recording.
        functions.sort_unstable_by_key(|(function, ns)| {
            let name = &stacks.code.function(*function).name;
            (Reverse(*ns), name, *function)
        });
        functions.truncate(MOST);
        functions
    }
}

/// A sample stands for the time since the one before it, which may be longer than the stretch it fell into.
const SAMPLE_NS: u64 = 2_000_000;

/// Whose time it is, of the functions of a stack, innermost first. What an interpreter does is the script's; what a standard
/// library does is done for the function that called it.
pub fn own_function(code: &Code, functions: &[FunctionIx]) -> Option<FunctionIx> {
    let is_script = |function: &FunctionIx| code.function(*function).is_script();
    let mut scripts = functions.iter().copied().filter(is_script).peekable();
    let innermost = scripts.peek().copied();
    let above = scripts.find(|&function| !code.is_standard(function));
    let mut compiled = functions
        .iter()
        .copied()
        .filter(|&f| !code.is_system(f))
        .peekable();
    let called = compiled.peek().copied();
    let native = compiled.find(|&function| !code.is_of_language(function));
    above.or(innermost).or(native).or(called)
}
