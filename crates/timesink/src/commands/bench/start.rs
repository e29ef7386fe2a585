//! Starting a process that is measured, by a small program in between (`starter.c`): the kernel keeps as the peak of a process's memory what it
//! had before it became the program, and what comes from us had all that we have. The starter also reads the clock and waits, so
//! that nothing of ours is measured.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{fcntl_add_seals, memfd_create, MemfdFlags, SealFlags};
use rustix::process::Pid;

use super::child::{reap, Usage};

/// What `build.rs` makes of starter.c.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/starter"));
/// Kinds of messages.
const STARTED: u64 = 1;
const FAILED: u64 = 2;
const ENDED: u64 = 3;
/// The numbers of a message, and its bytes.
const FIELDS: usize = 22;
const BYTES: usize = FIELDS * size_of::<u64>();
/// clone3: the child begins in a control group.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// A command that is about to be started.
pub struct Start {
    program: OsString,
    arguments: Vec<OsString>,
    /// The starter, or where there can be none the command itself.
    pub command: Command,
    has_starter: bool,
}

/// What a starter says, as far as it was read.
pub struct Told {
    from: File,
    bytes: Vec<u8>,
}

/// What was measured of a program that has ended.
pub struct Measured {
    pub wall: Duration,
    pub status: ExitStatus,
    pub usage: Usage,
}

/// A process, and who tells of it.
pub struct Started {
    pub pid: Pid,
    pub told: Option<Told>,
}

impl Start {
    pub fn of(program: &str, arguments: &[String]) -> Start {
        let starter = starter();
        let path = starter.map(|file| format!("/proc/self/fd/{}", file.as_raw_fd()));
        Start {
            program: program.into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            command: Command::new(path.as_deref().unwrap_or(program)),
            has_starter: path.is_some(),
        }
    }

    /// Starts it in a group of processes of its own, and in this control group.
    pub fn start(mut self, group: Option<impl AsFd>) -> io::Result<Started> {
        self.command.process_group(0);
        if !self.has_starter {
            self.command.args(&self.arguments);
            let pid = begin(&mut self.command, group)?;
            return Ok(Started { pid, told: None });
        }
        let files = self.files()?;
        // The starter closes it for the program.
        let (from, to) = rustix::pipe::pipe()?;
        rustix::io::fcntl_setfd(&from, rustix::io::FdFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&from, true)?;
        self.command.arg(to.as_raw_fd().to_string());
        self.command.arg(files.len().to_string()).args(files);
        self.command.arg(&self.program);
        self.command.args(&self.arguments);
        let pid = begin(&mut self.command, group)?;
        Ok(Started {
            pid,
            told: Some(Told {
                from: File::from(from),
                bytes: Vec::new(),
            }),
        })
    }

    /// The files that the program may be, looked for as the C library does: which of them the user may execute, only the user can tell.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        if self.program.as_bytes().contains(&b'/') {
            return Ok(vec![self.program.clone().into()]);
        }
        let mut given = self.command.get_envs();
        let given = given.find(|(name, _)| *name == "PATH");
        let folders = match given {
            Some((_, value)) => value.map(OsStr::to_owned),
            None => std::env::var_os("PATH"),
        };
        let folders = folders.unwrap_or_else(|| "/bin:/usr/bin".into());
        let here = self.command.get_current_dir().unwrap_or(Path::new(""));
        let mut fault = libc::ENOENT;
        let mut files = Vec::new();
        for folder in std::env::split_paths(&folders) {
            // What is told is from the folder where it will be; what is looked at, from ours.
            let path = folder.join(&self.program);
            let Ok(about) = here.join(&path).metadata() else {
                continue;
            };
            match about.is_file() && about.permissions().mode() & 0o111 != 0 {
                true => files.push(path),
                false => fault = libc::EACCES,
            }
        }
        match files.is_empty() {
            true => Err(io::Error::from_raw_os_error(fault)),
            false => Ok(files),
        }
    }
}

impl Told {
    /// The process that is the program, once it is there; `None` if it could not be started.
    pub fn program(&mut self) -> Option<Pid> {
        let soon = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        // It tells as soon as it has started it, or that it cannot.
        let _ = poll(&mut [PollFd::new(&self.from, PollFlags::IN)], Some(&soon));
        self.read();
        let started = self.messages().find(|told| told[0] == STARTED)?;
        Pid::from_raw(i32::try_from(started[1]).ok()?)
    }

    /// What was measured, when the starter has ended: nothing if it was killed.
    pub fn measured(&mut self) -> io::Result<Option<Measured>> {
        self.read();
        if let Some(failed) = self.messages().find(|told| told[0] == FAILED) {
            let number = i32::try_from(failed[1]).unwrap_or(libc::EINVAL);
            return Err(io::Error::from_raw_os_error(number));
        }
        let ended = self.messages().find(|told| told[0] == ENDED);
        Ok(ended.map(|told| Measured {
            status: ExitStatus::from_raw(i32::try_from(told[1]).unwrap_or(0)),
            wall: Duration::from_nanos(told[3].saturating_sub(told[2])),
            usage: usage(&told[4..]),
        }))
    }

    fn read(&mut self) {
        let mut some = [0; 4 * BYTES];
        // It does not wait: nothing more now is nothing more. Nobody has more to tell than a few messages.
        while self.bytes.len() < some.len() {
            let Ok(length @ 1..) = self.from.read(&mut some) else {
                break;
            };
            self.bytes.extend_from_slice(&some[..length]);
        }
    }

    fn messages(&self) -> impl Iterator<Item = [u64; FIELDS]> + '_ {
        self.bytes.chunks_exact(BYTES).map(|message| {
            let mut numbers = message.chunks_exact(size_of::<u64>());
            std::array::from_fn(|_| {
                let bytes = numbers.next().and_then(|bytes| bytes.try_into().ok());
                u64::from_ne_bytes(bytes.unwrap_or_default())
            })
        })
    }
}

/// As the kernel lays out `struct rusage`.
fn usage(told: &[u64]) -> Usage {
    let at = |number: usize| told.get(number).copied().unwrap_or(0);
    let time = |number: usize| {
        let seconds = Duration::from_secs(at(number));
        seconds.saturating_add(Duration::from_micros(at(number + 1)))
    };
    Usage {
        user: time(0),
        system: time(2),
        memory_bytes: at(4).saturating_mul(1024),
        minor_faults: at(8),
        major_faults: at(9),
        voluntary_switches: at(16),
        involuntary_switches: at(17),
    }
}

/// The starter as a file that can be executed, in memory; `None` where that is not allowed.
fn starter() -> Option<&'static File> {
    static STARTER: OnceLock<Option<File>> = OnceLock::new();
    let made = STARTER.get_or_init(|| {
        // Kernels before 6.3 do not know that one can ask for it.
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("timesink-starter", flags | MemfdFlags::EXEC)
            .or_else(|_| memfd_create("timesink-starter", flags));
        let mut file = File::from(file.ok()?);
        file.write_all(PROGRAM).ok()?;
        // It runs as the user, whose programs could open it and write another one into it.
        let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&file, seals).ok()?;
        // What is open for writing cannot be executed: this opens it once more.
        let read = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        drop(file);
        let path = format!("/proc/self/fd/{}", read.as_raw_fd());
        // Without arguments it does nothing.
        let ended = Command::new(path).status();
        ended.is_ok_and(|status| status.success()).then_some(read)
    });
    made.as_ref()
}

fn begin(command: &mut Command, group: Option<impl AsFd>) -> io::Result<Pid> {
    match group {
        Some(group) => within(command, group),
        None => Ok(Pid::from_child(&command.spawn()?)),
    }
}

/// Starts a command as a process that begins in a control group: to move one there can make it wait for all processors.
#[allow(unsafe_code)]
fn within(command: &mut Command, group: impl AsFd) -> io::Result<Pid> {
    let (mut fault, to) = io::pipe()?;
    let Some(pid) = fork_into(group)? else {
        let error = command.exec();
        let number = error.raw_os_error().unwrap_or(libc::EINVAL).to_ne_bytes();
        // SAFETY: the bytes are there, and nothing of ours is to be done by the child.
        unsafe {
            libc::write(to.as_raw_fd(), number.as_ptr().cast(), number.len());
            libc::_exit(127);
        }
    };
    drop(to);
    let mut number = [0; 4];
    match fault.read_exact(&mut number) {
        Ok(()) => {
            reap(pid)?;
            Err(io::Error::from_raw_os_error(i32::from_ne_bytes(number)))
        }
        // The program has begun, and closed it.
        Err(_) => Ok(pid),
    }
}

/// `fork`, into a control group; nothing is who comes out of it as the child. To be called while there is one thread.
#[allow(unsafe_code)]
pub fn fork_into(group: impl AsFd) -> io::Result<Option<Pid>> {
    // SAFETY: all zero is a value of it.
    let mut how: libc::clone_args = unsafe { std::mem::zeroed() };
    how.flags = CLONE_INTO_CGROUP;
    how.exit_signal = libc::SIGCHLD.unsigned_abs().into();
    how.cgroup = group.as_fd().as_raw_fd().unsigned_abs().into();
    // SAFETY: there is one thread, so the child may do whatever we may; it has a copy of our memory.
    match unsafe { libc::syscall(libc::SYS_clone3, &raw const how, size_of_val(&how)) } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(i32::try_from(pid).ok().and_then(Pid::from_raw)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::process::Stdio;

    fn measured(program: &str, arguments: &[&str]) -> io::Result<Option<Measured>> {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let mut start = Start::of(program, &arguments);
        start.command.stdout(Stdio::null());
        let Started { pid, told } = start.start(None::<OwnedFd>)?;
        reap(pid)?;
        told.expect("there is a starter").measured()
    }

    /// What the kernel counted of a program is the program's, however large we are; how it ended is known, and why it did not begin.
    #[test]
    fn a_program_is_measured_without_us() {
        let large = vec![1u8; 64 << 20];
        let small = measured("true", &[]).expect("it starts").expect("it ended");
        assert!(small.status.success() && small.wall > Duration::ZERO);
        assert!(
            (1..32 << 20).contains(&small.usage.memory_bytes),
            "{:?}",
            small.usage
        );
        assert!(small.usage.minor_faults > 0);
        assert_eq!(
            large.iter().map(|one| usize::from(*one)).sum::<usize>(),
            64 << 20
        );
        let ended = measured("sh", &["-c", "exit 3"]).expect("it starts");
        assert_eq!(ended.expect("it ended").status.code(), Some(3));
        let killed = measured("sh", &["-c", "kill -9 $$"]).expect("it starts");
        assert_eq!(killed.expect("it ended").status.signal(), Some(9));
        // It ends its group, and the starter is not in that.
        let killed = measured("sh", &["-c", "kill -15 0; sleep 100"]).expect("it starts");
        assert_eq!(killed.expect("it ended").status.signal(), Some(15));
        let kind = |program: &str| measured(program, &[]).err().map(|error| error.kind());
        assert_eq!(kind("/no/such/program"), Some(io::ErrorKind::NotFound));
        assert_eq!(kind("no-such-program"), Some(io::ErrorKind::NotFound));
        assert_eq!(kind("/etc/passwd"), Some(io::ErrorKind::PermissionDenied));
    }

    /// A script without its first line is the shell's, as it is wherever the C library starts it.
    #[test]
    fn a_script_that_does_not_say_for_whom() {
        let name = format!("timesink-script-{}", std::process::id());
        let script = std::env::temp_dir().join(name);
        std::fs::write(&script, "exit $#\n").expect("a script");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&script, mode).expect("executable");
        let ended = measured(script.to_str().expect("a path"), &["a", "b"]).expect("it starts");
        let _ = std::fs::remove_file(&script);
        assert_eq!(ended.expect("it ended").status.code(), Some(2));
    }

    /// What the starter is made of cannot be changed by the programs of the user whom it runs as.
    #[test]
    fn the_starter_is_sealed() {
        let file = starter().expect("there is a starter");
        let seals = rustix::fs::fcntl_get_seals(file).expect("the seals of a file in memory");
        let needed = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        assert!(seals.contains(needed), "{seals:?}");
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let written = File::options()
            .write(true)
            .open(path)
            .and_then(|mut file| file.write(b"x"));
        // While another test runs it, it cannot even be opened for writing.
        let fault = written.err().map(|error| error.kind());
        assert!(
            matches!(
                fault,
                Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ExecutableFileBusy)
            ),
            "{fault:?}"
        );
    }

    /// Whoever tells a number of its own choice, or more than there is to tell, gets nothing.
    #[test]
    fn only_a_child_of_the_starter_is_the_program() {
        let ourselves = rustix::process::getpid();
        for told in [1, ourselves.as_raw_nonzero().get()] {
            let told = Pid::from_raw(told).expect("a number");
            assert!(!super::super::child::is_started_by(told, ourselves));
        }
    }
}
