//! Which processes are Node.js, told to the probes as it is mapped; and what the functions in its frames are
//! called, interpreted and compiled ones, read from the process while it lives.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use libbpf_rs::MapHandle;
use timesink_recording::words::Language;

use crate::address_space::{Change, Image, ImageKind, Mapping, Space, Spaces};
use crate::probes::events;
use crate::reader::Reader;
use crate::record::java::InFrame;
use crate::record::memory::Opened;
use crate::record::recognised::{self, Recognised};
use crate::spool::{Note, Writer};
use crate::unwind::{Frame, Stack};
use crate::v8::{self, Description, Function, Layout, Scripts, Shared};

/// The numbers of functions are not those of Java's methods.
const FIRST_CODE: u32 = 7 << 29;
/// The code of one process lies as near together as that.
const LARGEST_RANGE: u64 = 1 << 30;
/// More functions than that have no names.
const MOST_FUNCTIONS: usize = 1 << 18;
/// What is looked for in one round at most: a program that starts has not that many. Scripts are read as a whole.
const MOST_NEW: u32 = 1 << 14;
const MOST_SCRIPTS: u32 = 64;
/// In so many functions calls are looked for in one round at most: their text is read.
const MOST_TEXTS: u32 = 64;
/// In so many rounds, which are 20 ms long, no code takes the place of another that was run meanwhile, nor does what
/// functions share: it is moved when a heap is compacted.
const LASTING: u64 = 8;
/// So often it has to be said that other code is there, if the first was said as often.
const MOST_VOTES: u8 = 4;

struct NodeProcess {
    memory: Opened,
    told: events::ts_java,
    file: Rc<Description>,
    /// The functions of this round: each is an object that the collector may move.
    now: HashMap<u64, Option<FoundFunction>>,
    /// In which line a function calls another one, by their numbers; `None` where that is not known.
    calls: HashMap<(u32, u32), Option<u32>>,
    /// By what they share.
    functions: HashMap<u64, KnownFunction>,
    /// By what is run: the bytecode, or a place in what it was compiled to.
    run: HashMap<u64, Ran>,
    scripts: Scripts,
}

/// Which function some code was found to be of. The collector may have put another function into the place of the one
/// that a frame has; code stays longer where it is, so that what is said of it more often is right.
#[derive(Clone, Copy)]
struct Ran {
    code: u32,
    votes: u8,
    round: u64,
}

/// A function's number, 0: it is none that has a name, and where that lies which it shares with others.
#[derive(Clone, Copy)]
struct FoundFunction {
    code: u32,
    shared: u64,
}

/// A function in a frame, and where that lies which it shares with others, if it was found now.
type Framed = Option<(InFrame, Option<u64>)>;

/// A function's number, 0: it is none that has a name.
#[derive(Clone, Copy)]
struct KnownFunction {
    shared: Shared,
    /// Interpreted frames of the function have this, if it is known.
    bytecode: Option<u64>,
    /// When it was looked at.
    round: u64,
    code: u32,
    /// Nothing of it was missing.
    whole: bool,
}

pub struct Nodes {
    reader: Arc<Reader>,
    machines: Recognised<Rc<Description>, NodeProcess>,
    codes: HashMap<Function, u32>,
    /// What functions are called, by their numbers.
    names: Vec<Box<str>>,
    round: u64,
    /// Looked for in this round.
    new: u32,
    scripts: u32,
    texts: u32,
}

impl Nodes {
    /// Without a map stacks could be taken for others, so that nothing is Node.js.
    pub fn new(map: Option<MapHandle>, reader: Arc<Reader>) -> Nodes {
        Nodes {
            reader,
            machines: Recognised::new(map),
            codes: HashMap::new(),
            names: Vec::new(),
            round: 0,
            new: 0,
            scripts: 0,
            texts: 0,
        }
    }

    /// A process was found running.
    pub fn seeded(&mut self, pid: u32, space: &Space) {
        space.mappings().iter().for_each(|m| self.look_at(pid, m));
        space.mappings().iter().for_each(|m| self.makes(pid, m));
    }

    /// What happened has been applied to the address spaces.
    pub fn applied(&mut self, change: &Change, spaces: &mut Spaces) {
        if let Some((pid, mapping)) = self.machines.applied(change, spaces, v8::may_be) {
            self.look_at(pid, &mapping);
            return;
        }
        // Newer versions map their own code once more, near to what they compile, and run either.
        let Change::Mapped(mapped) = change else {
            return;
        };
        if self.machines.has(mapped.pid) {
            let mapping = spaces.space(mapped.pid).and_then(|s| s.find(mapped.start));
            if let Some(mapping) = mapping.cloned() {
                self.look_at(mapped.pid, &mapping);
                self.makes(mapped.pid, &mapping);
            }
        }
    }

    /// The code that a process makes lies in one range, which fills as it runs.
    fn makes(&mut self, pid: u32, mapping: &Mapping) {
        let Some(process) = self.machines.process(pid) else {
            return;
        };
        let told = &mut process.told;
        if mapping.image.kind() != ImageKind::Jit {
            return;
        }
        let (mut start, mut end) = (mapping.start, mapping.end);
        if told.made_length > 0 {
            start = start.min(told.made);
            end = end.max(told.made.saturating_add(told.made_length));
        }
        let length = end.saturating_sub(start);
        if length > told.made_length && length <= LARGEST_RANGE {
            (told.made, told.made_length) = (start, length);
            self.tell(pid);
        }
    }

    fn tell(&mut self, pid: u32) {
        let told = self.machines.process(pid).map(|process| process.told);
        if let (Some(told), (_, Some(map))) = (told, self.machines.processes()) {
            // Of one that the map has no room for, stacks may be taken for others, as those of any program.
            let _ = recognised::tell(map, pid, &told);
        }
    }

    fn look_at(&mut self, pid: u32, mapping: &Mapping) {
        if !self.machines.is_told() {
            return;
        }
        let look = |image: &Image| v8::recognise(image).map(Rc::new);
        let Some(file) = self.machines.look_into(&mapping.image, look) else {
            return;
        };
        let file = file.clone();
        let (start, end) = (file.interpreter.start, file.interpreter.end);
        let here = start.wrapping_add(mapping.moved());
        let told = events::ts_java {
            start: here,
            again: here,
            length: end - start,
            method: file.layout.frame.bytecode,
            made: 0,
            made_length: 0,
            position: 0,
        };
        if !(mapping.start..mapping.end).contains(&here) {
            return;
        }
        if !self.machines.has(pid) {
            let Ok(memory) = self.reader.memory(pid) else {
                return;
            };
            let process = NodeProcess {
                memory: Opened::of(memory),
                told,
                file,
                now: HashMap::new(),
                calls: HashMap::new(),
                functions: HashMap::new(),
                run: HashMap::new(),
                scripts: Scripts::default(),
            };
            self.machines.follow(pid, process);
        }
        if let Some(process) = self.machines.process(pid) {
            process.told.again = here;
        }
        self.tell(pid);
    }

    /// Stacks are about to be looked at.
    pub fn settle(&mut self) {
        self.round += 1;
        self.new = 0;
        self.scripts = 0;
        self.texts = 0;
        let (processes, _) = self.machines.processes();
        for (_, process) in processes {
            process.memory.forget();
            process.now.clear();
        }
    }

    /// The function in each of these frames.
    pub fn functions(
        &mut self,
        pid: u32,
        stack: &Stack,
        (frames, images): (&[Frame], &[Arc<Image>]),
        spool: &mut Writer,
    ) -> Vec<Vec<InFrame>> {
        if !self.machines.has(pid) {
            return Vec::new();
        }
        let image = |frame: &Frame| images.get(frame.module?.0 as usize);
        let interpreters: Vec<Option<bool>> = frames
            .iter()
            .map(|frame| {
                let image = image(frame)?;
                if image.kind() == ImageKind::Jit {
                    return Some(false);
                }
                let file = self.machines.file(image)?;
                let address = frame.address.wrapping_sub(u64::from(!frame.exact));
                file.interpreter.contains(&address).then_some(true)
            })
            .collect();
        let mut looked: Vec<Framed> = Vec::with_capacity(frames.len());
        for (index, frame) in frames.iter().enumerate() {
            // As the interpreter begins it has its caller's frame still.
            let next = frames.get(index + 1);
            let begins = next.is_some_and(|next| next.frame_pointer == frame.frame_pointer);
            let function = match interpreters[index] {
                Some(true) if begins => None,
                Some(interpreted) => self.function(pid, stack, (frame, interpreted), spool),
                None => None,
            };
            looked.push(function);
        }
        for index in 1..looked.len() {
            if let (Some((callee, _)), Some((caller, Some(shared)))) =
                (looked[index - 1], looked[index])
            {
                let line = self.line_of_call(pid, shared, caller.code, callee.code);
                if let Some((caller, _)) = &mut looked[index] {
                    caller.line = line;
                }
            }
        }
        let each = looked.into_iter();
        each.map(|function| function.map(|(found, _)| found).into_iter().collect())
            .collect()
    }

    /// In which line a function calls the one whose frame is next to its own.
    fn line_of_call(&mut self, pid: u32, shared: u64, caller: u32, callee: u32) -> Option<u32> {
        let process = self.machines.process(pid)?;
        if let Some(known) = process.calls.get(&(caller, callee)) {
            return *known;
        }
        if self.texts >= MOST_TEXTS {
            return None;
        }
        self.texts += 1;
        let name = self.names.get(callee.checked_sub(FIRST_CODE)? as usize)?;
        let (memory, layout) = (&process.memory, &process.file.layout);
        let shared = Shared::read(memory, layout, shared)?;
        let line = Function::line_of_call(memory, layout, &shared, &mut process.scripts, name);
        self.scripts += process.scripts.take_read();
        if process.calls.len() >= MOST_FUNCTIONS {
            process.calls.clear();
        }
        process.calls.insert((caller, callee), line);
        line
    }

    fn function(
        &mut self,
        pid: u32,
        stack: &Stack,
        (frame, interpreted): (&Frame, bool),
        spool: &mut Writer,
    ) -> Framed {
        let process = self.machines.process(pid)?;
        let layout = &process.file.layout.frame;
        let below = |distance: u64| stack.read(frame.frame_pointer.checked_sub(distance)?).ok();
        // Frames of V8's own have a number there.
        if !v8::is_object(below(layout.context)?) {
            return None;
        }
        let function = below(layout.function).filter(|word| v8::is_object(*word))?;
        let run = match interpreted {
            true => below(layout.bytecode)?,
            false => frame.address,
        };
        let mut look = Look {
            codes: &mut self.codes,
            names: &mut self.names,
            spool,
            round: self.round,
            new: &mut self.new,
            scripts: &mut self.scripts,
        };
        let bytecode = interpreted.then_some(run);
        let function = process.code(function, bytecode, &mut look);
        let found = function.map(|function| function.code);
        let usual = process.ran(run, found, self.round);
        // The innermost frame, where its function begins or returns, is its caller's, whoever that is.
        let code = match frame.exact && !interpreted {
            true => found.or(usual
                .filter(|usual| usual.votes > 1)
                .map(|usual| usual.code)),
            false => usual.map(|usual| usual.code),
        };
        let code = code.filter(|code| *code != 0)?;
        let own = function.filter(|function| function.code == code);
        let in_frame = InFrame {
            code,
            line: None,
            interpreted,
        };
        Some((in_frame, own.map(|function| function.shared)))
    }
}

/// What is needed to look for a function.
struct Look<'a> {
    codes: &'a mut HashMap<Function, u32>,
    names: &'a mut Vec<Box<str>>,
    spool: &'a mut Writer,
    round: u64,
    new: &'a mut u32,
    scripts: &'a mut u32,
}

impl NodeProcess {
    /// What this code is of, with what was found now: nothing, where the function was moved, or the process is gone.
    fn ran(&mut self, run: u64, found: Option<u32>, round: u64) -> Option<Ran> {
        let known = self.run.get(&run).copied();
        let known = known.filter(|known| round - known.round < LASTING);
        let now = match (known, found) {
            (known, None) => return known,
            (Some(known), Some(code)) if known.code == code => Ran {
                votes: (known.votes + 1).min(MOST_VOTES),
                round,
                ..known
            },
            (Some(known), Some(_)) if known.votes > 1 => Ran {
                votes: known.votes - 1,
                ..known
            },
            (_, Some(code)) => Ran {
                code,
                votes: 1,
                round,
            },
        };
        if self.run.len() >= MOST_FUNCTIONS {
            self.run.clear();
        }
        self.run.insert(run, now);
        Some(now)
    }

    /// What a function is; `None` if there is none.
    fn code(
        &mut self,
        function: u64,
        bytecode: Option<u64>,
        look: &mut Look,
    ) -> Option<FoundFunction> {
        if let Some(found) = self.now.get(&function) {
            return *found;
        }
        if *look.new >= MOST_NEW {
            return None;
        }
        *look.new += 1;
        let file = self.file.clone();
        let place = Shared::place(&self.memory, &file.layout, function);
        let found = place.and_then(|shared| {
            let code = self.of_shared(&file.layout, shared, bytecode, look)?;
            Some(FoundFunction { code, shared })
        });
        self.now.insert(function, found);
        found
    }

    /// The number of the function that has this to share, after a look at whether it is still the same.
    fn of_shared(
        &mut self,
        layout: &Layout,
        place: u64,
        bytecode: Option<u64>,
        look: &mut Look,
    ) -> Option<u32> {
        let known = self.functions.get(&place).copied();
        // An object that took the place of the one in the frame has other bytecode.
        let differs = |own: Option<u64>| own.is_some_and(|own| bytecode.is_some_and(|b| own != b));
        let lasts =
            |known: &KnownFunction| look.round - known.round < LASTING && !differs(known.bytecode);
        if let Some(known) = known.filter(lasts) {
            return Some(known.code);
        }
        let shared = Shared::read(&self.memory, layout, place)?;
        let own = shared.bytecode(&self.memory, layout);
        if differs(own) {
            return None;
        }
        let (code, whole) = match known {
            Some(known) if known.shared == shared && known.whole => (known.code, true),
            _ => {
                if *look.scripts >= MOST_SCRIPTS {
                    return None;
                }
                let scripts = &mut self.scripts;
                let found = Function::read(&self.memory, layout, &shared, scripts);
                *look.scripts += scripts.take_read();
                let whole = found.as_ref().is_some_and(|found| found.line.is_some());
                (found.map_or(0, |found| number(found, look)), whole)
            }
        };
        if self.functions.len() >= MOST_FUNCTIONS {
            self.functions.clear();
        }
        let known = KnownFunction {
            shared,
            bytecode: own,
            round: look.round,
            code,
            whole,
        };
        self.functions.insert(place, known);
        Some(code)
    }
}

/// The number of a function, which is told before the first frame that is in it. 0: there are too many.
fn number(function: Function, look: &mut Look) -> u32 {
    if let Some(code) = look.codes.get(&function) {
        return *code;
    }
    if look.codes.len() >= MOST_FUNCTIONS {
        return 0;
    }
    let code = FIRST_CODE + look.codes.len() as u32;
    look.names.push(function.name.as_str().into());
    look.spool.note(&Note::Code {
        code,
        function: function.name.clone(),
        file: function.file.clone(),
        line: function.line,
        language: Language::JavaScript.to_string(),
    });
    look.codes.insert(function, code);
    code
}
