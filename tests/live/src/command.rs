//! Commands that cannot hang a test: what they print is read on the side, and they have a limit.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// No single command of these tests takes this long.
const LIMIT: Duration = Duration::from_secs(120);

/// How a command went.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    pub out: Vec<u8>,
    pub err: String,
}

impl Ran {
    /// The exit code, or 1000 + the signal, which no expectation takes for a code.
    pub fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| 1000 + self.status.signal().unwrap_or(0))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// This exit code, or the test ends with what was said.
    #[track_caller]
    pub fn exits(self, code: i32) -> Ran {
        let out: String = self.text().chars().take(2000).collect();
        assert_eq!(
            self.code(),
            code,
            "exit code; stderr:\n{}\nstdout:\n{out}",
            self.err
        );
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }
}

/// A command that runs.
pub struct Running {
    child: Child,
    out: Option<JoinHandle<Vec<u8>>>,
    err: Option<JoinHandle<Vec<u8>>>,
}

fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        let _ = from.read_to_end(&mut all);
        all
    })
}

impl Running {
    /// Its output and errors are kept; its input is what the command says, else nothing.
    pub fn start(command: &mut Command) -> Running {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let out = child.stdout.take().map(read_all);
        let err = child.stderr.take().map(read_all);
        Running { child, out, err }
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: a plain system call; the child is ours and not yet waited for.
        assert_eq!(
            unsafe { libc::kill(self.pid(), signal) },
            0,
            "signal {signal}"
        );
    }

    /// Only the end of the process itself, while others may still hold its streams.
    pub fn status(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("waiting") {
                return status;
            }
            if start.elapsed() > LIMIT {
                let _ = self.child.kill();
                let _ = self.child.wait();
                panic!("it did not end within {LIMIT:?} and was killed");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn end(mut self) -> Ran {
        let status = self.status();
        let read = |handle: Option<JoinHandle<Vec<u8>>>| {
            handle.and_then(|h| h.join().ok()).unwrap_or_default()
        };
        let (out, err) = (read(self.out.take()), read(self.err.take()));
        Ran {
            status,
            out,
            err: String::from_utf8_lossy(&err).into_owned(),
        }
    }
}

/// Run a command to its end.
pub fn output(command: &mut Command) -> Ran {
    Running::start(command.stdin(Stdio::null())).end()
}
