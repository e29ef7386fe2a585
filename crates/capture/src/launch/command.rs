//! The parent's side: a command, and the child that is held before it becomes that command.

use super::child::{ChildFault, ChildPlan, PipeEnds};
use super::identity::Identity;
use super::inherited::Inherited;
use super::running::Running;
use super::runtime_flags;
use super::signals::Signals;
use super::stat::stat_of;
use super::{lookup, system, Error};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::Duration;

/// A program and its arguments, and who runs it.
#[derive(Debug)]
pub struct Command {
    argv: Vec<OsString>,
    identity: Option<Identity>,
    runtime_flags: bool,
}

impl Command {
    /// The first of `argv` is the program, found as a shell would find it.
    pub fn new(argv: Vec<OsString>) -> Command {
        Command {
            argv,
            identity: None,
            runtime_flags: false,
        }
    }

    /// Runs the program as somebody else. `None` runs it as whoever we are.
    pub fn identity(mut self, identity: Option<Identity>) -> Command {
        self.identity = identity;
        self
    }

    /// Asks Java, wherever it runs below the program, to let its stacks be followed.
    pub fn runtime_flags(mut self, asked: bool) -> Command {
        self.runtime_flags = asked;
        self
    }

    /// Forks a child that waits to become the program. Best called while this process has one
    /// thread and little memory: the program's parent is a copy of what we are now. Our limits,
    /// scheduling and directory can be changed afterwards without the program seeing it.
    pub fn hold(self, signals: Signals) -> Result<Held, Error> {
        let inherited = Inherited::noted();
        inherited.keep_exit_codes();
        let mut plan = self.plan(&signals)?;
        let (gate, gate_writer) = system::pipe()?;
        let (report, report_writer) = system::pipe()?;
        let ends = PipeEnds {
            gate: gate.as_raw_fd(),
            gate_writer: gate_writer.as_raw_fd(),
            report: report_writer.as_raw_fd(),
        };
        // SAFETY: the child only makes async-signal-safe calls, see there.
        let pid = match unsafe { libc::fork() } {
            -1 => return Err(Error::last("cannot fork")),
            0 => plan.run(&ends),
            child => child as u32,
        };
        let pidfd = system::open_pidfd(pid);
        // A fault from here on drops the leash, and with it the child.
        let leash = Leash { pid, held: true };
        let pidfd = pidfd.map_err(|source| Error::System {
            step: "cannot open the child's pidfd",
            source,
        })?;
        let (gate, report) = (File::from(gate_writer), File::from(report));
        Ok(Held {
            leash,
            pidfd,
            gate,
            report,
            plan,
            signals,
        })
    }

    /// Prepares all that the child needs.
    fn plan(self, signals: &Signals) -> Result<ChildPlan, Error> {
        let name = self.argv.first().ok_or(Error::NoCommand)?;
        let path = std::env::var_os("PATH");
        let look = || lookup::candidates(name, path.as_deref());
        let candidates = match &self.identity {
            Some(identity) => identity.with_files(look)??,
            None => look()?,
        };
        let mut environment = own_environment();
        if let Some(identity) = &self.identity {
            environment = identity.environment(environment);
        }
        if self.runtime_flags {
            environment = runtime_flags::with_flags(environment);
        }
        let arguments = c_strings(self.argv)?;
        let environment = c_strings(environment)?;
        Ok(ChildPlan::new(
            candidates,
            arguments,
            environment,
            self.identity,
            signals.original(),
        ))
    }
}

/// A child that will become the program when released, and ends without a trace when not: if this
/// is dropped, or if we die, the program never ran.
pub struct Held {
    leash: Leash,
    pidfd: OwnedFd,
    gate: File,
    report: File,
    plan: ChildPlan,
    signals: Signals,
}

impl Held {
    /// The child's number, which will be the program's.
    pub fn pid(&self) -> u32 {
        self.leash.pid
    }

    /// A descriptor that stands for the child.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// The file that will be executed.
    pub fn file(&self) -> &Path {
        self.plan.file().unwrap_or(Path::new(""))
    }

    /// Returns when the child waits to be released, so that what it does before is not taken for the program's; `false`: it
    /// does not even after a tenth of a second. The host of a virtual machine may have taken its processor away.
    pub fn settle(&self) -> bool {
        const LOOKS: u32 = 200;
        const PAUSE: Duration = Duration::from_micros(500);
        let waits = || stat_of(self.pid(), 0).is_some_and(|state| state == "S");
        (0..LOOKS).any(|look| {
            if look > 0 {
                std::thread::sleep(PAUSE);
            }
            waits()
        })
    }

    /// Lets the child go, and returns when it has executed the program or failed to.
    pub fn release(mut self) -> Result<Running, Error> {
        // Only a child that somebody killed has closed its end; its status will say so.
        if let Err(source) = self.gate.write_all(&[1]) {
            if source.kind() != io::ErrorKind::BrokenPipe {
                return Err(Error::System {
                    step: "cannot release the child",
                    source,
                });
            }
        }
        match read_fault(&mut self.report)? {
            // The leash is dropped with us and reaps the child, which has nothing left to do.
            Some(fault) => Err(self.plan.explain(fault)),
            None => Ok(Running::new(self.leash.let_go(), self.pidfd, self.signals)),
        }
    }
}

/// The end of the pipe without a word means that the program was executed.
fn read_fault(report: &mut File) -> Result<Option<ChildFault>, Error> {
    let mut bytes = [0; ChildFault::SIZE];
    match report.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(ChildFault::from_bytes(bytes))),
        Err(fault) if fault.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(source) => Err(Error::System {
            step: "cannot read from the child",
            source,
        }),
    }
}

/// Ends and reaps the child, unless it was let go.
struct Leash {
    pid: u32,
    held: bool,
}

impl Leash {
    fn let_go(mut self) -> u32 {
        self.held = false;
        self.pid
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if self.held {
            // It has not been reaped, so the number is still its own. Faults cannot be handled
            // here, and both calls can only fail where there is no child any more.
            // SAFETY: the call takes two numbers.
            unsafe { libc::kill(self.pid as libc::pid_t, libc::SIGKILL) };
            let _ = system::wait(self.pid, 0);
        }
    }
}

/// The environment to the byte, with what `std::env` leaves out because it has no `=` in it.
fn own_environment() -> Vec<OsString> {
    extern "C" {
        static environ: *const *const libc::c_char;
    }
    let mut entries = Vec::new();
    // SAFETY: the array ends with a null, and nobody changes it while we read: this is called
    // before there are threads, and nothing in timesink sets variables.
    unsafe {
        let mut place = environ;
        while !place.is_null() && !(*place).is_null() {
            entries.push(OsStr::from_bytes(CStr::from_ptr(*place).to_bytes()).to_owned());
            place = place.add(1);
        }
    }
    entries
}

fn c_strings(texts: Vec<OsString>) -> Result<Vec<CString>, Error> {
    let convert = |text: OsString| {
        CString::new(text.into_vec())
            .map_err(|fault| Error::ZeroByte(OsString::from_vec(fault.into_vec())))
    };
    texts.into_iter().map(convert).collect()
}
