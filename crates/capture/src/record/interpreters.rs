//! Which processes run PHP, Ruby or Perl, told to the probes as their interpreter is mapped; and what the probes tell in turn:
//! what functions are called.

use std::collections::HashMap;

use libbpf_rs::MapHandle;

use crate::address_space::{Change, Image, Mapping, Space, Spaces};
use crate::interpreters::{self, FrameRole, Known};
use crate::probes::{events, ToldName};
use crate::record::recognised::Recognised;
use crate::spool::{Note, Writer};

/// Numbers below are of Python.
const FIRST: u32 = 1 << 30;
/// Functions beyond that have no number, and no name.
const MOST_FUNCTIONS: u32 = 1 << 20;
/// More names than that, of all processes, are forgotten.
const MOST_TOLD: usize = 1 << 19;

pub struct Interpreters {
    files: Recognised<Known, events::ts_interpreter>,
    /// The numbers of functions, by the probes' ids.
    told: HashMap<u64, u32>,
    /// The same by name and file.
    numbers: HashMap<(String, String), u32>,
    /// Why functions of some files are not seen, which is yet to be told.
    not_seen: Vec<String>,
}

impl Interpreters {
    /// Without a map nothing is an interpreter.
    pub fn new(map: Option<MapHandle>) -> Interpreters {
        Interpreters {
            files: Recognised::new(map),
            told: HashMap::new(),
            numbers: HashMap::new(),
            not_seen: Vec::new(),
        }
    }

    /// A process was found running.
    pub fn seeded(&mut self, pid: u32, space: &Space) {
        space.mappings().iter().for_each(|m| self.look_at(pid, m));
    }

    /// What happened has been applied to the address spaces.
    pub fn applied(&mut self, change: &Change, spaces: &mut Spaces) {
        self.files.forked(change);
        if let Some((pid, mapping)) = self.files.applied(change, spaces, interpreters::may_be) {
            self.look_at(pid, &mapping);
        }
    }

    fn look_at(&mut self, pid: u32, mapping: &Mapping) {
        if self.files.has(pid) {
            return;
        }
        let is_new = self.files.file(&mapping.image).is_none();
        let look = interpreters::recognise;
        match self.files.look_into(&mapping.image, look) {
            Some(Ok(found)) => {
                let here = found.placed(mapping.moved());
                self.files.tell(pid, here);
            }
            Some(Err(why)) if is_new => self.not_seen.push(why.clone()),
            _ => {}
        }
    }

    /// Why functions of some interpreters are not seen, as far as it was not asked before.
    pub fn not_seen(&mut self) -> Vec<String> {
        std::mem::take(&mut self.not_seen)
    }

    /// What a function is called; it is told in the spool if it is new.
    pub fn name(&mut self, told: ToldName, spool: &mut Writer) {
        let Some((function, language)) = interpreters::shown(&told) else {
            return;
        };
        let next = self.numbers.len() as u32;
        let key = (function, told.file);
        let known = self.numbers.get(&key).copied();
        let number = match known {
            Some(number) => number,
            None if next >= MOST_FUNCTIONS => return,
            None => {
                spool.note(&Note::Code {
                    code: FIRST + next,
                    function: key.0.clone(),
                    file: key.1.clone(),
                    line: None,
                    language: language.to_string(),
                });
                self.numbers.insert(key, FIRST + next);
                FIRST + next
            }
        };
        if self.told.len() >= MOST_TOLD {
            self.told.clear();
        }
        self.told.insert(told.id, number);
    }

    /// The number of a frame's function and its line, 0: not known; `None` for a frame of another interpreter.
    pub fn place(&self, frame: &events::ts_interpreter_frame) -> Option<(u32, u32)> {
        let number = *self.told.get(&frame.code)?;
        Some((number, u32::try_from(frame.at).unwrap_or(0)))
    }

    /// What the function at an address, as the image counts, is to an interpreter.
    pub fn role(&self, image: &Image, address: u64) -> FrameRole {
        match self.files.file(image) {
            Some(Ok(found)) => found.role(address),
            _ => FrameRole::Other,
        }
    }
}
