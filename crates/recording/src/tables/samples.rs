//! `samples`: where the processor was, some hundred times a second.

use crate::ids::{StackId, ThreadId};
use crate::table::table;
use crate::units::Nanos;

table! {
    /// A recorded thread found on CPU by the sampler.
    table samples, row Sample {
        /// The thread.
        thread: ThreadId,
        /// When, nanoseconds since the start of the recording.
        t: Nanos,
        /// The CPU.
        processor: u32,
        /// In the kernel (true) or in user space (false).
        kernel: bool,
        /// The instruction pointer.
        address: u64,
        /// The time on CPU that it stands for: the thread's since its last sample. A thread's
        /// samples add up to all its time, except that of a thread that was never sampled.
        weight_ns: Option<u64>,
        /// What ran; null if no stack was taken.
        stack: Option<StackId>,
    }
}
