//! A process of a case that runs, with all that it started: it may take only so long, and is ended with this at the latest.
//! What it prints goes to a file, so that nobody who holds a pipe open can make us wait.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{bail, Context};
use rustix::process::{kill_process_group, set_parent_process_death_signal, Pid, Signal};

use super::guard::{is_ending, GRACE};
use super::kin;

pub struct Running {
    child: Child,
    /// Our children that were there before it: the others are ended with it. `None`: no orphan is.
    before: Option<Vec<i32>>,
}

impl Running {
    /// Starts it, in a group of processes of its own.
    pub fn start(command: &mut Command) -> anyhow::Result<Running> {
        if is_ending() {
            bail!("ended by a signal");
        }
        let before = Some(kin::children());
        // If all of us are killed at once, it is asked to end at least.
        let asked = || Ok(set_parent_process_death_signal(Some(Signal::TERM))?);
        // SAFETY: between fork and exec there is one system call.
        #[allow(unsafe_code)]
        unsafe {
            command.process_group(0).pre_exec(asked);
        }
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command
            .spawn()
            .with_context(|| format!("{program} cannot be started"))?;
        Ok(Running { child, before })
    }

    /// Leaves orphans alone that come to us meanwhile, because they may be those of a service that is about to start.
    pub fn sparing_orphans(self) -> Running {
        let mut running = self;
        running.before = None;
        running
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits for its end; `None`: it took too long, and was killed.
    pub fn within(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        // To look now and then would be measured, too.
        let watch = Watchdog::over(Pid::from_child(&self.child), limit);
        let status = self.child.wait()?;
        Ok(match watch.ended() {
            true => None,
            false => Some(status),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The group is that of our own child, which was not waited for unless it ended. Who has ended is told nothing.
        let group = Pid::from_child(&self.child);
        let _ = kill_process_group(group, Signal::TERM);
        let since = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && since.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(20));
        }
        // Children that it left behind, too.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
        // And those that had left the group.
        if let Some(before) = &self.before {
            kin::end_all_except(before);
        }
    }
}

/// Ends a process that takes too long.
struct Watchdog {
    over: mpsc::Sender<()>,
    thread: std::thread::JoinHandle<bool>,
}

impl Watchdog {
    fn over(child: Pid, limit: Duration) -> Watchdog {
        let (over, waits) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let late = waits.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                // The child was not waited for yet.
                let _ = kill_process_group(child, Signal::KILL);
            }
            late
        });
        Watchdog { over, thread }
    }

    /// Whether it had to be used.
    fn ended(self) -> bool {
        drop(self.over);
        self.thread.join().unwrap_or(false)
    }
}

/// The last lines of what somebody printed into this file, to stand after what is said of its end. Where it writes is left
/// as it is: it may still run.
pub fn printed(file: &File) -> String {
    const MOST: u64 = 2000;
    let end = file.metadata().map_or(0, |about| about.len());
    let from = end.saturating_sub(MOST);
    let mut bytes = vec![0; (end - from) as usize];
    if file.read_exact_at(&mut bytes, from).is_err() {
        return ", and what it printed cannot be read".to_owned();
    }
    let text = String::from_utf8_lossy(&bytes);
    // The first line of what was cut is no whole one, unless it is all there is.
    let whole = match text.split_once('\n') {
        Some((_, rest)) if from > 0 && !rest.trim().is_empty() => rest,
        _ => &text,
    };
    match whole.trim() {
        "" => ", and it printed nothing".to_owned(),
        lines => format!("\n{lines}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Of much that was printed the last whole lines are shown, of one endless line its end, of nothing a word.
    #[test]
    fn the_last_lines_are_shown() {
        let path = std::env::temp_dir().join(format!("timesink-printed-{}", std::process::id()));
        let open = File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(&path);
        let mut file = open.expect("a file of our own");
        std::fs::remove_file(&path).expect("it is ours");
        assert_eq!(printed(&file), ", and it printed nothing");
        for n in 0..1000 {
            writeln!(file, "line {n}").expect("written");
        }
        let last = printed(&file);
        assert!(last.ends_with("\nline 998\nline 999"), "{last}");
        assert!(last.starts_with("\nline "), "{last}");
        file.set_len(0).expect("emptied");
        file.write_all_at(&[b'x'; 9000], 0).expect("written");
        assert_eq!(printed(&file).len(), 2001);
    }
}
