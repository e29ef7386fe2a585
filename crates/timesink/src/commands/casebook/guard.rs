//! Nothing of a case outlives timesink: the work is done in a child of ours, and each of the two sees how the other ends.
//!
//! The one that was started waits, takes the signals, and has nothing else to do. The other does the work. A pipe that only
//! the first holds open tells the second that it shall end, by whatever the first ended: then all that it started is ended,
//! the work comes to its own end with an error, and takes its folders away with it.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{bail, Context};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{pidfd_open, waitpid, Pid, PidfdFlags, WaitOptions};
use timesink_capture::launch::Signals;

use super::kin;
use crate::out;

/// Who was asked to end and has not is made to.
pub const GRACE: Duration = Duration::from_secs(5);
/// What ends a program that does not care.
const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

static IS_ENDING: AtomicBool = AtomicBool::new(false);
/// Held while packages are installed: what is cut short there would have to be mended by hand.
pub static INSTALLING: Mutex<()> = Mutex::new(());

/// Whether somebody has ended us: nothing new is to be begun.
pub fn is_ending() -> bool {
    IS_ENDING.load(Ordering::SeqCst)
}

/// Does the work, and returns its exit code, or 128 + the signal that ended it. To be called while there is one thread.
#[allow(unsafe_code)]
pub fn guarded(work: impl FnOnce() -> anyhow::Result<u8>) -> anyhow::Result<u8> {
    let (alive, held) = io::pipe().context("a pipe")?;
    // SAFETY: there is one thread, so the child may do whatever we may.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()).context("fork"),
        0 => {
            drop(held);
            kin::adopt().context("orphans cannot be adopted")?;
            survive();
            std::thread::spawn(|| end_with(alive));
            work()
        }
        worker => {
            drop(alive);
            wait(worker, held)
        }
    }
}

/// Whether who started us wants this signal to do nothing, as `nohup` does.
#[allow(unsafe_code)]
pub fn is_ignored(signal: i32) -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: nothing is changed, and what is there is read only if it was written.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) == 0
            && now.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// A signal from the terminal reaches both of us; who works is ended by the other. A handler, and not a mask: what is
/// started from here has neither.
#[allow(unsafe_code)]
fn survive() {
    extern "C" fn nothing(_: i32) {}
    for signal in ENDING.into_iter().filter(|&signal| !is_ignored(signal)) {
        // SAFETY: the handler does nothing, and calls that it interrupts go on.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(i32) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Waits until the one that waits for us is gone, and ends all that we started, over and over until we are through.
fn end_with(mut alive: PipeReader) {
    let _ = alive.read_to_end(&mut Vec::new());
    IS_ENDING.store(true, Ordering::SeqCst);
    if INSTALLING.try_lock().is_err() {
        // apt stops at what can be stopped, and brings the rest to its end.
        kin::signal_children(libc::SIGINT);
        drop(INSTALLING.lock());
    }
    kin::signal_all(libc::SIGTERM);
    std::thread::sleep(GRACE);
    loop {
        kin::signal_all(libc::SIGKILL);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for who works, and lets go of it at a signal.
fn wait(worker: i32, held: PipeWriter) -> anyhow::Result<u8> {
    let taken: Vec<i32> = ENDING.into_iter().filter(|&s| !is_ignored(s)).collect();
    let mut signals = Signals::block()?;
    // If who works is killed, its children become ours.
    kin::adopt().context("orphans cannot be adopted")?;
    let end = end_of(worker).context("waiting")?;
    let mut held = Some(held);
    let mut ended_by = None;
    while !until(&end, &signals).context("waiting")? {
        let came = signals.read()?;
        if let Some(one) = came.iter().find(|one| taken.contains(&one.signal)) {
            ended_by.get_or_insert(one.signal);
            held = None;
        }
    }
    drop(held);
    // The child is ours, and nobody else waits for it.
    let ended = waitpid(Pid::from_raw(worker), WaitOptions::empty());
    let status = ended
        .context("waiting")?
        .map_or(0, |(_, status)| status.as_raw());
    kin::end_all_except(&[]);
    let status = ExitStatus::from_raw(status);
    match (ended_by, status.code()) {
        (Some(signal), _) => {
            out::tell("ended by a signal; what the case had started is ended, too");
            Ok(128u8.saturating_add(u8::try_from(signal).unwrap_or(0)))
        }
        (None, Some(code)) => Ok(u8::try_from(code).unwrap_or(1)),
        (None, None) => bail!("the casebook was killed ({status})"),
    }
}

/// A descriptor that is readable when this child has ended.
fn end_of(child: i32) -> io::Result<OwnedFd> {
    let child = Pid::from_raw(child).ok_or(io::ErrorKind::NotFound)?;
    Ok(pidfd_open(child, PidfdFlags::empty())?)
}

/// Waits for a signal or for the end; whether it is the end.
fn until(end: &OwnedFd, signals: &Signals) -> io::Result<bool> {
    let signals = signals.fd();
    let mut polled =
        [end.as_fd(), signals.as_fd()].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    loop {
        match poll(&mut polled, None) {
            Ok(_) => return Ok(!polled[0].revents().is_empty()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
