//! Which processes are Java, told to the probes as soon as their interpreter is there; and what the methods in
//! its frames are called, the interpreter's and those of compiled code, read from the process while it lives.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use libbpf_rs::MapHandle;
use timesink_recording::words::Language;

use crate::address_space::{Change, Image, Mapping, Space, Spaces};
use crate::java::{
    self, Description, Heaps, Layout, Method, Origin, Piece, Stamp, METHOD_IN_FRAME,
};
use crate::probes::events;
use crate::reader::Reader;
use crate::record::memory::Opened;
use crate::record::recognised::{self, Recognised};
use crate::spool::{Note, Writer};
use crate::unwind::{Frame, Stack};

/// The numbers of Java's methods are not those of the functions of scripts.
const FIRST_CODE: u32 = 3 << 30;
/// More methods than that have no names.
const MOST_METHODS: usize = 1 << 18;
/// What is looked for in one round at most: a program that starts has not that many.
const MOST_NEW: u32 = 4096;
/// In so many rounds, which are 20 ms long, neither code nor a method takes the place of another that was run
/// meanwhile: that takes several collections of garbage.
const LASTING: u64 = 8;
/// In so many rounds it is asked whether the interpreter is there; in the first of them each time.
const PATIENCE: u32 = 2000;
const EAGER: u32 = 50;

struct JavaProcess {
    memory: Opened,
    /// What is added to the file's addresses.
    moved: u64,
    file: Rc<Description>,
    tried: u32,
    ready: Option<Ready>,
}

struct Ready {
    layout: Layout,
    interpreter: Range<u64>,
    heaps: Option<Heaps>,
    methods: HashMap<u64, KnownMethod>,
    /// The methods of compiled code, by address.
    compiled: HashMap<u64, Compiled>,
}

/// The code at an address, what it was made of, and when that was looked at.
#[derive(Clone)]
struct Compiled {
    piece: Option<Piece>,
    origin: Option<Origin>,
    round: u64,
}

/// A method, and its number, 0: it is none.
#[derive(Clone, Copy)]
struct KnownMethod {
    stamp: Option<Stamp>,
    /// When it was looked at.
    round: u64,
    code: u32,
}

pub struct Javas {
    reader: Arc<Reader>,
    machines: Recognised<Rc<Description>, JavaProcess>,
    codes: HashMap<Method, u32>,
    round: u64,
    /// Looked for in this round.
    new: u32,
}

impl Javas {
    /// Without a map stacks could be taken for others, so that nothing is Java.
    pub fn new(map: Option<MapHandle>, reader: Arc<Reader>) -> Javas {
        Javas {
            reader,
            machines: Recognised::new(map),
            codes: HashMap::new(),
            round: 0,
            new: 0,
        }
    }

    /// A process was found running.
    pub fn seeded(&mut self, pid: u32, space: &Space) {
        space.mappings().iter().for_each(|m| self.look_at(pid, m));
    }

    /// What happened has been applied to the address spaces.
    pub fn applied(&mut self, change: &Change, spaces: &mut Spaces) {
        if let Some((pid, mapping)) = self.machines.applied(change, spaces, java::may_be) {
            self.look_at(pid, &mapping);
        }
    }

    fn look_at(&mut self, pid: u32, mapping: &Mapping) {
        if !self.machines.is_told() || self.machines.has(pid) {
            return;
        }
        let look = |image: &Image| java::recognise(image).map(Rc::new);
        let Some(file) = self.machines.look_into(&mapping.image, look) else {
            return;
        };
        let file = file.clone();
        let Ok(memory) = self.reader.memory(pid) else {
            return;
        };
        let process = JavaProcess {
            memory: Opened::of(memory),
            moved: mapping.moved(),
            file,
            tried: 0,
            ready: None,
        };
        self.machines.follow(pid, process);
    }

    /// Stacks are about to be looked at: virtual machines that have started since are made ready.
    pub fn settle(&mut self) {
        self.round += 1;
        self.new = 0;
        let (processes, map) = self.machines.processes();
        for (pid, process) in processes {
            process.memory.forget();
            if process.ready.is_some() || process.tried >= PATIENCE {
                continue;
            }
            process.tried += 1;
            if process.tried > EAGER && process.tried % EAGER != 0 {
                continue;
            }
            let layout = Layout::read(&process.memory, &process.file, process.moved);
            let Some(layout) = layout else { continue };
            let Some(interpreter) = layout.interpreter(&process.memory) else {
                continue;
            };
            let told = events::ts_java {
                start: interpreter.start,
                again: interpreter.start,
                length: interpreter.end - interpreter.start,
                method: 8 * METHOD_IN_FRAME,
                made: 0,
                made_length: 0,
            };
            // One that the map has no room for keeps its nameless frames.
            if map.is_some_and(|map| recognised::tell(map, *pid, &told).is_ok()) {
                process.ready = Some(Ready {
                    heaps: Heaps::read(&process.memory, &layout),
                    layout,
                    interpreter,
                    methods: HashMap::new(),
                    compiled: HashMap::new(),
                });
            }
        }
    }

    /// The method in each of these frames.
    pub fn methods(
        &mut self,
        pid: u32,
        stack: &Stack,
        frames: &[Frame],
        spool: &mut Writer,
    ) -> Vec<Option<InFrame>> {
        let Some(process) = self.machines.process(pid) else {
            return Vec::new();
        };
        let Some(ready) = &mut process.ready else {
            return Vec::new();
        };
        let mut machine = JavaMachine {
            ready,
            memory: &process.memory,
            codes: &mut self.codes,
            round: self.round,
            new: &mut self.new,
        };
        let mut method = |frame: &Frame| machine.in_frame(stack, frame, spool);
        frames.iter().map(&mut method).collect()
    }
}

/// A method of a frame.
#[derive(Debug, Clone, Copy)]
pub struct InFrame {
    pub code: u32,
    pub interpreted: bool,
}

enum FoundMethod {
    Known(u32),
    /// It was not known, or is another now.
    New(u64, Option<Method>),
}

/// The method that a frame of the interpreter has.
fn in_frame(stack: &Stack, frame: &Frame) -> Option<u64> {
    let place = frame.frame_pointer.checked_sub(8 * METHOD_IN_FRAME)?;
    stack.read(place).ok()
}

/// A virtual machine in one round.
struct JavaMachine<'a> {
    ready: &'a mut Ready,
    memory: &'a Opened,
    codes: &'a mut HashMap<Method, u32>,
    round: u64,
    new: &'a mut u32,
}

impl JavaMachine<'_> {
    fn in_frame(&mut self, stack: &Stack, frame: &Frame, spool: &mut Writer) -> Option<InFrame> {
        let address = frame.address.wrapping_sub(u64::from(!frame.exact));
        let interpreted = self.ready.interpreter.contains(&address);
        if interpreted {
            let code = in_frame(stack, frame).map_or(0, |method| self.code_of(method, spool));
            if code != 0 {
                return Some(InFrame { code, interpreted });
            }
        }
        let ready = &mut *self.ready;
        let code = match ready.compiled_at(self.memory, address, self.round, self.new)? {
            Origin::Method(method) => self.code_of(method, spool),
            Origin::Own(name) if name.is_empty() => 0,
            Origin::Own(function) => {
                let file = String::new();
                let own = Method { function, file };
                number(self.codes, own, Language::Native, spool)
            }
        };
        let interpreted = false;
        (code != 0).then_some(InFrame { code, interpreted })
    }

    /// The number of a method; 0: there is none.
    fn code_of(&mut self, method: u64, spool: &mut Writer) -> u32 {
        let ready = &mut *self.ready;
        match ready.known(self.memory, method, self.round, self.new) {
            None => 0,
            Some(FoundMethod::Known(code)) => code,
            Some(FoundMethod::New(at, method)) => {
                let code = method.map_or(0, |method| {
                    number(self.codes, method, Language::Java, spool)
                });
                ready
                    .methods
                    .entry(at)
                    .and_modify(|known| known.code = code);
                code
            }
        }
    }
}

impl Ready {
    /// What the code at an address was made of.
    fn compiled_at(
        &mut self,
        memory: &Opened,
        at: u64,
        round: u64,
        new: &mut u32,
    ) -> Option<Origin> {
        let heaps = self.heaps.as_ref()?;
        let known = self.compiled.get(&at);
        if let Some(known) = known.filter(|known| round - known.round < LASTING) {
            return known.origin.clone();
        }
        if *new >= MOST_NEW || !heaps.have(at) {
            return known?.origin.clone();
        }
        *new += 1;
        let there = |piece: Piece| piece.is_there(memory, &self.layout);
        let (piece, origin) = match known.and_then(|known| Some((known, there(known.piece?)))) {
            // It is still there; or nothing is there any more, because the process is gone.
            Some((known, Some(true) | None)) => (known.piece, known.origin.clone()),
            _ => {
                let piece = heaps.piece(memory, &self.layout, at);
                (piece, piece.map(|piece| piece.origin(memory)))
            }
        };
        if self.compiled.len() >= MOST_METHODS {
            self.compiled.clear();
        }
        let code = Compiled {
            piece,
            origin: origin.clone(),
            round,
        };
        self.compiled.insert(at, code);
        origin
    }

    /// What is known of a method, after a look at whether it is still the same.
    fn known(
        &mut self,
        memory: &Opened,
        at: u64,
        round: u64,
        new: &mut u32,
    ) -> Option<FoundMethod> {
        let known = self.methods.get(&at).copied();
        if let Some(known) = known.filter(|known| round - known.round < LASTING) {
            return Some(FoundMethod::Known(known.code));
        }
        if *new >= MOST_NEW {
            return None;
        }
        *new += 1;
        let stamp = Stamp::of(memory, &self.layout, at);
        let (stamp, found) = match (known, stamp) {
            // It was there before, and still is; or nothing is there any more, because the process is gone.
            (Some(known), None) => (known.stamp, FoundMethod::Known(known.code)),
            (Some(known), Some(_)) if known.stamp == stamp => {
                (stamp, FoundMethod::Known(known.code))
            }
            (_, Some(found)) => {
                let method = Method::read(memory, &self.layout, at, found);
                (stamp, FoundMethod::New(at, method))
            }
            (None, None) => (None, FoundMethod::Known(0)),
        };
        if self.methods.len() >= MOST_METHODS {
            self.methods.clear();
        }
        let code = match found {
            FoundMethod::Known(code) => code,
            FoundMethod::New(..) => 0,
        };
        self.methods.insert(at, KnownMethod { stamp, round, code });
        Some(found)
    }
}

/// The number of a method, which is told before the first frame that is in it. 0: there are too many.
fn number(
    codes: &mut HashMap<Method, u32>,
    method: Method,
    language: Language,
    spool: &mut Writer,
) -> u32 {
    if let Some(code) = codes.get(&method) {
        return *code;
    }
    if codes.len() >= MOST_METHODS {
        return 0;
    }
    let code = FIRST_CODE + codes.len() as u32;
    spool.note(&Note::Code {
        code,
        function: method.function.clone(),
        file: method.file.clone(),
        line: None,
        language: language.to_string(),
    });
    codes.insert(method, code);
    code
}
