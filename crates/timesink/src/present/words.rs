//! The words for what threads do, and for what is lost: the only place where they are chosen. docs/words.md explains them.

use timesink_analysis::ledger::{Account, Kind};
use timesink_analysis::machine::Scheduling;
use timesink_analysis::path::Unknown;
use timesink_recording::processors;
use timesink_recording::words::{Detail, LossKind, SchedulingPolicy};

use super::terminal::{units, Ink};

/// What a CPU quota keeps from running.
pub const THROTTLED: &str = "throttled by cgroup quota";

/// What a thread did, in words that need no manual. `function` is the kernel function of a wait
/// that nothing better is known about.
pub fn cause(account: Account, kind: Kind, function: &str) -> String {
    match (account, kind) {
        (Account::Cpu, Kind::User) => "on CPU: user".to_owned(),
        (Account::Cpu, Kind::Kernel) => "on CPU: kernel".to_owned(),
        (Account::Cpu, Kind::As(Detail::Exit)) => "on CPU: exiting".to_owned(),
        (Account::Cpu, Kind::As(Detail::SwitchingIn)) => "on CPU: switching in".to_owned(),
        (Account::Cpu, Kind::Missing) => "on CPU: details lost".to_owned(),
        (Account::Ready, Kind::As(Detail::Throttled)) => THROTTLED.to_owned(),
        (Account::Wait, Kind::As(Detail::Other)) if !function.is_empty() => {
            format!("blocked in kernel: {function}")
        }
        (Account::Wait, Kind::As(detail)) => wait(detail).to_owned(),
        (Account::Wait, _) => "blocked: details lost".to_owned(),
        (account, _) => self::account(account).to_owned(),
    }
}

/// A state without its detail.
pub fn account(account: Account) -> &'static str {
    match account {
        Account::Cpu => "on CPU",
        Account::Ready => "runnable (waiting for a CPU)",
        Account::Wait => "blocked",
        Account::Tracer => "recording overhead",
        Account::Lost => "unknown: events were lost",
    }
}

/// Why a part of the path is not known.
pub fn unknown(why: Unknown) -> &'static str {
    match why {
        Unknown::Lost => "unknown: events were lost",
        Unknown::NoWaker => "unknown: no waker recorded",
        Unknown::Impossible => "unknown: its waker was blocked",
        Unknown::Circle => "unknown: wakers form a cycle",
        Unknown::Unborn => "unknown: before it was created",
    }
}

/// How a program is scheduled otherwise than most. The list of CPUs is written again: what stands in a recording may be anything.
pub fn scheduling(scheduling: &Scheduling) -> String {
    match scheduling {
        Scheduling::RealTime {
            policy: SchedulingPolicy::Deadline,
            ..
        } => "real-time (deadline)".to_owned(),
        Scheduling::RealTime { policy, priority } => format!("real-time ({policy} {priority})"),
        Scheduling::Nice { nice } => format!("nice {nice}"),
        Scheduling::Bound { allowed } => {
            let allowed = processors::parse(allowed);
            let cpus = if allowed.len() == 1 { "CPU" } else { "CPUs" };
            format!("bound to {cpus} {}", processors::list(allowed))
        }
    }
}

/// A poll of an event loop in which nothing came until its own timeout.
pub const TIMER_OF_LOOP: &str = "sleeping (timer)";

/// Why a thread became runnable.
pub fn ready(kind: Kind) -> &'static str {
    match kind {
        Kind::As(Detail::Woken) => "after a wait",
        Kind::As(Detail::Preempted) => "preempted",
        Kind::As(Detail::Started) => "just started",
        Kind::As(Detail::Exit) => "exiting",
        Kind::Missing => "details lost",
        _ => "other",
    }
}

/// A kind of wait.
pub fn wait(detail: Detail) -> &'static str {
    match detail {
        Detail::DiskRead => "disk read",
        Detail::DiskWrite => "disk write",
        Detail::Flush => "fsync",
        Detail::PageFault => "page fault (disk)",
        Detail::NetworkReceive => "network receive",
        Detail::NetworkSend => "network send",
        Detail::NetworkConnect => "network connect",
        Detail::NetworkAccept => "network accept",
        Detail::UnixReceive => "unix socket receive",
        Detail::UnixSend => "unix socket send",
        Detail::UnixConnect => "unix socket connect",
        Detail::PipeRead => "pipe read",
        Detail::PipeWrite => "pipe write (pipe full)",
        Detail::Lock => "lock wait",
        Detail::Condition => "condition variable",
        Detail::Join => "thread join",
        Detail::FileLock => "file lock",
        Detail::Sleep => "sleeping (requested)",
        Detail::Poll => "poll (several descriptors)",
        Detail::Child => "waiting for a child",
        Detail::Vfork => "waiting for a child (vfork)",
        Detail::Reclaim => "memory reclaim",
        Detail::IoUring => "io_uring",
        Detail::Aio => "asynchronous I/O",
        Detail::Terminal => "terminal input",
        Detail::Signal => "waiting for a signal",
        Detail::Event => "eventfd",
        Detail::Ipc => "message queue",
        Detail::Stopped => "stopped",
        Detail::Exec => "blocked in exec",
        Detail::KernelLock => "lock in the kernel",
        Detail::Exit => "blocked in exit",
        Detail::Other => "blocked, reason unknown",
        Detail::Creation => "being created",
        Detail::Running
        | Detail::SwitchingIn
        | Detail::Started
        | Detail::Woken
        | Detail::Preempted
        | Detail::Throttled
        | Detail::Unknown => "blocked",
    }
}

/// What the objects of such a wait are called when there are many.
pub fn objects(kind: Kind) -> &'static str {
    match kind {
        Kind::As(
            Detail::DiskRead
            | Detail::DiskWrite
            | Detail::Flush
            | Detail::FileLock
            | Detail::PageFault,
        ) => "files",
        Kind::As(
            Detail::NetworkReceive
            | Detail::NetworkSend
            | Detail::NetworkConnect
            | Detail::NetworkAccept,
        ) => "connections",
        Kind::As(Detail::UnixReceive | Detail::UnixSend | Detail::UnixConnect) => "sockets",
        Kind::As(Detail::PipeRead | Detail::PipeWrite) => "pipes",
        Kind::As(Detail::Lock) => "locks",
        Kind::As(Detail::Child | Detail::Vfork) => "children",
        _ => "objects",
    }
}

/// What was lost, with how many.
pub fn loss(kind: LossKind, count: u64) -> String {
    let one_or_many = |one, many| units::plural(count, one, many);
    match kind {
        LossKind::Turns => one_or_many("switch", "switches"),
        LossKind::Waits => one_or_many("long wait", "long waits"),
        LossKind::Calls => one_or_many("timed call", "timed calls"),
        LossKind::Objects => one_or_many("object name", "object names"),
        LossKind::Lookups => one_or_many("path lookup", "path lookups"),
        LossKind::Lives => one_or_many("start or end", "starts or ends"),
        LossKind::Requests => one_or_many("disk request", "disk requests"),
        LossKind::Samples => one_or_many("CPU sample", "CPU samples"),
        LossKind::Threads => one_or_many("whole thread", "whole threads"),
        LossKind::Writing => "data that could not be written".to_owned(),
        LossKind::CutShort => "all after it was cut short".to_owned(),
    }
}

/// So many stacks.
pub fn stacks(count: u64) -> String {
    units::plural(count, "stack", "stacks")
}

/// The colour of a state.
pub fn ink(account: Account) -> Ink {
    match account {
        Account::Cpu => Ink::Cpu,
        Account::Ready => Ink::Ready,
        Account::Wait => Ink::Wait,
        Account::Tracer => Ink::Tracer,
        Account::Lost => Ink::Warning,
    }
}
