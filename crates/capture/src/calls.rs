//! System calls by number: their names, and for the probes one word a call that says what its
//! arguments mean (`TS_C_...` in `probes/events.h`).

use crate::probes::events as e;
use syscalls::{x86, x86_64};

/// The name of a call, as the kernel spells it.
pub fn name(number: i16, compat: bool) -> String {
    let number_u = usize::from(number.unsigned_abs());
    let known = if compat {
        x86::Sysno::new(number_u).map(|s| s.name())
    } else {
        x86_64::Sysno::new(number_u).map(|s| s.name())
    };
    match known {
        Some(name) if compat => format!("{name} (32-bit)"),
        Some(name) => name.to_string(),
        None => format!("call {number}"),
    }
}

/// Whether a call executes another program. (Of 32-bit calls nobody asks.)
pub fn executes(number: i16, compat: bool) -> bool {
    let is = |call: x86_64::Sysno| i32::from(number) == call.id();
    !compat && (is(x86_64::Sysno::execve) || is(x86_64::Sysno::execveat))
}

/// What the result of a call counts, if it is bytes.
pub fn moves_bytes(name: &str) -> bool {
    MOVES_BYTES.contains(&name)
}

/// What the kernel counts of a thread in `/proc/PID/io`: reads and writes of files of any kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Transfers {
    pub reads: u64,
    pub writes: u64,
}

impl Transfers {
    pub fn any(&self) -> bool {
        self.reads + self.writes > 0
    }
}

/// What one such call counts as there.
pub fn transfers_of(name: &str) -> Transfers {
    let (reads, writes) = match name {
        "read" | "pread64" | "readv" | "preadv" | "preadv2" => (1, 0),
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => (0, 1),
        "sendfile" | "copy_file_range" => (1, 1),
        _ => (0, 0),
    };
    Transfers { reads, writes }
}

const MOVES_BYTES: &[&str] = &[
    "read",
    "pread64",
    "readv",
    "preadv",
    "preadv2",
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev2",
    "recvfrom",
    "recvmsg",
    "sendto",
    "sendmsg",
    "sendfile",
    "splice",
    "tee",
    "copy_file_range",
    "getdents",
    "getdents64",
    "getrandom",
    "readahead",
];

const fn fd(n: u32) -> u32 {
    n
}
const fn path(n: u32) -> u32 {
    n << 3
}
const fn time(n: u32, kind: u32) -> u32 {
    (n << 7) | (kind << 10)
}

/// The words for all calls of the native table.
pub fn words() -> [u32; 512] {
    let mut words = [0; 512];
    for (name, word) in WORDS {
        if let Ok(call) = name.parse::<x86_64::Sysno>() {
            words[call.id() as usize & 511] = *word;
        }
    }
    words
}

const NEWFD: u32 = e::TS_C_NEWFD;
const SENDS: u32 = e::TS_C_SENDS;
const ONE_PLACE: u32 = e::TS_C_ONE_PLACE;
const EPOLL: u32 = e::TS_C_EPOLL | ONE_PLACE;
const POLL: u32 = e::TS_C_POLL | ONE_PLACE;
const SELECT: u32 = e::TS_C_SELECT | ONE_PLACE;
const NAMES: u32 = e::TS_C_NAMES;
const MS: u32 = e::TS_T_MS;
const TIMESPEC: u32 = e::TS_T_TIMESPEC;
const TIMEVAL: u32 = e::TS_T_TIMEVAL;
const CLOCK: u32 = e::TS_T_CLOCK;

/// Which argument is a descriptor, a path or a time-out, counted from 1. What sends may wake somebody at the other end of
/// a connection: making one and ending one do, too.
const WORDS: &[(&str, u32)] = &[
    ("read", fd(1)),
    ("pread64", fd(1)),
    ("readv", fd(1)),
    ("preadv", fd(1)),
    ("preadv2", fd(1)),
    ("write", fd(1) | SENDS),
    ("pwrite64", fd(1)),
    ("writev", fd(1) | SENDS),
    ("pwritev", fd(1)),
    ("pwritev2", fd(1)),
    ("open", path(1) | NEWFD),
    ("openat", path(2) | NEWFD),
    ("openat2", path(2) | NEWFD),
    ("creat", path(1) | NEWFD),
    ("close", e::TS_C_CLOSES | SENDS),
    ("stat", path(1)),
    ("lstat", path(1)),
    ("newfstatat", path(2)),
    ("statx", path(2)),
    ("access", path(1)),
    ("faccessat", path(2)),
    ("faccessat2", path(2)),
    ("readlink", path(1)),
    ("readlinkat", path(2)),
    ("unlink", path(1)),
    ("unlinkat", path(2)),
    ("rename", path(1)),
    ("renameat", path(2)),
    ("renameat2", path(2)),
    ("mkdir", path(1)),
    ("mkdirat", path(2)),
    ("rmdir", path(1)),
    ("chmod", path(1)),
    ("chown", path(1)),
    ("truncate", path(1)),
    ("statfs", path(1)),
    ("chdir", path(1)),
    ("execve", path(1)),
    ("execveat", path(2)),
    ("fstat", fd(1)),
    ("lseek", fd(1)),
    ("ioctl", fd(1)),
    ("fcntl", fd(1)),
    ("flock", fd(1)),
    ("fsync", fd(1)),
    ("fdatasync", fd(1)),
    ("syncfs", fd(1)),
    ("sync_file_range", fd(1)),
    ("fallocate", fd(1)),
    ("ftruncate", fd(1)),
    ("fadvise64", fd(1)),
    ("readahead", fd(1)),
    ("getdents", fd(1)),
    ("getdents64", fd(1)),
    ("fchdir", fd(1)),
    ("fchmod", fd(1)),
    ("fchown", fd(1)),
    ("fstatfs", fd(1)),
    ("mmap", fd(5)),
    ("sendfile", fd(1) | SENDS),
    ("splice", fd(1)),
    ("tee", fd(1)),
    ("copy_file_range", fd(1)),
    ("dup", fd(1)),
    ("dup2", fd(1)),
    ("dup3", fd(1)),
    ("socket", NEWFD),
    ("accept", NEWFD | NAMES),
    ("accept4", NEWFD | NAMES),
    ("connect", fd(1) | NAMES | SENDS),
    ("bind", fd(1) | NAMES),
    ("listen", fd(1) | NAMES),
    ("shutdown", fd(1) | SENDS),
    ("getsockopt", fd(1)),
    ("setsockopt", fd(1)),
    ("getsockname", fd(1)),
    ("getpeername", fd(1)),
    ("sendto", fd(1) | SENDS | e::TS_C_SENDTO),
    ("sendmsg", fd(1) | SENDS | e::TS_C_SENDMSG),
    ("sendmmsg", fd(1) | SENDS | e::TS_C_SENDMSG),
    ("recvfrom", fd(1)),
    ("recvmsg", fd(1)),
    ("recvmmsg", fd(1) | time(5, TIMESPEC)),
    ("eventfd", NEWFD),
    ("eventfd2", NEWFD),
    ("timerfd_create", NEWFD),
    ("timerfd_settime", fd(1)),
    ("signalfd", NEWFD),
    ("signalfd4", NEWFD),
    ("inotify_init", NEWFD),
    ("inotify_init1", NEWFD),
    ("memfd_create", NEWFD),
    ("pidfd_open", NEWFD),
    ("epoll_create", NEWFD),
    ("epoll_create1", NEWFD),
    ("epoll_ctl", fd(1) | e::TS_C_WATCHES),
    ("epoll_wait", fd(1) | time(4, MS) | EPOLL),
    ("epoll_pwait", fd(1) | time(4, MS) | EPOLL),
    ("epoll_pwait2", fd(1) | time(4, TIMESPEC) | EPOLL),
    ("poll", time(3, MS) | POLL),
    ("ppoll", time(3, TIMESPEC) | POLL),
    ("select", time(5, TIMEVAL) | SELECT),
    ("pselect6", time(5, TIMESPEC) | SELECT),
    ("nanosleep", time(1, TIMESPEC) | ONE_PLACE),
    ("clock_nanosleep", time(3, CLOCK) | ONE_PLACE),
    ("rt_sigtimedwait", time(3, TIMESPEC) | ONE_PLACE),
    ("io_getevents", time(5, TIMESPEC)),
    ("semtimedop", time(4, TIMESPEC)),
    ("io_uring_enter", fd(1)),
    ("futex", e::TS_C_FUTEX | ONE_PLACE),
    ("wait4", ONE_PLACE),
    ("waitid", ONE_PLACE),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Every call named in the table is one that the kernel has, or its word would go nowhere.
    #[test]
    fn all_names_are_calls() {
        for (name, _) in WORDS {
            assert!(name.parse::<x86_64::Sysno>().is_ok(), "{name}");
        }
        for name in MOVES_BYTES {
            assert!(name.parse::<x86_64::Sysno>().is_ok(), "{name}");
        }
    }

    /// 32-bit programs use other numbers for the same calls, and are not mistaken for 64-bit ones.
    #[test]
    fn compat_numbers_have_their_own_names() {
        assert_eq!(name(3, false), "close");
        assert_eq!(name(3, true), "read (32-bit)");
        assert_eq!(name(9999, false), "call 9999");
    }
}
