//! timesink asked as a process of its own: for so long, and for so much text.

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::mpsc::{sync_channel, Receiver};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};

/// What was asked, and how much may come of it.
pub struct Question {
    pub words: Vec<OsString>,
    /// Where it is asked; here if nowhere is said.
    pub folder: Option<OsString>,
    pub patience: Duration,
    /// Characters of an answer: an assistant reads all of it.
    pub most: usize,
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
/// Asked to end, `timesink run` ends the program, makes the recording and prints its report: so long that may take.
const GRACE: Duration = Duration::from_secs(60);

/// The questions that are being answered, to end them when nobody waits for answers any more.
#[derive(Clone, Default)]
pub struct Asked(Arc<Mutex<Vec<Arc<OwnedFd>>>>);

impl Asked {
    /// Ends all of them.
    pub fn end(&self) {
        for child in self.0.lock().iter().flat_map(|children| children.iter()) {
            // Who has ended by itself needs no signal.
            let _ = pidfd_send_signal(child, Signal::TERM);
        }
    }

    fn add(&self, child: &Arc<OwnedFd>) {
        if let Ok(mut children) = self.0.lock() {
            children.push(child.clone());
        }
    }

    fn remove(&self, child: &Arc<OwnedFd>) {
        if let Ok(mut children) = self.0.lock() {
            children.retain(|other| !Arc::ptr_eq(other, child));
        }
    }
}

impl Question {
    /// Asks, and waits for the answer.
    pub fn ask(&self, asked: &Asked) -> anyhow::Result<Said> {
        let mut command = Command::new(std::env::current_exe().context("the path of timesink")?);
        self.ask_of(&mut command, asked)
    }

    fn ask_of(&self, command: &mut Command, asked: &Asked) -> anyhow::Result<Said> {
        command
            .args(&self.words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env_remove("COLUMNS");
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let mut child = command.spawn().context("cannot start timesink")?;
        let pid = Pid::from_child(&child);
        let handle = Arc::new(pidfd_open(pid, PidfdFlags::empty())?);
        asked.add(&handle);
        let out = child.stdout.take().map(Stream::of);
        let err = child.stderr.take().map(Stream::of);
        let is_late = !ends_within(&handle, self.patience)?;
        if is_late {
            let _ = pidfd_send_signal(&handle, Signal::TERM);
            if !ends_within(&handle, GRACE)? {
                child.kill()?;
            }
        }
        let is_well = child.wait()?.success();
        asked.remove(&handle);
        let text = |stream: Option<Stream>| stream.map_or(String::new(), |it| it.text());
        let (out, err) = (text(out), text(err));
        // A program's report comes on standard error, a report of a recording on standard output.
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

/// Whether a child ends in this time.
fn ends_within(child: &OwnedFd, time: Duration) -> anyhow::Result<bool> {
    let end = Instant::now() + time;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).context("so long")?;
        let mut fds = [PollFd::new(child, PollFlags::IN)];
        match poll(&mut fds, Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
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
            folder: None,
            patience,
            most,
        };
        let asked = Asked::default();
        let said = question.ask_of(&mut Command::new("sh"), &asked);
        assert!(asked.0.lock().expect("nobody panicked").is_empty());
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

    /// When nobody waits for answers any more, what is still asked is ended.
    #[test]
    fn what_is_still_asked_is_ended() {
        let asked = Asked::default();
        let theirs = asked.clone();
        let started = Instant::now();
        let waiting = std::thread::spawn(move || {
            let question = Question {
                words: ["-c", "exec sleep 60"].iter().map(OsString::from).collect(),
                folder: None,
                patience: LONG,
                most: 100,
            };
            question.ask_of(&mut Command::new("sh"), &theirs)
        });
        while asked.0.lock().expect("nobody panicked").is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        asked.end();
        let said = waiting.join().expect("no panic").expect("a shell");
        assert!(said.is_refused && started.elapsed() < LONG);
    }

    /// An error is what was said of it.
    #[test]
    fn errors_are_told() {
        let said = asked(&["-c", "echo no such thing >&2; exit 1"], LONG, 100);
        assert!(said.is_refused);
        assert_eq!(said.text, "no such thing\n");
    }
}
