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
    /// Some process may run coroutines.
    any_coroutines: bool,
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
            any_coroutines: false,
            codes: HashMap::new(),
            numbers: HashMap::new(),
            functions: Vec::new(),
        }
    }

    /// A process was found running.
    pub fn seeded(&mut self, pid: u32, space: &Space) {
        space.mappings().iter().for_each(|m| self.look_at(pid, m));
        let mut mapped = space.mappings().iter();
        if mapped.any(|m| python::is_asyncio(m.image.path())) {
            self.has_loaded_asyncio(pid);
        }
    }

    /// What happened has been applied to the address spaces.
    pub fn applied(&mut self, change: &Change, spaces: &mut Spaces) {
        self.interpreters.forked(change);
        if let Some((pid, mapping)) = self.interpreters.applied(change, spaces, python::may_be) {
            self.look_at(pid, &mapping);
        }
        if let Change::Mapped(mapped) = change {
            if python::is_asyncio(&mapped.path) {
                self.has_loaded_asyncio(mapped.pid);
            }
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
        let moved = |address: u64| match address {
            0 => 0,
            address => address.wrapping_add(mapping.moved()),
        };
        self.serial += 1;
        let python = events::ts_python {
            serial: self.serial,
            runtime: moved(found.runtime),
            long_type: moved(found.types.long),
            generator_type: moved(found.types.generator),
            coroutine_type: moved(found.types.coroutine),
            ..found.layout
        };
        let has_asyncio = found.has_asyncio;
        self.interpreters.tell(pid, python);
        if has_asyncio {
            self.has_loaded_asyncio(pid);
        }
    }

    /// The process may run coroutines from here on.
    fn has_loaded_asyncio(&mut self, pid: u32) {
        let Some(&mut python) = self.interpreters.process(pid) else {
            return;
        };
        // Before 3.11 they cannot be told by their frames.
        if python.coroutines == 0 && python.generator_frame != 0 && python.coroutine_type != 0 {
            let coroutines = 1;
            let python = events::ts_python {
                coroutines,
                ..python
            };
            self.interpreters.tell(pid, python);
            self.any_coroutines = true;
        }
    }

    /// Whether the probes are to look for coroutines.
    pub fn any_coroutines(&self) -> bool {
        self.any_coroutines
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
    pub fn place(&self, code: u64, at: i32) -> (u32, u32) {
        let number = self.codes.get(&code).copied().unwrap_or(0);
        let line = self
            .function(number)
            .and_then(|f| python::line(f.version, f.first_line, &f.table, at));
        (number, line.unwrap_or(0))
    }

    /// The number of a function and the line where it begins.
    pub fn beginning(&self, code: u64) -> (u32, u32) {
        let number = self.codes.get(&code).copied().unwrap_or(0);
        (number, self.function(number).map_or(0, |f| f.first_line))
    }

    fn function(&self, number: u32) -> Option<&PythonFunction> {
        let index = (number as usize).checked_sub(1)?;
        self.functions.get(index).map(Arc::as_ref)
    }

    /// What the function at an address, as the image counts, is to Python.
    pub fn part(&self, image: &Image, address: u64) -> FrameRole {
        let found = self.interpreters.file(image);
        found.map_or(FrameRole::Other, |found| found.part(address))
    }
}
