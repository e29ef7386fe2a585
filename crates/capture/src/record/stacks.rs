//! Stacks, as they come: each is unwound while the recording runs, because its process may be gone and
//! its files replaced a moment later, and because the copies would fill the disk. What is kept is the tree
//! of frames. Names are for later (`symbols/`).

use std::collections::HashMap;

use timesink_recording::words::ModuleKind;

use crate::address_space::{Change, ImageKind, Spaces, Timed, Watch};
use crate::probes::{self, events};
use crate::spool::{Note, Writer};
use crate::unwind::{Ending, Frame, Registers, Unwinder};

/// Stacks remembered by their registers, for those that come again without a copy.
const REMEMBERED: usize = 1 << 16;

/// Which stack: of which thread, with which registers.
type Key = (u32, u64, u64, u64);
/// A frame under its caller: parent, module, offset, complete, exact.
type Place = (u32, u32, u64, bool, bool);

pub struct Stacks {
    watch: Option<Watch>,
    spaces: Spaces,
    unwinder: Unwinder,
    changes: Vec<Timed<Change>>,
    /// Not unwound yet, in the order of the ring.
    waiting: Vec<Vec<u8>>,
    remembered: HashMap<Key, (u32, bool)>,
    nodes: HashMap<Place, u32>,
    frames: Vec<Frame>,
    modules_told: usize,
    /// The latest time that any stack was taken at.
    clock: u64,
}

impl Stacks {
    /// Without a watch (the kernel refused) only processes that are looked at while they live unwind.
    pub fn new(watch: Option<Watch>) -> Stacks {
        Stacks {
            watch,
            spaces: Spaces::new(),
            unwinder: Unwinder::new(),
            changes: Vec::new(),
            waiting: Vec::new(),
            remembered: HashMap::new(),
            nodes: HashMap::new(),
            frames: Vec::new(),
            modules_told: 0,
            clock: 0,
        }
    }

    /// How many notices of what processes have mapped did not come.
    pub fn lost(&self) -> u64 {
        self.watch.as_ref().map_or(0, Watch::lost)
    }

    /// Follow this process, and all that come from it.
    pub fn seed(&mut self, pid: u32) {
        // One that is gone already has no stacks either.
        let _ = self.spaces.seed(pid);
    }

    pub fn take(&mut self, bytes: &[u8]) {
        self.waiting.push(bytes.to_vec());
    }

    /// The thread executes another program: what was remembered of it is of the old one.
    pub fn forget(&mut self, thread: u32) {
        self.remembered.retain(|key, _| key.0 != thread);
    }

    /// Unwind what was taken, with the address spaces as they were at the time. Changes from `until` on
    /// are kept: stacks from before may still be in the ring.
    pub fn settle(&mut self, until: u64, spool: &mut Writer) {
        if let Some(watch) = &mut self.watch {
            self.changes.extend(watch.read());
        }
        self.changes.sort_by_key(|change| change.time_ns);
        let waiting = std::mem::take(&mut self.waiting);
        let mut applied = 0;
        for bytes in &waiting {
            let Some(stack) = probes::stack(bytes) else {
                continue;
            };
            self.clock = self.clock.max(stack.head.t);
            applied = self.apply(applied, self.clock);
            self.tell(&stack, spool);
        }
        applied = self.apply(applied, until);
        self.changes.drain(..applied);
    }

    fn apply(&mut self, from: usize, until: u64) -> usize {
        let mut at = from;
        while let Some(change) = self
            .changes
            .get(at)
            .filter(|change| change.time_ns <= until)
        {
            self.spaces.apply(change);
            at += 1;
        }
        at
    }

    fn tell(&mut self, stack: &probes::Stack<'_>, spool: &mut Writer) {
        let key = (stack.head.thread, stack.ip, stack.sp, stack.bp);
        let executing = u32::from(stack.user) & events::TS_EXECUTING != 0;
        let (node, complete) = if stack.ip == 0 {
            (0, true)
        } else if executing && !stack.repeated {
            // Between two programs, a stack that leads nowhere is of neither.
            let (node, complete) = self.unwind(stack, spool);
            (node * u32::from(complete), true)
        } else if stack.repeated {
            self.remembered.get(&key).copied().unwrap_or((0, false))
        } else {
            let found = self.unwind(stack, spool);
            if self.remembered.len() >= REMEMBERED {
                self.remembered.clear();
            }
            self.remembered.insert(key, found);
            found
        };
        let seen = events::ts_seen {
            head: events::ts_head {
                kind: events::TS_SEEN as u8,
                pad: 0,
                cpu: stack.head.cpu,
                thread: stack.about,
                t: stack.head.t,
            },
            node,
            what: stack.what,
            user: stack.user,
            frames: stack.frames,
            complete: u8::from(complete),
            frame: stack.frame,
        };
        spool.event(probes::bytes_of(&seen));
    }

    fn unwind(&mut self, stack: &probes::Stack<'_>, spool: &mut Writer) -> (u32, bool) {
        let registers = Registers {
            ip: stack.ip,
            sp: stack.sp,
            bp: stack.bp,
            bx: Some(stack.bx),
            di: Some(stack.di).filter(|_| u32::from(stack.user) & events::TS_HIT_USER == 0),
        };
        let Some(space) = self.spaces.space(stack.pid) else {
            return (0, false);
        };
        let mut frames = std::mem::take(&mut self.frames);
        let ending = self
            .unwinder
            .unwind(space, registers, stack.copy, &mut frames);
        let complete = ending == Ending::Complete;
        let mut parent = 0;
        for frame in frames.iter().rev() {
            let module = frame.module.map_or(0, |index| index.0 + 1);
            let place = (parent, module, frame.address, complete, frame.exact);
            parent = self.node(place, spool);
        }
        self.frames = frames;
        (parent, complete)
    }

    fn node(&mut self, place: Place, spool: &mut Writer) -> u32 {
        if let Some(&node) = self.nodes.get(&place) {
            return node;
        }
        let node = self.nodes.len() as u32 + 1;
        self.nodes.insert(place, node);
        self.tell_modules(spool);
        let (parent, module, offset, complete, exact) = place;
        let event = events::ts_node {
            head: events::ts_head {
                kind: events::TS_NODE as u8,
                pad: 0,
                cpu: 0,
                thread: 0,
                t: 0,
            },
            offset,
            node,
            parent,
            module,
            complete: u8::from(complete),
            exact: u8::from(exact),
            pad: [0; 2],
        };
        spool.event(probes::bytes_of(&event));
        node
    }

    /// Modules are told before the first node that is in them.
    fn tell_modules(&mut self, spool: &mut Writer) {
        let modules = self.unwinder.modules();
        for (index, module) in modules.iter().enumerate().skip(self.modules_told) {
            let kind = match module.kind() {
                ImageKind::File => ModuleKind::File,
                ImageKind::Vdso => ModuleKind::Vdso,
                ImageKind::Jit => ModuleKind::Jit,
            };
            spool.note(&Note::Module {
                module: index as u32 + 1,
                kind: kind.to_string(),
                path: module.path().to_string_lossy().into_owned(),
                build_id: module
                    .build_id()
                    .map(|id| id.to_string())
                    .unwrap_or_default(),
            });
        }
        self.modules_told = modules.len();
    }
}
