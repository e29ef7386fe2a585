//! What the live tests share: the binary and the programs it records, folders that clean up after
//! themselves, commands that cannot hang, and recordings as a test looks at them. What must be true
//! of them stands in the tests.

mod command;
mod golang;
mod group;
mod peer;
mod python_tags;
mod pythons;
mod recorded;
mod told;
mod truth;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub use command::{output, Ran, Running};
pub use golang::{build_go, go_tools, pair_of_go};
pub use group::Group;
pub use peer::{pair_with_peer, Peer};
pub use python_tags::build_python_tags;
pub use pythons::{python, PYTHON, PYTHONS};
pub use recorded::{json_lines, ns, number, text, Chain, Recorded};
pub use told::{pair, pair_in, pair_of, pair_of_erlang, pair_of_python, pair_of_ruby, Told};
pub use truth::{Slack, Truth};

/// The project's folder.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Everything here records with BPF, as if at a terminal. Who may not do so fails: a test that is skipped shows nothing.
fn require_root() {
    // SAFETY: a plain system call.
    let user = unsafe { libc::geteuid() };
    assert!(
        user == 0,
        "the live tests record with BPF: run them as root, not as user {user}; they are never skipped"
    );
    // Who starts tests in the background may have them ignore what programs under test wait for.
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
        // SAFETY: no handler of ours is there to be lost.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// The binary under test. It is built by `make build`, or named by `TIMESINK`.
pub fn timesink() -> PathBuf {
    require_root();
    let path = match std::env::var_os("TIMESINK") {
        Some(path) => PathBuf::from(path),
        None => root().join("target/release/timesink"),
    };
    let path = path.canonicalize();
    path.expect("there is no timesink to test: `make build` makes it, or TIMESINK names it")
}

fn work() -> PathBuf {
    require_root();
    let folder = root().join("target/live");
    std::fs::create_dir_all(&folder).expect("target/live cannot be made");
    folder.canonicalize().expect("target/live")
}

/// One of the programs in `programs/`, built.
pub fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let made = Command::new("make")
            .arg("-s")
            .arg("-C")
            .arg(root().join("tests/live/programs"))
            .arg(format!("OUT={}", work().display()))
            .status();
        assert!(
            made.is_ok_and(|s| s.success()),
            "the test programs cannot be built"
        );
    });
    work().join(name)
}

/// Where `make live-disturbed` says so, in nanoseconds.
pub const TAKEN_AWAY: &str = "TIMESINK_TAKEN_AWAY_NS";

/// For how long a processor is taken away at most while these tests run, as `make live-disturbed` says. What samples alone tell apart,
/// as where one task ends and the next begins, is not known more precisely than that.
pub fn taken_away_ns() -> f64 {
    let said = std::env::var(TAKEN_AWAY).ok();
    said.map_or(0.0, |ns| ns.parse().expect("a time in nanoseconds"))
}

/// Nobody, and nobody's group.
pub const PLAIN_USER: u32 = 65534;

/// A folder of the test's own, on a real file system; gone when the test is.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        Folder::within(&work(), name)
    }

    /// One that is the plain user's, where a plain user may go; the project may be in root's home.
    pub fn of_plain_user(name: &str) -> Folder {
        let folder = Folder::within(&std::env::temp_dir(), &format!("timesink-live-{name}"));
        std::os::unix::fs::chown(folder.path(), Some(PLAIN_USER), Some(PLAIN_USER)).expect("chown");
        folder
    }

    fn within(place: &Path, name: &str) -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = place.join(format!("{name}-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).expect("the test's folder cannot be made");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Try up to five times, for truths that a busy machine disturbs: one good recording shows that
/// timesink is right, and a wrong timesink is wrong each time. What disturbs, such as the host of a
/// virtual machine that gives its processors to others, often lasts for seconds: each time it is
/// waited for longer. `TIMESINK_ATTEMPTS` says how many there are: with one, tests that hang by a
/// thread show themselves.
pub fn attempts(mut check: impl FnMut() -> Result<(), String>) {
    let most = std::env::var("TIMESINK_ATTEMPTS").ok();
    let most = most.map_or(5, |most| {
        most.parse().expect("TIMESINK_ATTEMPTS is a number")
    });
    let mut failures = Vec::new();
    for pause in [0, 1, 2, 4, 8].into_iter().take(most) {
        std::thread::sleep(Duration::from_secs(pause));
        match check() {
            Ok(()) => return note_tries(&failures),
            Err(why) => failures.push(why),
        }
    }
    panic!(
        "{} times in a row:\n{}",
        failures.len(),
        failures.join("\n--- and again:\n")
    );
}

/// Notes a test that passed, but not at the first try, with why it failed at first: in the file that `TIMESINK_TRIES` names.
/// `make live` shows what is in it as the suite ends: who passes in the end prints nothing that a test runner shows.
fn note_tries(failures: &[String]) {
    let (Some(why), Some(file)) = (failures.first(), std::env::var_os("TIMESINK_TRIES")) else {
        return;
    };
    let thread = std::thread::current();
    // The first line of a failure says what it is, the rest is the recording's own report.
    let why = why.lines().find(|line| !line.trim().is_empty());
    let line = format!(
        "{}: {} tries; the first: {}\n",
        thread.name().unwrap_or("a test"),
        failures.len() + 1,
        why.unwrap_or("no reason")
    );
    let file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(file);
    let noted = file.and_then(|mut file| file.write_all(line.as_bytes()));
    noted.expect("TIMESINK_TRIES cannot be written");
}

/// Waits until something holds, but not for ever.
#[track_caller]
pub fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "waiting in vain until {what}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Problems as one result.
pub fn none_of(problems: &[String]) -> Result<(), String> {
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n"))
    }
}
