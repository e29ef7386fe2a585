//! Goroutines that wait: those of each process of Go are looked at in its memory now and then (`go_memory.rs`), by a helper. A look takes
//! some tenths of a millisecond; how often there is one goes by what it takes, and by whether anything was new.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::address_space::{Mapping, Space};
use crate::clock::now_ns;
use crate::go_memory::{self, find_list, Goroutines, Scattered, Sight};
use crate::probes::events;
use crate::reader::{Reader, Theirs};

/// From one look to the next, at whichever process, it takes so many times as long as the look, which takes 0.3 to 0.8 ms for 300 goroutines.
/// The list is looked for once in each program.
const COST: u32 = 50;
const COST_OF_SEARCH: u32 = 5;
/// So long there is nothing new, at most, before it is looked again.
const SELDOM: Duration = Duration::from_millis(160);
/// The first look: a program that is over by then has not waited for long.
const FIRST: Duration = Duration::from_millis(10);
/// So much of what a program begins with zeros is looked through for the list. Measured 2026-11-27: 0.2 MB of a small program.
const MOST_ZEROED: u64 = 16 << 20;
/// So often the list is looked for: the runtime makes it before the first goroutine runs.
const TRIES: u32 = 3;

impl Scattered for Theirs {
    fn read(&self, addresses: &[u64], length: usize) -> Option<Vec<u8>> {
        self.read_parts(addresses, length).ok()
    }
}

/// What is known of where a process has its goroutines.
enum List {
    /// Nothing yet; it was looked for so often.
    Wanted {
        tries: u32,
    },
    At(Box<Goroutines>),
    NotFound,
}

struct GoProcess {
    /// A thread of it, by the probes' number.
    thread: u32,
    layout: events::ts_go,
    memory: Option<Theirs>,
    list: List,
    due: Instant,
    pause: Duration,
}

impl GoProcess {
    fn new(thread: u32, layout: events::ts_go) -> GoProcess {
        GoProcess {
            thread,
            layout,
            memory: None,
            list: List::Wanted { tries: 0 },
            due: Instant::now() + FIRST,
            pause: Duration::ZERO,
        }
    }

    /// Looks for the list, or at those in it. None: the process is gone, or has become another program.
    fn look(&mut self, now: u64, lists: &mut Lists, space: &Space) -> Option<Vec<Sight>> {
        let memory = self.memory.as_ref()?;
        match &mut self.list {
            List::Wanted { tries } => {
                let tries = *tries + 1;
                self.list = match lists.find(space, &self.layout, memory)? {
                    Some(list) => List::At(Box::new(Goroutines::new(self.layout, list))),
                    None if tries < TRIES => List::Wanted { tries },
                    None => List::NotFound,
                };
                self.due = Instant::now() + FIRST;
                Some(Vec::new())
            }
            List::At(goroutines) => {
                let sights = goroutines.look(now, memory)?;
                self.pause = match sights.is_empty() {
                    true => (self.pause * 2).clamp(FIRST, SELDOM),
                    false => Duration::ZERO,
                };
                self.due = Instant::now() + self.pause;
                Some(sights)
            }
            List::NotFound => Some(Vec::new()),
        }
    }

    /// Why goroutines of it are not seen, if some are not.
    fn not_seen(&self) -> Option<String> {
        let most = go_memory::MOST;
        match &self.list {
            List::NotFound => {
                Some("no waiting goroutines: the program's list of goroutines was not found".into())
            }
            List::At(all) if all.too_many => Some(format!(
                "waiting goroutines: only the first {most} goroutines of a process are examined"
            )),
            _ => None,
        }
    }
}

/// What was found in a process.
pub struct Looked {
    pub pid: u32,
    pub thread: u32,
    pub at: u64,
    pub sights: Vec<Sight>,
}

/// Where programs have their lists, by the serial numbers of their images, as their files count.
#[derive(Default)]
struct Lists(HashMap<u32, u64>);

impl Lists {
    /// Where the list of a process is. None: its memory cannot be read.
    fn find(
        &mut self,
        space: &Space,
        layout: &events::ts_go,
        memory: &Theirs,
    ) -> Option<Option<u64>> {
        let is_go = |mapping: &&Mapping| mapping.image.elf().is_some_and(|e| e.go_build.is_some());
        let program = space.mappings().iter().find(is_go);
        let zeroed = |mapping: &Mapping| mapping.image.elf()?.zeroed();
        let Some((program, (start, length))) = program.and_then(|p| Some((p, zeroed(p)?))) else {
            return Some(None);
        };
        let (serial, moved) = (program.image.serial(), program.moved());
        if let Some(list) = self.0.get(&serial) {
            return Some(Some(list.wrapping_add(moved)));
        }
        let zeroed = (start.wrapping_add(moved), length.min(MOST_ZEROED));
        let list = find_list(zeroed, layout, memory)?;
        let list_in_file = list.map(|list| (serial, list.wrapping_sub(moved)));
        self.0.extend(list_in_file);
        Some(list)
    }
}

pub struct WaitingGoroutines {
    reader: Arc<Reader>,
    processes: HashMap<u32, GoProcess>,
    lists: Lists,
    /// Nothing is looked at before.
    free: Instant,
    /// Why some are not seen, which is yet to be told.
    not_seen: Vec<String>,
}

impl WaitingGoroutines {
    pub fn new(reader: Arc<Reader>) -> WaitingGoroutines {
        WaitingGoroutines {
            reader,
            processes: HashMap::new(),
            lists: Lists::default(),
            free: Instant::now(),
            not_seen: Vec::new(),
        }
    }

    /// A thread of a process was seen at work for a goroutine.
    pub fn seen_at_work(
        &mut self,
        task: &events::ts_task,
        layout: impl FnOnce() -> Option<events::ts_go>,
    ) {
        let (pid, thread) = (task.pid, task.head.thread);
        if let Some(known) = self.processes.get_mut(&pid) {
            known.thread = thread;
            if let List::At(goroutines) = &mut known.list {
                goroutines.worked(task.number);
            }
        } else if let Some(layout) = layout().filter(|layout| layout.number > 0) {
            self.processes.insert(pid, GoProcess::new(thread, layout));
        }
    }

    /// The process that is to be looked at now.
    pub fn due(&self) -> Option<u32> {
        let now = Instant::now();
        let is_due =
            |process: &GoProcess| process.due <= now && !matches!(process.list, List::NotFound);
        let due = self.processes.iter().filter(|(_, p)| is_due(p));
        let first = due.min_by_key(|(pid, process)| (process.due, **pid));
        first.filter(|_| self.free <= now).map(|(pid, _)| *pid)
    }

    /// What is new of a process.
    pub fn look(&mut self, pid: u32, space: Option<&Space>) -> Option<Looked> {
        let (at, begun) = (now_ns(), Instant::now());
        let process = self.processes.get_mut(&pid)?;
        let cost = match process.list {
            List::At(_) => COST,
            List::Wanted { .. } | List::NotFound => COST_OF_SEARCH,
        };
        if process.memory.is_none() {
            process.memory = self.reader.memory(pid).ok();
        }
        let sights = space.and_then(|space| process.look(at, &mut self.lists, space));
        let thread = process.thread;
        self.free = Instant::now() + begun.elapsed() * cost;
        if sights.is_none() {
            let gone = self.processes.remove(&pid);
            let not_seen = gone.and_then(|process| process.not_seen());
            self.not_seen.extend(not_seen);
        }
        sights.map(|sights| Looked {
            pid,
            thread,
            at,
            sights,
        })
    }

    /// Why some are not seen.
    pub fn not_seen(&mut self) -> Vec<String> {
        let processes = std::mem::take(&mut self.processes);
        let not_seen = processes.values().filter_map(GoProcess::not_seen);
        self.not_seen.extend(not_seen);
        std::mem::take(&mut self.not_seen)
    }
}
