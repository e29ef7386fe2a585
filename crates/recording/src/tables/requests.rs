//! `requests`: block device requests made while recording, whoever made them.

use crate::ids::ThreadId;
use crate::table::table;
use crate::units::Nanos;
use crate::words::RequestKind;

table! {
    /// A request to a block device.
    table requests, row Request {
        /// When it was issued to the device, nanoseconds since the start of the recording.
        issued: Nanos,
        /// When the device completed it.
        completed: Nanos,
        /// Device number (major << 20 | minor).
        device: u64,
        /// First sector (of 512 bytes).
        sector: u64,
        /// Bytes.
        bytes: u64,
        /// `read`, `write`, `flush`, `discard` or `other`.
        kind: RequestKind,
        /// The recorded thread that issued it, if any.
        thread: Option<ThreadId>,
        /// The kernel's id of the thread that issued it.
        tid: u32,
    }
}
