//! Causes in plain words.

use timesink_analysis::ledger::{Account, Kind};
use timesink_analysis::path::Unknown;
use timesink_recording::words::{Detail, LossKind};

use super::style::Ink;
use super::units;

/// What a thread did, in words that need no manual. `function` is the kernel function of a wait
/// that nothing better is known about.
pub fn cause(account: Account, kind: Kind, function: &str) -> String {
    match (account, kind) {
        (Account::Cpu, Kind::User) => "on a processor: user".to_owned(),
        (Account::Cpu, Kind::Kernel) => "on a processor: kernel".to_owned(),
        (Account::Cpu, Kind::As(Detail::Exit)) => "on a processor: tear-down at exit".to_owned(),
        (Account::Cpu, Kind::As(Detail::SwitchingIn)) => {
            "on a processor: waking up, switching".to_owned()
        }
        (Account::Cpu, Kind::Missing) => "on a processor: details lost".to_owned(),
        (Account::Cpu, _) => "on a processor".to_owned(),
        (Account::Ready, Kind::As(Detail::Throttled)) => {
            "held back by its cgroup's quota".to_owned()
        }
        (Account::Ready, _) => "ready, no processor free".to_owned(),
        (Account::Wait, Kind::As(Detail::Other)) if !function.is_empty() => {
            format!("waiting in the kernel: {function}")
        }
        (Account::Wait, Kind::As(detail)) => wait(detail).to_owned(),
        (Account::Wait, _) => "waiting: details lost".to_owned(),
        (Account::Tracer, _) => "being recorded (timesink)".to_owned(),
        (Account::Lost, _) => "not known: events were lost".to_owned(),
    }
}

/// Why a part of the path is not known.
pub fn unknown(why: Unknown) -> &'static str {
    match why {
        Unknown::Lost => "not known: events were lost",
        Unknown::NoWaker => "not known: who ended the wait",
        Unknown::Impossible => "not known: its waker was asleep",
        Unknown::Circle => "not known: wakers in a circle",
        Unknown::Unborn => "not known: before it was there",
    }
}

/// How a thread came to be ready.
pub fn ready(kind: Kind) -> &'static str {
    match kind {
        Kind::As(Detail::Woken) => "after a wait",
        Kind::As(Detail::Preempted) => "pushed aside (preempted)",
        Kind::As(Detail::Started) => "just started",
        Kind::As(Detail::Exit) => "in tear-down at exit",
        Kind::Missing => "details lost",
        _ => "otherwise",
    }
}

fn wait(detail: Detail) -> &'static str {
    match detail {
        Detail::DiskRead => "waiting for the disk: read",
        Detail::DiskWrite => "waiting for the disk: write",
        Detail::Flush => "waiting for the disk: flush",
        Detail::PageFault => "waiting for the disk: page fault",
        Detail::NetworkReceive => "waiting for the network: receive",
        Detail::NetworkSend => "waiting for the network: send",
        Detail::NetworkConnect => "waiting for the network: connect",
        Detail::NetworkAccept => "waiting for the network: accept",
        Detail::UnixReceive => "waiting for a unix socket: receive",
        Detail::UnixSend => "waiting for a unix socket: send",
        Detail::UnixConnect => "waiting for a unix socket: connect",
        Detail::PipeRead => "waiting for a pipe: data",
        Detail::PipeWrite => "waiting for a pipe: room",
        Detail::Lock => "waiting for a lock",
        Detail::Condition => "waiting for a condition",
        Detail::Join => "waiting for a thread to end",
        Detail::FileLock => "waiting for a file lock",
        Detail::Sleep => "asleep, as it asked",
        Detail::Poll => "waiting for any of several (poll)",
        Detail::Child => "waiting for a child",
        Detail::Vfork => "waiting for a child (vfork)",
        Detail::Reclaim => "waiting for memory",
        Detail::IoUring => "waiting for io_uring",
        Detail::Aio => "waiting for asynchronous I/O",
        Detail::Terminal => "waiting for the terminal",
        Detail::Signal => "waiting for a signal",
        Detail::Event => "waiting for an event descriptor",
        Detail::Ipc => "waiting for a message queue",
        Detail::Stopped => "stopped",
        Detail::Exec => "waiting inside exec",
        Detail::KernelLock => "waiting for a lock in the kernel",
        Detail::Exit => "waiting in tear-down at exit",
        Detail::Other => "waiting, for what is not known",
        Detail::Creation => "being created",
        Detail::Running
        | Detail::SwitchingIn
        | Detail::Started
        | Detail::Woken
        | Detail::Preempted
        | Detail::Throttled
        | Detail::Unknown => "waiting",
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
        LossKind::Waits => one_or_many("record of a long wait", "records of long waits"),
        LossKind::Calls => one_or_many("timed call", "timed calls"),
        LossKind::Objects => one_or_many("name of a thing", "names of things"),
        LossKind::Lookups => one_or_many("path look-up", "path look-ups"),
        LossKind::Lives => one_or_many("start or end", "starts or ends"),
        LossKind::Requests => one_or_many("disk request", "disk requests"),
        LossKind::Samples => one_or_many("processor sample", "processor samples"),
        LossKind::Threads => one_or_many("whole thread", "whole threads"),
        LossKind::Writing => "what could not be written".to_owned(),
        LossKind::CutShort => "what came after the cut".to_owned(),
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
