//! timesink asked as a process of its own: for so long, and for so much text.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{sync_channel, Receiver};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::{fcntl_setfd, Errno, FdFlags};
use rustix::pipe::{pipe_with, PipeFlags};
use rustix::process::{kill_process, pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use timesink_capture::launch::Identity;

/// What was asked, and how much may come of it.
pub struct Question {
    pub words: Vec<OsString>,
    pub patience: Duration,
    /// Characters of an answer: an assistant reads all of it.
    pub most: usize,
    /// What only root can do is done as root; all else with the rights of the user who called sudo.
    pub as_root: bool,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    /// More was said than this.
    pub is_truncated: bool,
    pub is_refused: bool,
}

/// Beyond this nothing is kept of what a child says, in bytes.
const KEPT: usize = 4 << 20;
/// What a child said last is read by then.
const REST: Duration = Duration::from_millis(500);
/// So long a program has to end when it is asked to.
const HEED: Duration = Duration::from_secs(5);
/// Asked to end, `timesink run` ends the program and makes the recording: so long that may take.
const GRACE: Duration = Duration::from_secs(60);

/// The questions that are being answered, to end them when nobody waits for answers any more. Each child has the one end of a pipe, and
/// ends when the other is closed: that is done by whatever ends us.
#[derive(Clone)]
pub struct Asked(Arc<Mutex<Option<Pipes>>>);

/// The ends that are closed to end children, by the number of the question.
#[derive(Default)]
struct Pipes {
    ours: BTreeMap<u64, OwnedFd>,
    asked: u64,
}

/// Somebody waits for the answer to a question, which ends with this.
pub struct Waiting {
    all: Asked,
    number: u64,
}

/// A child's end of the pipe.
pub struct Until(OwnedFd);

impl Asked {
    pub fn new() -> Asked {
        Asked(Arc::new(Mutex::new(Some(Pipes::default()))))
    }

    /// Ends all of them, and those that would begin.
    pub fn end(&self) {
        if let Ok(mut pipes) = self.0.lock() {
            pipes.take();
        }
    }

    /// One more question.
    pub fn begin(&self) -> anyhow::Result<(Until, Waiting)> {
        let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC).context("a pipe")?;
        let mut pipes = self.0.lock();
        let pipes = pipes.as_mut().ok().and_then(|pipes| pipes.as_mut());
        let pipes = pipes.context("nobody waits for an answer any more")?;
        pipes.asked += 1;
        pipes.ours.insert(pipes.asked, ours);
        let waiting = Waiting {
            all: self.clone(),
            number: pipes.asked,
        };
        Ok((Until(theirs), waiting))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Ok(mut pipes) = self.all.0.lock() {
            let ours = pipes.as_mut();
            drop(ours.and_then(|pipes| pipes.ours.remove(&self.number)));
        }
    }
}

/// Which signal is sent when an open file has something to tell: of the kernel's interface, and not in the crate.
const F_SETSIG: libc::c_int = 10;
/// What a child is told of its end of the pipe.
const UNTIL: &str = "TIMESINK_UNTIL_CLOSED";

/// Asked by an assistant's server, timesink gets SIGTERM when the server ends, however it does. No thread waits for that: a program is
/// started later, and signals are blocked before that.
#[allow(unsafe_code)]
pub fn end_with_server() {
    let number = std::env::var(UNTIL).ok().and_then(|text| text.parse().ok());
    let Some(number) = number.filter(|number| *number > 2) else {
        return;
    };
    // An open file of our own, since what is set below holds for all that share one.
    let Ok(pipe) = File::open(Path::new("/proc/self/fd").join(format!("{number}"))) else {
        return;
    };
    // SAFETY: it was opened above, so it is an open file; whoever set the variable gave it for this and nobody else here has it.
    drop(unsafe { OwnedFd::from_raw_fd(number) });
    // SAFETY: numbers alone are given, about a file that is open.
    unsafe {
        libc::fcntl(pipe.as_raw_fd(), libc::F_SETOWN, libc::getpid());
        libc::fcntl(pipe.as_raw_fd(), F_SETSIG, libc::SIGTERM);
        libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_ASYNC);
    }
    let mut fds = [PollFd::new(&pipe, PollFlags::IN)];
    let is_over = poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0);
    // It stays open until we end.
    let _ = pipe.into_raw_fd();
    if is_over {
        std::process::exit(1);
    }
}

impl Question {
    /// Asks, and waits for the answer.
    pub fn ask(&self, until: &Until) -> anyhow::Result<Said> {
        // This very program, also if another was put in its place.
        let mut command = Command::new("/proc/self/exe");
        if let (false, Some(caller)) = (self.as_root, Identity::from_sudo()?) {
            caller.runs(&mut command);
            for name in ["SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND"] {
                command.env_remove(name);
            }
        }
        self.ask_of(&mut command, until)
    }

    fn ask_of(&self, command: &mut Command, until: &Until) -> anyhow::Result<Said> {
        let Until(theirs) = until;
        command
            .arg0("timesink")
            .args(&self.words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env(UNTIL, theirs.as_raw_fd().to_string())
            .env_remove("COLUMNS");
        // It is for this child; others that start meanwhile have it, too, and do nothing with it.
        fcntl_setfd(theirs, FdFlags::empty())?;
        let child = command.spawn();
        fcntl_setfd(theirs, FdFlags::CLOEXEC)?;
        let mut child = child.context("cannot start timesink")?;
        let pid = Pid::from_child(&child);
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        let out = child.stdout.take().map(Stream::of);
        let err = child.stderr.take().map(Stream::of);
        let came = first_of(&handle, Some(theirs), self.patience)?;
        // Where nobody waits any more the child has been told.
        let is_told = came == Came::NobodyWaits && ends_within(&handle, HEED)?;
        let is_late = came != Came::End;
        if is_late && !is_told {
            end(&handle, pid)?;
            if !ends_within(&handle, GRACE)? {
                child.kill()?;
            }
        }
        let is_well = child.wait()?.success();
        let text = |stream: Option<Stream>| stream.map_or(String::new(), |it| it.text());
        let (out, err) = (text(out), text(err));
        let all = match (out.trim().is_empty(), is_well) {
            (true, _) => err,
            (false, true) => out,
            (false, false) => format!("{out}{err}"),
        };
        let said = cut(&all, self.most, !is_well);
        if !is_late {
            return Ok(said);
        }
        let after = self.patience.as_secs();
        Ok(Said {
            text: format!("It took more than {after} s and was ended.\n{}", said.text),
            is_refused: true,
            ..said
        })
    }
}

/// Asks a child to end, and ends what it runs if that does not heed it: a recording is made then all the same.
fn end(child: &OwnedFd, pid: Pid) -> anyhow::Result<()> {
    let _ = pidfd_send_signal(child, Signal::TERM);
    if ends_within(child, HEED)? {
        return Ok(());
    }
    let path = format!("/proc/{0}/task/{0}/children", pid.as_raw_nonzero());
    let children = std::fs::read_to_string(path).unwrap_or_default();
    for one in children.split_whitespace() {
        if let Some(one) = one.parse().ok().and_then(Pid::from_raw) {
            let _ = kill_process(one, Signal::KILL);
        }
    }
    Ok(())
}

/// What came first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    End,
    NobodyWaits,
    Nothing,
}

/// Whether a child ends in this time.
fn ends_within(child: &OwnedFd, time: Duration) -> anyhow::Result<bool> {
    Ok(first_of(child, None, time)? == Came::End)
}

/// Waits for a child to end, or until nobody waits for it.
fn first_of(child: &OwnedFd, until: Option<&OwnedFd>, time: Duration) -> anyhow::Result<Came> {
    let end = Instant::now() + time;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).context("so long")?;
        let files = [Some(child), until].into_iter().flatten();
        let mut fds: Vec<PollFd<'_>> = files.map(|file| PollFd::new(file, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&left)) {
            Ok(0) => return Ok(Came::Nothing),
            Ok(_) => {
                return Ok(match fds[0].revents().is_empty() {
                    false => Came::End,
                    true => Came::NobodyWaits,
                })
            }
            Err(Errno::INTR) => (),
            Err(error) => return Err(error).context("cannot wait for timesink"),
        }
    }
}

/// What comes out of a child, read by a thread of its own.
struct Stream {
    said: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Stream {
    fn of(stream: impl Read + Send + 'static) -> Stream {
        let said = Arc::new(Mutex::new(Vec::new()));
        let (ends, ended) = sync_channel(0);
        let into = said.clone();
        std::thread::spawn(move || {
            read(stream, &into);
            drop(ends);
        });
        Stream { said, ended }
    }

    /// All that was said, by a child that has ended. Whoever it left behind may hold the stream open; nobody waits for that.
    fn text(&self) -> String {
        let _ = self.ended.recv_timeout(REST);
        let said = self.said.lock();
        said.map_or(String::new(), |said| {
            String::from_utf8_lossy(&said).into_owned()
        })
    }
}

/// What is said beyond what is kept is taken from the child, so that it does not wait for ever, and forgotten.
fn read(mut stream: impl Read, into: &Mutex<Vec<u8>>) {
    let mut chunk = vec![0; 1 << 16];
    while let Ok(length @ 1..) = stream.read(&mut chunk) {
        let Ok(mut said) = into.lock() else {
            return;
        };
        let room = KEPT.saturating_sub(said.len());
        said.extend_from_slice(&chunk[..length.min(room)]);
    }
}

/// As many whole lines as there is room for.
pub fn cut(all: &str, most: usize, is_refused: bool) -> Said {
    let mut length = 0;
    let fits = all.split_inclusive('\n').take_while(|line| {
        length += line.chars().count();
        length <= most
    });
    let mut text: String = fits.collect();
    if text.is_empty() {
        text = all.chars().take(most).collect();
    }
    Said {
        is_truncated: text.len() < all.len(),
        text,
        is_refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str], patience: Duration, most: usize) -> Said {
        let question = Question {
            words: words.iter().map(OsString::from).collect(),
            patience,
            most,
            as_root: false,
        };
        let (until, _waiting) = Asked::new().begin().expect("a pipe");
        let said = question.ask_of(&mut Command::new("sh"), &until);
        said.expect("a shell")
    }

    const LONG: Duration = Duration::from_secs(20);

    /// An answer ends at a line, and says that there is more.
    #[test]
    fn answers_end_somewhere() {
        let said = asked(&["-c", "seq 1000000"], LONG, 20);
        assert_eq!(said.text, "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        assert!(said.is_truncated && !said.is_refused);
        let said = asked(&["-c", "echo one line"], LONG, 5);
        assert_eq!((said.text.as_str(), said.is_truncated), ("one l", true));
    }

    /// Who was left behind by a program holds its output open, and nobody waits for it.
    #[test]
    fn nobody_waits_for_what_is_left_behind() {
        let started = Instant::now();
        let said = asked(&["-c", "echo said; sleep 60 & exit 0"], LONG, 100);
        assert_eq!(said.text, "said\n");
        assert!(started.elapsed() < LONG);
    }

    /// What does not end is ended.
    #[test]
    fn nothing_takes_for_ever() {
        let said = asked(&["-c", "exec sleep 60"], Duration::from_millis(50), 100);
        assert!(
            said.is_refused && said.text.contains("was ended"),
            "{said:?}"
        );
    }

    /// What is asked to end may say something yet: a recording is made of what there is.
    #[test]
    fn who_is_ended_may_say_why() {
        let script = "trap 'echo made of what there is; exit 0' TERM; sleep 60 & wait";
        let said = asked(&["-c", script], Duration::from_millis(300), 100);
        assert!(said.is_refused);
        assert_eq!(
            said.text,
            "It took more than 0 s and was ended.\nmade of what there is\n"
        );
    }

    /// Who does not heed the request is ended, and who started it can still say what came of it.
    #[test]
    fn who_does_not_heed_is_ended() {
        let script =
            "trap '' TERM; sh -c \"trap '' TERM; while :; do sleep 1; done\"; echo made of it";
        let said = asked(&["-c", script], Duration::from_millis(100), 100);
        assert!(
            said.is_refused && said.text.ends_with("made of it\n"),
            "{said:?}"
        );
    }

    /// When nobody waits for answers any more, nothing else is asked.
    #[test]
    fn nothing_is_asked_for_nobody() {
        let asked = Asked::new();
        asked.end();
        assert!(asked.begin().is_err());
    }

    /// A question that nobody waits for ends, also if its child does not know of the pipe; others do not.
    #[test]
    fn a_question_that_was_taken_back_ends() {
        let asked = Asked::new();
        let (until, waiting) = asked.begin().expect("a pipe");
        let (other, _waiting) = asked.begin().expect("a pipe");
        let question = |script: &str| Question {
            words: ["-c", script].map(OsString::from).to_vec(),
            patience: LONG,
            most: 100,
            as_root: false,
        };
        drop(waiting);
        let started = Instant::now();
        let taken_back = question("exec sleep 60").ask_of(&mut Command::new("sh"), &until);
        assert!(taken_back.is_ok_and(|said| said.is_refused));
        assert!(started.elapsed() < LONG);
        let said = question("echo said").ask_of(&mut Command::new("sh"), &other);
        assert_eq!(said.expect("a shell").text, "said\n");
    }

    /// An error is what was said of it.
    #[test]
    fn errors_are_told() {
        let said = asked(&["-c", "echo no such thing >&2; exit 1"], LONG, 100);
        assert!(said.is_refused);
        assert_eq!(said.text, "no such thing\n");
    }
}
