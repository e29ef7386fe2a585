//! The signals that timesink takes on behalf of the program, as data and not as handlers.
//!
//! They are blocked before the first thread and the first fork, so that every thread of ours
//! inherits the block, and read through a descriptor that the main loop polls. The child puts the
//! original mask back before it executes. SIGTSTP, SIGTTIN and SIGTTOU are left alone: the
//! terminal sends them to both of us, and both of us stop.

use super::stat::stat_of;
use super::Error;
use std::io;
use std::mem::{size_of, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The numbered signals that are taken; the real-time ones come on top.
const TAKEN: [i32; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
    libc::SIGCONT,
    libc::SIGALRM,
];

/// The blocked signals of this process, and the descriptor to read them from.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
    original: libc::sigset_t,
}

/// One signal that came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Its number.
    pub signal: i32,
    /// The process that sent it; `None` where the kernel did, for the terminal or a timer.
    pub sender: Option<u32>,
    /// Whether it was handed on to the program.
    pub forwarded: bool,
    code: i32,
    uid: u32,
    value: u64,
}

/// The head of the kernel's `siginfo_t` for a signal that a process sent, which `libc` hides.
#[repr(C)]
struct SentInfo {
    signal: i32,
    errno: i32,
    code: i32,
    _pad: i32,
    pid: i32,
    uid: u32,
    value: u64,
    _rest: [u8; 96],
}

const _: () = assert!(size_of::<SentInfo>() == size_of::<libc::siginfo_t>());

impl Signals {
    /// Blocks them in this thread, and in all that it starts from now on. To be called first
    /// thing in `main`: a thread that exists already would still be killed by them.
    pub fn block() -> Result<Signals, Error> {
        let set = taken();
        let mut original = MaybeUninit::uninit();
        // SAFETY: both sets outlive the calls; the second is written before it is read, because
        // the call succeeded; the descriptor is nobody else's.
        unsafe {
            if libc::pthread_sigmask(libc::SIG_BLOCK, &set, original.as_mut_ptr()) != 0 {
                return Err(Error::last("cannot block signals"));
            }
            let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(Error::last("cannot make a descriptor for signals"));
            }
            Ok(Signals {
                fd: OwnedFd::from_raw_fd(fd),
                original: original.assume_init(),
            })
        }
    }

    /// Readable when a signal has come.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// All that have come since the last call. Nothing is handed on by this.
    pub fn read(&mut self) -> Result<Vec<Received>, Error> {
        let mut all = Vec::new();
        while let Some(info) = self.read_one()? {
            all.push(Received::from_info(&info));
        }
        Ok(all)
    }

    fn read_one(&self) -> Result<Option<libc::signalfd_siginfo>, Error> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        loop {
            // SAFETY: the buffer has the size given; the kernel only writes whole records.
            let got = unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), size) };
            if got == size as isize {
                // SAFETY: the record was written.
                return Ok(Some(unsafe { info.assume_init() }));
            }
            let source = io::Error::last_os_error();
            match source.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return Ok(None),
                _ => {
                    return Err(Error::System {
                        step: "cannot read signals",
                        source,
                    })
                }
            }
        }
    }

    /// The mask as it was, for the child.
    pub(super) fn original(&self) -> libc::sigset_t {
        self.original
    }
}

impl Received {
    fn from_info(info: &libc::signalfd_siginfo) -> Received {
        let by_process = matches!(
            info.ssi_code,
            libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL
        );
        Received {
            signal: info.ssi_signo as i32,
            // A sender in another pid namespace has no number here, and shows as 0.
            sender: by_process.then_some(info.ssi_pid),
            forwarded: false,
            code: info.ssi_code,
            uid: info.ssi_uid,
            value: info.ssi_ptr,
        }
    }

    /// Whether the program would not have it otherwise. The terminal sends its signals to the
    /// whole foreground group, which the program is in. A member of the program's own tree that
    /// signals its group has reached the program too, and would reach it twice.
    pub(super) fn is_for(&self, program: u32, parent_of: impl Fn(u32) -> Option<u32>) -> bool {
        match self.sender {
            Some(sender) => !descends(sender, program, parent_of),
            None => false,
        }
    }

    /// The signal information to hand on, where there is any: the value of `sigqueue`, which the
    /// kernel lets us repeat; for others it wants to fill in the sender itself.
    pub(super) fn info(&self) -> Option<libc::siginfo_t> {
        if self.code != libc::SI_QUEUE {
            return None;
        }
        let info = SentInfo {
            signal: self.signal,
            errno: 0,
            code: self.code,
            _pad: 0,
            pid: self.sender.unwrap_or(0) as i32,
            uid: self.uid,
            value: self.value,
            _rest: [0; 96],
        };
        // SAFETY: the sizes are the same, checked above, and any bytes are a valid siginfo_t.
        Some(unsafe { std::mem::transmute::<SentInfo, libc::siginfo_t>(info) })
    }
}

/// Whether `process` is `ancestor` or below it. A sender that has ended by now counts as not.
fn descends(process: u32, ancestor: u32, parent_of: impl Fn(u32) -> Option<u32>) -> bool {
    let mut current = process;
    // The bound is against a loop made by numbers that are reused while we walk.
    for _ in 0..256 {
        if current == ancestor {
            return true;
        }
        match parent_of(current) {
            Some(parent) if parent > 1 => current = parent,
            _ => return false,
        }
    }
    false
}

/// The parent of a process, by procfs.
pub fn parent_of(process: u32) -> Option<u32> {
    stat_of(process, 1)?.parse().ok()
}

fn taken() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset makes the set valid, and the numbers are signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in TAKEN.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()) {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(sender: Option<u32>, code: i32) -> Received {
        Received {
            signal: libc::SIGTERM,
            sender,
            forwarded: false,
            code,
            uid: 0,
            value: 42,
        }
    }

    fn family(process: u32) -> Option<u32> {
        [(30, 20), (20, 10), (10, 1), (50, 1)]
            .iter()
            .find(|pair| pair.0 == process)
            .map(|pair| pair.1)
    }

    /// The program 20 and its child 30 do not need us to reach the program; 10 and 50 do, and so
    /// does a sender that has ended or that this pid namespace cannot see.
    #[test]
    fn only_outsiders_are_handed_on() {
        for (sender, wanted) in [
            (20, false),
            (30, false),
            (10, true),
            (50, true),
            (77, true),
            (0, true),
        ] {
            let signal = received(Some(sender), libc::SI_USER);
            assert_eq!(signal.is_for(20, family), wanted, "from {sender}");
        }
        assert!(!received(None, libc::SI_KERNEL).is_for(20, family));
    }

    /// A circle of parents, as reused numbers can show for a moment, ends.
    #[test]
    fn a_circle_of_parents_ends() {
        let circle = |process| Some(if process == 5 { 6 } else { 5 });
        assert!(received(Some(5), libc::SI_USER).is_for(20, circle));
    }

    /// Only `sigqueue` has information that is repeated.
    #[test]
    fn the_value_of_sigqueue_is_kept() {
        assert!(received(Some(7), libc::SI_USER).info().is_none());
        let info = received(Some(7), libc::SI_QUEUE)
            .info()
            .expect("information");
        // SAFETY: the fields read are those of a signal that a process sent.
        unsafe {
            assert_eq!(info.si_pid(), 7);
            assert_eq!(info.si_value().sival_ptr as u64, 42);
        }
    }

    /// Our own parent is found by procfs, whatever the name of this test's thread.
    #[test]
    fn parents_are_read_from_procfs() {
        assert_eq!(
            parent_of(std::process::id()),
            Some(std::os::unix::process::parent_id())
        );
        assert_eq!(parent_of(u32::MAX), None);
    }
}
