//! Work in a process of its own, which can be ended: it reads what others can make hang or take very long. What it finds is
//! handed over piece by piece, so that what was found before it had to be ended is not lost.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::pipe::{pipe_with, PipeFlags};
use serde::de::DeserializeOwned;
use serde::Serialize;

use crate::only_these::close_all_but;
use crate::patience::Patience;
use crate::privileges;

/// So often it is looked whether there is still patience.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
/// No piece is longer.
const LONGEST: usize = 1 << 30;
/// How long the end of who was ended is waited for. Who hangs in the kernel ends when it comes back.
const LAST: Duration = Duration::from_millis(200);

/// How it came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Done,
    /// No piece came for too long, or the process died.
    Silent,
    /// There is no more patience.
    GivenUp,
}

/// Does `work` in a child that keeps these descriptors alone. `take` gets each piece that it hands over; between two of them
/// there may be `silence`.
pub fn in_child<T: Serialize + DeserializeOwned>(
    patience: &Patience,
    silence: Duration,
    kept: &[RawFd],
    work: impl FnOnce(&mut dyn FnMut(&T)),
    mut take: impl FnMut(T),
) -> io::Result<Ended> {
    let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
    // SAFETY: the child does its work and ends without running what belongs to us. Other threads of ours hold
    // nothing that it needs.
    let child = match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => run(to, kept, work),
        child => child,
    };
    drop(to);
    let mut pieces = Pieces {
        from: File::from(from),
        bytes: Vec::new(),
    };
    let ended = pieces.follow(patience, silence, &mut take);
    end(child);
    Ok(ended)
}

/// The child.
fn run<T: Serialize>(to: OwnedFd, kept: &[RawFd], work: impl FnOnce(&mut dyn FnMut(&T))) -> ! {
    let kept: Vec<RawFd> = kept.iter().copied().chain([to.as_raw_fd()]).collect();
    close_all_but(&kept);
    let mut to = File::from(to);
    let mut hand_over = |piece: &T| {
        // Who is not listened to any more is about to be ended.
        let bytes = serde_json::to_vec(piece).unwrap_or_default();
        let length = (bytes.len() as u64).to_le_bytes();
        let _ = to.write_all(&[&length, bytes.as_slice()].concat());
    };
    let confined = privileges::for_naming().is_ok();
    let done = confined && timesink_recording::caught(|| work(&mut hand_over)).is_ok();
    if done {
        let _ = to.write_all(&u64::MAX.to_le_bytes());
    }
    // SAFETY: see above.
    unsafe { libc::_exit(i32::from(!done)) }
}

/// Ends the child, however far it is.
fn end(child: libc::pid_t) {
    // SAFETY: our own child, which nobody else waits for.
    unsafe { libc::kill(child, libc::SIGKILL) };
    let begun = Instant::now();
    while begun.elapsed() < LAST {
        // SAFETY: as above; no status is asked for.
        if unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::WNOHANG) } != 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

struct Pieces {
    from: File,
    /// The beginning of what is not whole yet.
    bytes: Vec<u8>,
}

impl Pieces {
    fn follow<T: DeserializeOwned>(
        &mut self,
        patience: &Patience,
        silence: Duration,
        take: &mut impl FnMut(T),
    ) -> Ended {
        let mut heard = Instant::now();
        loop {
            let begun = Instant::now();
            let mut polled = [PollFd::from_borrowed_fd(self.from.as_fd(), PollFlags::IN)];
            if poll(&mut polled, Some(&LOOK)).is_ok_and(|ready| ready > 0) {
                match self.read() {
                    Ok(0) | Err(_) => return Ended::Silent,
                    Ok(_) => heard = Instant::now(),
                }
                match self.take_whole(take) {
                    None => return Ended::Silent,
                    Some(true) => return Ended::Done,
                    Some(false) => {}
                }
            }
            patience.spend(begun.elapsed());
            if patience.ended().is_some() {
                return Ended::GivenUp;
            }
            if heard.elapsed() > silence {
                return Ended::Silent;
            }
        }
    }

    fn read(&mut self) -> io::Result<usize> {
        let known = self.bytes.len();
        self.bytes.resize(known + (1 << 16), 0);
        let read = self.from.read(&mut self.bytes[known..]);
        self.bytes
            .truncate(known + read.as_ref().map_or(0, |read| *read));
        read
    }

    /// Takes what is whole; whether that was all. `None`: what came makes no sense.
    fn take_whole<T: DeserializeOwned>(&mut self, take: &mut impl FnMut(T)) -> Option<bool> {
        let mut at = 0;
        while let Some(length) = self.bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            let length = u64::from_le_bytes(*length);
            if length == u64::MAX {
                return Some(true);
            }
            let length = usize::try_from(length).ok().filter(|l| *l <= LONGEST)?;
            let Some(piece) = self.bytes.get(at + 8..at + 8 + length) else {
                break;
            };
            take(serde_json::from_slice(piece).ok()?);
            at += 8 + length;
        }
        self.bytes.drain(..at);
        Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    const LONG: Duration = Duration::from_secs(60);

    /// What was found is here, in order, whatever its size.
    #[test]
    fn pieces_come_in_order() {
        let mut taken = Vec::new();
        let work = |hand_over: &mut dyn FnMut(&String)| {
            for length in [1, 0, 300_000, 5] {
                hand_over(&"x".repeat(length));
            }
        };
        let take = |piece: String| taken.push(piece.len());
        let ended = in_child(&Patience::default(), LONG, &[], work, take);
        assert_eq!(ended.expect("a child"), Ended::Done);
        assert_eq!(taken, [1, 0, 300_000, 5]);
    }

    /// Who hangs, dies or is not wanted any more is ended; what it found before stays.
    #[test]
    fn children_are_ended() {
        let run = |patience: &Patience, silence, then: fn()| {
            let mut taken = Vec::new();
            let work = |hand_over: &mut dyn FnMut(&u32)| {
                hand_over(&7);
                then();
            };
            let ended = in_child(patience, silence, &[], work, |piece| taken.push(piece));
            assert_eq!(taken, [7]);
            ended.expect("a child")
        };
        let hang = || std::thread::sleep(LONG);
        let short = Duration::from_millis(300);
        assert_eq!(run(&Patience::default(), short, hang), Ended::Silent);
        let die = || std::process::abort();
        assert_eq!(run(&Patience::default(), LONG, die), Ended::Silent);
        let panic = || panic!("a fault of what was read");
        assert_eq!(run(&Patience::default(), LONG, panic), Ended::Silent);
        let patience = Patience::default();
        let asked = patience.asked();
        let ask = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            asked.store(true, Ordering::Relaxed);
        });
        assert_eq!(run(&patience, LONG, hang), Ended::GivenUp);
        ask.join().expect("asked");
    }
}
