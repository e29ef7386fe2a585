//! What is left to who takes timesink over: while it records, and while it reads what strangers wrote.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{chown, MetadataExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use timesink_live::{output, timesink, wait_for, Folder, Running, PLAIN_USER};

/// Capabilities by their numbers.
const DAC_READ_SEARCH: u64 = 1 << 2;
const KILL: u64 = 1 << 5;
const SYS_PTRACE: u64 = 1 << 19;
const PERFMON: u64 = 1 << 38;
const BPF: u64 = 1 << 39;
const CHECKPOINT_RESTORE: u64 = 1 << 40;
const READING: u64 = DAC_READ_SEARCH | SYS_PTRACE | CHECKPOINT_RESTORE;

/// What the kernel says of a process or a thread.
struct Status(String);

impl Status {
    fn of(pid: i32) -> Status {
        Status(fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default())
    }

    fn word(&self, name: &str) -> &str {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name));
        line.map_or("", |rest| rest.trim_start_matches(':').trim())
    }

    fn set(&self, name: &str) -> u64 {
        u64::from_str_radix(self.word(name), 16).expect("a set of capabilities")
    }

    fn users(&self) -> Vec<u32> {
        let users = self.word("Uid").split_whitespace();
        users.map(|user| user.parse().expect("a user")).collect()
    }

    /// These capabilities, and no others to be had by executing anything.
    #[track_caller]
    fn has_no_more_than(&self, capabilities: u64) {
        assert_eq!(self.set("CapBnd"), capabilities, "{}", self.0);
        self.may_use_no_more_than(capabilities);
    }

    #[track_caller]
    fn may_use_no_more_than(&self, capabilities: u64) {
        for name in ["CapEff", "CapPrm"] {
            assert_eq!(self.set(name), capabilities, "{name} of\n{}", self.0);
        }
        assert_eq!((self.set("CapInh"), self.set("CapAmb")), (0, 0));
        assert_eq!(self.word("NoNewPrivs"), "1");
    }
}

/// The children of a process, with theirs.
fn family(pid: i32) -> Vec<i32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let children = children.split_whitespace().map(|pid| pid.parse());
    let children = children.map(|pid: Result<i32, _>| pid.expect("a number"));
    children
        .flat_map(|pid| [vec![pid], family(pid)].concat())
        .collect()
}

fn called_by(command: &mut Command, sudo: Option<u32>) {
    for name in ["SUDO_UID", "SUDO_GID"] {
        match sudo {
            Some(user) => command.env(name, user.to_string()),
            None => command.env_remove(name),
        };
    }
}

/// timesink while it records a program that waits, looked at by `look`.
fn recording(folder: &Folder, sudo: Option<u32>, look: impl FnOnce(Status, &[Status], Status)) {
    let mut command = Command::new(timesink());
    command.current_dir(folder.path());
    command.args(["run", "-q", "-o", "x.timesink", "--", "sleep", "1000"]);
    called_by(&mut command, sudo);
    let running = Running::start(command.stdin(Stdio::null()));
    let is_target = |pid: i32| Status::of(pid).word("Name") == "sleep";
    let target = || {
        family(running.pid())
            .into_iter()
            .find(|&pid| is_target(pid))
    };
    wait_for("the program runs", || target().is_some());
    let target = target().expect("it runs");
    let helpers = family(running.pid())
        .into_iter()
        .filter(|&pid| pid != target);
    let helpers: Vec<Status> = helpers.map(Status::of).collect();
    look(Status::of(running.pid()), &helpers, Status::of(target));
    running.signal(libc::SIGTERM);
    running.end().exits(128 + libc::SIGTERM);
    assert!(folder.join("x.timesink/recording.json").exists());
}

/// While root records, only what is needed for that is left. The program has all that it would have without us.
#[test]
fn root_records_with_little_of_what_root_may_do() {
    let folder = Folder::new("privileges-root");
    recording(&folder, None, |timesink, helpers, target| {
        timesink.has_no_more_than(BPF | PERFMON | KILL | READING);
        assert!(!helpers.is_empty(), "there is a helper");
        helpers
            .iter()
            .for_each(|helper| helper.has_no_more_than(READING));
        let own = Status::of(std::process::id() as i32);
        for name in ["CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp"] {
            assert_eq!(target.word(name), own.word(name), "{name}");
        }
    });
}

/// Under sudo, timesink is the caller while it records, and has no way back to root.
#[test]
fn under_sudo_it_is_recorded_as_the_caller() {
    let folder = Folder::of_plain_user("privileges-sudo");
    recording(&folder, Some(PLAIN_USER), |timesink, helpers, target| {
        timesink.has_no_more_than(BPF | PERFMON | KILL | READING);
        for status in helpers.iter().chain([&timesink, &target]) {
            assert_eq!(status.users(), [PLAIN_USER; 4], "{}", status.0);
        }
        helpers
            .iter()
            .for_each(|helper| helper.has_no_more_than(READING));
        assert_eq!(target.word("NoNewPrivs"), "0");
    });
    let made = fs::metadata(folder.join("x.timesink/recording.json")).expect("it is made");
    assert_eq!(made.uid(), PLAIN_USER);
}

/// timesink with its output into a pipe that is full after the first page, so that it is there to be looked at.
struct Stuck {
    child: Child,
    out: std::process::ChildStdout,
}

impl Stuck {
    fn start(command: &mut Command) -> Stuck {
        let (reading, writing) = pipe();
        let child = command.stdout(writing).stdin(Stdio::null()).spawn();
        let child = child.expect("timesink can be run");
        // The command holds our copy of the writing end.
        command.stdout(Stdio::null());
        let stuck = Stuck {
            child,
            out: reading,
        };
        let waits = || {
            let wchan = fs::read_to_string(format!("/proc/{}/syscall", stuck.pid()));
            wchan.is_ok_and(|call| call.starts_with("1 0x1 "))
        };
        wait_for("it waits for who reads", waits);
        stuck
    }

    fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    fn end(mut self) -> Vec<u8> {
        let mut all = Vec::new();
        self.out.read_to_end(&mut all).expect("what it prints");
        assert!(self.child.wait().expect("it ends").success());
        all
    }
}

/// A pipe with room for a page.
fn pipe() -> (std::process::ChildStdout, File) {
    use std::os::fd::{FromRawFd, OwnedFd};
    let mut ends = [-1; 2];
    // SAFETY: the kernel fills the array, and the descriptors are nobody else's.
    let (reading, writing) = unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    };
    // SAFETY: a descriptor of ours and a number.
    let room = unsafe { libc::fcntl(writing.as_raw_fd(), libc::F_SETPIPE_SZ, 4096) };
    assert_eq!(room, 4096);
    (reading.into(), File::from(writing))
}

/// A recording of root's in a folder.
fn recorded(folder: &Path) {
    let mut command = Command::new(timesink());
    called_by(&mut command, None);
    command.current_dir(folder);
    command.args([
        "run",
        "-q",
        "-o",
        "x.timesink",
        "--",
        "sh",
        "-c",
        "for n in 1 2 3 4 5 6 7 8 9 10; do ls / || exit; done",
    ]);
    output(&mut command).exits(0);
}

const READ: [&[&str]; 3] = [
    &["report", "x.timesink", "--json"],
    &["export", "x.timesink", "--to", "perfetto"],
    &["export", "x.timesink", "--to", "firefox"],
];

/// Who reads a recording as root has no capability left, and may not make the calls with which something could be had from that.
#[test]
fn a_recording_is_read_without_capabilities() {
    let folder = Folder::new("privileges-report");
    recorded(folder.path());
    for words in READ {
        let mut command = Command::new(timesink());
        called_by(command.current_dir(folder.path()).args(words), None);
        let stuck = Stuck::start(&mut command);
        let status = Status::of(stuck.pid());
        status.has_no_more_than(0);
        assert_eq!(status.word("Seccomp"), "2", "{words:?}");
        assert!(stuck.end().len() > 4096);
    }
}

/// The same under sudo is the caller's from then on; the recording is shown all the same, though the caller could not open it.
#[test]
fn a_recording_of_root_is_read_as_the_caller() {
    let folder = Folder::of_plain_user("privileges-caller");
    recorded(folder.path());
    chown(folder.join("x.timesink"), Some(0), Some(0)).expect("it is root's");
    for words in READ {
        let mut command = Command::new(timesink());
        called_by(
            command.current_dir(folder.path()).args(words),
            Some(PLAIN_USER),
        );
        let stuck = Stuck::start(&mut command);
        let status = Status::of(stuck.pid());
        status.has_no_more_than(0);
        assert_eq!(status.users(), [PLAIN_USER; 4]);
        assert_eq!(status.word("Seccomp"), "2", "{words:?}");
        assert!(stuck.end().len() > 4096);
    }
}

/// What names functions of programs, which anybody may have made, can execute nothing. The program is timesink itself, whose names
/// take a while to find.
#[test]
fn names_are_looked_for_without_rights() {
    let folder = Folder::new("privileges-names");
    recorded(folder.path());
    let mut command = Command::new(timesink());
    called_by(command.current_dir(folder.path()), None);
    command.env("XDG_CACHE_HOME", folder.join("cache"));
    command.args(["run", "-q", "-o", "y.timesink", "--"]);
    command.arg(timesink()).args(["report", "x.timesink"]);
    let running = Running::start(command.stdin(Stdio::null()));
    let seen = RefCell::new(None);
    wait_for("names are looked for", || {
        let family = family(running.pid()).into_iter().map(Status::of);
        // The recorded program has that filter, too, when it reads what it is to report.
        let mut naming = family.filter(|status| status.word("Seccomp") == "2");
        *seen.borrow_mut() = naming.find(|status| status.set("CapPrm") != 0);
        seen.borrow().is_some()
    });
    let naming = seen.into_inner().expect("it was seen");
    naming.may_use_no_more_than(DAC_READ_SEARCH);
    running.end().exits(0);
}
