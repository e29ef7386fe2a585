//! Threads with which a runtime looks after itself, by the function that each of them runs: they wake up by a timer of their
//! own and interrupt others. What they wait for is no part of what the program does.

use std::collections::BTreeSet;

use timesink_recording::ids::ThreadId;

use super::{FunctionIx, Stacks};

/// Go's monitor, which takes processors from goroutines that block; the JVM's threads for safepoints, for periodic
/// tasks, and for collections beside the program; .NET's, which looks whether its pool needs more threads.
const RUN: [&str; 7] = [
    "runtime.sysmon",
    "VMThread::run()",
    "WatcherThread::run()",
    "WatcherThread::sleep() const",
    "ConcurrentGCThread::run()",
    "ThreadpoolMgr::GateThreadStart(void*)",
    "System.Threading.PortableThreadPool.GateThread.GateThreadStart",
];

impl Stacks {
    /// The threads that any stack shows at it.
    pub fn housekeeping(&self) -> BTreeSet<ThreadId> {
        let functions = self.code.functions.iter().enumerate();
        let meant = functions.filter(|(_, function)| RUN.contains(&function.name.as_str()));
        let meant: BTreeSet<FunctionIx> = meant.map(|(at, _)| FunctionIx(at as u32)).collect();
        if meant.is_empty() {
            return BTreeSet::new();
        }
        let is_at_it = |stack| {
            let functions = self.code.functions_of(stack);
            functions.iter().any(|function| meant.contains(function))
        };
        let events = self.events.iter();
        let at_it = events.filter(|event| is_at_it(event.stack));
        at_it.map(|event| event.thread).collect()
    }
}
