//! The maps that runtimes write of the code that they make, `/tmp/perf-PID.map`. A process is looked at as
//! soon as it has such memory, because its folders and numbers are its own and it may be gone at the end;
//! its map is read at the end, because Java, where somebody asked it to, writes it then. Nobody is asked for one by us, and
//! none is removed.
//!
//! Code is thrown away, and other code put in its place. A map that is written meanwhile is followed: when it
//! speaks anew of a place that was in a stack already, what comes from then on is another part of the
//! recording, and each part has the names that the map had by its end.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::in_child::{in_child, Ended};
use crate::launch::Identity;
use crate::patience::Patience;
use crate::probes::events;
use crate::reader::{ProcessFolder, Reader};
use crate::symbols::{Names, PerfMap, Tail, Wanted};

/// Different folders that are held: one for each container.
const MOST_FOLDERS: usize = 256;
/// A map that takes longer is passed over, and so many of them, before it is given up on all others.
const LONGEST_OF_ONE: Duration = Duration::from_secs(10);
const MOST_NOT_READ: u64 = 3;
/// So many maps are followed at once; each into so many parts.
const MOST_FOLLOWED: usize = 64;
const MOST_PARTS: usize = 64;
/// So often it is looked whether a map is there that could be followed. Java writes its own only at the end.
const PATIENCE: u32 = 100;

/// Which map: that of a process, as long as it executes the same program; and which part of the recording, as
/// long as no code takes the place of other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MapIndex {
    map: u32,
    part: u32,
}

pub struct PerfMaps {
    maps: Vec<Map>,
    /// The one of each process now.
    current: HashMap<u32, MapIndex>,
    /// Those that are followed.
    followed: Vec<u32>,
    /// By device and inode.
    folders: HashMap<(u64, u64), Arc<OwnedFd>>,
    /// With whose rights they are read.
    identity: Option<Identity>,
    /// Maps from before are of other processes.
    since: Option<SystemTime>,
    /// But not for these, which ran before then.
    older: HashSet<u32>,
    /// As whom each process executed what it did last.
    executed: HashMap<u32, u32>,
    /// Who reads what belongs to processes while they run.
    reader: Arc<Reader>,
}

struct Map {
    pid: u32,
    folder: Arc<OwnedFd>,
    name: String,
    user: u32,
    /// It counts only if it was written since then.
    since: Option<SystemTime>,
    /// How long it was when each part but the last one ended.
    ends: Vec<u64>,
    tail: Option<Tail>,
    /// How often it was looked for.
    tried: u32,
    /// The code that was in stacks of this part.
    seen: BTreeSet<u64>,
}

impl PerfMaps {
    /// With `since`, only maps that were written from then on count.
    pub fn new(
        identity: Option<Identity>,
        since: Option<SystemTime>,
        reader: Arc<Reader>,
    ) -> PerfMaps {
        PerfMaps {
            maps: Vec::new(),
            current: HashMap::new(),
            followed: Vec::new(),
            folders: HashMap::new(),
            identity,
            since,
            older: HashSet::new(),
            executed: HashMap::new(),
            reader,
        }
    }

    /// These processes run already, and may have begun with their maps.
    pub fn ran_before(&mut self, pids: &[u32]) {
        self.older.extend(pids);
    }

    /// A process executes another program.
    pub fn executed(&mut self, exec: &events::ts_exec) {
        self.older.remove(&exec.tid);
        self.executed.insert(exec.tid, exec.uid);
    }

    /// This process has memory with code that no file is behind.
    pub fn notice(&mut self, pid: u32) {
        // What is known of the number is of an earlier process.
        self.current.remove(&pid);
        if let Some(map) = self.look(pid).or_else(|| self.guess(pid)) {
            let number = self.maps.len() as u32;
            if self.followed.len() < MOST_FOLLOWED {
                self.followed.push(number);
            }
            let index = MapIndex {
                map: number,
                part: 0,
            };
            self.current.insert(pid, index);
            self.maps.push(map);
        }
    }

    pub fn of(&self, pid: u32) -> Option<MapIndex> {
        self.current.get(&pid).copied()
    }

    /// This code was in a stack.
    pub fn seen(&mut self, index: MapIndex, address: u64) {
        self.maps[index.map as usize].seen.insert(address);
    }

    /// Looks at what was written to maps since the last time, before stacks are looked at that came since then.
    pub fn follow(&mut self) {
        for &number in &self.followed {
            let map = &mut self.maps[number as usize];
            if map.tail.is_none() && map.tried < PATIENCE {
                map.tried += 1;
                map.tail = map.opened_for_following(&self.reader);
            }
            if map.takes_places() {
                let part = map.ends.len() as u32;
                let now = self.current.get_mut(&map.pid);
                if let Some(index) = now.filter(|index| index.map == number) {
                    index.part = part;
                }
            }
        }
    }

    /// A process may have ended.
    pub fn look_again(&mut self) {
        let maps = &mut self.maps;
        self.followed.retain(|&number| {
            let map = &mut maps[number as usize];
            let gone = is_gone(map.pid) || (map.tail.is_none() && map.tried >= PATIENCE);
            if gone {
                map.tail = None;
            }
            !gone
        });
    }

    fn look(&mut self, pid: u32) -> Option<Map> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let inner: u32 = field(&status, "NSpid:")?.last()?.parse().ok()?;
        let user: u32 = field(&status, "Uid:")?.nth(1)?.parse().ok()?;
        let folder = self.temporary(pid)?;
        Some(self.map(pid, folder, inner, user))
    }

    /// A process that lived so shortly that it is gone, and can only be thought to see what we see.
    fn guess(&mut self, pid: u32) -> Option<Map> {
        let user = *self.executed.get(&pid)?;
        let folder = self.temporary(std::process::id())?;
        Some(self.map(pid, folder, pid, user))
    }

    /// The map of a process that calls itself `inner`.
    fn map(&self, pid: u32, folder: Arc<OwnedFd>, inner: u32, user: u32) -> Map {
        Map {
            pid,
            folder,
            name: format!("perf-{inner}.map"),
            user,
            since: self.since.filter(|_| !self.older.contains(&pid)),
            ends: Vec::new(),
            tail: None,
            tried: 0,
            seen: BTreeSet::new(),
        }
    }

    /// The process's own `/tmp`. What is a link in it leads where it leads for the process. The same folder is held once.
    fn temporary(&mut self, pid: u32) -> Option<Arc<OwnedFd>> {
        let (folder, about) = self.reader.folder(pid, ProcessFolder::Temporary).ok()?;
        let key = (about.device, about.inode);
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

    /// The names of addresses, for those maps that have them; and how many maps were not read. Called when all is over.
    pub fn names(
        &self,
        wanted: &HashMap<MapIndex, Vec<u64>>,
        patience: &Patience,
    ) -> (HashMap<MapIndex, Names>, u64) {
        // In the order of their numbers, as their answers come.
        let maps: BTreeSet<u32> = self.current.values().map(|index| index.map).collect();
        let mut maps: VecDeque<u32> = maps.into_iter().collect();
        let folders = self.maps.iter().map(|map| map.folder.as_raw_fd());
        let kept: Vec<RawFd> = folders.collect();
        let mut named = HashMap::new();
        let mut not_read = 0;
        while !maps.is_empty() && not_read < MOST_NOT_READ && patience.ended().is_none() {
            let here = maps.clone();
            let work = |hand_over: &mut dyn FnMut(&Told)| {
                for map in here {
                    hand_over(&self.told(map, wanted));
                }
            };
            let take = |told: Told| {
                if let Some(map) = maps.pop_front() {
                    named.extend(self.named(map, wanted).into_iter().zip(names_of(told)));
                }
            };
            let ended = in_child(patience, LONGEST_OF_ONE, &kept, work, take);
            if !matches!(ended, Ok(Ended::Done)) && maps.pop_front().is_some() {
                not_read += 1;
            }
        }
        (named, not_read + maps.len() as u64)
    }

    /// The parts of a map for which there is something to name.
    fn named(&self, map: u32, wanted: &HashMap<MapIndex, Vec<u64>>) -> Vec<MapIndex> {
        let parts = 0..=self.maps[map as usize].ends.len() as u32;
        let parts = parts.map(|part| MapIndex { map, part });
        parts.filter(|part| wanted.contains_key(part)).collect()
    }

    /// What one map says of all its parts.
    fn told(&self, number: u32, wanted: &HashMap<MapIndex, Vec<u64>>) -> Told {
        let map = &self.maps[number as usize];
        let part = |index: MapIndex| Wanted {
            addresses: &wanted[&index],
            until: map
                .ends
                .get(index.part as usize)
                .map_or(u64::MAX, |end| *end),
        };
        let parts = self.named(number, wanted);
        let asked: Vec<_> = parts.into_iter().map(part).collect();
        let names = with_rights(&self.identity, || map.take(&asked).unwrap_or_default());
        let text = |name: Option<Arc<str>>| name.map(|name| name.to_string());
        let names = names.into_iter();
        names
            .map(|part| part.into_iter().map(text).collect())
            .collect()
    }
}

/// What a map says, as it is handed over: for each part a name for each address.
type Told = Vec<Vec<Option<String>>>;

fn names_of(told: Told) -> Vec<Names> {
    let name = |name: Option<String>| name.map(Arc::from);
    let parts = told.into_iter();
    parts
        .map(|part| part.into_iter().map(name).collect())
        .collect()
}

/// What comes of work that is done with somebody's rights to files; nothing, if these are not to be had.
fn with_rights<T: Default>(identity: &Option<Identity>, work: impl FnOnce() -> T) -> T {
    match identity {
        Some(identity) => identity.with_files(work).unwrap_or_default(),
        None => work(),
    }
}

/// Whether something happened since then.
fn after(time: std::io::Result<SystemTime>, since: Option<SystemTime>) -> bool {
    since.is_none_or(|since| time.is_ok_and(|time| time >= since))
}

impl Map {
    fn open(&self) -> Option<PerfMap> {
        PerfMap::open(self.folder.as_fd(), &self.name, self.user).ok()
    }

    /// To see what is written to it from now on.
    fn opened_for_following(&self, reader: &Arc<Reader>) -> Option<Tail> {
        let file = reader.in_folder(self.pid, self.folder.as_fd(), &self.name);
        Tail::of(file.ok()?, self.user).ok()
    }

    /// Whether it says something new of code that was in stacks already: then another part begins.
    fn takes_places(&mut self) -> bool {
        let Some(tail) = &mut self.tail else {
            return false;
        };
        let length = tail.read();
        let mut ranges = tail.ranges().into_iter();
        let reused = ranges.any(|range| self.seen.range(range).next().is_some());
        if reused && self.ends.len() < MOST_PARTS {
            self.ends.push(length);
            self.seen.clear();
            return true;
        }
        false
    }

    /// Reads the map.
    fn take(&self, wanted: &[Wanted<'_>]) -> Option<Vec<Names>> {
        let map = self.open()?;
        let about = map.metadata().ok()?;
        if !after(about.modified(), self.since) {
            return None;
        }
        (!wanted.is_empty())
            .then(|| map.names(wanted).ok())
            .flatten()
    }
}

/// The words behind the name of a line.
fn field<'a>(status: &'a str, name: &str) -> Option<std::str::SplitWhitespace<'a>> {
    let rest = status.lines().find_map(|line| line.strip_prefix(name));
    Some(rest?.split_whitespace())
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
    use rustix::fs::{Mode, OFlags};
    use std::os::unix::fs::MetadataExt;

    fn reader() -> Arc<Reader> {
        Reader::start(None).expect("a helper")
    }

    /// The map of a process that calls itself 7.
    fn drawn(path: &Path, pid: u32, folder: Arc<OwnedFd>) -> Map {
        Map {
            pid,
            folder,
            name: "perf-7.map".into(),
            user: path.metadata().expect("the folder").uid(),
            since: None,
            ends: Vec::new(),
            tail: None,
            tried: 0,
            seen: BTreeSet::new(),
        }
    }

    /// A process that runs is not gone; one that waits to be asked how it ended is.
    #[test]
    fn who_is_gone() {
        assert!(!is_gone(std::process::id()));
        let mut child = std::process::Command::new("true").spawn().expect("true");
        let pid = child.id();
        while !is_gone(pid) {
            std::thread::sleep(Duration::from_millis(1));
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
        let named_of = |since, ran_before: &[u32]| {
            let mut maps = PerfMaps::new(None, since, reader());
            maps.ran_before(ran_before);
            maps.notice(pid);
            let index = maps.of(pid).expect("we run");
            let names = maps
                .names(
                    &HashMap::from([(index, vec![0x1008])]),
                    &Patience::default(),
                )
                .0;
            names.get(&index).and_then(|names| names[0].clone())
        };
        let named = |since| named_of(since, &[]);
        std::fs::write(&path, "1000 10 made\n").expect("a map");
        assert_eq!(named(None).as_deref(), Some("made"));
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(named(Some(later)), None);
        // A process that ran before may have begun with its map before, too.
        assert_eq!(named_of(Some(later), &[pid]).as_deref(), Some("made"));
        let other = path.with_extension("other");
        std::fs::rename(&path, &other).expect("moved");
        std::os::unix::fs::symlink(&other, &path).expect("a link");
        assert_eq!(named(None), None);
        std::fs::remove_file(&path).expect("removed");
        std::fs::remove_file(&other).expect("removed");
    }

    /// What takes the place of code that was in a stack begins another part, with other names; what comes beside
    /// it does not.
    #[test]
    fn parts_of_a_map() {
        use std::io::Write;
        let path = std::env::temp_dir().join(format!("parts-{}", std::process::id()));
        std::fs::create_dir(&path).expect("a folder");
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let folder = rustix::fs::open(&path, flags, Mode::empty()).expect("the folder");
        let mut maps = PerfMaps::new(None, None, reader());
        let pid = std::process::id();
        maps.maps.push(drawn(&path, pid, Arc::new(folder)));
        maps.followed.push(0);
        maps.current.insert(pid, MapIndex { map: 0, part: 0 });
        let mut file = std::fs::File::create(path.join("perf-7.map")).expect("a map");
        let mut wanted = HashMap::new();
        let mut parts = Vec::new();
        for line in [
            "1000 10 first",
            "2000 10 beside",
            "1008 10 second",
            "1000 1 third",
        ] {
            writeln!(file, "{line}").expect("written");
            maps.follow();
            let index = maps.of(pid).expect("it runs");
            maps.seen(index, 0x1008);
            wanted.insert(index, vec![0x1008]);
            parts.push(index.part);
        }
        assert_eq!(parts, [0, 0, 1, 1]);
        let (names, not_read) = maps.names(&wanted, &Patience::default());
        assert_eq!(not_read, 0);
        let name = |part| names[&MapIndex { map: 0, part }][0].as_deref();
        assert_eq!((name(0), name(1)), (Some("first"), Some("second")));
        std::fs::remove_dir_all(&path).expect("removed");
    }
}
