//! A machine in the emulator: boots a kernel, follows what it prints, and ends it when it stands still.
//!
//! Without KVM: it works everywhere, also within a virtual machine. The emulator itself brings a guest down now and then while it boots;
//! that is tried again, and counted.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::Failure;

/// How long a guest may say nothing. Guests run on a machine that may be busy.
const SILENCE: Duration = Duration::from_secs(300);
/// How long all of it may take.
const LONGEST: Duration = Duration::from_secs(3600);
/// How long a kernel in trouble is listened to.
const AFTER_TROUBLE: Duration = Duration::from_secs(3);
const BOOTS: u32 = 3;
/// The processors' counter is that of the host's processor and right, but the emulator's processors take turns, for which kernels
/// now and then think it unreliable. Then the scheduler's own clock jumps, and there would be no books to compare with.
const COMMAND_LINE: &str = "console=ttyS0 panic=-1 quiet tsc=reliable";
/// What a kernel prints that is in trouble.
const TROUBLE: [&str; 6] = [
    "Kernel panic",
    "Oops:",
    "BUG:",
    "WARNING: CPU",
    "soft lockup",
    "rcu: INFO: rcu_",
];

/// The socket by which the emulator is asked.
const MONITOR: &str = "monitor";

/// What is the emulator's fault whenever it is seen: it runs an instruction of the kernel while that is being replaced, and
/// finds the breakpoint that stands there meanwhile. Seen on 7.3 with two threads of the emulator, with one not yet.
const OF_THE_EMULATOR: &str = "Oops: int3";

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
#[derive(Debug, PartialEq)]
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
        let folder = serial.parent().unwrap_or(Path::new("."));
        let mut child = Guest(self.start(folder)?);
        let out = child.0.stdout.take();
        let out = out.ok_or_else(|| Failure("no output of qemu".into()))?;
        let mut kept = fs::File::create(serial)?;
        let end = watch(&follow(out), &mut kept, SILENCE)?;
        if matches!(end, End::Trouble(_)) {
            // Who comes down has no monitor any more.
            let told = registers(&folder.join(MONITOR)).unwrap_or_else(|error| error.to_string());
            writeln!(
                kept,
                "registers of its processors, from the emulator:\n{told}"
            )?;
        }
        if matches!(end, End::Done) {
            // It switches itself off, unless that is what fails.
            let started = Instant::now();
            while child.0.try_wait()?.is_none() && started.elapsed() < SILENCE {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(end)
    }

    /// With its monitor in this folder.
    fn start(&self, folder: &Path) -> Result<Child, Failure> {
        // The emulator ends with who started it, however that ends.
        let mut qemu = Command::new("setpriv");
        qemu.args(["--pdeathsig", "KILL", "qemu-system-x86_64"]);
        // One thread for both processors: with two, the emulator freezes guests by itself. Measured on 2026-11-23 with 6.1 and
        // without timesink, a guest that switches the scheduler's tracepoints on and off while it starts and kills programs:
        // with two threads 4 of 4 stopped for good before round 21, within 240 s; with one 280 rounds passed in 900 s.
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
        // By a short path, because that of a socket has to be.
        let monitor = format!("unix:{MONITOR},server=on,wait=off");
        qemu.args(["-monitor", &monitor]).current_dir(folder);
        let append = format!("{COMMAND_LINE} {}", self.append);
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

/// Follows what a guest prints, and keeps it, until it has done everything or is in trouble.
fn watch(
    lines: &Receiver<String>,
    kept: &mut impl Write,
    silence: Duration,
) -> Result<End, Failure> {
    let (started, mut begun) = (Instant::now(), false);
    let ended = |begun: bool, why: String| match begun {
        true => End::Trouble(why),
        false => End::NeverBegan,
    };
    loop {
        let line = match lines.recv_timeout(silence) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                let why = format!("it has said nothing for {silence:?}");
                return Ok(ended(begun, why));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(ended(begun, "it came down in the midst of the run".into()));
            }
        };
        writeln!(kept, "{line}")?;
        begun |= line.starts_with("BOOTED ");
        if line.starts_with("ALL DONE") {
            return Ok(End::Done);
        }
        if TROUBLE.iter().any(|word| line.contains(word)) {
            // What the kernel says next tells where.
            while let Ok(line) = lines.recv_timeout(AFTER_TROUBLE) {
                writeln!(kept, "{line}")?;
            }
            let begun = begun && !line.contains(OF_THE_EMULATOR);
            return Ok(ended(begun, line));
        }
        if started.elapsed() > LONGEST {
            return Ok(ended(begun, format!("it took more than {LONGEST:?}")));
        }
    }
}

/// Where the processors of a guest that stands still are, and what they have in their registers: in the kernel, in a program of ours, or
/// nowhere.
fn registers(monitor: &Path) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(monitor)?;
    stream.set_read_timeout(Some(AFTER_TROUBLE))?;
    let (mut told, mut some) = (Vec::new(), [0; 4096]);
    // Twice: what does not move stands still, what goes in circles is seen to.
    for _ in 0..2 {
        stream.write_all(b"info registers -a\n")?;
        while let Ok(read @ 1..) = stream.read(&mut some) {
            told.extend(&some[..read]);
        }
    }
    Ok(String::from_utf8_lossy(&told).into_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How a guest ended that printed these lines and then came down or, if it is held, stood still.
    fn end_of(lines: &[&str], held: bool) -> (End, String) {
        let (send, receive) = channel();
        for line in lines {
            send.send((*line).to_owned()).expect("it is followed");
        }
        let held = held.then(|| send.clone());
        drop(send);
        let mut kept = Vec::new();
        let end = watch(&receive, &mut kept, Duration::from_millis(50)).expect("a Vec is written");
        drop(held);
        (end, String::from_utf8_lossy(&kept).into_owned())
    }

    /// A guest that did everything is done, and what it printed is kept.
    #[test]
    fn a_run() {
        let lines = [
            "BOOTED 6.1 after 3 s",
            "SCENE truth 3 9",
            "ALL DONE after 9 s",
        ];
        let (end, kept) = end_of(&lines, true);
        assert_eq!(end, End::Done);
        assert_eq!(kept.lines().collect::<Vec<_>>(), lines);
    }

    /// What comes down, stands still or is in trouble before it has begun is the emulator's fault; afterwards it is a failure, and
    /// what the kernel said is kept.
    #[test]
    fn trouble() {
        let panic = "Kernel panic - not syncing: Fatal exception";
        for held in [false, true] {
            assert_eq!(end_of(&["Loading"], held).0, End::NeverBegan);
            assert_eq!(end_of(&["Loading", panic], held).0, End::NeverBegan);
            let begun = end_of(&["BOOTED 6.1", "SCENE truth 3 9"], held).0;
            assert!(matches!(begun, End::Trouble(_)), "{begun:?}");
            let (end, kept) = end_of(&["BOOTED 6.1", panic, "Call Trace:"], false);
            assert_eq!(end, End::Trouble(panic.into()));
            assert!(kept.contains("Call Trace:"));
            let patched = "[   18.4] Oops: int3: 0000 [#1] SMP NOPTI";
            assert_eq!(end_of(&["BOOTED 7.3", patched], held).0, End::NeverBegan);
        }
    }
}
