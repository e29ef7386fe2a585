//! The address spaces of the processes that are followed, at the moment up to which changes have been
//! applied. Which changes there are is for `Watch` to find out.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::image::{Image, ImageKind, Images};
use super::{maps, Change, Mapped, Timed};
use crate::clock::now_ns;
use crate::error::Error;
use crate::reader::Reader;

/// The kernel allows 65,530 mappings. More than that have been unmapped since, which nobody tells.
const MOST_MAPPINGS: usize = 65_536;

/// Longer texts of mappings are not read on.
const LONGEST_MAPS: u64 = 16 << 20;

/// Executable memory, and where its code is from.
#[derive(Debug, Clone)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    pub image: Arc<Image>,
}

impl Mapping {
    /// As far as all of the file is from where it says that it is.
    pub fn moved(&self) -> u64 {
        self.start.wrapping_sub(self.in_image(self.start))
    }

    /// The address as the image's symbol table counts; the address itself where there is none.
    pub fn in_image(&self, address: u64) -> u64 {
        let offset = address.wrapping_sub(self.start).wrapping_add(self.offset);
        let elf = self.image.elf();
        elf.and_then(|elf| elf.address_of(offset))
            .unwrap_or(address)
    }
}

/// The executable memory of one process. Copies share it until one of them changes.
#[derive(Debug, Clone, Default)]
pub struct Space {
    /// By address, without overlaps.
    mappings: Arc<Vec<Mapping>>,
}

impl Space {
    /// The mapping that holds this address.
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        let after = self.mappings.partition_point(|m| m.start <= address);
        let mapping = self.mappings.get(after.checked_sub(1)?)?;
        (address < mapping.end).then_some(mapping)
    }

    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// Put a mapping in, over what was there.
    fn map(&mut self, new: Mapping) {
        if new.start >= new.end {
            return;
        }
        let mappings = Arc::make_mut(&mut self.mappings);
        if mappings.len() >= MOST_MAPPINGS {
            // What a runtime made and threw away; what still runs there is named by its address alone.
            mappings.retain(|m| m.image.elf().is_some());
            mappings.truncate(MOST_MAPPINGS - 1);
        }
        let first = mappings.partition_point(|m| m.end <= new.start);
        let last = first + mappings[first..].partition_point(|m| m.start < new.end);
        let mut pieces = Vec::with_capacity(3);
        if let Some(before) = mappings[first..last]
            .first()
            .filter(|m| m.start < new.start)
        {
            pieces.push(Mapping {
                end: new.start,
                ..before.clone()
            });
        }
        let new_end = new.end;
        pieces.push(new);
        if let Some(after) = mappings[first..last].last().filter(|m| m.end > new_end) {
            pieces.push(Mapping {
                start: new_end,
                offset: after.offset.wrapping_add(new_end - after.start),
                ..after.clone()
            });
        }
        mappings.splice(first..last, pieces);
    }
}

#[derive(Debug)]
struct Process {
    space: Space,
    threads: HashSet<u32>,
    /// It was read from /proc at this time: what happened before is in it.
    since_ns: u64,
    /// It has code that no file is behind, and `Spaces::makers` had it.
    makes_code: bool,
}

/// The processes that descend from those it was given, and their images.
#[derive(Debug, Default)]
pub struct Spaces {
    processes: HashMap<u32, Process>,
    /// Those that /proc has been asked about for want of anything better.
    asked: HashSet<u32>,
    images: Images,
    makers: Vec<u32>,
    reader: Option<Arc<Reader>>,
}

impl Spaces {
    /// What belongs to processes is read here.
    pub fn new() -> Spaces {
        Spaces::default()
    }

    /// What belongs to processes is read by this reader, if there is one.
    pub(crate) fn reading_through(reader: Option<Arc<Reader>>) -> Spaces {
        Spaces {
            images: Images::reading_through(reader.clone()),
            reader,
            ..Spaces::default()
        }
    }

    /// Follow this process, as it is now, and all that it will start.
    pub fn seed(&mut self, pid: u32) -> Result<(), Error> {
        let since_ns = now_ns();
        let path = PathBuf::from(format!("/proc/{pid}/maps"));
        // Who waits for its own memory keeps others from looking at what is mapped where.
        let text = match &self.reader {
            Some(reader) => reader.text(pid, "maps", LONGEST_MAPS),
            None => std::fs::read(&path),
        };
        let text = text.map_err(Error::file(&path, "cannot be read"))?;
        let mut space = Space::default();
        let mut makes_code = false;
        for mapped in maps::parse(pid, &text) {
            let image = self.images.find(&mapped);
            makes_code |= is_made(&mapped, &image);
            space.map(mapping(&mapped, image));
        }
        if makes_code {
            self.makers.push(pid);
        }
        let mut threads = HashSet::from([pid]);
        if let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) {
            let names = tasks.filter_map(|task| task.ok()?.file_name().into_string().ok());
            threads.extend(names.filter_map(|name| name.parse::<u32>().ok()));
        }
        let process = Process {
            space,
            threads,
            since_ns,
            makes_code,
        };
        self.processes.insert(pid, process);
        Ok(())
    }

    /// Apply what happened. Changes must come in the order of time; those of processes that are not
    /// followed are passed over.
    pub fn apply(&mut self, change: &Timed<Change>) {
        match &change.what {
            Change::Mapped(mapped) => {
                if let Some(process) = newer(&mut self.processes, mapped.pid, change.time_ns) {
                    let image = self.images.find(mapped);
                    if is_made(mapped, &image) && !process.makes_code {
                        process.makes_code = true;
                        self.makers.push(mapped.pid);
                    }
                    process.space.map(mapping(mapped, image));
                }
            }
            Change::Executed { pid } => {
                if let Some(process) = newer(&mut self.processes, *pid, change.time_ns) {
                    process.space = Space::default();
                    process.threads = HashSet::from([*pid]);
                    process.makes_code = false;
                }
            }
            Change::Forked {
                pid,
                parent_pid,
                tid,
            } => self.forked(*pid, *parent_pid, *tid, change.time_ns),
            Change::Ended { pid, tid } => {
                if let Some(process) = newer(&mut self.processes, *pid, change.time_ns) {
                    process.threads.remove(tid);
                    if process.threads.is_empty() {
                        self.processes.remove(pid);
                        self.asked.remove(pid);
                    }
                }
            }
        }
    }

    fn forked(&mut self, pid: u32, parent_pid: u32, tid: u32, time_ns: u64) {
        if pid == parent_pid {
            if let Some(process) = newer(&mut self.processes, pid, time_ns) {
                process.threads.insert(tid);
            }
            return;
        }
        let known = self.processes.get(&pid);
        if known.is_some_and(|known| known.since_ns > time_ns) {
            return;
        }
        // A parent that was looked at only later had the same by then, but for what it mapped in between: its child may be
        // gone by now, and there is no better.
        if let Some(parent) = self.processes.get(&parent_pid) {
            let process = Process {
                space: parent.space.clone(),
                threads: HashSet::from([tid]),
                since_ns: time_ns,
                // What was made before is the parent's.
                makes_code: parent.makes_code,
            };
            self.processes.insert(pid, process);
        }
    }

    /// Processes that have come to have code that no file is behind, each once for each program it executes.
    pub fn makers(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.makers)
    }

    /// Whether a process is known to have more than one thread.
    pub fn has_threads(&self, pid: u32) -> bool {
        let process = self.processes.get(&pid);
        process.is_some_and(|process| process.threads.len() > 1)
    }

    pub fn follows(&self, pid: u32) -> bool {
        self.processes.contains_key(&pid)
    }

    /// What a process has mapped. One that is not known, because the kernel's notice of it was lost, is looked up
    /// in /proc, once.
    pub fn space(&mut self, pid: u32) -> Option<&Space> {
        const MOST_ASKED: usize = 65_536;
        if !self.processes.contains_key(&pid) {
            if self.asked.len() >= MOST_ASKED || !self.asked.insert(pid) {
                return None;
            }
            self.seed(pid).ok()?;
        }
        self.processes.get(&pid).map(|process| &process.space)
    }
}

/// Whether a runtime may have made the code that is there. The kernel has a page of its own in each process.
fn is_made(mapped: &Mapped, image: &Image) -> bool {
    image.kind() == ImageKind::Jit && mapped.path.as_os_str() != "[vsyscall]"
}

fn mapping(mapped: &Mapped, image: Arc<Image>) -> Mapping {
    Mapping {
        start: mapped.start,
        end: mapped.start.saturating_add(mapped.length),
        offset: mapped.offset,
        image,
    }
}

/// A process, if what happened at this time is not in it already.
fn newer(processes: &mut HashMap<u32, Process>, pid: u32, time_ns: u64) -> Option<&mut Process> {
    let process = processes.get_mut(&pid);
    process.filter(|process| time_ns >= process.since_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(pid: u32, start: u64, length: u64, name: &str) -> Change {
        Change::Mapped(Mapped {
            pid,
            start,
            length,
            offset: 0,
            file: Default::default(),
            path: name.into(),
        })
    }

    /// This process, followed, and what happened to it.
    fn after(changes: impl IntoIterator<Item = Change>) -> Spaces {
        let mut spaces = Spaces::new();
        spaces.seed(own()).expect("our own mappings");
        let time_ns = now_ns();
        for what in changes {
            spaces.apply(&Timed { time_ns, what });
        }
        spaces
    }

    fn own() -> u32 {
        std::process::id()
    }

    fn names(spaces: &mut Spaces, pid: u32) -> Vec<(u64, u64, u64, String)> {
        let space = spaces.space(pid).cloned().unwrap_or_default();
        let of = |m: &Mapping| {
            (
                m.start,
                m.end,
                m.offset,
                m.image.path().display().to_string(),
            )
        };
        space.mappings().iter().map(of).collect()
    }

    /// A mapping takes the place of what it covers: whole, at one end, or out of the middle.
    #[test]
    fn overlaps() {
        let pid = own();
        let mut spaces = after([
            Change::Executed { pid },
            code(pid, 0x1000, 0x4000, "a"),
            code(pid, 0x6000, 0x1000, "b"),
            code(pid, 0x2000, 0x1000, "c"),
            code(pid, 0x4800, 0x2000, "d"),
            code(pid, 0x9000, 0x1000, "e"),
            code(pid, 0x9000, 0x1000, "f"),
            code(pid, u64::MAX - 5, 0x1000, "g"),
            code(pid, 0x9100, 0, "nothing"),
        ]);
        let expected = [
            (0x1000, 0x2000, 0, "a"),
            (0x2000, 0x3000, 0, "c"),
            (0x3000, 0x4800, 0x2000, "a"),
            (0x4800, 0x6800, 0, "d"),
            (0x6800, 0x7000, 0x800, "b"),
            (0x9000, 0xa000, 0, "f"),
            (u64::MAX - 5, u64::MAX, 0, "g"),
        ];
        let expected = expected.map(|(start, end, offset, name)| (start, end, offset, name.into()));
        assert_eq!(names(&mut spaces, pid), expected);
        let space = spaces.space(pid).expect("followed");
        assert_eq!(space.find(0x2fff).expect("c").start, 0x2000);
        assert!(space.find(0x7000).is_none() && space.find(0).is_none());
    }

    /// A child has what its parent had, and neither sees what the other maps later.
    #[test]
    fn forks() {
        let (pid, child) = (own(), u32::MAX);
        let mut spaces = after([
            Change::Executed { pid },
            code(pid, 0x1000, 0x1000, "a"),
            Change::Forked {
                pid: child,
                parent_pid: pid,
                tid: child,
            },
            code(child, 0x3000, 0x1000, "b"),
            code(pid, 0x5000, 0x1000, "c"),
        ]);
        let start = |list: Vec<(u64, u64, u64, String)>| -> Vec<u64> {
            list.into_iter().map(|(start, ..)| start).collect()
        };
        assert_eq!(start(names(&mut spaces, pid)), [0x1000, 0x5000]);
        assert_eq!(start(names(&mut spaces, child)), [0x1000, 0x3000]);
    }

    /// A child that was born shortly before its parent was looked at is followed too, with what it did since.
    #[test]
    fn born_before_its_parent_was_looked_at() {
        let (pid, child) = (own(), u32::MAX);
        let mut spaces = Spaces::new();
        let time_ns = now_ns();
        spaces.seed(pid).expect("our own mappings");
        let forked = Change::Forked {
            pid: child,
            parent_pid: pid,
            tid: child,
        };
        let executed = Change::Executed { pid: child };
        for what in [forked, executed, code(child, 0x1000, 0x1000, "a")] {
            spaces.apply(&Timed { time_ns, what });
        }
        let expected = [(0x1000, 0x2000, 0, "a".to_string())];
        assert_eq!(names(&mut spaces, child), expected);
    }

    /// A process is gone with its last thread, whichever that is; strangers are never followed.
    #[test]
    fn ends() {
        let (pid, child, stranger) = (own(), u32::MAX, u32::MAX - 1);
        let forked = |pid, parent_pid, tid| Change::Forked {
            pid,
            parent_pid,
            tid,
        };
        let until = [
            forked(child, pid, child),
            forked(child, child, 77),
            forked(stranger, stranger - 1, stranger),
            Change::Ended {
                pid: child,
                tid: child,
            },
        ];
        let mut spaces = after(until.clone());
        assert!(!names(&mut spaces, child).is_empty());
        assert!(spaces.space(stranger).is_none());
        let gone = [Change::Ended {
            pid: child,
            tid: 77,
        }];
        let mut spaces = after(until.into_iter().chain(gone));
        assert!(spaces.space(child).is_none());
    }

    /// A process is told of once when it has code without a file, and again when it does so in another program.
    #[test]
    fn makers() {
        let pid = own();
        let made = || code(pid, 0x1000, 0x1000, "//anon");
        let mut spaces = after([Change::Executed { pid }, made(), made()]);
        assert_eq!(
            spaces
                .makers()
                .iter()
                .filter(|&&maker| maker == pid)
                .count(),
            1
        );
        let time_ns = now_ns();
        for what in [made(), Change::Executed { pid }, made()] {
            spaces.apply(&Timed { time_ns, what });
        }
        assert_eq!(spaces.makers(), [pid]);
        assert!(spaces.makers().is_empty());
    }

    /// What happened before a process was looked at is in what was seen, and is not applied again.
    #[test]
    fn older_changes() {
        let pid = own();
        let mut spaces = Spaces::new();
        spaces.seed(pid).expect("our own mappings");
        let before = names(&mut spaces, pid);
        assert!(before.iter().any(|(.., name)| name == "[vdso]"));
        let what = Change::Executed { pid };
        spaces.apply(&Timed { time_ns: 1, what });
        assert_eq!(names(&mut spaces, pid), before);
    }
}
