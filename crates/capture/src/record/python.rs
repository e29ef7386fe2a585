//! Which processes are Python, told to the probes as their interpreter is mapped; and what the probes tell in
//! turn: code objects.

use std::collections::HashMap;
use std::sync::Arc;

use libbpf_rs::MapHandle;
use timesink_recording::words::Language;

use crate::address_space::{Change, Image, Mapping, Space, Spaces};
use crate::interpreters::FrameRole;
use crate::probes::{self, events};
use crate::python::{self, Interpreter};
use crate::record::recognised::Recognised;
use crate::spool::{Note, Writer};

/// More code objects than that are forgotten; a program of that many functions has other worries.
const MOST_CODES: usize = 1 << 19;

/// A function as the compiler made it. Many processes, and many objects in one, may have the same.
#[derive(PartialEq, Eq, Hash)]
struct PythonFunction {
    version: u32,
    first_line: u32,
    name: String,
    file: String,
    table: Box<[u8]>,
}

pub struct Pythons {
    interpreters: Recognised<Interpreter, events::ts_python>,
    serial: u32,
    /// The numbers of functions, from 1, by the probes' ids.
    codes: HashMap<u64, u32>,
    numbers: HashMap<Arc<PythonFunction>, u32>,
    functions: Vec<Arc<PythonFunction>>,
}

impl Pythons {
    /// Without a map nothing is Python.
    pub fn new(map: Option<MapHandle>) -> Pythons {
        Pythons {
            interpreters: Recognised::new(map),
            serial: 0,
            codes: HashMap::new(),
            numbers: HashMap::new(),
            functions: Vec::new(),
        }
    }

    /// A process was found running.
    pub fn seeded(&mut self, pid: u32, space: &Space) {
        space.mappings().iter().for_each(|m| self.look_at(pid, m));
    }

    /// What happened has been applied to the address spaces.
    pub fn applied(&mut self, change: &Change, spaces: &mut Spaces) {
        self.interpreters.forked(change);
        if let Some((pid, mapping)) = self.interpreters.applied(change, spaces, python::may_be) {
            self.look_at(pid, &mapping);
        }
    }

    fn look_at(&mut self, pid: u32, mapping: &Mapping) {
        if self.interpreters.has(pid) {
            return;
        }
        let look = python::recognise;
        let Some(found) = self.interpreters.look_into(&mapping.image, look) else {
            return;
        };
        let python = events::ts_python {
            runtime: found.runtime.wrapping_add(mapping.moved()),
            ..found.layout
        };
        self.serial += 1;
        let serial = self.serial;
        let python = events::ts_python { serial, ..python };
        self.interpreters.tell(pid, python);
    }

    /// A code object; it is told in the spool if its function is new.
    pub fn code(&mut self, code: &probes::ToldCode<'_>, spool: &mut Writer) {
        let function = Arc::new(PythonFunction {
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
                line: None,
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
    pub fn place(&self, frame: &events::ts_interpreter_frame) -> (u32, u32) {
        let number = self.codes.get(&frame.code).copied().unwrap_or(0);
        let function = (number as usize).checked_sub(1);
        let line = function
            .and_then(|index| self.functions.get(index))
            .and_then(|f| python::line(f.version, f.first_line, &f.table, frame.at));
        (number, line.unwrap_or(0))
    }

    /// What the function at an address, as the image counts, is to Python.
    pub fn part(&self, image: &Image, address: u64) -> FrameRole {
        let found = self.interpreters.file(image);
        found.map_or(FrameRole::Other, |found| found.part(address))
    }
}
