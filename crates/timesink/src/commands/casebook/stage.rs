//! Where a case plays: what it needs is installed, its work folder made, its services started and ended again.

use std::fs;
use std::io::{self, Read, Seek};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{bail, Context};

use super::case::{Case, Service};

/// A service that is not ready after so long will not be.
const PATIENCE: Duration = Duration::from_secs(30);
/// Who was asked to end and has not is made to.
const GRACE: Duration = Duration::from_secs(5);
/// No form takes so long.
const LONGEST: Duration = Duration::from_secs(120);

/// A case that is ready to be run.
pub struct Stage {
    pub work: PathBuf,
    case: PathBuf,
    services: Vec<Running>,
}

/// A process with all that it started, ended with this at the latest.
struct Running(Child);

impl Stage {
    /// Makes a case ready.
    pub fn set(case: &Case) -> anyhow::Result<Stage> {
        install(&case.packages)?;
        let work = case.folder.join("work");
        fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
        let mut stage = Stage {
            work,
            case: case.folder.clone(),
            services: Vec::new(),
        };
        for line in &case.setup {
            stage
                .shell(line)
                .with_context(|| format!("set-up: {line}"))?;
        }
        for &port in &case.ports {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port))
                .with_context(|| format!("port {port}"))?;
        }
        for service in &case.services {
            stage
                .start(service)
                .with_context(|| format!("service: {}", service.command))?;
        }
        Ok(stage)
    }

    /// A command in the case's work folder, which knows where the case is.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.work)
            .env("CASE", &self.case)
            .stdin(Stdio::null());
        command
    }

    /// The words of a command, with the case's folder where they say `$CASE`.
    pub fn filled(&self, words: &[String]) -> Vec<String> {
        let case = self.case.to_string_lossy();
        words
            .iter()
            .map(|word| word.replace("$CASE", &case))
            .collect()
    }

    /// Runs a command to its end. It may take only so long, and nothing that it started is left running.
    pub fn run(&self, command: &mut Command) -> anyhow::Result<Duration> {
        let mut errors = self.errors("command.err")?;
        command.stdout(Stdio::null()).stderr(errors.try_clone()?);
        let since = Instant::now();
        let mut running = Running(command.process_group(0).spawn()?);
        // To look now and then would be measured, too.
        let child = running.0.id() as i32;
        let watch = Watch::over(child);
        let status = running.0.wait()?;
        let took = since.elapsed();
        if watch.ended() {
            bail!("it did not end within {LONGEST:?}");
        }
        if !status.success() {
            bail!("{status}: {}", said(&mut errors)?);
        }
        Ok(took)
    }

    fn errors(&self, name: &str) -> io::Result<fs::File> {
        fs::File::options()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .open(self.work.join(name))
    }

    fn shell(&self, line: &str) -> anyhow::Result<()> {
        let ended = self
            .command("sh")
            .args(["-euc", line])
            .stdout(Stdio::null())
            .output()?;
        if !ended.status.success() {
            bail!(
                "{}: {}",
                ended.status,
                String::from_utf8_lossy(&ended.stderr).trim()
            );
        }
        Ok(())
    }

    fn start(&mut self, service: &Service) -> anyhow::Result<()> {
        let mut errors = self.errors("service.err")?;
        let mut command = self.command("sh");
        command
            .args(["-c", &service.command])
            .stdout(Stdio::null())
            .stderr(errors.try_clone()?);
        // It ends with us, whatever ends us.
        // SAFETY: a plain system call between fork and exec.
        unsafe {
            command.process_group(0).pre_exec(|| {
                match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            });
        }
        self.services.push(Running(command.spawn()?));
        let running = self.services.last_mut();
        let Some(Running(child)) = running else {
            return Ok(());
        };
        let mut ended = || child.try_wait();
        let since = Instant::now();
        loop {
            if let Some(status) = ended()? {
                bail!("it ended at once ({status}): {}", said(&mut errors)?);
            }
            let mut ready = Command::new("sh");
            ready
                .args(["-c", &service.ready])
                .current_dir(&self.work)
                .env("CASE", &self.case);
            let ready = ready
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            if ready.status()?.success() {
                return Ok(());
            }
            if since.elapsed() > PATIENCE {
                bail!("it is not ready after {PATIENCE:?}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The beginning of what a command wrote about its errors.
fn said(errors: &mut fs::File) -> io::Result<String> {
    const MOST: u64 = 2000;
    let mut said = Vec::new();
    errors.rewind()?;
    errors.take(MOST).read_to_end(&mut said)?;
    Ok(String::from_utf8_lossy(&said).trim().to_owned())
}

/// Ends a process that takes too long.
struct Watch {
    over: mpsc::Sender<()>,
    thread: std::thread::JoinHandle<bool>,
}

impl Watch {
    fn over(child: i32) -> Watch {
        let (over, waits) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let late = waits.recv_timeout(LONGEST) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                // SAFETY: a plain system call; the child was not waited for yet.
                unsafe { libc::kill(-child, libc::SIGKILL) };
            }
            late
        });
        Watch { over, thread }
    }

    /// Whether it had to be used.
    fn ended(self) -> bool {
        drop(self.over);
        self.thread.join().unwrap_or(false)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = -(self.0.id() as i32);
        // SAFETY: plain system calls; the group is that of our own child, which was not waited for unless it ended.
        let signal = |signal| unsafe { libc::kill(group, signal) };
        signal(libc::SIGTERM);
        let since = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) && since.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(20));
        }
        // Children that it left behind, too.
        signal(libc::SIGKILL);
        let _ = self.0.wait();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The last to start is the first to end.
        while self.services.pop().is_some() {}
        // What is left would only fill the disk.
        let _ = fs::remove_dir_all(&self.work);
    }
}

/// Installs what is missing, where we may.
fn install(packages: &[String]) -> anyhow::Result<()> {
    let installed = |package: &&String| {
        let query = ["-W", "-f", "${db:Status-Status}", package.as_str()];
        let asked = Command::new("dpkg-query")
            .args(query)
            .stderr(Stdio::null())
            .output();
        asked.is_ok_and(|asked| asked.stdout == b"installed")
    };
    let missing: Vec<&String> = packages
        .iter()
        .filter(|package| !installed(package))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing
        .iter()
        .map(|name| name.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    // SAFETY: a plain system call.
    if unsafe { libc::geteuid() } != 0 {
        bail!("not installed: {names} (apt-get install {names})");
    }
    let line =
        format!("apt-get update -q && apt-get install -q -y --no-install-recommends {names}");
    let mut apt = Command::new("sh");
    apt.args(["-c", &line])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null());
    let ended = apt.output().context("apt-get")?;
    if !ended.status.success() {
        bail!(
            "{names} cannot be installed: {}",
            String::from_utf8_lossy(&ended.stderr).trim()
        );
    }
    Ok(())
}
