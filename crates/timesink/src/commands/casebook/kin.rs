//! What descends from this process, by what the kernel says of who is whose child: found, and ended. A process that has left
//! its group or its session is found, too, as long as we are its nearest ancestor that adopts orphans (`adopt`).

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{
    getpid, kill_process, set_child_subreaper, waitpid, Pid, Signal, WaitOptions,
};
use timesink_capture::launch::stat_field;

/// Who cannot be killed, because it is another user's or stuck in the kernel, is waited for no longer than this.
const GRACE: Duration = Duration::from_secs(5);

/// From now on orphans below us become our children, and not those of the first process.
pub fn adopt() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Our own children, orphans that we adopted among them.
pub fn children() -> Vec<i32> {
    children_of(ourselves(), &with_parents())
}

/// Sends a signal to all that descend from us.
pub fn signal_all(signal: i32) {
    for process in below(&[]) {
        send(process, signal);
    }
}

/// Sends a signal to our children alone.
pub fn signal_children(signal: i32) {
    for process in children() {
        send(process, signal);
    }
}

/// Kills all that descend from us, except these children of ours and what is theirs. The caller waits for nobody else
/// meanwhile: who is killed here is also waited for.
pub fn end_all_except(kept: &[i32]) {
    let since = Instant::now();
    loop {
        let left = below(kept);
        if left.is_empty() || since.elapsed() > GRACE {
            return;
        }
        for &process in &left {
            send(process, libc::SIGKILL);
            // Of those that are not our own children nothing comes of this; they will be.
            let _ = waitpid(Pid::from_raw(process), WaitOptions::NOHANG);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn send(process: i32, signal: i32) {
    // Whoever has ended by now was not waited for, or is no process any more.
    if let Some((process, signal)) = Pid::from_raw(process).zip(Signal::from_named_raw(signal)) {
        let _ = kill_process(process, signal);
    }
}

fn ourselves() -> i32 {
    std::process::id() as i32
}

/// All that descend from us, except these children of ours and what is theirs.
fn below(kept: &[i32]) -> Vec<i32> {
    let all = with_parents();
    let mut found = children_of(ourselves(), &all);
    found.retain(|child| !kept.contains(child));
    let mut next = 0;
    while let Some(&process) = found.get(next) {
        // Numbers that are used again while we read could make a circle.
        let new = children_of(process, &all);
        let new: Vec<i32> = new.into_iter().filter(|new| !found.contains(new)).collect();
        found.extend(new);
        next += 1;
    }
    found
}

fn children_of(parent: i32, all: &[(i32, i32)]) -> Vec<i32> {
    let its = all.iter().filter(|(_, its)| *its == parent);
    its.map(|(process, _)| *process).collect()
}

/// Every process with its parent.
fn with_parents() -> Vec<(i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes
        .filter_map(|process: i32| {
            let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
            Some((process, parent_in(&stat)?))
        })
        .collect()
}

/// The parent, as `/proc/PID/stat` says it.
fn parent_in(stat: &[u8]) -> Option<i32> {
    stat_field(stat, 1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name with brackets and spaces does not hide the parent; what is cut short has none.
    #[test]
    fn the_parent_stands_after_the_name() {
        assert_eq!(parent_in(b"12 (a) S 1) R 77 12 12 0"), Some(77));
        assert_eq!(parent_in(b"12 (a"), None);
        assert_eq!(parent_in(b"12 (a) R"), None);
    }

    /// We ourselves descend from who started us.
    #[test]
    fn we_are_our_parents_child() {
        let parent = std::os::unix::process::parent_id() as i32;
        assert!(children_of(parent, &with_parents()).contains(&ourselves()));
    }
}
