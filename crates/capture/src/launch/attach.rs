//! Processes that run already: that they exist, and when they end. Changes nothing about them.

use super::{system, Error};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Processes to be recorded that others have started.
#[derive(Debug)]
pub struct Attached {
    alive: Vec<(u32, OwnedFd)>,
}

impl Attached {
    /// Checks that each is a process that is there and is not us, and keeps hold of it, so that
    /// its number cannot come to mean another process. Given twice, it counts once.
    pub fn open(pids: &[u32]) -> Result<Attached, Error> {
        let mut alive: Vec<(u32, OwnedFd)> = Vec::with_capacity(pids.len());
        for &pid in pids {
            if pid == std::process::id() {
                return Err(Error::Ourselves(pid));
            }
            if !alive.iter().any(|(known, _)| *known == pid) {
                alive.push((pid, open(pid)?));
            }
        }
        Ok(Attached { alive })
    }

    /// Those that have not ended yet, each with a descriptor that becomes readable when it does.
    pub fn alive(&self) -> impl Iterator<Item = (u32, BorrowedFd<'_>)> {
        self.alive.iter().map(|(pid, fd)| (*pid, fd.as_fd()))
    }

    /// Those that have ended since the last call.
    pub fn ended(&mut self) -> Result<Vec<u32>, Error> {
        let fds: Vec<BorrowedFd<'_>> = self.alive.iter().map(|(_, fd)| fd.as_fd()).collect();
        let ready = system::poll(&fds, Some(0)).map_err(|source| Error::System {
            step: "cannot poll processes",
            source,
        })?;
        let mut ready = ready.into_iter();
        let mut ended = Vec::new();
        self.alive.retain(|(pid, _)| {
            let gone = ready.next().unwrap_or(false);
            if gone {
                ended.push(*pid);
            }
            !gone
        });
        Ok(ended)
    }
}

fn open(pid: u32) -> Result<OwnedFd, Error> {
    // 0 and numbers that do not fit a pid_t name no process.
    if i32::try_from(pid).is_err() || pid == 0 {
        return Err(Error::NoSuchProcess(pid));
    }
    system::open_pidfd(pid).map_err(|source| match (source.raw_os_error(), leader(pid)) {
        (Some(libc::ESRCH), _) => Error::NoSuchProcess(pid),
        // Kernels differ in what they say of a thread's number: EINVAL, later ENOENT.
        (_, Some(leader)) if leader != pid => Error::NotAProcess {
            tid: pid,
            pid: leader,
        },
        (Some(libc::EINVAL | libc::ENOENT), _) => Error::NoSuchProcess(pid),
        _ => Error::System {
            step: "cannot open the process",
            source,
        },
    })
}

/// The process that a thread belongs to.
fn leader(tid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Kind;
    use std::process::{Command, Stdio};

    /// No process has these numbers.
    #[test]
    fn numbers_without_a_process_are_refused() {
        for pid in [0, 1 << 30, u32::MAX] {
            let fault = Attached::open(&[pid]).expect_err("no such process");
            assert_eq!(fault.kind(), Kind::NoSuchProcess, "{pid}: {fault}");
        }
    }

    /// We do not record ourselves.
    #[test]
    fn we_are_refused() {
        let fault = Attached::open(&[std::process::id()]).expect_err("ourselves");
        assert_eq!(fault.kind(), Kind::Usage);
    }

    /// A thread's number is refused with the number to use instead.
    #[test]
    fn a_thread_is_refused_by_name() {
        // SAFETY: gettid cannot fail. This test runs in a thread that does not lead the process.
        let tid = unsafe { libc::gettid() } as u32;
        if tid == std::process::id() {
            return; // With one test thread there is nothing to refuse.
        }
        match Attached::open(&[tid]) {
            Err(Error::NotAProcess { tid: given, pid }) => {
                assert_eq!((given, pid), (tid, std::process::id()));
            }
            other => panic!("{other:?}"),
        }
    }

    /// The end of a process is told once, and one given twice is there once.
    #[test]
    fn an_end_is_told_once() {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .spawn()
            .expect("cat runs");
        let mut attached = Attached::open(&[child.id(), child.id()]).expect("it is there");
        assert_eq!(attached.alive().count(), 1);
        assert!(attached.ended().expect("poll").is_empty());
        drop(child.stdin.take());
        let (_, fd) = attached.alive().next().expect("alive");
        system::poll(&[fd], None).expect("poll");
        assert_eq!(attached.ended().expect("poll"), [child.id()]);
        assert!(attached.ended().expect("poll").is_empty());
        child.wait().expect("reaped");
    }
}
