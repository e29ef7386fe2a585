//! Which processes are a bash, told to the probes as its program is mapped; and what the probes tell in turn:
//! where it is in its scripts, until the native side of the stack is there too.

use std::collections::HashMap;

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use timesink_recording::words::Language;

use crate::address_space::{Change, Image, Mapping, Space, Spaces};
use crate::bash::{self, Bash, Part};
use crate::probes::{self, events, Script, ScriptFrame};
use crate::spool::{Note, Writer};

/// Sides of scripts whose stack has not come. It comes right after, unless it was lost.
const MOST_WAITING: usize = 1 << 10;
/// Numbers below are of other languages.
const FIRST: u32 = 1 << 31;
/// Functions beyond that have no number, and no name.
const MOST_FUNCTIONS: u32 = 1 << 20;

#[derive(Default)]
pub struct Scripts {
    map: Option<MapHandle>,
    /// By the images' serial numbers.
    programs: HashMap<u32, Option<Bash>>,
    processes: HashMap<u32, events::ts_bash>,
    /// The numbers of functions, by name and file.
    numbers: HashMap<(String, String), u32>,
    waiting: HashMap<(u32, u64, u8), Script>,
}

impl Scripts {
    /// Without a map nothing is a bash.
    pub fn new(map: Option<MapHandle>) -> Scripts {
        Scripts {
            map,
            ..Scripts::default()
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
            Change::Mapped(mapped) if bash::may_be(&mapped.path) && spaces.follows(mapped.pid) => {
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
                let same = self.processes.get(parent_pid).copied();
                if let Some(same) = same.filter(|_| pid != parent_pid) {
                    self.tell(*pid, same);
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
        let image = &mapping.image;
        let found = self.programs.entry(image.serial());
        let Some(found) = found.or_insert_with(|| bash::recognise(image)) else {
            return;
        };
        // As far as all of the file is from where it says that it is.
        let moved = mapping.start.wrapping_sub(mapping.in_image(mapping.start));
        let places = &found.places;
        let here = events::ts_bash {
            line: places.line.wrapping_add(moved),
            simple_line: places.simple_line.wrapping_add(moved),
            command: places.command.wrapping_add(moved),
            trap: places.trap.wrapping_add(moved),
            variables: places.variables.wrapping_add(moved),
        };
        self.tell(pid, here);
    }

    fn tell(&mut self, pid: u32, bash: events::ts_bash) {
        self.processes.insert(pid, bash);
        if let Some(map) = &self.map {
            // One that the map has no room for has native frames only.
            let _ = map.update(&pid.to_ne_bytes(), probes::bytes_of(&bash), MapFlags::ANY);
        }
    }

    fn forget(&mut self, pid: u32) {
        if self.processes.remove(&pid).is_some() {
            if let Some(map) = &self.map {
                let _ = map.delete(&pid.to_ne_bytes());
            }
        }
    }

    /// Where a bash is; its stack is still to come.
    pub fn frames(&mut self, script: Script) {
        if self.waiting.len() >= MOST_WAITING {
            self.waiting.clear();
        }
        let moment = (script.thread, script.t, script.what);
        self.waiting.insert(moment, script);
    }

    /// The script's side of a stack.
    pub fn side_of(&mut self, stack: &probes::Stack<'_>) -> Option<Script> {
        let moment = (stack.head.thread, stack.head.t, stack.what);
        self.waiting.remove(&moment).filter(|_| stack.python != 0)
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
            language: Language::Shell.to_string(),
        });
        FIRST + next
    }

    /// What the function at an address, as the image counts, is to a script.
    pub fn part(&self, image: &Image, address: u64) -> Part {
        let found = self.programs.get(&image.serial()).and_then(Option::as_ref);
        found.map_or(Part::Other, |found| found.part(address))
    }
}
