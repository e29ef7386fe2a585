//! Stacks, as they come: each is unwound while the recording runs, because its process may be gone and
//! its files replaced a moment later, and because the copies would fill the disk. What is kept is the tree
//! of frames. Names are for later (`symbols/`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use timesink_recording::words::ModuleKind;
use zerocopy::IntoBytes;

use crate::address_space::{Change, Image, ImageKind, Space, Spaces, Timed, Watch};
use crate::bash;
use crate::interpreters::{merge, FrameRole, MergedFrame};
use crate::patience::Patience;
use crate::probes::{self, events, Event, InterpreterFrames, ToldScript};
use crate::reader::Reader;
use crate::record::carriers::Carriers;
use crate::record::goroutines::{Looked, WaitingGoroutines};
use crate::record::interpreters::Interpreters;
use crate::record::java::{InFrame, Javas};
use crate::record::known_places::KnownPlaces;
use crate::record::loaded::LoadedFiles;
use crate::record::node::Nodes;
use crate::record::perf_maps::{MapIndex, PerfMaps};
use crate::record::python::Pythons;
use crate::record::recognised::Sides;
use crate::record::remembered::Remembered;
use crate::record::scripts::Scripts;
use crate::record::tagged::TaggedProcesses;
use crate::spool::{LoadedModule, Note, Writer};
use crate::unwind::{self, Ending, Frame, Goroutine, ModuleIndex, Piece, Registers, Unwinder};

/// A frame under its caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct NodePlace {
    parent: u32,
    module: u32,
    offset: u64,
    complete: bool,
    exact: bool,
    /// Of a script, of Java or of JavaScript: its function.
    code: u32,
    /// Of made code, if it is known.
    line: u32,
    /// It became part of the code of its caller.
    inlined: bool,
}

impl NodePlace {
    /// A line of a function, wherever its code is.
    fn line(parent: u32, complete: bool, code: u32, line: u32) -> NodePlace {
        NodePlace {
            parent,
            module: 0,
            offset: u64::from(line),
            complete,
            exact: true,
            code,
            line: 0,
            inlined: false,
        }
    }
}

/// A call is the instruction before the one that is returned to.
fn looked_up(frame: &Frame) -> u64 {
    frame.address.saturating_sub(u64::from(!frame.exact))
}

/// Native frames and those of a script in their order; of the latter, by their index, the function's number and the line.
type Merged = (Vec<MergedFrame>, Vec<(u32, u32)>);

/// What is known of processes that run code of a language of their own.
pub struct Runtimes {
    pub pythons: Pythons,
    pub interpreters: Interpreters,
    /// What CPython and these list themselves, until the native side of the stack is there too.
    pub sides: Sides<InterpreterFrames>,
    pub javas: Javas,
    pub v8s: Nodes,
    pub scripts: Scripts,
    pub carriers: Carriers,
    pub tagged: TaggedProcesses,
}

impl Runtimes {
    /// A process was found running.
    fn seeded(&mut self, pid: u32, space: &Space) {
        self.pythons.seeded(pid, space);
        self.interpreters.seeded(pid, space);
        self.javas.seeded(pid, space);
        self.v8s.seeded(pid, space);
        self.scripts.seeded(pid, space);
        self.carriers.seeded(pid, space);
        self.tagged.seeded(pid, space);
    }

    /// What happened has been applied to the address spaces.
    fn applied(&mut self, change: &Change, spaces: &mut Spaces) {
        self.pythons.applied(change, spaces);
        self.interpreters.applied(change, spaces);
        self.javas.applied(change, spaces);
        self.v8s.applied(change, spaces);
        self.scripts.applied(change, spaces);
        self.carriers.applied(change, spaces);
        self.tagged.applied(change, spaces);
    }
}

/// Of more places where goroutines were left only the innermost is told: a program that makes them up takes no more memory.
const MOST_LEFT_PLACES: usize = 1 << 18;

pub struct LiveStacks {
    watch: Option<Watch>,
    spaces: Spaces,
    runtimes: Runtimes,
    unwinder: Unwinder,
    changes: Vec<Timed<Change>>,
    /// Not unwound yet, in the order of the ring.
    waiting: Vec<Vec<u8>>,
    remembered: Remembered,
    known_places: KnownPlaces,
    nodes: HashMap<NodePlace, u32>,
    frames: Vec<Frame>,
    maps: PerfMaps,
    /// The number of each module; code that a runtime made is one for each process.
    modules: HashMap<(ModuleIndex, Option<MapIndex>), u32>,
    /// The nodes of places where goroutines were left, by their marks.
    left_places: HashMap<u64, u32>,
    goroutines: WaitingGoroutines,
    loaded: LoadedFiles,
    /// The latest time that any stack was taken at.
    clock: u64,
    reader: Arc<Reader>,
    held: Option<HeldStack>,
}

/// The first function of a goroutine under where it was started: that is behind a call.
fn began(unwinder: &mut Unwinder, space: &Space, entry: u64, started_at: u64) -> Vec<Frame> {
    let places = [(entry, true), (started_at, false)];
    let known = places.into_iter().filter(|(address, _)| *address != 0);
    known
        .map(|(address, exact)| unwinder.frame(space, address, exact))
        .collect()
}

/// The process that is held until it executes the program: up to then it is timesink's own code that runs in it.
struct HeldStack {
    pid: u32,
    /// When it executed.
    until: Option<u64>,
}

impl LiveStacks {
    /// Without a watch (the kernel refused) only processes that are looked at while they live unwind.
    pub fn new(
        watch: Option<Watch>,
        maps: PerfMaps,
        runtimes: Runtimes,
        reader: Arc<Reader>,
    ) -> LiveStacks {
        LiveStacks {
            watch,
            spaces: Spaces::reading_through(Some(reader.clone())),
            goroutines: WaitingGoroutines::new(reader.clone()),
            reader,
            runtimes,
            unwinder: Unwinder::new(),
            changes: Vec::new(),
            waiting: Vec::new(),
            remembered: Remembered::default(),
            known_places: KnownPlaces::default(),
            nodes: HashMap::new(),
            frames: Vec::new(),
            left_places: HashMap::new(),
            loaded: LoadedFiles::default(),
            maps,
            modules: HashMap::new(),
            clock: 0,
            held: None,
        }
    }

    /// This process is one of ours until it executes something. Its stacks until then have no user side: nobody wants
    /// them, and reading timesink's own tables and names takes longer than a short program runs.
    pub fn holds(&mut self, pid: u32) {
        self.held = Some(HeldStack { pid, until: None });
    }

    fn is_held(&self, stack: &probes::CopiedStack<'_>) -> bool {
        self.held.as_ref().is_some_and(|held| {
            held.pid == stack.pid && held.until.is_none_or(|until| stack.head.t < until)
        })
    }

    /// Whether there are processes whose tasks the probes are to tell of.
    pub fn have_tasks(&self) -> bool {
        self.runtimes.carriers.any() || self.runtimes.pythons.any_coroutines()
    }

    /// Whether there are processes whose tags the probes are to tell of.
    pub fn have_tags(&self) -> bool {
        self.runtimes.tagged.any()
    }

    /// How many notices of what processes have mapped did not come.
    pub fn lost(&self) -> u64 {
        self.watch.as_ref().map_or(0, Watch::lost)
    }

    /// These processes ran before they were recorded.
    pub fn ran_before(&mut self, pids: &[u32]) {
        self.maps.ran_before(pids);
    }

    /// Follow this process, and all that come from it.
    pub fn seed(&mut self, pid: u32) {
        // One that is gone already has no stacks either.
        if self.spaces.seed(pid).is_ok() {
            if let Some(space) = self.spaces.space(pid) {
                self.runtimes.seeded(pid, space);
            }
        }
        self.notice_makers();
    }

    pub fn take(&mut self, bytes: &[u8]) {
        self.waiting.push(bytes.to_vec());
    }

    /// The thread executes another program: what was remembered of it is of the old one.
    pub fn executed(&mut self, exec: &events::ts_exec) {
        self.remembered.forget(exec.head.thread);
        self.maps.executed(exec);
        if let Some(held) = self.held.as_mut().filter(|held| held.pid == exec.tid) {
            held.until.get_or_insert(exec.head.t);
        }
    }

    /// Unwind what was taken, with the address spaces as they were at the time. Changes from `until` on
    /// are kept: stacks from before may still be in the ring.
    pub fn settle(&mut self, until: u64, spool: &mut Writer) {
        if let Some(watch) = &mut self.watch {
            self.changes.extend(watch.read());
        }
        self.changes.sort_by_key(|change| change.time_ns);
        self.runtimes.javas.settle();
        self.runtimes.v8s.settle();
        self.maps.follow();
        let waiting = std::mem::take(&mut self.waiting);
        let mut applied = 0;
        for bytes in &waiting {
            let Some(stack) = self.stack_of(bytes, spool) else {
                continue;
            };
            self.clock = self.clock.max(stack.head.t);
            applied = self.apply(applied, self.clock);
            self.tell(&stack, spool);
        }
        applied = self.apply(applied, until);
        self.changes.drain(..applied);
    }

    /// A stack; what belongs to stacks to come is kept.
    fn stack_of<'a>(
        &mut self,
        bytes: &'a [u8],
        spool: &mut Writer,
    ) -> Option<probes::CopiedStack<'a>> {
        match u32::from(probes::head(bytes)?.kind) {
            events::TS_INTERPRETED => {
                let side = probes::interpreter_frames(bytes)?;
                let moment = (side.head.thread, side.head.t, side.what);
                self.runtimes.sides.put(moment, side);
            }
            events::TS_CODE => self.runtimes.pythons.code(&probes::code(bytes)?, spool),
            events::TS_FUNCTION => self.runtimes.interpreters.name(probes::name(bytes)?, spool),
            events::TS_SCRIPT => self.runtimes.scripts.frames(probes::script(bytes)?),
            events::TS_LEFT => self.left_place(&probes::left_place(bytes)?, spool),
            events::TS_TASK => self.task(probes::decode(bytes)?, spool),
            _ => return probes::stack(bytes),
        }
        None
    }

    fn apply(&mut self, from: usize, until: u64) -> usize {
        let mut at = from;
        while let Some(change) = self
            .changes
            .get(at)
            .filter(|change| change.time_ns <= until)
        {
            self.spaces.apply(change);
            self.loaded.applied(&change.what);
            self.runtimes.applied(&change.what, &mut self.spaces);
            at += 1;
            self.notice_makers();
        }
        at
    }

    /// Now and then: what is only known while processes run.
    pub fn look_again(&mut self) {
        self.maps.look_again();
    }

    fn notice_makers(&mut self) {
        for pid in self.spaces.makers() {
            self.maps.notice(pid);
        }
    }

    /// Give names to code that runtimes made, when all stacks are settled and the program is over.
    pub fn name_made_code(&mut self, patience: &Patience, spool: &mut Writer) {
        /// So many names make a note, of bounded length.
        const NAMES: usize = 256;
        let maps: HashMap<u32, MapIndex> = self
            .modules
            .iter()
            .filter_map(|((_, map), &module)| Some((module, (*map)?)))
            .collect();
        let mut wanted: HashMap<MapIndex, Vec<u64>> = HashMap::new();
        let mut places: HashMap<MapIndex, Vec<u32>> = HashMap::new();
        for place in self.nodes.keys().filter(|place| place.code == 0) {
            let module = place.module;
            if let Some(&map) = maps.get(&module) {
                let address = place.offset.saturating_sub(u64::from(!place.exact));
                wanted.entry(map).or_default().push(address);
                places.entry(map).or_default().push(module);
            }
        }
        let (named, not_read) = self.maps.names(&wanted, patience);
        self.tell_given_up(not_read, patience, spool);
        let runtimes = &mut self.runtimes;
        let not_seen = runtimes.interpreters.not_seen().into_iter();
        let not_seen = not_seen.chain(runtimes.carriers.not_seen());
        for why in not_seen.chain(self.goroutines.not_seen()) {
            spool.note(&Note::GaveUp { why, count: 1 });
        }
        for (map, names) in named {
            let mut made: HashMap<u32, BTreeMap<u64, Arc<str>>> = HashMap::new();
            let places = wanted[&map].iter().zip(&places[&map]);
            for ((&address, &module), name) in places.zip(names) {
                if let Some(name) = name {
                    made.entry(module).or_default().insert(address, name);
                }
            }
            for (module, names) in made {
                let names: Vec<_> = names
                    .into_iter()
                    .map(|(address, name)| (address, name.to_string()))
                    .collect();
                for names in names.chunks(NAMES) {
                    spool.note(&Note::Made {
                        module,
                        names: names.to_vec(),
                    });
                }
            }
        }
    }

    /// What could not be read in time.
    fn tell_given_up(&self, maps: u64, patience: &Patience, spool: &mut Writer) {
        let why = patience.ended().unwrap_or("they could not be read in time");
        let maps = (
            maps,
            format!("maps of code that runtimes made were left out: {why}"),
        );
        let why = "who serves the memory or the files of a program did not answer: code in them has no names and no callers";
        for (count, why) in [maps, (self.reader.gave_up(), why.to_owned())] {
            if count > 0 {
                spool.note(&Note::GaveUp { why, count });
            }
        }
    }

    fn tell(&mut self, stack: &probes::CopiedStack<'_>, spool: &mut Writer) {
        let thread = stack.head.thread;
        let side = stack.python ^ stack.java ^ stack.left_sp;
        let key = (stack.ip, stack.sp, stack.bp, side);
        let executing = u32::from(stack.user) & events::TS_EXECUTING != 0;
        let (node, complete) = if stack.ip == 0 || self.is_held(stack) {
            (0, true)
        } else if executing && !stack.repeated {
            // Between two programs, a stack that leads nowhere is of neither.
            let (node, complete) = self.unwind(stack, spool);
            (node * u32::from(complete), true)
        } else if stack.repeated {
            self.remembered.get(thread, key).unwrap_or((0, false))
        } else {
            let found = self.unwind(stack, spool);
            self.remembered.insert(thread, key, found);
            found
        };
        let kernel = self.known_places.frames_of(stack);
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
            frames: kernel.count,
            complete: u8::from(complete),
            frame: kernel.frame,
        };
        spool.event(seen.as_bytes());
    }

    fn unwind(&mut self, stack: &probes::CopiedStack<'_>, spool: &mut Writer) -> (u32, bool) {
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
        let goroutine = (stack.left_sp != 0).then_some(Goroutine {
            ip: stack.left_ip,
            sp: stack.left_sp,
        });
        let copied = unwind::Stack {
            inner: Piece {
                start: stack.sp,
                bytes: stack.copy,
            },
            beyond: Piece {
                start: stack.beyond,
                bytes: stack.second,
            },
        };
        let ending = self
            .unwinder
            .unwind(space, registers, &copied, goroutine, &mut frames);
        let left = u32::from(stack.user) & events::TS_NO_GOROUTINE != 0;
        let complete = ending == Ending::Complete || ending == Ending::NoGoroutine && left;
        let map = self.maps.of(stack.pid);
        let mut methods = self
            .runtimes
            .javas
            .methods(stack.pid, &copied, &frames, spool);
        if methods.is_empty() {
            let framed = (&*frames, self.unwinder.modules());
            methods = self
                .runtimes
                .v8s
                .functions(stack.pid, &copied, framed, spool);
        }
        let (merged, complete) = if let Some(side) = self.runtimes.sides.of(stack) {
            let complete = complete && !side.cut;
            (self.with_interpreter(&frames, &side, complete), complete)
        } else if let Some(script) = self.runtimes.scripts.side_of(stack) {
            let merged = self.with_script(&frames, &script, spool);
            (merged, complete && !script.cut)
        } else {
            let native = (0..frames.len()).map(MergedFrame::Native).collect();
            ((native, Vec::new()), complete)
        };
        let native = (&*frames, &*methods, map);
        let node = self.nodes_of(native, merged, complete, spool);
        self.frames = frames;
        self.tell_loaded(stack, spool);
        (node, complete)
    }

    /// Where a process has its files, if threads of it may wait for each other's locks.
    fn tell_loaded(&mut self, stack: &probes::CopiedStack<'_>, spool: &mut Writer) {
        let pid = stack.pid;
        if u32::from(stack.what) != events::TS_OF_WAIT || !self.spaces.has_threads(pid) {
            return;
        }
        let Some(space) = self.spaces.space(pid) else {
            return;
        };
        for file in self.loaded.newly(pid, space) {
            let index = self.unwinder.module(&file.image);
            let module = self.module(index, None, spool);
            spool.note(&Note::Loaded(LoadedModule {
                pid,
                at: stack.head.t,
                module,
                moved: file.moved,
                start: file.start,
                end: file.end,
            }));
        }
    }

    /// A thread is at work for another task: where that began is made a stack.
    fn task(&mut self, event: Event, spool: &mut Writer) {
        let Event::Task(mut task) = event else {
            return;
        };
        if task.kind == events::TS_OF_PYTHON {
            self.place_coroutines(&mut task, spool);
        } else {
            if task.kind == events::TS_OF_GO && task.number != 0 {
                let layout = || self.runtimes.carriers.layout(task.pid);
                self.goroutines.seen_at_work(&task, layout);
            }
            self.place_goroutines(&mut task, spool);
        }
        // Nothing gets into the spool that the probes did not set.
        task.left_place = Default::default();
        let end = task.name.iter().position(|byte| *byte == 0);
        task.name[end.unwrap_or(0)..].fill(0);
        task.pad = 0;
        spool.event(task.as_bytes());
    }

    fn place_goroutines(&mut self, task: &mut events::ts_task, spool: &mut Writer) {
        let Some(space) = self.spaces.space(task.pid) else {
            return;
        };
        let began = began(&mut self.unwinder, space, task.entry, task.started_at);
        let [innermost, mark, ..] = task.left;
        let left: Vec<Frame> = (innermost != 0)
            .then(|| self.unwinder.frame(space, innermost, false))
            .into_iter()
            .collect();
        task.node = self.told_node(&began, true, spool);
        task.left_node = match self.left_places.get(&mark) {
            Some(&node) => node,
            None => self.told_node(&left, false, spool),
        };
    }

    /// A place where a goroutine was left, seen for the first time.
    fn left_place(&mut self, left: &probes::LeftPlace, spool: &mut Writer) {
        let Some(space) = self.spaces.space(left.pid) else {
            return;
        };
        let mut frame = |&address| self.unwinder.frame(space, address, false);
        let known = left.places.iter().take_while(|address| **address != 0);
        let frames: Vec<Frame> = known.map(&mut frame).collect();
        let node = self.told_node(&frames, left.whole, spool);
        if self.left_places.len() < MOST_LEFT_PLACES {
            self.left_places.insert(left.mark, node);
        }
    }

    /// Goroutines that no thread is at work for are looked at if it is time to.
    pub fn look_at_goroutines(&mut self, spool: &mut Writer) {
        let Some(pid) = self.goroutines.due() else {
            return;
        };
        if let Some(looked) = self.goroutines.look(pid, self.spaces.space(pid)) {
            self.tell_goroutines(&looked, spool);
        }
    }

    fn tell_goroutines(&mut self, looked: &Looked, spool: &mut Writer) {
        for sight in &looked.sights {
            let Some(space) = self.spaces.space(looked.pid) else {
                return;
            };
            let began = began(&mut self.unwinder, space, sight.entry, sight.started_at);
            let places = sight.places.iter();
            let left = places.map(|&place| self.unwinder.frame(space, place, false));
            let left: Vec<Frame> = left.collect();
            let task = events::ts_task {
                head: events::ts_head {
                    kind: events::TS_SIGHT as u8,
                    thread: looked.thread,
                    t: looked.at,
                    ..Default::default()
                },
                seen_before: sight.before,
                number: sight.number,
                parent: sight.parent,
                pid: looked.pid,
                node: self.told_node(&began, true, spool),
                left_state: sight.state,
                left_node: self.told_node(&left, sight.whole, spool),
                kind: events::TS_OF_GO,
                ..Default::default()
            };
            spool.event(task.as_bytes());
        }
    }

    fn place_coroutines(&mut self, task: &mut events::ts_task, spool: &mut Writer) {
        let pythons = &self.runtimes.pythons;
        let began = (task.entry != 0).then(|| pythons.beginning(task.entry));
        let left = task.left.into_iter().zip(task.left_place);
        let left = left.take_while(|(code, _)| *code != 0);
        let mut left: Vec<_> = left.map(|(code, at)| pythons.place(code, at)).collect();
        left.reverse();
        task.node = self.script_node(began.into_iter().collect(), spool);
        task.left_node = self.script_node(left, spool);
    }

    /// The node of functions of a script alone, by their numbers and lines.
    fn script_node(&mut self, places: Vec<(u32, u32)>, spool: &mut Writer) -> u32 {
        let steps = (0..places.len()).map(MergedFrame::Script).collect();
        self.nodes_of((&[], &[], None), (steps, places), true, spool)
    }

    /// The node of native frames alone.
    fn told_node(&mut self, frames: &[Frame], complete: bool, spool: &mut Writer) -> u32 {
        let native = (0..frames.len()).map(MergedFrame::Native).collect();
        self.nodes_of((frames, &[], None), (native, Vec::new()), complete, spool)
    }

    /// The frames that an interpreter lists where they belong among the native ones.
    fn with_interpreter(
        &self,
        frames: &[Frame],
        side: &InterpreterFrames,
        complete: bool,
    ) -> Merged {
        let runtimes = &self.runtimes;
        let role = |frame| match self.image_of(frame) {
            Some((image, address)) => match runtimes.pythons.part(image, address) {
                FrameRole::Other => runtimes.interpreters.role(image, address),
                role => role,
            },
            None => FrameRole::Other,
        };
        let roles: Vec<FrameRole> = frames.iter().map(role).collect();
        let fresh: Vec<bool> = side.frames.iter().map(|f| f.fresh != 0).collect();
        let place = |frame| {
            let known = runtimes.interpreters.place(frame);
            known.unwrap_or_else(|| runtimes.pythons.place(frame.code, frame.at))
        };
        let places = side.frames.iter().map(place);
        (merge(&roles, &fresh, complete), places.collect())
    }

    /// The functions of a script of bash where they belong among the native frames.
    fn with_script(&mut self, frames: &[Frame], script: &ToldScript, spool: &mut Writer) -> Merged {
        let part = |frame| match self.image_of(frame) {
            Some((image, address)) => self.runtimes.scripts.part(image, address),
            None => bash::ScriptRole::Other,
        };
        let parts: Vec<bash::ScriptRole> = frames.iter().map(part).collect();
        let (steps, lines) = bash::merge(&parts, script);
        let numbered = script.frames.iter().zip(lines);
        let places =
            numbered.map(|(frame, line)| (self.runtimes.scripts.number(frame, spool), line));
        (steps, places.collect())
    }

    /// The node of these frames, some of which are methods of Java or functions of JavaScript, with those of a script where they belong.
    fn nodes_of(
        &mut self,
        (frames, methods, map): (&[Frame], &[Vec<InFrame>], Option<MapIndex>),
        (steps, places): Merged,
        complete: bool,
        spool: &mut Writer,
    ) -> u32 {
        let mut parent = 0;
        for step in steps.iter().rev() {
            let index = match *step {
                // What it is called was lost.
                MergedFrame::Script(index) if places[index].0 == 0 => continue,
                MergedFrame::Script(index) => {
                    let (code, line) = places[index];
                    parent = self.node(NodePlace::line(parent, complete, code, line), spool);
                    continue;
                }
                MergedFrame::Native(index) => index,
            };
            let within = methods.get(index).map_or(&[][..], Vec::as_slice);
            if let Some(method) = within.first().filter(|method| method.interpreted) {
                let line = method.line.unwrap_or(0);
                parent = self.node(NodePlace::line(parent, complete, method.code, line), spool);
                continue;
            }
            let frame = &frames[index];
            let module = frame.module;
            let known = self.nodes.len();
            let mut place = NodePlace {
                parent,
                module: module.map_or(0, |index| self.module(index, map, spool)),
                offset: frame.address,
                complete,
                exact: frame.exact,
                code: 0,
                line: 0,
                inlined: false,
            };
            if within.is_empty() {
                place.parent = self.node(place, spool);
            }
            for method in within.iter().rev() {
                place.code = method.code;
                place.line = method.line.unwrap_or(0);
                place.parent = self.node(place, spool);
                place.inlined = true;
            }
            parent = place.parent;
            if let (Some(map), true) = (map, self.nodes.len() > known) {
                if self.is_made(frame) {
                    self.maps.seen(map, looked_up(frame));
                }
            }
        }
        parent
    }

    /// Whether it is code that a runtime made.
    fn is_made(&self, frame: &Frame) -> bool {
        self.image_of(frame)
            .is_some_and(|(image, _)| image.kind() == ImageKind::Jit)
    }

    /// Where a frame is: the file, and the address in it of its instruction, or its call.
    fn image_of(&self, frame: &Frame) -> Option<(&Image, u64)> {
        let image = self.unwinder.modules().get(frame.module?.0 as usize)?;
        Some((image, looked_up(frame)))
    }

    fn node(&mut self, place: NodePlace, spool: &mut Writer) -> u32 {
        if let Some(&node) = self.nodes.get(&place) {
            return node;
        }
        let node = self.nodes.len() as u32 + 1;
        self.nodes.insert(place, node);
        let event = events::ts_node {
            head: events::ts_head {
                kind: events::TS_NODE as u8,
                pad: 0,
                cpu: 0,
                thread: 0,
                t: 0,
            },
            offset: place.offset,
            node,
            parent: place.parent,
            module: place.module,
            complete: u8::from(place.complete),
            exact: u8::from(place.exact),
            inlined: u8::from(place.inlined),
            pad: 0,
            code: place.code,
            line: place.line,
        };
        spool.event(event.as_bytes());
        node
    }

    /// The number of a module, which is told before the first node that is in it.
    fn module(&mut self, index: ModuleIndex, map: Option<MapIndex>, spool: &mut Writer) -> u32 {
        let image = &self.unwinder.modules()[index.0 as usize];
        let map = map.filter(|_| image.kind() == ImageKind::Jit);
        let next = self.modules.len() as u32 + 1;
        let module = *self.modules.entry((index, map)).or_insert(next);
        if module == next {
            let kind = match image.kind() {
                ImageKind::File => ModuleKind::File,
                ImageKind::Vdso => ModuleKind::Vdso,
                ImageKind::Jit => ModuleKind::Jit,
            };
            spool.note(&Note::Module {
                module,
                kind: kind.to_string(),
                path: image.path().to_string_lossy().into_owned(),
                build_id: image
                    .build_id()
                    .map(|id| id.to_string())
                    .unwrap_or_default(),
                stamp: image.stamp(),
            });
        }
        module
    }
}
