//! One process from its start to its end, with what the kernel counted of it. Nothing looks now and then whether it has
//! ended: the kernel tells, and so it does for a signal that ends us.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::rc::Rc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{kill_process_group, pidfd_open, Pid, PidfdFlags, Signal};
use timesink_capture::launch::stat_field;

use super::memory_groups::{Place, RunGroup};
use super::start::{Measured, Start, Started, Told};
use crate::commands::casebook::guard::is_ignored;

/// The descriptor that a handler writes to; nothing below zero.
static TOLD: AtomicI32 = AtomicI32::new(-1);

/// Whether somebody wants us to end (Ctrl-C). Clones are told the same.
#[derive(Clone)]
pub struct Interrupt {
    told: Rc<OwnedFd>,
}

impl Interrupt {
    /// From now on signals that would end us are noted instead. Handlers, and not a mask: what is started from here has neither.
    #[allow(unsafe_code)]
    pub fn watch() -> io::Result<Interrupt> {
        extern "C" fn note(_: i32) {
            let one = 1u64.to_ne_bytes();
            // SAFETY: writing is allowed in a handler, and the bytes are there.
            unsafe { libc::write(TOLD.load(Ordering::Relaxed), one.as_ptr().cast(), one.len()) };
        }
        let told = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        TOLD.store(told.as_raw_fd(), Ordering::Relaxed);
        let ending = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
        for signal in ending.into_iter().filter(|&signal| !is_ignored(signal)) {
            // SAFETY: the handler only writes to a descriptor; calls that it interrupts go on.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = note as extern "C" fn(i32) as libc::sighandler_t;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
        Ok(Interrupt {
            told: Rc::new(told),
        })
    }

    /// What came has been heeded: cleaning up is not to be ended by it, only by another.
    pub fn heeded(&self) {
        // Nothing to read is nothing that came.
        let _ = rustix::io::read(&*self.told, &mut [0; 8]);
    }

    /// What was heeded is for others to know, too.
    fn came_once_more(&self) -> io::Result<()> {
        rustix::io::write(&*self.told, &1u64.to_ne_bytes())?;
        Ok(())
    }

    pub fn came(&self) -> bool {
        let mut fds = [PollFd::new(&*self.told, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        if Rc::strong_count(&self.told) == 1 {
            TOLD.store(-1, Ordering::Relaxed);
        }
    }
}

/// How a process ended.
pub enum End {
    Ended(Ended),
    /// It took too long, and was killed with its group.
    TimedOut,
    /// We are to end; it was killed with its group.
    Interrupted,
}

/// What is known of a process that ended by itself.
pub struct Ended {
    pub wall: Duration,
    pub status: ExitStatus,
    pub usage: Usage,
    /// Of all its processes together if it had a group of its own, else of the largest; `None`: not known.
    pub memory_bytes: Option<u64>,
}

/// What the kernel counted of a process and those of its children that it waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub user: Duration,
    pub system: Duration,
    /// Of the largest process. It is never less than what that had before it became the program: `exec` carries it over.
    pub memory_bytes: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

impl From<libc::rusage> for Usage {
    fn from(usage: libc::rusage) -> Usage {
        let time = |t: libc::timeval| {
            let us = u64::try_from(t.tv_usec).unwrap_or(0);
            Duration::from_secs(u64::try_from(t.tv_sec).unwrap_or(0)) + Duration::from_micros(us)
        };
        let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
        Usage {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            memory_bytes: count(usage.ru_maxrss) * 1024,
            voluntary_switches: count(usage.ru_nvcsw),
            involuntary_switches: count(usage.ru_nivcsw),
            minor_faults: count(usage.ru_minflt),
            major_faults: count(usage.ru_majflt),
        }
    }
}

/// Runs a command in a group of processes of its own, and in a control group if there is a place for that, until it ends, the time is
/// up or we are to end.
pub fn run(
    start: Start,
    groups: Option<&Place>,
    limit: Option<Duration>,
    interrupt: &Interrupt,
) -> io::Result<End> {
    // Where there is a place for groups, a run that has none has no figure: another one would be of something else.
    let group = groups.and_then(|place| place.make().ok());
    let begun = Instant::now();
    let Started { pid, mut told } = start.start(group.as_ref())?;
    let until = limit.map(|limit| begun + limit);
    let ready = pidfd_open(pid, PidfdFlags::empty())
        .map_err(io::Error::from)
        .and_then(|end| wait(end.as_fd(), interrupt, until));
    let wall = begun.elapsed();
    if !matches!(ready, Ok(Ready::Ended)) {
        // Who tells which process is the program runs as the user, who may have made it tell another one.
        let program = told.as_mut().and_then(Told::program);
        let program = program.filter(|&program| is_started_by(program, pid));
        if let Some(program) = program {
            let _ = kill_process_group(program, Signal::KILL);
        }
        // Our own child, which was not waited for yet, so that its number is its own. It may have been stopped.
        let _ = kill_process_group(pid, Signal::KILL);
        group.iter().for_each(RunGroup::kill);
    }
    let (status, usage) = reap(pid)?;
    let ready = ready?;
    if !matches!(ready, Ready::Ended) {
        return Ok(match ready {
            Ready::Interrupted => End::Interrupted,
            _ => End::TimedOut,
        });
    }
    let measured = told.as_mut().map(Told::measured).transpose()?.flatten();
    let measured_of_program = measured.is_some();
    let Measured {
        wall,
        status,
        usage,
    } = measured.unwrap_or(Measured {
        wall,
        status,
        usage,
    });
    let memory_bytes = match (&group, groups) {
        (Some(group), _) => group.peak(),
        (None, Some(_)) => None,
        (None, None) => Some(usage.memory_bytes).filter(|bytes| measured_of_program && *bytes > 0),
    };
    Ok(End::Ended(Ended {
        wall,
        status,
        usage,
        memory_bytes,
    }))
}

/// Whether a process leads a group of its own and was started by this one.
pub(super) fn is_started_by(process: Pid, starter: Pid) -> bool {
    let stat = std::fs::read(format!("/proc/{}/stat", process.as_raw_nonzero()));
    let stat = stat.unwrap_or_default();
    let number = |field| stat_field(&stat, field)?.parse::<i32>().ok();
    // state, parent, group
    let (parent, group) = (number(1), number(2));
    process.as_raw_nonzero().get() > 1
        && parent == Some(starter.as_raw_nonzero().get())
        && group == Some(process.as_raw_nonzero().get())
}

/// Who is told so often to end, and does not, is killed.
const PATIENCE: u32 = 3;
/// How often `attend` looks.
const LOOK: Duration = Duration::from_millis(50);

/// Runs timesink itself, in a group of processes of its own: it knows how to end, so that it is only told that we are to, and waited
/// for in any case. `look` is asked now and then until it says that it has seen enough.
pub fn attend(
    command: &mut Command,
    interrupt: &Interrupt,
    mut look: impl FnMut(Pid) -> bool,
) -> io::Result<ExitStatus> {
    let child = command.process_group(0).spawn()?;
    let pid = Pid::from_child(&child);
    let end = pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from);
    let attended = end.and_then(|end| {
        let mut told = 0;
        let mut looks = true;
        loop {
            looks = looks && look(pid);
            let until = looks.then(|| Instant::now() + LOOK);
            match wait(end.as_fd(), interrupt, until)? {
                Ready::Ended if told > 0 => return interrupt.came_once_more(),
                Ready::Ended => return Ok(()),
                Ready::TimedOut => {}
                Ready::Interrupted => {
                    told += 1;
                    interrupt.heeded();
                    let signal = if told < PATIENCE {
                        Signal::INT
                    } else {
                        Signal::KILL
                    };
                    // It is our child, and was not waited for yet.
                    let _ = kill_process_group(pid, signal);
                }
            }
        }
    });
    if attended.is_err() {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let (status, _) = reap(pid)?;
    attended.map(|()| status)
}

enum Ready {
    Ended,
    TimedOut,
    Interrupted,
}

fn wait(end: BorrowedFd<'_>, interrupt: &Interrupt, until: Option<Instant>) -> io::Result<Ready> {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        });
        let mut fds = [
            PollFd::new(&end, PollFlags::IN),
            PollFd::new(&*interrupt.told, PollFlags::IN),
        ];
        match poll(&mut fds, left.as_ref()) {
            Ok(0) => return Ok(Ready::TimedOut),
            Ok(_) if !fds[1].revents().is_empty() => return Ok(Ready::Interrupted),
            Ok(_) => return Ok(Ready::Ended),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for a child that has ended, or is about to.
#[allow(unsafe_code)]
pub fn reap(pid: Pid) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: writes the number and the structure given; the child is ours, and nobody else waits for it.
        let came = unsafe {
            libc::wait4(
                pid.as_raw_nonzero().get(),
                &raw mut status,
                0,
                usage.as_mut_ptr(),
            )
        };
        if came >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all zero is a value of it, and the call wrote it.
    let usage = unsafe { usage.assume_init() };
    Ok((ExitStatus::from_raw(status), usage.into()))
}
