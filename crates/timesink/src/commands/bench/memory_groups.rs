//! A control group for each run, of which the kernel tells the peak of memory: of all its processes together, with what of files they brought
//! into the page cache. Only in version 2, beside the group that we are in, and only where leaving that changes no limit and no weight.

use std::cell::Cell;
use std::fs::read_to_string;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{test_kill_process, Pid};
use timesink_capture::control_groups::{write, Groups};
use timesink_recording::files::Folder;
use timesink_recording::ErrorKind;

use super::child::reap;
use super::start::fork_into;

const NAME: &str = "timesink-run-";
/// How often, and after what, it is tried to remove a group whose processes were killed.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// Where groups can be made.
pub struct Place {
    around: Folder,
    /// The group that we are in.
    own: PathBuf,
    made: Cell<u32>,
}

/// A group that is removed when this is dropped.
pub struct RunGroup<'p> {
    place: &'p Place,
    name: String,
    folder: Folder,
}

impl Place {
    /// If there is one. What timesinks that were killed left there is removed. To be called while there is one thread.
    pub fn find() -> Option<Place> {
        let groups = Groups::of(std::process::id());
        let around = beside(&groups.unified, &groups.root)?;
        let place = Place {
            around: Folder::open(around).ok()?,
            own: groups.unified,
            made: Cell::new(0),
        };
        remove_leftovers(&place.around, NAME);
        place.is_usable().then_some(place)
    }

    pub fn make(&self) -> io::Result<RunGroup<'_>> {
        let name = format!("{NAME}{}-{}", std::process::id(), self.made.get());
        self.made.set(self.made.get() + 1);
        self.around
            .make_group_within(&name)
            .map_err(io::Error::other)?;
        let folder = self.around.folder_within(&name);
        if folder.is_err() {
            let _ = self.around.remove_folder(&name);
        }
        Ok(RunGroup {
            place: self,
            name,
            folder: folder.map_err(io::Error::other)?,
        })
    }

    /// Whether a process can be begun in a group here, and its peak be read: tried once.
    #[allow(unsafe_code)]
    fn is_usable(&self) -> bool {
        let Ok(group) = self.make() else {
            return false;
        };
        match fork_into(&group) {
            // SAFETY: nothing of ours is to be done by the child.
            Ok(None) => unsafe { libc::_exit(0) },
            Ok(Some(pid)) => reap(pid).is_ok() && group.peak().is_some(),
            Err(_) => false,
        }
    }
}

/// Removes groups with such names that have no processes, and whose timesink is not there any more.
pub fn remove_leftovers(around: &Folder, prefix: &str) {
    for name in around.names().unwrap_or_default() {
        if name.to_str().is_some_and(|name| is_left_over(name, prefix)) {
            // One in which something still runs stays.
            let _ = around.remove_folder(&name);
        }
    }
}

/// Whether this is the name of something that a timesink made which was killed.
pub fn is_left_over(name: &str, prefix: &str) -> bool {
    let owner = owner(name, prefix).and_then(Pid::from_raw);
    owner.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// The process that made something, by its name.
fn owner(name: &str, prefix: &str) -> Option<i32> {
    let (pid, number) = name.strip_prefix(prefix)?.split_once('-')?;
    number.parse::<u32>().ok()?;
    pid.parse().ok()
}

impl AsFd for RunGroup<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

impl RunGroup<'_> {
    /// The most memory that its processes had together.
    pub fn peak(&self) -> Option<u64> {
        let text = read_to_string(self.folder.path_of("memory.peak")).ok()?;
        text.trim().parse().ok()
    }

    /// Kills all that is in it.
    pub fn kill(&self) {
        let _ = write(&self.folder.path_of("cgroup.kill"), "1");
    }

    /// Moves what the run left behind to where it would have been without a group.
    fn leave(&self) {
        let left = read_to_string(self.folder.path_of("cgroup.procs"));
        for pid in left.unwrap_or_default().lines() {
            // One that has ended meanwhile needs not be moved.
            let _ = write(&self.place.own.join("cgroup.procs"), pid);
        }
    }
}

impl Drop for RunGroup<'_> {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            match self.place.around.remove_folder(&self.name) {
                Err(error) if error.kind() != ErrorKind::NotFound => self.leave(),
                _ => return,
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// The group around ours in which one can be made that has the kernel count its memory, and in which a process is what it is in ours: nothing
/// between has a limit or a weight.
fn beside<'g>(own: &'g Path, root: &Path) -> Option<&'g Path> {
    for group in own.ancestors().take_while(|one| one.starts_with(root)) {
        if has(group, "memory") {
            // Processes outside of all groups share the processors with whole groups.
            return (group != own || !has(group, "cpu")).then_some(group);
        }
        if !is_unlimited(group) {
            return None;
        }
    }
    None
}

/// Whether a group passes a controller on to those within.
fn has(group: &Path, controller: &str) -> bool {
    let passed = read_to_string(group.join("cgroup.subtree_control"));
    let passed = passed.unwrap_or_default();
    passed.split_whitespace().any(|name| name == controller)
}

/// Whether a group has what each new one has. Where a controller is not at work, its files are not there.
fn is_unlimited(group: &Path) -> bool {
    const AS_MADE: [(&str, &[&str]); 17] = [
        ("cpu.max", &["max 100000"]),
        ("cpu.weight", &["100"]),
        ("cpu.idle", &["0"]),
        ("cpu.uclamp.min", &["0.00"]),
        ("cpu.uclamp.max", &["max"]),
        ("cpuset.cpus", &[""]),
        ("cpuset.mems", &[""]),
        ("io.max", &[""]),
        ("io.latency", &[""]),
        ("io.weight", &["default 100", ""]),
        ("io.bfq.weight", &["default 100", ""]),
        ("memory.min", &["0"]),
        ("memory.low", &["0"]),
        ("memory.high", &["max"]),
        ("memory.max", &["max"]),
        ("memory.swap.max", &["max"]),
        ("memory.zswap.max", &["max"]),
    ];
    AS_MADE
        .iter()
        .all(|(file, values)| match read_to_string(group.join(file)) {
            Ok(text) => values.contains(&text.trim()),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group can be made beside ours where one around it counts memory, unless ours has a limit or a weight.
    #[test]
    fn groups_are_made_where_nothing_else_changes() {
        let root = std::env::temp_dir().join(format!("timesink-groups-{}", std::process::id()));
        let own = root.join("user.slice/session.scope");
        std::fs::create_dir_all(&own).expect("folders");
        let set = |group: &Path, file: &str, text: &str| {
            std::fs::write(group.join(file), text).expect("a file");
        };
        let slice = root.join("user.slice");
        assert_eq!(beside(&own, &root), None);
        set(&root, "cgroup.subtree_control", "cpu memory\n");
        assert_eq!(beside(&own, &root), Some(root.as_path()));
        set(&slice, "cgroup.subtree_control", "memory pids\n");
        set(&own, "memory.max", "max\n");
        set(&own, "cpuset.cpus", "\n");
        assert_eq!(beside(&own, &root), Some(slice.as_path()));
        set(&own, "cpu.weight", "50\n");
        assert_eq!(beside(&own, &root), None);
        set(&own, "cpu.weight", "100\n");
        set(&own, "memory.high", "1048576\n");
        assert_eq!(beside(&own, &root), None);
        // Out of no group at all, into one that has a share of the processors.
        assert_eq!(beside(&root, &root), None);
        set(&root, "cgroup.subtree_control", "memory\n");
        assert_eq!(beside(&root, &root), Some(root.as_path()));
        std::fs::remove_dir_all(&root).expect("it goes");
    }

    /// What others named is not ours.
    #[test]
    fn names_tell_who_made_a_group() {
        assert_eq!(owner("timesink-run-12-3", NAME), Some(12));
        assert_eq!(owner("timesink-run-12", NAME), None);
        assert_eq!(owner("timesink-prove-12-3", NAME), None);
        assert_eq!(owner("timesink-run-x-3", NAME), None);
    }
}
