//! The maps that runtimes write of the code that they make, `/tmp/perf-PID.map`. A process is looked at as
//! soon as it has such memory, because its folders and numbers are its own and it may be gone at the end;
//! its map is read at the end, because Java writes it then. Maps that are only there because of our flags
//! are removed when their process is gone.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};

use crate::address_space::Space;
use crate::launch::{writes_for_us, Identity};
use crate::probes::events;
use crate::symbols::PerfMap;

/// Different folders that are held; there is one for each container.
const MOST_FOLDERS: usize = 64;
/// What is read of a process's environment and arguments.
const LONGEST_TEXT: u64 = 4 << 20;

/// Which map: that of a process, as long as it executes the same program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MapIndex(u32);

pub struct PerfMaps {
    maps: Vec<Map>,
    /// The one of each process now.
    current: HashMap<u32, MapIndex>,
    /// By device and inode.
    folders: HashMap<(u64, u64), Arc<OwnedFd>>,
    /// With whose rights they are read and removed.
    identity: Option<Identity>,
    /// Maps from before are of other processes.
    since: Option<SystemTime>,
    /// What each process executed last: as whom, with which arguments.
    executed: HashMap<u32, (u32, Box<[u8]>)>,
    /// The program's environment, as /proc has such.
    environment: Vec<u8>,
}

struct Map {
    pid: u32,
    folder: Arc<OwnedFd>,
    name: String,
    user: u32,
    /// It is there because of our flags.
    ours: bool,
}

impl PerfMaps {
    /// With `since`, only maps that were written from then on count, and only those can be ours.
    pub fn new(
        identity: Option<Identity>,
        since: Option<SystemTime>,
        environment: Vec<u8>,
    ) -> PerfMaps {
        PerfMaps {
            maps: Vec::new(),
            current: HashMap::new(),
            folders: HashMap::new(),
            identity,
            since,
            executed: HashMap::new(),
            environment,
        }
    }

    /// A process executes another program.
    pub fn executed(&mut self, exec: &events::ts_exec) {
        let length = (exec.arguments_length as usize).min(exec.arguments.len());
        let arguments = exec.arguments[..length].iter().map(|&c| c as u8).collect();
        self.executed.insert(exec.tid, (exec.uid, arguments));
    }

    /// This process, which has mapped these things, has memory with code that no file is behind.
    pub fn notice(&mut self, pid: u32, space: Option<&Space>) {
        // What is known of the number is of an earlier process.
        self.current.remove(&pid);
        let java = self.since.and(space).is_some_and(runs_java);
        if let Some(map) = self.look(pid, java).or_else(|| self.guess(pid, java)) {
            self.current.insert(pid, MapIndex(self.maps.len() as u32));
            self.maps.push(map);
        }
    }

    pub fn of(&self, pid: u32) -> Option<MapIndex> {
        self.current.get(&pid).copied()
    }

    fn look(&mut self, pid: u32, java: bool) -> Option<Map> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let inner: u32 = field(&status, "NSpid:")?.last()?.parse().ok()?;
        let user: u32 = field(&status, "Uid:")?.nth(1)?.parse().ok()?;
        let text = |name| read_some(&format!("/proc/{pid}/{name}"));
        Some(Map {
            pid,
            folder: self.folder(pid)?,
            name: format!("perf-{inner}.map"),
            user,
            ours: java && writes_for_us(&text("environ"), &text("cmdline")),
        })
    }

    /// A process that lived so shortly that it is gone, and can only be thought to see what we see.
    fn guess(&mut self, pid: u32, java: bool) -> Option<Map> {
        let (user, arguments) = self.executed.get(&pid)?;
        let whole = arguments.len() < events::TS_ARGUMENTS as usize;
        let ours = java && whole && writes_for_us(&self.environment, arguments);
        let user = *user;
        Some(Map {
            pid,
            folder: self.folder(std::process::id())?,
            name: format!("perf-{pid}.map"),
            user,
            ours,
        })
    }

    /// The process's own `/tmp`. What is a link in it leads where it leads for the process.
    fn folder(&mut self, pid: u32) -> Option<Arc<OwnedFd>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(format!("/proc/{pid}/root"), flags, Mode::empty()).ok()?;
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let folder = rustix::fs::openat2(root, "tmp", flags, Mode::empty(), inside).ok()?;
        let about = rustix::fs::fstat(&folder).ok()?;
        let key = (about.st_dev, about.st_ino);
        if let Some(known) = self.folders.get(&key) {
            return Some(known.clone());
        }
        if self.folders.len() >= MOST_FOLDERS {
            return None;
        }
        let folder = Arc::new(folder);
        self.folders.insert(key, folder.clone());
        Some(folder)
    }

    /// The names of addresses, for those maps that have them. Called when all is over.
    pub fn names(
        &self,
        wanted: &HashMap<MapIndex, Vec<u64>>,
    ) -> HashMap<MapIndex, Vec<Option<Arc<str>>>> {
        let work = || {
            let mut named = HashMap::new();
            for &index in self.current.values() {
                let addresses = wanted.get(&index).map_or(&[][..], Vec::as_slice);
                if let Some(names) = self.maps[index.0 as usize].take(addresses, self.since) {
                    named.insert(index, names);
                }
            }
            named
        };
        match &self.identity {
            Some(identity) => identity.with_files(work).unwrap_or_default(),
            None => work(),
        }
    }
}

impl Map {
    /// Reads the map, and removes it if it is ours and its process is gone.
    fn take(&self, addresses: &[u64], since: Option<SystemTime>) -> Option<Vec<Option<Arc<str>>>> {
        let map = PerfMap::open(self.folder.as_fd(), &self.name, self.user).ok()?;
        let about = map.metadata().ok()?;
        let after = |time: std::io::Result<SystemTime>| {
            since.is_none_or(|since| time.is_ok_and(|time| time >= since))
        };
        if !after(about.modified()) {
            return None;
        }
        let names = (!addresses.is_empty()).then(|| map.names(addresses).ok());
        // A file system that does not tell when a file was made keeps it.
        let ours = self.ours && about.uid() == self.user && after(about.created());
        if ours && is_gone(self.pid) {
            self.remove((about.dev(), about.ino()));
        }
        names.flatten()
    }

    /// Only the very file that was read. Should its owner put another one there in this moment, that goes,
    /// which the owner could have had without us.
    fn remove(&self, file: (u64, u64)) {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let there = rustix::fs::statat(&self.folder, &self.name, flags);
        if there.is_ok_and(|there| (there.st_dev, there.st_ino) == file) {
            // One that cannot be removed does no harm.
            let _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// The words behind the name of a line.
fn field<'a>(status: &'a str, name: &str) -> Option<std::str::SplitWhitespace<'a>> {
    let rest = status.lines().find_map(|line| line.strip_prefix(name));
    Some(rest?.split_whitespace())
}

fn read_some(path: &str) -> Vec<u8> {
    let mut text = Vec::new();
    if let Ok(file) = File::open(path) {
        // What was read until an error is what there is.
        let _ = file.take(LONGEST_TEXT).read_to_end(&mut text);
    }
    text
}

/// Whether this is Java, which our flags are for: others write maps because somebody asked them to.
fn runs_java(space: &Space) -> bool {
    let mut files = space.mappings().iter().map(|m| m.image.path());
    files.any(|path| path.file_name().is_some_and(|name| name == "libjvm.so"))
}

/// Whether a process has ended, also if nobody has asked how.
fn is_gone(pid: u32) -> bool {
    let stat = Path::new("/proc").join(pid.to_string()).join("stat");
    let Ok(stat) = std::fs::read_to_string(stat) else {
        return true;
    };
    // The name before it may hold anything.
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    matches!(state, Some(Some('Z' | 'X')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that runs is not gone; one that waits to be asked how it ended is.
    #[test]
    fn who_is_gone() {
        assert!(!is_gone(std::process::id()));
        let mut child = std::process::Command::new("true").spawn().expect("true");
        let pid = child.id();
        while !is_gone(pid) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.wait().expect("it ended");
        assert!(is_gone(pid));
    }

    /// Names come from the process's own folder; a map from before the recording, or behind a link, is none.
    #[test]
    fn maps_are_found() {
        let pid = std::process::id();
        let path = std::env::temp_dir().join(format!("perf-{pid}.map"));
        if path.parent() != Some(Path::new("/tmp")) {
            return;
        }
        let named = |since| {
            let mut maps = PerfMaps::new(None, since, Vec::new());
            maps.notice(pid, None);
            let index = maps.of(pid).expect("we run");
            let names = maps.names(&HashMap::from([(index, vec![0x1008])]));
            names.get(&index).and_then(|names| names[0].clone())
        };
        std::fs::write(&path, "1000 10 made\n").expect("a map");
        assert_eq!(named(None).as_deref(), Some("made"));
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        assert_eq!(named(Some(later)), None);
        let other = path.with_extension("other");
        std::fs::rename(&path, &other).expect("moved");
        std::os::unix::fs::symlink(&other, &path).expect("a link");
        assert_eq!(named(None), None);
        std::fs::remove_file(&path).expect("removed");
        std::fs::remove_file(&other).expect("removed");
    }
}
