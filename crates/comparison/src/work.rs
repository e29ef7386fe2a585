//! What a part of a path's time is about, in words that are the same in another recording.

use timesink_recording::words::Detail;

use crate::{Act, Thing};

/// One kind of work of one program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Work {
    /// As in [`crate::Digest::programs`].
    pub program: String,
    pub does: Does,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Does {
    /// Calls on a thing: the waits in them, and what the kernel did for them.
    Calls { act: Act, thing: Thing },
    /// Pages that were not there yet, with the waits for those that are read.
    PageFaults,
    /// Waits that are part of no call that is known, and those for locks and conditions.
    Waits { detail: Detail, thing: Thing },
    /// On a processor in the program's own code: its functions, from the outermost inwards. None where no sample tells.
    Code { chain: Vec<String> },
    /// Runnable, without a processor.
    Ready,
    /// Held back by the quota of its cgroup.
    Throttled,
    /// From exit to the last switch.
    Exit,
    /// The path is not known.
    Unknown,
}

/// How much of a path it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub ns: u64,
    /// Waits on the path.
    pub waits: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, other: Sum) {
        self.ns = self.ns.saturating_add(other.ns);
        self.waits = self.waits.saturating_add(other.waits);
    }
}

impl Does {
    pub(crate) fn calls(act: Act, thing: Thing) -> Does {
        // What these are on has another number each time.
        let thing = match act {
            Act::Poll
            | Act::Sleep
            | Act::Futex
            | Act::Start
            | Act::Exec
            | Act::AwaitChild
            | Act::Map => Thing::Nothing,
            _ => thing,
        };
        Does::Calls { act, thing }
    }
}
