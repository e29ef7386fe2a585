//! Processes that run a file of one kind (an interpreter, a virtual machine), as they are followed through mappings, forks,
//! execs and ends; what the probes are told of each; and what the probes tell beside stacks in turn, until the stack is
//! there too. What is in such a file, and what the probes need, is for those who use it.

use std::collections::HashMap;
use std::path::Path;

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use zerocopy::{Immutable, IntoBytes};

use crate::address_space::{Change, Image, Mapping, Spaces};
use crate::probes;

/// `F` is what is known of a file, `P` of a process.
pub struct Recognised<F, P> {
    map: Option<MapHandle>,
    /// By the images' serial numbers.
    files: HashMap<u32, Option<F>>,
    processes: HashMap<u32, P>,
}

impl<F, P> Recognised<F, P> {
    /// Without a map the probes know of none.
    pub fn new(map: Option<MapHandle>) -> Recognised<F, P> {
        Recognised {
            map,
            files: HashMap::new(),
            processes: HashMap::new(),
        }
    }

    /// Whether there is somebody to tell.
    pub fn is_told(&self) -> bool {
        self.map.is_some()
    }

    /// What happened has been applied to the address spaces: what is to be looked at now, if a file's path says
    /// that it may be of the kind. Of a process that is known, nothing is.
    pub fn applied(
        &mut self,
        change: &Change,
        spaces: &mut Spaces,
        may_be: fn(&Path) -> bool,
    ) -> Option<(u32, Mapping)> {
        let known = matches!(change, Change::Mapped(mapped) if self.has(mapped.pid));
        (!known).then(|| self.applied_to_any(change, spaces, may_be))?
    }

    /// The same, also of processes that are known.
    pub fn applied_to_any(
        &mut self,
        change: &Change,
        spaces: &mut Spaces,
        may_be: fn(&Path) -> bool,
    ) -> Option<(u32, Mapping)> {
        match change {
            Change::Mapped(mapped) if may_be(&mapped.path) => {
                let pid = mapped.pid;
                if !spaces.follows(pid) {
                    return None;
                }
                let mapping = spaces.space(pid)?.find(mapped.start)?;
                return Some((pid, mapping.clone()));
            }
            Change::Executed { pid } => self.forget(*pid),
            Change::Ended { pid, .. } if !spaces.follows(*pid) => self.forget(*pid),
            _ => {}
        }
        None
    }

    /// What is known of a file, which is looked into when it comes up first.
    pub fn look_into(
        &mut self,
        image: &Image,
        look: impl FnOnce(&Image) -> Option<F>,
    ) -> Option<&F> {
        let found = self.files.entry(image.serial());
        found.or_insert_with(|| look(image)).as_ref()
    }

    /// What is known of a file that was looked into.
    pub fn file(&self, image: &Image) -> Option<&F> {
        self.files.get(&image.serial())?.as_ref()
    }

    pub fn has(&self, pid: u32) -> bool {
        self.processes.contains_key(&pid)
    }

    /// A process of the kind, of which the probes know nothing yet.
    pub fn follow(&mut self, pid: u32, process: P) {
        self.processes.insert(pid, process);
    }

    pub fn process(&mut self, pid: u32) -> Option<&mut P> {
        self.processes.get_mut(&pid)
    }

    /// All processes, and the map in which the probes look for them.
    pub fn processes(&mut self) -> (impl Iterator<Item = (&u32, &mut P)>, Option<&MapHandle>) {
        (self.processes.iter_mut(), self.map.as_ref())
    }

    fn forget(&mut self, pid: u32) {
        if self.processes.remove(&pid).is_some() {
            if let Some(map) = &self.map {
                let _ = map.delete(&pid.to_ne_bytes());
            }
        }
    }
}

impl<F, P: Copy + IntoBytes + Immutable> Recognised<F, P> {
    /// A process of the kind, and what the probes are told of it.
    pub fn tell(&mut self, pid: u32, process: P) {
        self.processes.insert(pid, process);
        if let Some(map) = &self.map {
            // One that the map has no room for has native frames only.
            let _ = tell(map, pid, &process);
        }
    }

    /// A child runs what its parent does. The probes know already, if they knew the parent by then.
    pub fn forked(&mut self, change: &Change) {
        let Change::Forked {
            pid, parent_pid, ..
        } = change
        else {
            return;
        };
        let same = self.processes.get(parent_pid).copied();
        if let Some(same) = same.filter(|_| pid != parent_pid) {
            self.tell(*pid, same);
        }
    }
}

/// Tell the probes of a process.
pub fn tell<T: IntoBytes + Immutable>(
    map: &MapHandle,
    pid: u32,
    told: &T,
) -> libbpf_rs::Result<()> {
    map.update(&pid.to_ne_bytes(), told.as_bytes(), MapFlags::ANY)
}

/// What a stack is known by: thread, time, and what it is of.
type Moment = (u32, u64, u8);

/// What the probes told beside a stack, which comes right after, unless it was lost.
pub struct Sides<S> {
    most: usize,
    waiting: HashMap<Moment, S>,
}

impl<S> Sides<S> {
    /// With more of them than that, all are forgotten.
    pub fn new(most: usize) -> Sides<S> {
        Sides {
            most,
            waiting: HashMap::new(),
        }
    }

    pub fn put(&mut self, moment: Moment, side: S) {
        if self.waiting.len() >= self.most {
            self.waiting.clear();
        }
        self.waiting.insert(moment, side);
    }

    /// The side of this stack.
    pub fn of(&mut self, stack: &probes::CopiedStack<'_>) -> Option<S> {
        let moment = (stack.head.thread, stack.head.t, stack.what);
        self.waiting.remove(&moment).filter(|_| stack.python != 0)
    }
}
