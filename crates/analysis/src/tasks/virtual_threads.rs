//! Virtual threads of Java, as the stacks of the threads that carry them tell of them: by the function that they begin with.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use timesink_recording::words::Language;

use crate::stacks::{Code, Function, FunctionIx, StackIx, Stacks};

/// What a carrier calls to run a virtual thread: all that is further in is that one's.
const MOUNTS: &str = "jdk.internal.vm.Continuation.run";
/// What a virtual thread begins with. It is in a stack until the thread waits for the first time; then the outer part of the stack is kept
/// elsewhere, and comes back function by function as the inner ones return.
const BEGINS: &str = "java.lang.VirtualThread.run";
/// What the compiler makes of a lambda, which only calls what was written.
const LAMBDA: &str = "$$Lambda";

/// Which functions virtual threads begin with.
#[derive(Default)]
pub(super) struct VirtualThreads {
    /// By each function that whole stacks of virtual threads have, those that they begin with.
    begun_by: FxHashMap<FunctionIx, BTreeSet<FunctionIx>>,
}

/// What a stack has of a virtual thread.
struct Mounted {
    /// The program's functions in it, the outermost first; where there are none, those of libraries that others made.
    own: Vec<FunctionIx>,
    /// From where the virtual thread begins.
    is_whole: bool,
}

impl Mounted {
    fn of(code: &Code, stack: StackIx) -> Option<Mounted> {
        let mut spots = code.spots_of(stack);
        let is = |function: FunctionIx, name| {
            let function = code.function(function);
            function.language == Language::Java && function.name == name
        };
        let mounts = spots.iter().rposition(|spot| is(spot.function, MOUNTS))?;
        spots.truncate(mounts);
        let begins = spots.iter().rposition(|spot| is(spot.function, BEGINS));
        spots.truncate(begins.unwrap_or(mounts));
        let is_written = |function: &FunctionIx| {
            let function = code.function(*function);
            function.language == Language::Java && !function.name.contains(LAMBDA)
        };
        let is_standard = |function: &FunctionIx| code.is_standard(*function);
        let own = code.own_of(&spots);
        let own = own.iter().rev().map(|spot| spot.function);
        let own = own.filter(|function| is_written(function) && !is_standard(function));
        let own = own.collect();
        let is_whole = begins.is_some();
        Some(Mounted { own, is_whole })
    }
}

impl VirtualThreads {
    pub(super) fn of(stacks: &Stacks) -> VirtualThreads {
        let mut threads = VirtualThreads::default();
        let code = &stacks.code;
        let mounts = |function: &Function| function.name == MOUNTS;
        if !code.functions.iter().any(mounts) {
            return threads;
        }
        let seen: BTreeSet<StackIx> = stacks.events.iter().map(|event| event.stack).collect();
        for stack in seen {
            let mounted = Mounted::of(code, stack).filter(|mounted| mounted.is_whole);
            let own = mounted.map_or(Vec::new(), |mounted| mounted.own);
            let Some(&first) = own.first() else {
                continue;
            };
            for function in own {
                threads.begun_by.entry(function).or_default().insert(first);
            }
        }
        threads
    }

    /// The function that the virtual thread of a stack begins with, if it has one. Of a stack whose outer part is kept elsewhere, that of
    /// the whole ones with the same function in them, if they have one alone.
    pub(super) fn function_of(&self, code: &Code, stack: StackIx) -> Option<FunctionIx> {
        let mounted = Mounted::of(code, stack)?;
        let outermost = *mounted.own.first()?;
        let begun_by = self.begun_by.get(&outermost);
        match begun_by.map(|begun| (begun.len(), begun.first())) {
            Some((1, Some(&first))) if !mounted.is_whole => Some(first),
            _ => Some(outermost),
        }
    }
}
