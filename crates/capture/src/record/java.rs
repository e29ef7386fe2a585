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
    self, Description, Heaps, Layout, Method, Origin, Piece, Stamp, BYTECODE_IN_FRAME,
    METHOD_IN_FRAME,
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
    /// The methods of compiled code, by address, and whether a call returns there.
    compiled: HashMap<(u64, bool), Compiled>,
    /// The lines of interpreted methods, by the method and its bytecode.
    lines: HashMap<(u64, u64), Option<u32>>,
}

/// The code at an address, what it was made of, and when that was looked at.
#[derive(Clone)]
struct Compiled {
    piece: Option<Piece>,
    origin: Option<Origin>,
    /// The methods at work there with their lines, innermost first; none if it is not known.
    at_work: Rc<[(u64, Option<u32>)]>,
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
            let heaps = Heaps::read(&process.memory, &layout);
            let made = heaps.as_ref().map(Heaps::range).unwrap_or_default();
            let told = events::ts_java {
                start: interpreter.start,
                again: interpreter.start,
                length: interpreter.end - interpreter.start,
                method: 8 * METHOD_IN_FRAME,
                made: made.start,
                made_length: made.end.saturating_sub(made.start),
                position: 8 * BYTECODE_IN_FRAME,
            };
            // One that the map has no room for keeps its nameless frames.
            if map.is_some_and(|map| recognised::tell(map, *pid, &told).is_ok()) {
                process.ready = Some(Ready {
                    heaps,
                    layout,
                    interpreter,
                    methods: HashMap::new(),
                    compiled: HashMap::new(),
                    lines: HashMap::new(),
                });
            }
        }
    }

    /// The methods in each of these frames.
    pub fn methods(
        &mut self,
        pid: u32,
        stack: &Stack,
        frames: &[Frame],
        spool: &mut Writer,
    ) -> Vec<Vec<InFrame>> {
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
        let mut methods = |frame: &Frame| machine.in_frame(stack, frame, spool);
        frames.iter().map(&mut methods).collect()
    }
}

/// A method of a frame. Compiled code can have several: those that became part of it stand before the one that was compiled.
#[derive(Debug, Clone, Copy)]
pub struct InFrame {
    pub code: u32,
    /// If it is known.
    pub line: Option<u32>,
    pub interpreted: bool,
}

impl InFrame {
    fn compiled(code: u32, line: Option<u32>) -> InFrame {
        InFrame {
            code,
            line,
            interpreted: false,
        }
    }
}

enum FoundMethod {
    Known(u32),
    /// It was not known, or is another now.
    New(u64, Option<Method>),
}

/// What a frame of the interpreter has in a place: its method, or the bytecode that it executes.
fn in_frame(stack: &Stack, frame: &Frame, place: u64) -> Option<u64> {
    let place = frame.frame_pointer.checked_sub(8 * place)?;
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
    fn in_frame(&mut self, stack: &Stack, frame: &Frame, spool: &mut Writer) -> Vec<InFrame> {
        let address = frame.address.wrapping_sub(u64::from(!frame.exact));
        if self.ready.interpreter.contains(&address) {
            let method = in_frame(stack, frame, METHOD_IN_FRAME);
            let code = method.map_or(0, |method| self.code_of(method, spool));
            if code != 0 {
                // What executes a bytecode that calls nothing has its address in a register.
                let bytecode = in_frame(stack, frame, BYTECODE_IN_FRAME).filter(|_| !frame.exact);
                let line = method.zip(bytecode);
                let line = line.and_then(|(method, at)| self.ready.line(self.memory, method, at));
                return vec![InFrame {
                    code,
                    line,
                    interpreted: true,
                }];
            }
        }
        let returns = !frame.exact;
        let ready = &mut *self.ready;
        let Some(compiled) = ready.compiled_at(self.memory, address, returns, self.round, self.new)
        else {
            return Vec::new();
        };
        let one = |code: u32| (code != 0).then(|| InFrame::compiled(code, None));
        match compiled.origin {
            Some(Origin::Method(method)) => {
                let at_work = self.all_of(&compiled.at_work, spool);
                at_work.unwrap_or_else(|| one(self.code_of(method, spool)).into_iter().collect())
            }
            Some(Origin::Own(function)) if !function.is_empty() => {
                let file = String::new();
                let own = Method { function, file };
                let code = number(self.codes, own, Language::Native, spool);
                one(code).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// All of these methods; `None` if there are none, or one of them is no method.
    fn all_of(
        &mut self,
        at_work: &[(u64, Option<u32>)],
        spool: &mut Writer,
    ) -> Option<Vec<InFrame>> {
        let mut all = Vec::with_capacity(at_work.len());
        for &(method, line) in at_work {
            match self.code_of(method, spool) {
                0 => return None,
                code => all.push(InFrame::compiled(code, line)),
            }
        }
        (!all.is_empty()).then_some(all)
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
    /// What the code at an address was made of, which a call may return behind.
    fn compiled_at(
        &mut self,
        memory: &Opened,
        at: u64,
        returns: bool,
        round: u64,
        new: &mut u32,
    ) -> Option<Compiled> {
        let heaps = self.heaps.as_ref()?;
        let known = self.compiled.get(&(at, returns));
        if let Some(known) = known.filter(|known| round - known.round < LASTING) {
            return Some(known.clone());
        }
        if *new >= MOST_NEW || !heaps.have(at) {
            return known.cloned();
        }
        *new += 1;
        let layout = &self.layout;
        let there = |piece: Piece| piece.is_there(memory, layout);
        let compiled = match known.and_then(|known| Some((known, there(known.piece?)))) {
            // It is still there; or nothing is there any more, because the process is gone.
            Some((known, Some(true) | None)) => Compiled {
                round,
                ..known.clone()
            },
            _ => {
                let piece = heaps.piece(memory, layout, at);
                let origin = piece.map(|piece| piece.origin(memory));
                let at_work = match (piece, &origin) {
                    (Some(piece), Some(Origin::Method(_))) => {
                        piece.at_work(memory, layout, at + u64::from(returns), returns)
                    }
                    _ => Vec::new(),
                };
                let placed = at_work.into_iter().map(|at_work| {
                    let line = |position| java::line(memory, layout, at_work.method, position);
                    (at_work.method, at_work.position.and_then(line))
                });
                Compiled {
                    piece,
                    origin,
                    at_work: placed.collect(),
                    round,
                }
            }
        };
        if self.compiled.len() >= MOST_METHODS {
            self.compiled.clear();
        }
        self.compiled.insert((at, returns), compiled.clone());
        Some(compiled)
    }

    /// The line of a method at one of its bytecodes.
    fn line(&mut self, memory: &Opened, method: u64, bytecode: u64) -> Option<u32> {
        if self.lines.len() >= MOST_METHODS {
            self.lines.clear();
        }
        *self.lines.entry((method, bytecode)).or_insert_with(|| {
            let position = java::position(memory, &self.layout, method, bytecode)?;
            java::line(memory, &self.layout, method, position)
        })
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
                // Another method was at this place.
                self.lines.clear();
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
