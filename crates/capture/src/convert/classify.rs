//! What kind of wait it was: from the call, what it was about, and for longer waits the kernel
//! functions the thread slept in. Pure: facts in, a word out.

use timesink_recording::words::Detail;

use crate::probes::events as e;

/// What is known of a wait.
#[derive(Debug, Default, Clone)]
pub struct WaitFacts<'a> {
    /// The call's name; empty outside of one.
    pub call: &'a str,
    /// `TS_O_...`
    pub object_kind: u8,
    /// The object is a terminal.
    pub terminal: bool,
    /// The socket's family; 0 if unknown or none.
    pub family: u16,
    /// `TS_STOPPED` and its like.
    pub how: u8,
    pub futex_operation: u8,
    /// The value waited on is that of a mutex with waiters.
    pub futex_contended: bool,
    /// What the object was polled for, and it alone: `POLLIN` or `POLLOUT`; else 0.
    pub polled: u32,
    /// The value waited on is the number of a thread of the same process.
    pub futex_is_thread: bool,
    /// Nothing but a time-out is waited for (select without descriptors).
    pub only_time: bool,
    /// Kernel functions, innermost first; empty for waits below the threshold.
    pub functions: &'a [&'a str],
}

const AF_UNIX: u16 = 1;
const FUTEX_LOCK_PI: u8 = libc::FUTEX_LOCK_PI as u8;
const FUTEX_LOCK_PI2: u8 = libc::FUTEX_LOCK_PI2 as u8;

const POLLIN: u32 = 1;

/// Reclaim, then what a file system does on its way: these say more than the call does.
const RECLAIM: &[&str] = &[
    "try_to_free_pages",
    "shrink_node",
    "shrink_lruvec",
    "mem_cgroup_handle_over_high",
    "try_to_free_mem_cgroup_pages",
    "throttle_direct_reclaim",
];
const FLUSHING: &[&str] = &[
    "vfs_fsync_range",
    "do_fsync",
    "ext4_sync_file",
    "ext4_sync_fs",
    "xfs_file_fsync",
    "btrfs_sync_file",
    "generic_write_sync",
    "file_write_and_wait_range",
    "blkdev_issue_flush",
    "jbd2_log_wait_commit",
    "jbd2_complete_transaction",
];
const WRITING: &[&str] = &[
    "balance_dirty_pages",
    "balance_dirty_pages_ratelimited_flags",
    "start_this_handle",
    "jbd2_journal_get_write_access",
    "do_get_write_access",
    "wait_on_page_writeback",
    "folio_wait_writeback",
    "add_transaction_credits",
    // A file that is made shorter, or is gone: a disk may be told which of its blocks are free now.
    "blkdev_issue_discard",
    "ext4_free_blocks",
    "ext4_mb_clear_bb",
];
/// Where a file system waits for what it reads of itself.
const READING: &[&str] = &[
    "ext4_read_bh",
    "ext4_read_bh_lock",
    "ext4_read_block_bitmap_nowait",
    "ext4_wait_block_bitmap",
    "ext4_bread",
    "__ext4_get_inode_loc",
    "ext4_find_entry",
    "xfs_buf_read_map",
    "xfs_buf_iowait",
    "read_tree_block",
    "btrfs_read_extent_buffer",
    "__bread_gfp",
    "filemap_read",
];
const LOCKING: &[&str] = &[
    "__mutex_lock",
    "mutex_lock",
    "rwsem_down_read_slowpath",
    "rwsem_down_write_slowpath",
    "down_read",
    "down_write",
    "__down",
    "down",
    "percpu_rwsem_wait",
];

impl WaitFacts<'_> {
    fn slept_in(&self, names: &[&str]) -> bool {
        self.functions.iter().any(|f| {
            names.contains(&strip(f)) || names.iter().any(|n| f.starts_with(&format!("{n}.")))
        })
    }

    fn io(&self) -> bool {
        self.how & e::TS_IOWAIT as u8 != 0
    }
}

/// A function's name without what the compiler added (`.isra.0`, `.constprop.0`).
fn strip(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The kind of wait.
pub fn classify(f: &WaitFacts) -> Detail {
    if f.how & e::TS_STOPPED as u8 != 0 {
        return Detail::Stopped;
    }
    if f.how & e::TS_EXITING as u8 != 0 {
        return Detail::Exit;
    }
    if f.slept_in(RECLAIM) {
        return Detail::Reclaim;
    }
    if f.call.is_empty() {
        return outside_of_calls(f);
    }
    let call = f.call.strip_suffix(" (32-bit)").unwrap_or(f.call);
    by_call(call, f)
}

fn outside_of_calls(f: &WaitFacts) -> Detail {
    if f.io() || f.slept_in(&["filemap_fault", "do_swap_page", "folio_wait_bit_common"]) {
        Detail::PageFault
    } else if f.slept_in(LOCKING) {
        Detail::KernelLock
    } else {
        Detail::Other
    }
}

fn by_call(call: &str, f: &WaitFacts) -> Detail {
    match call {
        "read" | "pread64" | "readv" | "preadv" | "preadv2" | "recvfrom" | "recvmsg"
        | "recvmmsg" | "recv" => reading(f),
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" | "sendto" | "sendmsg"
        | "sendmmsg" | "send" | "sendfile" | "splice" | "tee" | "copy_file_range" | "fallocate"
        | "ftruncate" | "truncate" => writing(f),
        "fsync" | "fdatasync" | "sync" | "syncfs" | "sync_file_range" | "msync" => Detail::Flush,
        "connect" if f.family == AF_UNIX => Detail::UnixConnect,
        "connect" => Detail::NetworkConnect,
        "accept" | "accept4" if f.family == AF_UNIX => Detail::UnixConnect,
        "accept" | "accept4" => Detail::NetworkAccept,
        "futex" | "futex_wait" | "futex_waitv" => futex(f),
        "nanosleep" | "clock_nanosleep" => Detail::Sleep,
        // A call that a signal interrupted goes on under this name.
        "restart_syscall" if f.slept_in(&["futex_wait", "__futex_wait"]) => futex(f),
        "restart_syscall" if f.slept_in(&["do_poll", "do_sys_poll", "do_restart_poll"]) => {
            Detail::Poll
        }
        "restart_syscall" => Detail::Sleep,
        "poll" | "ppoll" | "select" | "pselect6" if f.only_time => Detail::Sleep,
        // Many who read or write with a time-out poll first: Python, Java, PostgreSQL's library.
        "poll" | "ppoll" if f.polled == POLLIN => polled(f, reading(f)),
        // A socket may still be connecting: whether it waits for that or for room is not known.
        "poll" | "ppoll" if f.polled != 0 && u32::from(f.object_kind) == e::TS_O_PIPE => {
            Detail::PipeWrite
        }
        "poll" | "ppoll" | "select" | "pselect6" | "_newselect" | "epoll_wait" | "epoll_pwait"
        | "epoll_pwait2" => Detail::Poll,
        "wait4" | "waitid" | "waitpid" => Detail::Child,
        "vfork" => Detail::Vfork,
        "clone" | "clone3" | "fork" => cloning(f),
        "flock" => Detail::FileLock,
        "fcntl" | "fcntl64" if !f.io() => Detail::FileLock,
        "pause" | "rt_sigsuspend" | "rt_sigtimedwait" | "sigsuspend" => Detail::Signal,
        "io_uring_enter" => Detail::IoUring,
        "io_getevents" | "io_pgetevents" => Detail::Aio,
        "msgrcv" | "msgsnd" | "semop" | "semtimedop" | "mq_timedreceive" | "mq_timedsend" => {
            Detail::Ipc
        }
        "execve" | "execveat" => in_file_system(f, Detail::Exec),
        "ioctl" if f.terminal => Detail::Terminal,
        "unlink" | "unlinkat" | "rmdir" | "rename" | "renameat" | "renameat2" | "link"
        | "linkat" | "symlink" | "symlinkat" | "mkdir" | "mkdirat" => changing(f),
        _ => in_file_system(f, Detail::Other),
    }
}

/// Calls on files and directories that may need the disk on their way.
fn in_file_system(f: &WaitFacts, otherwise: Detail) -> Detail {
    if f.slept_in(FLUSHING) {
        Detail::Flush
    } else if f.slept_in(WRITING) {
        Detail::DiskWrite
    } else if f.slept_in(LOCKING) {
        Detail::KernelLock
    } else if f.io() {
        Detail::DiskRead
    } else {
        otherwise
    }
}

/// Calls that change a file system: if it is not known that they read, they wait for what they change.
fn changing(f: &WaitFacts) -> Detail {
    match in_file_system(f, Detail::Other) {
        Detail::DiskRead if !f.slept_in(READING) => Detail::DiskWrite,
        detail => detail,
    }
}

fn cloning(f: &WaitFacts) -> Detail {
    // A long clone without its stack known can only be waiting for a vfork child.
    if f.functions.is_empty()
        || f.slept_in(&["kernel_clone", "wait_for_vfork_done"]) && !f.slept_in(LOCKING)
    {
        Detail::Vfork
    } else {
        in_file_system(f, Detail::Other)
    }
}

fn reading(f: &WaitFacts) -> Detail {
    match u32::from(f.object_kind) {
        _ if f.terminal => Detail::Terminal,
        e::TS_O_PIPE => Detail::PipeRead,
        e::TS_O_SOCKET if f.family == AF_UNIX => Detail::UnixReceive,
        e::TS_O_SOCKET => Detail::NetworkReceive,
        e::TS_O_ANON => Detail::Event,
        e::TS_O_FILE | e::TS_O_DIR | e::TS_O_BLOCK => in_file_system(f, Detail::DiskRead),
        // The object of a 32-bit call is not known, and of others it may have been lost.
        _ if f.slept_in(&["anon_pipe_read", "fifo_pipe_read", "pipe_read"]) => Detail::PipeRead,
        _ if f.slept_in(&["unix_stream_read_generic", "__unix_dgram_recvmsg"]) => {
            Detail::UnixReceive
        }
        _ if f.slept_in(&["sk_wait_data", "__skb_wait_for_more_packets"]) => Detail::NetworkReceive,
        _ => in_file_system(f, Detail::Other),
    }
}

fn writing(f: &WaitFacts) -> Detail {
    match u32::from(f.object_kind) {
        _ if f.terminal => Detail::Terminal,
        e::TS_O_PIPE => Detail::PipeWrite,
        e::TS_O_SOCKET if f.family == AF_UNIX => Detail::UnixSend,
        e::TS_O_SOCKET => Detail::NetworkSend,
        e::TS_O_ANON => Detail::Event,
        e::TS_O_FILE | e::TS_O_DIR | e::TS_O_BLOCK => {
            if f.slept_in(FLUSHING) {
                Detail::Flush
            } else if f.slept_in(LOCKING) && !f.slept_in(WRITING) {
                Detail::KernelLock
            } else {
                Detail::DiskWrite
            }
        }
        _ if f.slept_in(&["anon_pipe_write", "fifo_pipe_write", "pipe_write"]) => Detail::PipeWrite,
        _ if f.slept_in(&["unix_stream_sendmsg", "unix_dgram_sendmsg"]) => Detail::UnixSend,
        _ if f.slept_in(&["sk_stream_wait_memory"]) => Detail::NetworkSend,
        _ => in_file_system(f, Detail::Other),
    }
}

/// What a poll of one thing waits for, if that is what somebody does who reads it or writes to it.
fn polled(f: &WaitFacts, as_if: Detail) -> Detail {
    match u32::from(f.object_kind) {
        e::TS_O_PIPE | e::TS_O_SOCKET | e::TS_O_ANON => as_if,
        _ if f.terminal => as_if,
        _ => Detail::Poll,
    }
}

fn futex(f: &WaitFacts) -> Detail {
    if f.futex_is_thread {
        Detail::Join
    } else if f.futex_contended || matches!(f.futex_operation, FUTEX_LOCK_PI | FUTEX_LOCK_PI2) {
        Detail::Lock
    } else {
        Detail::Condition
    }
}

/// The function a thread slept in: the innermost that is not the scheduler's own.
pub fn sleeping_function<'a>(functions: &[&'a str]) -> &'a str {
    functions
        .iter()
        .map(|f| strip(f))
        .find(|f| {
            !f.is_empty()
                && !f.starts_with("bpf_")
                && !SCHEDULER
                    .iter()
                    .any(|s| f.trim_start_matches('_').starts_with(s))
        })
        .unwrap_or("")
}

const SCHEDULER: &[&str] = &[
    "do_syscall_64",
    "entry_SYSCALL",
    "x64_sys_",
    "schedule",
    "io_schedule",
    "preempt_schedule",
    "traceiter",
    "perf_trace",
    "switch_to",
];

/// select and poll without descriptors wait for nothing but the time.
pub fn only_time(call: &str, args: &[u64; 6]) -> bool {
    match call {
        "poll" | "ppoll" => args[1] == 0,
        "select" | "pselect6" => args[0] == 0 || args[1] == 0 && args[2] == 0 && args[3] == 0,
        _ => false,
    }
}

/// Whether a result says that the asked time ran out.
pub fn timed_out(call: &str, result: i64) -> bool {
    const ETIMEDOUT: i64 = -110;
    const EAGAIN: i64 = -11;
    match call {
        "futex" => result == ETIMEDOUT,
        "rt_sigtimedwait" | "semtimedop" | "recvmmsg" => result == EAGAIN,
        _ => result == 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(call: &'static str, kind: u32) -> WaitFacts<'static> {
        WaitFacts {
            call,
            object_kind: kind as u8,
            ..WaitFacts::default()
        }
    }

    /// The same call waits for different things, depending on what it is about.
    #[test]
    fn the_object_decides() {
        assert_eq!(classify(&on("read", e::TS_O_FILE)), Detail::DiskRead);
        assert_eq!(classify(&on("read", e::TS_O_PIPE)), Detail::PipeRead);
        assert_eq!(classify(&on("write", e::TS_O_PIPE)), Detail::PipeWrite);
        assert_eq!(classify(&on("read", e::TS_O_ANON)), Detail::Event);
        assert_eq!(
            classify(&WaitFacts {
                family: 2,
                ..on("read", e::TS_O_SOCKET)
            }),
            Detail::NetworkReceive
        );
        assert_eq!(
            classify(&WaitFacts {
                family: 1,
                ..on("sendmsg", e::TS_O_SOCKET)
            }),
            Detail::UnixSend
        );
        assert_eq!(
            classify(&WaitFacts {
                terminal: true,
                ..on("read", e::TS_O_CHAR)
            }),
            Detail::Terminal
        );
    }

    /// Where the object is not known, as with 32-bit calls, the kernel function tells a pipe or socket.
    #[test]
    fn without_an_object_the_function_decides() {
        let slept = |call, function: &'static [&'static str]| {
            classify(&WaitFacts {
                functions: function,
                ..on(call, 0)
            })
        };
        assert_eq!(
            slept(
                "read (32-bit)",
                &["__schedule", "schedule", "anon_pipe_read"]
            ),
            Detail::PipeRead
        );
        assert_eq!(
            slept("write (32-bit)", &["schedule", "pipe_write.isra.0"]),
            Detail::PipeWrite
        );
        assert_eq!(
            slept("recvmsg", &["schedule", "unix_stream_read_generic"]),
            Detail::UnixReceive
        );
        assert_eq!(
            slept(
                "sendto",
                &["schedule", "sk_stream_wait_memory", "tcp_sendmsg_locked"]
            ),
            Detail::NetworkSend
        );
        assert_eq!(
            slept("read", &["schedule", "something_else"]),
            Detail::Other
        );
    }

    /// A write that must be durable waits for a flush, an ordinary one for room.
    #[test]
    fn durable_writes_are_flushes() {
        let sync = WaitFacts {
            functions: &["schedule", "jbd2_log_wait_commit", "ext4_sync_file"],
            ..on("write", e::TS_O_FILE)
        };
        assert_eq!(classify(&sync), Detail::Flush);
        let dirty = WaitFacts {
            functions: &["schedule", "balance_dirty_pages"],
            ..on("write", e::TS_O_FILE)
        };
        assert_eq!(classify(&dirty), Detail::DiskWrite);
        assert_eq!(classify(&on("fdatasync", e::TS_O_FILE)), Detail::Flush);
    }

    /// A file that is removed has its blocks freed: that was told as reading from the disk.
    #[test]
    fn who_removes_a_file_waits_for_a_change() {
        let io = |call, functions| {
            classify(&WaitFacts {
                how: e::TS_IOWAIT as u8,
                functions,
                ..on(call, 0)
            })
        };
        let discards = &[
            "submit_bio_wait",
            "blkdev_issue_discard",
            "ext4_free_blocks",
        ];
        assert_eq!(io("unlink", discards), Detail::DiskWrite);
        assert_eq!(io("close", discards), Detail::DiskWrite);
        // Of short ones it is not known where they were.
        assert_eq!(io("unlink", &[]), Detail::DiskWrite);
        assert_eq!(io("openat", &[]), Detail::DiskRead);
        let looks = &["bit_wait_io", "ext4_read_bh", "ext4_find_entry"];
        assert_eq!(io("unlink", looks), Detail::DiskRead);
    }

    /// A poll of one descriptor waits for what a read of it would wait for; of a socket that may still be connecting,
    /// and of several things, it is a poll.
    #[test]
    fn a_poll_of_one_thing_waits_for_it() {
        let poll = |kind, polled, family| {
            classify(&WaitFacts {
                polled,
                family,
                ..on("poll", kind)
            })
        };
        assert_eq!(poll(e::TS_O_SOCKET, 1, 2), Detail::NetworkReceive);
        assert_eq!(poll(e::TS_O_SOCKET, 1, AF_UNIX), Detail::UnixReceive);
        assert_eq!(poll(e::TS_O_SOCKET, 4, 2), Detail::Poll);
        assert_eq!(poll(e::TS_O_PIPE, 1, 0), Detail::PipeRead);
        assert_eq!(poll(e::TS_O_PIPE, 4, 0), Detail::PipeWrite);
        assert_eq!(poll(e::TS_O_ANON, 1, 0), Detail::Event);
        assert_eq!(poll(e::TS_O_CHAR, 1, 0), Detail::Poll);
        assert_eq!(poll(e::TS_O_NONE, 0, 0), Detail::Poll);
    }

    /// Mutexes, condition variables and joins all wait in futex, and are told apart by the value.
    #[test]
    fn futexes_are_told_apart() {
        assert_eq!(
            classify(&WaitFacts {
                futex_contended: true,
                ..on("futex", 0)
            }),
            Detail::Lock
        );
        assert_eq!(
            classify(&WaitFacts {
                futex_operation: 6,
                ..on("futex", 0)
            }),
            Detail::Lock
        );
        assert_eq!(classify(&on("futex", 0)), Detail::Condition);
        assert_eq!(
            classify(&WaitFacts {
                futex_is_thread: true,
                ..on("futex", 0)
            }),
            Detail::Join
        );
    }

    /// Memory reclaim is named wherever it strikes, and a page fault has no call.
    #[test]
    fn reclaim_and_faults() {
        let reclaim = WaitFacts {
            functions: &["schedule", "shrink_node"],
            ..on("read", e::TS_O_FILE)
        };
        assert_eq!(classify(&reclaim), Detail::Reclaim);
        assert_eq!(
            classify(&WaitFacts {
                how: e::TS_IOWAIT as u8,
                ..on("", 0)
            }),
            Detail::PageFault
        );
        assert_eq!(classify(&on("", 0)), Detail::Other);
    }

    /// select without descriptors is a sleep, with some it is a poll.
    #[test]
    fn select_can_be_a_sleep() {
        assert_eq!(
            classify(&WaitFacts {
                only_time: true,
                ..on("select", 0)
            }),
            Detail::Sleep
        );
        assert_eq!(classify(&on("select", 0)), Detail::Poll);
    }

    /// A sleep that a signal interrupted is still a sleep.
    #[test]
    fn restarted_calls_keep_their_kind() {
        assert_eq!(classify(&on("restart_syscall", 0)), Detail::Sleep);
        let futex = WaitFacts {
            functions: &["schedule", "futex_wait"],
            ..on("restart_syscall", 0)
        };
        assert_eq!(classify(&futex), Detail::Condition);
    }

    /// The function that matters is below the scheduler's.
    #[test]
    fn scheduler_functions_are_skipped() {
        let f = [
            "__schedule",
            "schedule",
            "schedule_timeout",
            "pipe_read.isra.0",
            "vfs_read",
        ];
        assert_eq!(sleeping_function(&f), "pipe_read");
        assert_eq!(sleeping_function(&[]), "");
    }
}
