//! `spans`: what every thread did at every moment.

use crate::ids::{ObjectId, ThreadId};
use crate::table::table;
use crate::units::Nanos;
use crate::words::{Detail, State, WakeSource};

table! {
    /// One thread in one state from `t0` to `t1`. The spans of a thread tile its recorded life:
    /// no gap, no overlap. Sorted by thread, then `t0`.
    table spans, row Span {
        /// The thread, as numbered in `threads`.
        thread: ThreadId,
        /// Start, nanoseconds since the start of the recording.
        t0: Nanos,
        /// End, nanoseconds since the start of the recording.
        t1: Nanos,
        /// `cpu`, `ready`, `wait`, or `lost` where its events were lost.
        state: State,
        /// What kind of cpu, ready or wait it was.
        detail: Detail,
        /// The object waited for, as numbered in `objects`.
        object: Option<ObjectId>,
        /// The CPU it ran on (`cpu`), or on which it was to run next (`ready`, `wait`).
        processor: u32,
        /// The recorded thread that ended this wait.
        waker: Option<ThreadId>,
        /// The kernel's thread id of the thread that ended this wait, if it is not recorded; see `outsiders`.
        waker_outsider: Option<u32>,
        /// What kind of event ended this wait. For an interrupt, `waker` is the interrupted thread
        /// only where it ran the interrupt's work on its own behalf (a send over loopback).
        wake_source: Option<WakeSource>,
        /// Nanoseconds of this span spent in timesink's own programs; state `tracer` in the ledger.
        tracer_ns: u64,
        /// Nanoseconds of this span that the kernel charges to no thread, if known: steal (the host of a virtual machine used
        /// the CPU), or interrupts where the kernel accounts for them separately. `taken_ns` of the thread is the whole; of
        /// times below 16 us are added to a later span, and what was taken while a thread was being switched in is in no span.
        taken_ns: Option<u64>,
    }
}
