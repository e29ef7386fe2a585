//! Where a case plays: what it needs is installed, its work folder made, its services started and ended again.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{bail, Context};
use rustix::fs::FlockOperation;
use timesink_capture::launch::Identity;

use super::case::{sudo_user, Case, Service, WORK};
use super::guard::{self, is_ending};
use super::kin;
use super::running::{printed, Running};

/// A service that is not ready after so long will not be.
const PATIENCE: Duration = Duration::from_secs(30);
/// No form takes so long, unless the case says so.
const LONGEST: Duration = Duration::from_secs(120);
/// No command of a set-up takes so long, unless the case says so; no installation does.
const LONGEST_SET_UP: Duration = Duration::from_secs(600);

/// A case that is ready to be run.
pub struct Stage {
    pub work: PathBuf,
    case: PathBuf,
    /// Who called sudo, as whom all that the case says is run. `None`: as whom timesink runs.
    user: Option<Identity>,
    /// How long a command may take, if the case says so.
    longest: Option<Duration>,
    services: Vec<Running>,
    /// Held while the case plays: its folder and its ports are ours alone.
    _ours: File,
}

impl Stage {
    /// Makes a case ready.
    pub fn set(case: &Case) -> anyhow::Result<Stage> {
        let ours = alone(&case.folder)?;
        for &port in &case.ports {
            free(port)?;
        }
        let user = sudo_user()?;
        let work = case.folder.join(WORK);
        anew(&work, user.as_ref()).with_context(|| work.display().to_string())?;
        let mut stage = Stage {
            work,
            case: case.folder.clone(),
            user,
            longest: case.longest_s.map(Duration::from_secs),
            services: Vec::new(),
            _ours: ours,
        };
        stage.install(&case.packages)?;
        for line in &case.setup {
            let mut shell = stage.command("sh");
            shell.args(["-euc", line]);
            let limit = stage.longest.unwrap_or(LONGEST_SET_UP);
            stage
                .run_within(&mut shell, limit, Running::start)
                .with_context(|| format!("set-up: {line}"))?;
        }
        for service in &case.services {
            stage
                .start(service)
                .with_context(|| format!("service: {}", service.command))?;
        }
        Ok(stage)
    }

    /// A command in the case's work folder, which knows where the case is, and where to put what is only for a while. It has
    /// no more rights than who called sudo.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        if let Some(user) = &self.user {
            user.runs(&mut command);
        }
        self.here(&mut command);
        command
    }

    /// The same with our own rights: what is installed, and what records, which itself gives them up for the program.
    pub fn command_of_ours(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        self.here(&mut command);
        command
    }

    fn here(&self, command: &mut Command) {
        command
            .current_dir(&self.work)
            .env("CASE", &self.case)
            .env("TMPDIR", self.work.join("tmp"))
            .stdin(Stdio::null());
    }

    /// Does something with files of the case, which may be links to anything: with the rights of who may write there.
    pub fn with_files<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        as_user(self.user.as_ref(), work)
    }

    /// Who called sudo.
    pub fn user(&self) -> Option<&Identity> {
        self.user.as_ref()
    }

    /// The words of a command, with the case's folder where they say `$CASE`.
    pub fn filled(&self, words: &[String]) -> Vec<String> {
        let case = self.case.to_string_lossy();
        words
            .iter()
            .map(|word| word.replace("$CASE", &case))
            .collect()
    }

    /// Runs a form to its end. It may take only so long, and nothing that it started is left running.
    pub fn run(&self, command: &mut Command) -> anyhow::Result<Duration> {
        self.run_within(command, self.longest.unwrap_or(LONGEST), Running::start)
    }

    fn run_within(
        &self,
        command: &mut Command,
        limit: Duration,
        start: impl Fn(&mut Command) -> anyhow::Result<Running>,
    ) -> anyhow::Result<Duration> {
        let errors = self.file("command.err")?;
        command.stdout(Stdio::null()).stderr(errors.try_clone()?);
        let since = Instant::now();
        let mut running = start(command)?;
        let status = running.within(limit)?;
        let took = since.elapsed();
        match status {
            Some(status) if status.success() => Ok(took),
            Some(status) => bail!("{status}{}", printed(&errors)),
            None => bail!("it did not end within {limit:?}{}", printed(&errors)),
        }
    }

    fn file(&self, name: &str) -> io::Result<File> {
        let open = || {
            File::options()
                .create(true)
                .truncate(true)
                .read(true)
                .write(true)
                .open(self.work.join(name))
        };
        self.with_files(open)
    }

    fn start(&mut self, service: &Service) -> anyhow::Result<()> {
        let said = self.file(&format!("service-{}.out", self.services.len() + 1))?;
        let mut command = self.command("sh");
        command
            .args(["-c", &service.command])
            .stdout(said.try_clone()?)
            .stderr(said.try_clone()?);
        let mut running = Running::start(&mut command)?;
        let patience = self.longest.unwrap_or(PATIENCE).min(PATIENCE);
        let since = Instant::now();
        loop {
            if let Some(status) = running.ended()? {
                bail!("it ended at once ({status}){}", printed(&said));
            }
            let left = patience.saturating_sub(since.elapsed());
            if left.is_zero() || is_ending() {
                bail!("it is not ready after {patience:?}{}", printed(&said));
            }
            let mut ready = self.command("sh");
            ready.args(["-c", &service.ready]);
            // Whoever asks may wait in vain, too.
            let start = |ready: &mut Command| Running::start(ready).map(Running::sparing_orphans);
            if self.run_within(&mut ready, left, start).is_ok() {
                self.services.push(running);
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Installs what is missing, where we may.
    fn install(&self, packages: &[String]) -> anyhow::Result<()> {
        let missing: Vec<&str> = packages
            .iter()
            .map(String::as_str)
            .filter(|package| !is_installed(package))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let names = missing.join(" ");
        if !rustix::process::geteuid().is_root() {
            bail!("not installed: {names} (apt-get install {names})");
        }
        let _whole = guard::INSTALLING.lock();
        let apt = |arguments: &[&str]| {
            let mut apt = self.command_of_ours("apt-get");
            apt.args(["-q", "-y", "-o", "DPkg::Lock::Timeout=60"])
                .args(arguments)
                .env("DEBIAN_FRONTEND", "noninteractive");
            self.run_within(&mut apt, LONGEST_SET_UP, Running::start)
                .with_context(|| format!("{names} cannot be installed"))
        };
        apt(&["update"])?;
        apt(&[&["install", "--no-install-recommends"], &missing[..]].concat())?;
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The last to start is the first to end.
        while self.services.pop().is_some() {}
        kin::end_all_except(&[]);
        // What is left would only fill the disk.
        let _ = removed(&self.work, self.user.as_ref());
    }
}

/// Takes a case's folder for us as long as the file is open: another timesink would take away what we work with.
fn alone(folder: &Path) -> anyhow::Result<File> {
    let file = File::open(folder).with_context(|| folder.display().to_string())?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(_) => bail!("another timesink runs this case now"),
    }
}

fn free(port: u16) -> anyhow::Result<()> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            bail!("port {port}, which it needs, is in use")
        }
        Err(error) => Err(error).with_context(|| format!("port {port}")),
    }
}

fn as_user<T>(user: Option<&Identity>, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match user {
        Some(user) => user.with_files(work).map_err(io::Error::other)?,
        None => work(),
    }
}

/// Makes the folder anew: what somebody who was killed left there would be in the way. It is the user's in any case, and
/// in a folder of theirs nothing is made or removed but with their own rights.
fn anew(work: &Path, user: Option<&Identity>) -> io::Result<()> {
    let temporary = work.join("tmp");
    removed(work, user)?;
    let made = || fs::create_dir(work).and_then(|()| fs::create_dir(&temporary));
    match user {
        Some(user) if !is_of(work, user) => {
            made()?;
            // Nobody but root could have put something else there: `book` has looked at it.
            for folder in [work, &temporary] {
                std::os::unix::fs::lchown(folder, Some(user.uid()), Some(user.gid()))?;
            }
            Ok(())
        }
        user => as_user(user, made),
    }
}

/// Whether the folder that this is in belongs to the user.
fn is_of(work: &Path, user: &Identity) -> bool {
    let above = work.parent().and_then(|above| fs::metadata(above).ok());
    above.is_some_and(|about| about.uid() == user.uid())
}

fn removed(work: &Path, user: Option<&Identity>) -> io::Result<()> {
    let remove = || match fs::remove_dir_all(work) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    match user {
        Some(user) if !is_of(work, user) => remove(),
        user => as_user(user, remove),
    }
}

fn is_installed(package: &str) -> bool {
    let query = ["-W", "-f", "${db:Status-Status}", package];
    let asked = Command::new("dpkg-query")
        .args(query)
        .stderr(Stdio::null())
        .output();
    asked.is_ok_and(|asked| asked.stdout == b"installed")
}
