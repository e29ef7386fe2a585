//! Signals once the program has ended, while the recording is made of what was recorded: the first one ends the
//! search for names, the next one ends timesink, which leaves what was recorded as it is.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::signals::Signals;
use super::system;
use crate::patience::Patience;
use crate::privileges;

/// Those that ask for an end.
const ASKING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Takes signals until it is dropped; from then on they do what they did before timesink.
#[derive(Debug)]
pub struct Ending {
    patience: Patience,
    original: libc::sigset_t,
    /// Closed to end the thread.
    here: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Ending {
    /// From now on. What was recorded is in this folder.
    pub fn begin(signals: Signals, folder: &Path) -> Ending {
        let patience = Patience::default();
        let asked = patience.asked();
        let original = signals.original();
        // What a name may hold for a terminal is shown, as everywhere.
        let folder: String = folder
            .to_string_lossy()
            .chars()
            .flat_map(char::escape_debug)
            .collect();
        let texts = Texts {
            first:
                "timesink: no more names are looked for; the recording is being finished. Another \
                signal leaves it unfinished\n"
                    .to_owned(),
            last: format!(
                "timesink: what was recorded is kept in {folder}, unfinished; \
                 `timesink report {folder}` finishes it\n"
            ),
        };
        let (here, thread) = match system::pipe() {
            Ok((there, here)) => {
                let watch = move || watch(signals, &there, &asked, &texts);
                let thread = std::thread::Builder::new().spawn(watch);
                (Some(here), thread.ok())
            }
            // Without a thread signals stay blocked until it is done.
            Err(_) => (None, None),
        };
        Ending {
            patience,
            original,
            here,
            thread,
        }
    }

    pub fn patience(&self) -> &Patience {
        &self.patience
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        drop(self.here.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // SAFETY: a mask that the kernel gave us.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.original, std::ptr::null_mut()) };
    }
}

/// What is told, made before it is needed: another thread may be in the middle of anything.
struct Texts {
    first: String,
    last: String,
}

fn watch(mut signals: Signals, end: &OwnedFd, asked: &Arc<AtomicBool>, texts: &Texts) {
    // Without what the recording needs; that it could not be given up does not end the recording.
    let _ = privileges::for_waiting();
    loop {
        let ready = system::poll(&[signals.fd(), end.as_fd()], None).unwrap_or_default();
        if ready.get(1).copied().unwrap_or(true) {
            return;
        }
        for signal in signals.read().unwrap_or_default() {
            if !ASKING.contains(&signal.signal) {
                continue;
            }
            if !asked.swap(true, Ordering::Relaxed) {
                tell(&texts.first);
                continue;
            }
            tell(&texts.last);
            // SAFETY: ends timesink where it is: what is written is whole or will be written anew.
            unsafe { libc::_exit(128 + signal.signal) };
        }
    }
}

fn tell(text: &str) {
    // SAFETY: bytes of ours. Where nobody reads them there is nobody to tell.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}
