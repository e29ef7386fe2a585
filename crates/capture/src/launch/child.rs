//! The child's side: all that runs between fork and exec.
//!
//! Only async-signal-safe calls are allowed here, because another thread may have held any lock
//! when the fork happened: no allocation, no formatting, no panic. So all is prepared in a
//! [`ChildPlan`] before, and faults go back to the parent as numbers, to be worded there.

use super::identity::Identity;
use super::inherited::Inherited;
use super::Error;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Who runs a script that has no `#!` line, and knows no better.
const SHELL: &CStr = c"/bin/sh";

/// Steps 0 to 2 are those of [`Identity::assume`].
const STEP_EXECUTE: u32 = 3;

/// All that the child needs, with the arrays of pointers that the kernel wants.
pub(super) struct ChildPlan {
    candidates: Vec<CString>,
    arguments: Pointers,
    shell_arguments: Pointers,
    environment: Pointers,
    identity: Option<Identity>,
    inherited: Inherited,
    mask: libc::sigset_t,
}

/// Strings, and pointers to them with a null at the end.
struct Pointers {
    pointers: Vec<*const libc::c_char>,
    // Kept so that the pointers stay good: the strings' bytes do not move with this vector.
    _strings: Vec<CString>,
}

impl Pointers {
    fn to(strings: Vec<CString>) -> Pointers {
        let end = std::ptr::null();
        let pointers = strings
            .iter()
            .map(|text| text.as_ptr())
            .chain([end])
            .collect();
        Pointers {
            pointers,
            _strings: strings,
        }
    }
}

/// The child's three ends of pipes.
pub(super) struct PipeEnds {
    /// A byte here releases it; the end of it means that the parent is gone.
    pub(super) gate: RawFd,
    /// The parent's end of the same, which the child must close to be able to see that.
    pub(super) gate_writer: RawFd,
    /// Where a [`ChildFault`] is reported. Executing closes it.
    pub(super) report: RawFd,
}

/// Why the child could not execute.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct ChildFault {
    step: u32,
    candidate: u32,
    errno: i32,
}

impl ChildFault {
    pub(super) const SIZE: usize = std::mem::size_of::<ChildFault>();

    pub(super) fn from_bytes(bytes: [u8; ChildFault::SIZE]) -> ChildFault {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = bytes;
        ChildFault {
            step: u32::from_ne_bytes([a, b, c, d]),
            candidate: u32::from_ne_bytes([e, f, g, h]),
            errno: i32::from_ne_bytes([i, j, k, l]),
        }
    }
}

impl ChildPlan {
    /// `arguments` has at least the program's own name, and `candidates` one file.
    pub(super) fn new(
        candidates: Vec<CString>,
        arguments: Vec<CString>,
        environment: Vec<CString>,
        identity: Option<Identity>,
        mask: libc::sigset_t,
    ) -> ChildPlan {
        // The second place is filled in by the child with the script's path.
        let shell_arguments = [SHELL.to_owned(), CString::default()]
            .into_iter()
            .chain(arguments.iter().skip(1).cloned())
            .collect();
        ChildPlan {
            candidates,
            arguments: Pointers::to(arguments),
            shell_arguments: Pointers::to(shell_arguments),
            environment: Pointers::to(environment),
            identity,
            inherited: Inherited::noted(),
            mask,
        }
    }

    /// Waits for the release and executes the program. Never returns into the parent's code.
    pub(super) fn run(&mut self, ends: &PipeEnds) -> ! {
        // SAFETY: all calls are async-signal-safe, on descriptors and memory of this process.
        unsafe {
            libc::close(ends.gate_writer);
            if !released(ends.gate) {
                libc::_exit(0);
            }
            let fault = self.become_program();
            let bytes: *const ChildFault = &fault;
            // SIGPIPE may be back to killing us by now, but only a dead parent can bring it.
            libc::write(ends.report, bytes.cast(), ChildFault::SIZE);
            libc::_exit(if fault.errno == libc::ENOENT {
                127
            } else {
                126
            });
        }
    }

    /// Returns only if it failed.
    fn become_program(&mut self) -> ChildFault {
        self.inherited.restore();
        if let Some(identity) = &self.identity {
            if let Err(step) = identity.assume() {
                return ChildFault {
                    step,
                    candidate: 0,
                    errno: errno(),
                };
            }
        }
        // Last, so that a signal that came while we were held finds the program's own identity.
        // SAFETY: the mask is one that the kernel gave.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.mask, std::ptr::null_mut()) };
        self.execute()
    }

    /// Tries one file after another, as `execvp` does.
    fn execute(&mut self) -> ChildFault {
        let mut worst = ChildFault {
            step: STEP_EXECUTE,
            candidate: 0,
            errno: libc::ENOENT,
        };
        for (index, file) in (0u32..).zip(&self.candidates) {
            let mut reason = execute(file, &self.arguments, &self.environment);
            if reason == libc::ENOEXEC {
                if let Some(script) = self.shell_arguments.pointers.get_mut(1) {
                    *script = file.as_ptr();
                }
                reason = execute(SHELL, &self.shell_arguments, &self.environment);
            }
            let fault = ChildFault {
                step: STEP_EXECUTE,
                candidate: index,
                errno: reason,
            };
            match reason {
                libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
                libc::EACCES => worst = fault,
                _ => return fault,
            }
        }
        worst
    }

    /// The first file that will be tried.
    pub(super) fn file(&self) -> Option<&Path> {
        self.candidates.first().map(|file| as_path(file))
    }

    /// Words what the child reported.
    pub(super) fn explain(&self, fault: ChildFault) -> Error {
        let source = io::Error::from_raw_os_error(fault.errno);
        if let (true, Some(identity)) = (fault.step < STEP_EXECUTE, &self.identity) {
            return identity.refusal(fault.step, source);
        }
        let file = self.candidates.get(fault.candidate as usize);
        let path = file.map_or_else(PathBuf::new, |file| as_path(file).to_path_buf());
        match fault.errno {
            // The file itself was there a moment ago, so it is most often what it wants to run.
            libc::ENOENT if path.exists() => Error::InterpreterNotFound(path),
            libc::ENOENT => Error::NotFound(path),
            _ => Error::NotExecutable { path, source },
        }
    }
}

fn as_path(file: &CStr) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(file.to_bytes()))
}

/// Gives the reason why it is still here.
fn execute(file: &CStr, arguments: &Pointers, environment: &Pointers) -> i32 {
    let (arguments, environment) = (&arguments.pointers, &environment.pointers);
    // SAFETY: both arrays end with a null, and their strings live as long as the plan.
    unsafe { libc::execve(file.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    errno()
}

/// Blocks until a byte comes (`true`) or the parent is gone (`false`).
fn released(gate: RawFd) -> bool {
    let mut byte = 0u8;
    let place: *mut u8 = &mut byte;
    loop {
        // SAFETY: there is room for the one byte.
        match unsafe { libc::read(gate, place.cast(), 1) } {
            1 => return true,
            -1 if errno() == libc::EINTR => {}
            _ => return false,
        }
    }
}

fn errno() -> i32 {
    // SAFETY: the place is this thread's own.
    unsafe { *libc::__errno_location() }
}
