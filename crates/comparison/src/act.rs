//! What a system call does, whichever of several calls a program makes for it: two programs that read a file may do so with
//! `read` and with `pread64`, and a client in Python polls where one in C receives.

use timesink_recording::words::{Detail, ObjectKind};

/// What a call is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Act {
    Open,
    Close,
    /// A path is looked at without being opened.
    LookUp,
    Read,
    Write,
    Flush,
    Connect,
    Accept,
    Send,
    Receive,
    /// For any of several things.
    Poll,
    Sleep,
    Futex,
    /// A thread or a process is started.
    Start,
    Exec,
    /// For the end of a child.
    AwaitChild,
    Map,
    Remove,
    Rename,
    /// Any other call, by its name.
    Other(String),
}

impl Act {
    /// What a call does on a thing of this kind.
    pub fn of_call(call: &str, on: Option<ObjectKind>) -> Act {
        let call = call.strip_suffix(" (32-bit)").unwrap_or(call);
        let on_socket = on.is_some_and(is_socket);
        match call {
            "open" | "openat" | "openat2" | "creat" => Act::Open,
            "close" | "close_range" => Act::Close,
            "stat" | "lstat" | "newfstatat" | "statx" | "access" | "faccessat" | "faccessat2"
            | "readlink" | "readlinkat" => Act::LookUp,
            "read" | "readv" if on_socket => Act::Receive,
            "read" | "pread64" | "readv" | "preadv" | "preadv2" => Act::Read,
            "write" | "writev" if on_socket => Act::Send,
            "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => Act::Write,
            "fsync" | "fdatasync" | "sync" | "syncfs" | "msync" | "sync_file_range" => Act::Flush,
            "connect" => Act::Connect,
            "accept" | "accept4" => Act::Accept,
            "send" | "sendto" | "sendmsg" | "sendmmsg" => Act::Send,
            "recv" | "recvfrom" | "recvmsg" | "recvmmsg" => Act::Receive,
            "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait"
            | "epoll_pwait2" => Act::Poll,
            "nanosleep" | "clock_nanosleep" => Act::Sleep,
            "futex" | "futex_wait" | "futex_waitv" | "futex_wake" => Act::Futex,
            "clone" | "clone3" | "fork" | "vfork" => Act::Start,
            "execve" | "execveat" => Act::Exec,
            "wait4" | "waitid" => Act::AwaitChild,
            "mmap" | "munmap" | "mremap" | "mprotect" | "madvise" | "brk" => Act::Map,
            "unlink" | "unlinkat" | "rmdir" => Act::Remove,
            "rename" | "renameat" | "renameat2" => Act::Rename,
            other => Act::Other(other.to_owned()),
        }
    }

    /// What a wait of this kind is part of, where the kind alone says so.
    pub(crate) fn of_wait(detail: Detail) -> Option<Act> {
        match detail {
            Detail::Flush => Some(Act::Flush),
            Detail::NetworkReceive | Detail::UnixReceive => Some(Act::Receive),
            Detail::NetworkSend | Detail::UnixSend => Some(Act::Send),
            Detail::NetworkConnect => Some(Act::Connect),
            Detail::NetworkAccept => Some(Act::Accept),
            Detail::PipeRead | Detail::Terminal => Some(Act::Read),
            Detail::PipeWrite => Some(Act::Write),
            Detail::Sleep => Some(Act::Sleep),
            Detail::Poll => Some(Act::Poll),
            Detail::Child => Some(Act::AwaitChild),
            Detail::Creation | Detail::Vfork => Some(Act::Start),
            Detail::Exec => Some(Act::Exec),
            _ => None,
        }
    }

    /// The word for it, as in the JSON comparison.
    pub fn word(&self) -> &str {
        match self {
            Act::Open => "open",
            Act::Close => "close",
            Act::LookUp => "look up",
            Act::Read => "read",
            Act::Write => "write",
            Act::Flush => "flush",
            Act::Connect => "connect",
            Act::Accept => "accept",
            Act::Send => "send",
            Act::Receive => "receive",
            Act::Poll => "poll",
            Act::Sleep => "sleep",
            Act::Futex => "futex",
            Act::Start => "start",
            Act::Exec => "exec",
            Act::AwaitChild => "await child",
            Act::Map => "map",
            Act::Remove => "remove",
            Act::Rename => "rename",
            Act::Other(name) => name,
        }
    }
}

fn is_socket(kind: ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::TcpSocket
            | ObjectKind::UdpSocket
            | ObjectKind::UnixSocket
            | ObjectKind::OtherSocket
    )
}
