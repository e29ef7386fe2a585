//! Which processes are Python, told to the probes as their interpreter is mapped; and what the probes tell in
//! turn: code objects, and the Python side of stacks, until the native side is there too.

use std::collections::HashMap;
use std::sync::Arc;

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use timesink_recording::words::Language;

use crate::address_space::{Change, Image, Mapping, Space, Spaces};
use crate::probes::{self, events, PythonFrames};
use crate::python::{self, Interpreter, Part};
use crate::spool::{Note, Writer};

/// More code objects than that are forgotten; a program of that many functions has other worries.
const MOST_CODES: usize = 1 << 19;
/// Python sides whose stack has not come. It comes right after, unless it was lost.
const MOST_WAITING: usize = 1 << 12;

/// What a stack is known by: thread, time, and what it is of.
type Moment = (u32, u64, u8);

/// A function as the compiler made it. Many processes, and many objects in one, may have the same.
#[derive(PartialEq, Eq, Hash)]
struct Function {
    version: u32,
    first_line: u32,
    name: String,
    file: String,
    table: Box<[u8]>,
}

#[derive(Default)]
pub struct Pythons {
    map: Option<MapHandle>,
    /// By the images' serial numbers.
    interpreters: HashMap<u32, Option<Interpreter>>,
    processes: HashMap<u32, events::ts_python>,
    serial: u32,
    /// The numbers of functions, from 1, by the probes' ids.
    codes: HashMap<u64, u32>,
    numbers: HashMap<Arc<Function>, u32>,
    functions: Vec<Arc<Function>>,
    waiting: HashMap<Moment, PythonFrames>,
}

impl Pythons {
    /// Without a map nothing is Python.
    pub fn new(map: Option<MapHandle>) -> Pythons {
        Pythons {
            map,
            ..Pythons::default()
        }
    }

    /// A process was found running.
    pub fn seeded(&mut self, pid: u32, space: &Space) {
        for mapping in space.mappings() {
            self.look_at(pid, mapping);
        }
    }

    /// What happened has been applied to the address spaces.
    pub fn applied(&mut self, change: &Change, spaces: &mut Spaces) {
        match change {
            Change::Mapped(mapped) if python::may_be(&mapped.path) => {
                if !spaces.follows(mapped.pid) {
                    return;
                }
                let space = spaces.space(mapped.pid).cloned().unwrap_or_default();
                if let Some(mapping) = space.find(mapped.start) {
                    self.look_at(mapped.pid, mapping);
                }
            }
            Change::Mapped(_) => {}
            Change::Executed { pid } => self.forget(*pid),
            // The probes have done so already, if they knew the parent by then.
            Change::Forked {
                pid, parent_pid, ..
            } => {
                if let Some(same) = self.processes.get(parent_pid).copied() {
                    if pid != parent_pid {
                        self.tell(*pid, same);
                    }
                }
            }
            Change::Ended { pid, .. } => {
                if !spaces.follows(*pid) {
                    self.forget(*pid);
                }
            }
        }
    }

    fn look_at(&mut self, pid: u32, mapping: &Mapping) {
        if self.processes.contains_key(&pid) {
            return;
        }
        let Some(found) = self.interpreter(&mapping.image) else {
            return;
        };
        // As far as all of the file is from where it says that it is.
        let moved = mapping.start.wrapping_sub(mapping.in_image(mapping.start));
        let python = events::ts_python {
            runtime: found.runtime.wrapping_add(moved),
            ..found.layout
        };
        self.serial += 1;
        let serial = self.serial;
        self.tell(pid, events::ts_python { serial, ..python });
    }

    fn interpreter(&mut self, image: &Image) -> Option<&Interpreter> {
        let found = self.interpreters.entry(image.serial());
        found.or_insert_with(|| python::recognise(image)).as_ref()
    }

    fn tell(&mut self, pid: u32, python: events::ts_python) {
        self.processes.insert(pid, python);
        if let Some(map) = &self.map {
            // One that the map has no room for has native frames only.
            let _ = map.update(&pid.to_ne_bytes(), probes::bytes_of(&python), MapFlags::ANY);
        }
    }

    fn forget(&mut self, pid: u32) {
        if self.processes.remove(&pid).is_some() {
            if let Some(map) = &self.map {
                let _ = map.delete(&pid.to_ne_bytes());
            }
        }
    }

    /// Python frames, whose stack is still to come.
    pub fn frames(&mut self, frames: PythonFrames) {
        if self.waiting.len() >= MOST_WAITING {
            self.waiting.clear();
        }
        let moment = (frames.head.thread, frames.head.t, frames.what);
        self.waiting.insert(moment, frames);
    }

    /// The Python side of a stack.
    pub fn side_of(&mut self, stack: &probes::Stack<'_>) -> Option<PythonFrames> {
        let moment = (stack.head.thread, stack.head.t, stack.what);
        self.waiting.remove(&moment).filter(|_| stack.python != 0)
    }

    /// A code object; it is told in the spool if its function is new.
    pub fn code(&mut self, code: &probes::Code<'_>, spool: &mut Writer) {
        let function = Arc::new(Function {
            version: code.version,
            first_line: code.first_line,
            name: code.name.clone(),
            file: code.file.clone(),
            table: code.table.into(),
        });
        let next = self.functions.len() as u32 + 1;
        let number = *self.numbers.entry(function.clone()).or_insert(next);
        if number == next {
            spool.note(&Note::Code {
                code: number,
                function: code.name.clone(),
                file: code.file.clone(),
                language: Language::Python.to_string(),
            });
            self.functions.push(function);
        }
        if self.codes.len() >= MOST_CODES {
            self.codes.clear();
        }
        self.codes.insert(code.id, number);
    }

    /// The number of a frame's function and its line, 0: not known.
    pub fn place(&self, frame: &events::ts_python_frame) -> (u32, u32) {
        let number = self.codes.get(&frame.code).copied().unwrap_or(0);
        let function = (number as usize).checked_sub(1);
        let line = function
            .and_then(|index| self.functions.get(index))
            .and_then(|f| python::line(f.version, f.first_line, &f.table, frame.at));
        (number, line.unwrap_or(0))
    }

    /// What the function at an address, as the image counts, is to Python.
    pub fn part(&self, image: &Image, address: u64) -> Part {
        let found = self
            .interpreters
            .get(&image.serial())
            .and_then(Option::as_ref);
        found.map_or(Part::Other, |found| found.part(address))
    }
}
