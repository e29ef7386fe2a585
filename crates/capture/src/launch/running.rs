//! The program while it runs: signals are handed on, and its end is noticed.

use super::signals::{parent_of, Received, Signals};
use super::status::Status;
use super::{system, Error};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A program that was released. Dropping this leaves it running.
#[derive(Debug)]
pub struct Running {
    pid: u32,
    pidfd: OwnedFd,
    signals: Signals,
    status: Option<Status>,
}

impl Running {
    pub(super) fn new(pid: u32, pidfd: OwnedFd, signals: Signals) -> Running {
        Running {
            pid,
            pidfd,
            signals,
            status: None,
        }
    }

    /// The program's number. Once [`Running::try_wait`] has told its end, it means nothing.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Readable when [`Running::on_signal`] has something to do.
    pub fn signal_fd(&self) -> BorrowedFd<'_> {
        self.signals.fd()
    }

    /// Readable when the program has ended.
    pub fn child_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Hands on the signals that have come, and tells which they were. One that does not get
    /// through, because the program has just ended or has become somebody we may not signal,
    /// is told as not forwarded.
    pub fn on_signal(&mut self) -> Result<Vec<Received>, Error> {
        let mut all = self.signals.read()?;
        for received in &mut all {
            if received.is_for(self.pid, parent_of) {
                let info = received.info();
                let info = info.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
                let sent = system::send_signal(self.pidfd.as_fd(), received.signal, info);
                received.forwarded = sent.is_ok();
            }
        }
        Ok(all)
    }

    /// How the program ended, if it has.
    pub fn try_wait(&mut self) -> Result<Option<Status>, Error> {
        if self.status.is_none() {
            let word = system::wait(self.pid, libc::WNOHANG).map_err(|source| Error::System {
                step: "cannot wait for the program",
                source,
            })?;
            self.status = word.map(Status::from_wait);
        }
        Ok(self.status)
    }

    /// The signals, when the program has ended.
    pub fn into_signals(self) -> Signals {
        self.signals
    }

    /// Hands on signals until the program ends, for those who have nothing else to do.
    pub fn wait(&mut self) -> Result<Status, Error> {
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            let ready =
                system::poll(&[self.child_fd(), self.signal_fd()], None).map_err(|source| {
                    Error::System {
                        step: "cannot poll",
                        source,
                    }
                })?;
            if ready.get(1).copied().unwrap_or(false) {
                self.on_signal()?;
            }
        }
    }
}
