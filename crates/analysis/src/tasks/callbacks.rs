//! What the event loop of Node.js does for the program: its callbacks, as stacks tell of them. No number or address tells one from the next,
//! so those that begin with the same function of the program's are one.
//!
//! When a thread waits for events it is at none.

use timesink_recording::words::Language;

use crate::stacks::{Code, FunctionIx, StackIx};

/// What a callback was begun by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BegunBy {
    Start,
    Timer,
    Io,
    ThreadPool,
    Immediate,
    Closing,
    /// A promise, or `process.nextTick`.
    Microtask,
    Unknown,
}

impl BegunBy {
    /// The word for it, as in the JSON report.
    pub fn word(self) -> &'static str {
        match self {
            BegunBy::Start => "start",
            BegunBy::Timer => "timer",
            BegunBy::Io => "I/O",
            BegunBy::ThreadPool => "thread pool",
            BegunBy::Immediate => "immediate",
            BegunBy::Closing => "close",
            BegunBy::Microtask => "promise or nextTick",
            BegunBy::Unknown => "unknown",
        }
    }

    /// By the functions of Node.js and of libuv that call the program's, the C functions and those in JavaScript.
    fn of(name: &str) -> Option<BegunBy> {
        Some(match name {
            "uv__run_timers" | "processTimers" | "listOnTimeout" => BegunBy::Timer,
            "uv__io_poll" => BegunBy::Io,
            "uv__work_done" => BegunBy::ThreadPool,
            "uv__run_check" | "processImmediate" => BegunBy::Immediate,
            "uv__run_closing_handles" => BegunBy::Closing,
            "Builtins_RunMicrotasks" | "processTicksAndRejections" | "runMicrotasks" => {
                BegunBy::Microtask
            }
            _ if name.starts_with("node::LoadEnvironment(") => BegunBy::Start,
            _ => return None,
        })
    }
}

/// A callback in a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Callback {
    /// The outermost function of the program's.
    pub function: FunctionIx,
    pub begun: BegunBy,
}

impl Callback {
    /// The one that runs in a stack, if that is of JavaScript.
    pub fn of(code: &Code, stack: StackIx) -> Option<Callback> {
        let spots = code.spots_of(stack);
        let is_script = |function| code.function(function).language == Language::JavaScript;
        let own = code.own_of(&spots);
        let own = own.iter().rev().find(|spot| is_script(spot.function))?;
        let outer = spots
            .iter()
            .rev()
            .take_while(|spot| spot.function != own.function);
        let begun = outer.filter_map(|spot| BegunBy::of(&code.function(spot.function).name));
        Some(Callback {
            function: own.function,
            begun: begun.last().unwrap_or(BegunBy::Unknown),
        })
    }
}
