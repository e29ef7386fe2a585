//! What stacks tell of goroutines that no thread is at work for, of threads that have none, and of tokio's own tasks.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use timesink_recording::ids::{StackId, TaskId, ThreadId};
use timesink_recording::tables::{Task, TaskTurn};
use timesink_recording::Nanos;

use super::futures::Futures;
use super::{FunctionIx, Stacks};
use crate::timeline::carried::Told;

/// The function of Go's by which a goroutine gives itself up until somebody says that it can go on.
const PARKS: &str = "runtime.gopark";

/// How those begin in which it comes back from a call.
const RETURNS: &str = "runtime.exitsyscall";

/// Those in which it gives its processor to another one, and can go on at once; others of the runtime's are not told apart from waiting.
const YIELDS: [&str; 2] = ["runtime.asyncPreempt2", "runtime.Gosched"];

/// How the names of the runtime's functions begin.
const RUNTIME: &str = "runtime.";

/// The functions in which a thread looks for a goroutine that can go on; the second one until Go 1.19.
const LOOK: [&str; 2] = ["runtime.findRunnable", "runtime.findrunnable"];

/// The stacks of a recording, with what is asked of them often.
pub struct OfGoroutines<'a> {
    stacks: &'a Stacks,
    look: BTreeSet<FunctionIx>,
}

impl<'a> OfGoroutines<'a> {
    pub fn new(stacks: &'a Stacks) -> OfGoroutines<'a> {
        let functions = stacks.code.functions.iter().enumerate();
        let look = functions.filter(|(_, f)| LOOK.contains(&f.name.as_str()));
        OfGoroutines {
            stacks,
            look: look.map(|(at, _)| FunctionIx(at as u32)).collect(),
        }
    }
}

impl Told for OfGoroutines<'_> {
    fn comes_back(&self, stack: StackId) -> bool {
        let innermost = self.stacks.innermost(stack);
        innermost.is_some_and(|name| name.starts_with(RETURNS))
    }

    /// Go takes a processor away in a function of its own, or where a function begins: it then looks whether it should stop.
    fn preempted(&self, stack: StackId) -> bool {
        let innermost = self.stacks.innermost(stack);
        innermost.is_some_and(|name| YIELDS.contains(&name) || !name.starts_with(RUNTIME))
    }

    fn looks(&self, thread: ThreadId, at: Nanos) -> bool {
        let stack = Some(thread).filter(|_| !self.look.is_empty());
        let stack = stack.and_then(|thread| self.stacks.stack_at(thread, at));
        let functions = stack.map(|stack| self.stacks.code.functions_of(stack));
        functions.is_some_and(|functions| functions.iter().any(|f| self.look.contains(f)))
    }

    fn schedulers<'t>(
        &self,
        tasks: &[Task],
        turns: impl Iterator<Item = &'t TaskTurn>,
    ) -> FxHashSet<TaskId> {
        Futures::of(tasks, turns, self.stacks).schedulers
    }
}

impl Stacks {
    /// Whether a task that was left in such a stack had given itself up to wait.
    pub fn parks(&self, stack: StackId) -> bool {
        self.innermost(stack) == Some(PARKS)
    }

    fn innermost(&self, stack: StackId) -> Option<&str> {
        let stack = self.code.stack(stack)?;
        let innermost = self.code.functions_of(stack).first().copied()?;
        Some(self.code.function(innermost).name.as_str())
    }
}
