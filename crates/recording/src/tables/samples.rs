//! `samples`: where the processor was, some hundred times a second.

use crate::ids::ThreadId;
use crate::table::table;
use crate::units::Nanos;

table! {
    /// A recorded thread found on a processor by the sampler.
    table samples, row Sample {
        /// The thread.
        thread: ThreadId,
        /// When, nanoseconds since the start of the recording.
        t: Nanos,
        /// The processor.
        processor: u32,
        /// In the kernel (true) or in user space (false).
        kernel: bool,
        /// The instruction pointer.
        address: u64,
    }
}
