//! `objects`: what calls and waits are about.

use crate::ids::{ObjectId, ProcessId};
use crate::table::table;
use crate::words::ObjectKind;

table! {
    /// A file, socket, pipe, lock, child or other object of calls and waits.
    table objects, row Object {
        /// Its number in this recording.
        object: ObjectId,
        /// What it is.
        kind: ObjectKind,
        /// A short text that identifies it to a person: a path, `10.0.0.1:5432`, `pipe 1234`; of a futex in a variable with a symbol
        /// that variable, as `cache+0x8` (8 bytes into it), else in a program or library that file and the offset.
        label: String,
        /// The full path, for files, directories, devices and named sockets.
        path: Option<String>,
        /// The file system's type (`ext4`, `tmpfs`, `sockfs`).
        filesystem: Option<String>,
        /// Device number of the file system (major << 20 | minor).
        device: Option<u64>,
        /// Inode number; for a futex its address, for a child its process id.
        inode: Option<u64>,
        /// Size in bytes when last seen, for regular files.
        size: Option<u64>,
        /// For sockets: `tcp`, `udp`, `unix`, ...
        protocol: Option<String>,
        /// For sockets: the local address and port; for unix sockets the bound path.
        local: Option<String>,
        /// For sockets: the peer's address and port; for unix sockets the peer's inode.
        remote: Option<String>,
        /// For futexes and children: the process it belongs to.
        process: Option<ProcessId>,
    }
}
