//! What a path did on processors, stack by stack, and how much of that passed through which functions.
//!
//! The time is that of samples. It says where the time went, not what would be gained: that is for the replay.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use timesink_recording::ids::ThreadId;
use timesink_recording::words::State;
use timesink_recording::Nanos;

use super::{Cause, InCode};
use crate::stacks::{FunctionIx, StackIx, Stacks};

/// One stack of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnStack {
    /// As an index into the causes of the path.
    pub cause: usize,
    pub stack: StackIx,
    pub ns: u64,
    /// Where it was seen first.
    pub thread: ThreadId,
    pub at: Nanos,
}

/// What a path did on processors.
#[derive(Clone, Debug, Default)]
pub struct OnProcessors {
    /// The most time first.
    pub stacks: Vec<OnStack>,
    /// In each function and what it called. One that calls itself counts once.
    through: FxHashMap<FunctionIx, u64>,
}

impl OnProcessors {
    /// What of these causes was on a processor, and in which code.
    pub fn of(code: &InCode, causes: &[Cause], stacks: &Stacks) -> OnProcessors {
        let places = causes.iter().enumerate();
        let places: FxHashMap<_, _> = places.map(|(at, cause)| (cause.key, at)).collect();
        let mut sampled: FxHashMap<usize, u64> = FxHashMap::default();
        let mut found = OnProcessors::default();
        let seen = code.stacks().filter(|(key, ..)| key.state == State::Cpu);
        for (key, stack, seen) in seen {
            let Some(&cause) = places.get(key) else {
                continue;
            };
            let sum = sampled.entry(cause).or_default();
            *sum = sum.saturating_add(seen.ns);
            found.stacks.push(OnStack {
                cause,
                stack,
                ns: seen.ns,
                thread: seen.thread,
                at: seen.at,
            });
        }
        // A sample stands for time before it, which may have been off the path.
        for of_stack in &mut found.stacks {
            let all = sampled.get(&of_stack.cause).copied().unwrap_or(0);
            let most = causes[of_stack.cause].ns;
            if all > most {
                of_stack.ns = (of_stack.ns as f64 * most as f64 / all as f64) as u64;
            }
        }
        found
            .stacks
            .sort_unstable_by_key(|on| (Reverse(on.ns), on.cause, on.stack));
        for of_stack in &found.stacks {
            let mut functions = stacks.code.functions_of(of_stack.stack);
            functions.sort_unstable();
            functions.dedup();
            for function in functions {
                let sum = found.through.entry(function).or_default();
                *sum = sum.saturating_add(of_stack.ns);
            }
        }
        found
    }

    /// How long it was in a function and in what that called.
    pub fn through(&self, function: FunctionIx) -> u64 {
        self.through.get(&function).copied().unwrap_or(0)
    }

    /// All of it.
    pub fn ns(&self) -> u64 {
        let each = self.stacks.iter().map(|on| on.ns);
        each.fold(0, u64::saturating_add)
    }

    /// The stacks that pass through any of these functions, the most time first.
    pub fn within(&self, functions: &BTreeSet<FunctionIx>, stacks: &Stacks) -> Vec<OnStack> {
        // Most are on no path at all, and to ask each stack takes long.
        if functions
            .iter()
            .all(|&function| self.through(function) == 0)
        {
            return Vec::new();
        }
        let passes = |on: &&OnStack| {
            let mut frames = stacks.code.frames_of(on.stack);
            frames.any(|(_, function)| functions.contains(&function))
        };
        self.stacks.iter().filter(passes).copied().collect()
    }
}
