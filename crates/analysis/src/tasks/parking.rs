//! What a task waited for in the runtime, by the runtime's functions in which it was left.

use crate::stacks::{Code, StackIx};

/// What a parked task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Parking {
    /// Somebody to send on a channel.
    Receive,
    /// Somebody to receive what it sends on a channel.
    Send,
    /// Any of several channels.
    Select,
    /// A lock.
    Lock,
    /// Others to be done, or to tell it to go on.
    Others,
    Timer,
    /// The network, a pipe, or another file that the runtime polls.
    Network,
    /// Not known, or something of the runtime's own.
    Runtime,
}

/// The functions by which Go's goroutines wait, and what for. The first that is found counts, from the innermost outwards.
const BY_FUNCTION: [(&str, Parking); 14] = [
    ("runtime.chanrecv", Parking::Receive),
    ("runtime.chansend", Parking::Send),
    ("runtime.selectgo", Parking::Select),
    ("runtime.block", Parking::Select),
    ("runtime.netpollblock", Parking::Network),
    ("runtime.timeSleep", Parking::Timer),
    ("time.Sleep", Parking::Timer),
    ("runtime.notifyListWait", Parking::Others),
    ("sync.runtime_notifyListWait", Parking::Others),
    ("sync.runtime_SemacquireWaitGroup", Parking::Others),
    ("sync.runtime_Semacquire", Parking::Others),
    ("sync.runtime_SemacquireMutex", Parking::Lock),
    ("internal/sync.runtime_SemacquireMutex", Parking::Lock),
    ("sync.runtime_SemacquireRWMutex", Parking::Lock),
];

impl Parking {
    /// What a task waited for that was left in this stack.
    pub(super) fn of(code: &Code, stack: StackIx) -> Parking {
        let functions = code.functions_of(stack).into_iter();
        let mut known = functions.filter_map(|function| {
            let name = &code.function(function).name;
            let known = BY_FUNCTION.iter().find(|(known, _)| {
                // There are several of those for locks that are shared.
                name == known
                    || *known == "sync.runtime_SemacquireRWMutex" && name.starts_with(known)
            });
            known.map(|(_, parking)| *parking)
        });
        known.next().unwrap_or(Parking::Runtime)
    }

    /// The word for it, as in the JSON report.
    pub fn word(self) -> &'static str {
        match self {
            Parking::Receive => "channel receive",
            Parking::Send => "channel send",
            Parking::Select => "select",
            Parking::Lock => "lock",
            Parking::Others => "other goroutines",
            Parking::Timer => "timer",
            Parking::Network => "network",
            Parking::Runtime => "runtime",
        }
    }
}
