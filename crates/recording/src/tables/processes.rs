//! `processes`: each recorded process.

use crate::ids::ProcessId;
use crate::table::table;
use crate::units::Nanos;

table! {
    /// A recorded process. Those without a recorded parent are the program that was started, the first of them; processes
    /// that ran already and were named (`attach`, `--with`), which exist before the program is executed; and
    /// those that were added later because they communicated with a recorded one (`--follow`).
    table processes, row Process {
        /// Its number in this recording.
        process: ProcessId,
        /// The kernel's process id.
        pid: u32,
        /// The process that created it, if recorded.
        parent: Option<ProcessId>,
        /// The kernel's id of its parent.
        parent_pid: u32,
        /// Its name (comm of its first thread) when last seen.
        name: String,
        /// The executable's path as last executed; empty where unknown.
        executable: String,
        /// Its arguments as last executed, separated by NUL.
        arguments: String,
        /// First moment, nanoseconds since the start of the recording.
        start: Nanos,
        /// Last moment, nanoseconds since the start of the recording.
        end: Nanos,
        /// User id it last ran as.
        uid: u32,
        /// Its control group when it came in or last executed a program, such as `/system.slice/nginx.service`; null if the recording is
        /// not of a whole machine, or it is not known. Since version 13 of the format.
        group: Option<String>,
    }
}
