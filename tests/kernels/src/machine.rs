//! A machine in the emulator: boots a kernel, follows what it prints, and ends it when it stands still.
//!
//! Without KVM: it works everywhere, also within a virtual machine. The emulator itself brings a guest down now and then while it boots;
//! that is tried again, and counted.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::Failure;

/// How long a guest may say nothing. Guests run on a machine that may be busy.
const SILENCE: Duration = Duration::from_secs(300);
/// How long all of it may take.
const LONGEST: Duration = Duration::from_secs(3600);
const BOOTS: u32 = 3;
/// What a kernel prints that is in trouble.
const TROUBLE: [&str; 6] = [
    "Kernel panic",
    "Oops:",
    "BUG:",
    "WARNING: CPU",
    "soft lockup",
    "rcu: INFO: rcu_",
];

/// What to boot.
pub struct Machine<'a> {
    pub kernel: &'a Path,
    pub initramfs: &'a Path,
    pub disk: &'a Path,
    /// More words for the kernel's command line.
    pub append: &'a str,
}

/// How a machine ran.
#[derive(Debug)]
pub struct Ran {
    pub boots: u32,
    /// What is wrong with it, if anything is.
    pub trouble: Option<String>,
}

/// How one boot ended.
enum End {
    /// The guest switched itself off, having done everything.
    Done,
    /// It came down before it had begun.
    NeverBegan,
    Trouble(String),
}

impl Machine<'_> {
    /// Runs it to its end. All that it prints is kept.
    pub fn run(&self, serial: &Path) -> Result<Ran, Failure> {
        for boots in 1..=BOOTS {
            match self.boot(serial)? {
                End::Done => {
                    return Ok(Ran {
                        boots,
                        trouble: None,
                    })
                }
                End::Trouble(why) => {
                    return Ok(Ran {
                        boots,
                        trouble: Some(why),
                    })
                }
                End::NeverBegan => {}
            }
        }
        let why = format!("it did not come up in {BOOTS} boots");
        Ok(Ran {
            boots: BOOTS,
            trouble: Some(why),
        })
    }

    fn boot(&self, serial: &Path) -> Result<End, Failure> {
        let mut child = Guest(self.start()?);
        let out = child
            .0
            .stdout
            .take()
            .ok_or_else(|| Failure("no output of qemu".into()))?;
        let lines = follow(out);
        let mut kept = fs::File::create(serial)?;
        let (started, mut begun) = (Instant::now(), false);
        loop {
            let line = match lines.recv_timeout(SILENCE) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    let why = format!("it has said nothing for {} seconds", SILENCE.as_secs());
                    return Ok(if begun {
                        End::Trouble(why)
                    } else {
                        End::NeverBegan
                    });
                }
                Err(RecvTimeoutError::Disconnected) if begun => {
                    return Ok(End::Trouble("it came down in the midst of the run".into()))
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(End::NeverBegan),
            };
            writeln!(kept, "{line}")?;
            begun |= line.starts_with("BOOTED ");
            if line.starts_with("ALL DONE") {
                child.0.wait()?;
                return Ok(End::Done);
            }
            let trouble = TROUBLE.iter().any(|word| line.contains(word));
            if trouble || started.elapsed() > LONGEST {
                // What the kernel says next tells where.
                let rest = lines
                    .iter()
                    .take(60)
                    .take_while(|_| started.elapsed() < LONGEST);
                rest.for_each(|line| drop(writeln!(kept, "{line}")));
                return Ok(if begun {
                    End::Trouble(line)
                } else {
                    End::NeverBegan
                });
            }
        }
    }

    fn start(&self) -> Result<Child, Failure> {
        let mut qemu = Command::new("qemu-system-x86_64");
        // One thread for both processors: with two, the emulator fails more often.
        qemu.args([
            "-accel",
            "tcg,thread=single",
            "-cpu",
            "max",
            "-m",
            "1G",
            "-smp",
            "2",
        ]);
        qemu.args([
            "-display",
            "none",
            "-no-reboot",
            "-nodefaults",
            "-serial",
            "stdio",
        ]);
        qemu.arg("-kernel")
            .arg(self.kernel)
            .arg("-initrd")
            .arg(self.initramfs);
        let append = format!("console=ttyS0 panic=-1 quiet {}", self.append);
        qemu.args(["-append", append.trim_end()]);
        let drive = format!(
            "file={},if=none,id=disk,format=raw,cache=unsafe",
            self.disk.display()
        );
        qemu.args(["-drive", &drive, "-device", "nvme,drive=disk,serial=disk"]);
        qemu.stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        qemu.spawn()
            .map_err(|e| Failure(format!("qemu-system-x86_64: {e}")))
    }
}

/// A running emulator, which ends with us.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The lines of a serial port as they come.
fn follow(out: ChildStdout) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        let mut out = BufReader::new(out);
        let mut line = Vec::new();
        while out.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if send.send(text).is_err() {
                return;
            }
        }
    });
    lines
}
