//! Which processes are a bash, told to the probes as its program is mapped; and what the probes tell in turn:
//! where it is in its scripts, until the native side of the stack is there too.

use std::collections::HashMap;

use libbpf_rs::MapHandle;
use timesink_recording::words::Language;

use crate::address_space::{Change, Image, Mapping, Space, Spaces};
use crate::bash::{self, Bash, ScriptRole};
use crate::probes::{self, events, ScriptFrame, ToldScript};
use crate::record::recognised::{Recognised, Sides};
use crate::spool::{Note, Writer};

/// Sides of scripts whose stack has not come.
const MOST_WAITING: usize = 1 << 10;
/// Numbers below are of other languages.
const FIRST: u32 = 1 << 31;
/// Functions beyond that have no number, and no name.
const MOST_FUNCTIONS: u32 = 1 << 20;

pub struct Scripts {
    bashes: Recognised<Bash, events::ts_bash>,
    /// The numbers of functions, by name and file.
    numbers: HashMap<(String, String), u32>,
    waiting: Sides<ToldScript>,
}

impl Scripts {
    /// Without a map nothing is a bash.
    pub fn new(map: Option<MapHandle>) -> Scripts {
        Scripts {
            bashes: Recognised::new(map),
            numbers: HashMap::new(),
            waiting: Sides::new(MOST_WAITING),
        }
    }

    /// A process was found running.
    pub fn seeded(&mut self, pid: u32, space: &Space) {
        space.mappings().iter().for_each(|m| self.look_at(pid, m));
    }

    /// What happened has been applied to the address spaces.
    pub fn applied(&mut self, change: &Change, spaces: &mut Spaces) {
        self.bashes.forked(change);
        if let Some((pid, mapping)) = self.bashes.applied(change, spaces, bash::may_be) {
            self.look_at(pid, &mapping);
        }
    }

    fn look_at(&mut self, pid: u32, mapping: &Mapping) {
        if self.bashes.has(pid) {
            return;
        }
        let Some(found) = self.bashes.look_into(&mapping.image, bash::recognise) else {
            return;
        };
        let moved = mapping.moved();
        let places = &found.places;
        let here = events::ts_bash {
            line: places.line.wrapping_add(moved),
            simple_line: places.simple_line.wrapping_add(moved),
            command: places.command.wrapping_add(moved),
            trap: places.trap.wrapping_add(moved),
            variables: places.variables.wrapping_add(moved),
        };
        self.bashes.tell(pid, here);
    }

    /// Where a bash is; its stack is still to come.
    pub fn frames(&mut self, script: ToldScript) {
        let moment = (script.thread, script.t, script.what);
        self.waiting.put(moment, script);
    }

    /// The script's side of a stack.
    pub fn side_of(&mut self, stack: &probes::CopiedStack<'_>) -> Option<ToldScript> {
        self.waiting.of(stack)
    }

    /// The number of a function, which is told in the spool if it is new; 0: it has none.
    pub fn number(&mut self, frame: &ScriptFrame, spool: &mut Writer) -> u32 {
        let key = (frame.function.clone(), frame.file.clone());
        if let Some(&known) = self.numbers.get(&key) {
            return known;
        }
        let next = self.numbers.len() as u32;
        if next >= MOST_FUNCTIONS {
            return 0;
        }
        self.numbers.insert(key, FIRST + next);
        spool.note(&Note::Code {
            code: FIRST + next,
            function: frame.function.clone(),
            file: frame.file.clone(),
            line: None,
            language: Language::Shell.to_string(),
        });
        FIRST + next
    }

    /// What the function at an address, as the image counts, is to a script.
    pub fn part(&self, image: &Image, address: u64) -> ScriptRole {
        let found = self.bashes.file(image);
        found.map_or(ScriptRole::Other, |found| found.part(address))
    }
}
