//! Who called whom: from copies of parts of a stack and a few registers to a list of frames.
//!
//! The way from a frame to its caller is in the unwind tables that compilers leave in programs (`.eh_frame`);
//! code without them (what runtimes make as they run, Go) is followed by its frame pointers. Every address is
//! looked up as its image counts, so that rules that were found for one process serve all others with the
//! same program. Reads no memory of processes, and knows no names of functions.

mod go;
mod rule;
mod stack;
mod tables;

use std::sync::Arc;

use gimli::X86_64;

use crate::address_space::{Image, Mapping, Space};
use rule::{Rule, Stuck};
use stack::{Known, Missing};
pub use stack::{Piece, Stack};
use tables::Tables;

/// Deeper stacks are cut.
const MOST_FRAMES: usize = 1024;
/// Rules that are remembered. A power of two.
const REMEMBERED: usize = 16_384;

/// The registers of a thread, as recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    pub ip: u64,
    pub sp: u64,
    pub bp: u64,
    /// In a system call its first argument. `vfork` keeps there where it returns to.
    pub di: Option<u64>,
    /// The dynamic linker keeps its frame there as it looks a function up.
    pub bx: Option<u64>,
}

/// A module's place in `Unwinder::modules`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleIndex(pub u32);

/// A place in code. That of the innermost frame, and of one that a signal interrupted, is the next
/// instruction (`exact`); that of a caller is the address that is returned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    pub module: Option<ModuleIndex>,
    /// As the module's symbol table counts; the plain address where there is none, or no module.
    pub address: u64,
    pub exact: bool,
    /// What its frame pointer was; 0 where that is not known.
    pub frame_pointer: u64,
}

/// Where a goroutine was left while the runtime works on a stack of the thread's.
#[derive(Debug, Clone, Copy)]
pub struct Goroutine {
    pub ip: u64,
    pub sp: u64,
}

/// Why a stack ends where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Here the thread began.
    Complete,
    /// More of the stack would be needed than was copied.
    OutOfCopy,
    /// Go's scheduler or collector is at work for a goroutine that is not known.
    NoGoroutine,
    /// Nothing says who called the last frame.
    NoRules,
    /// There are more frames than are followed.
    TooDeep,
}

/// Unwinds stacks, and remembers what it learned of the code they go through.
pub struct Unwinder {
    modules: Vec<Arc<Image>>,
    /// By the images' serial numbers.
    indices: Vec<Option<ModuleIndex>>,
    tables: Tables,
    rules: Box<[Option<Remembered>]>,
}

#[derive(Clone, Copy)]
struct Remembered {
    image: u32,
    address: u64,
    rule: Rule,
}

impl Default for Unwinder {
    fn default() -> Unwinder {
        Unwinder::new()
    }
}

impl Unwinder {
    pub fn new() -> Unwinder {
        Unwinder {
            modules: Vec::new(),
            indices: Vec::new(),
            tables: Tables::default(),
            rules: vec![None; REMEMBERED].into_boxed_slice(),
        }
    }

    /// Where the code of all frames so far was from, by index.
    pub fn modules(&self) -> &[Arc<Image>] {
        &self.modules
    }

    /// Bytes of unwind tables that are held in memory.
    pub fn table_bytes(&self) -> usize {
        self.tables.used()
    }

    /// The frames of a stack, innermost first, into `frames`.
    pub fn unwind(
        &mut self,
        space: &Space,
        registers: Registers,
        stack: &Stack,
        goroutine: Option<Goroutine>,
        frames: &mut Vec<Frame>,
    ) -> Ending {
        let mut goroutine = goroutine;
        frames.clear();
        let mut known = Known::new(registers.ip, registers.sp, registers.bp);
        known.set(X86_64::RDI, registers.di);
        known.set(X86_64::RBX, registers.bx);
        let mut exact = true;
        while frames.len() < MOST_FRAMES {
            // The instruction that called is before the address that is returned to, and it can be the
            // last one of its function.
            let back = u64::from(!exact);
            let lookup = known.ip().wrapping_sub(back);
            let mapping = space.find(lookup);
            if mapping.is_none() && !frames.is_empty() {
                return Ending::NoRules;
            }
            let frame = self.frame_in(mapping, known.ip(), exact);
            let in_image = frame.address.wrapping_sub(back);
            frames.push(Frame {
                frame_pointer: known.get(X86_64::RBP).unwrap_or(0),
                ..frame
            });
            let caller = match mapping {
                Some(m) => self.leave(space, &m.image, (in_image, exact), &known, stack),
                // A call through a bad pointer: who called is still to be had.
                None => rule::by_return(&known, stack).map(Caller::Called),
            };
            known = match caller {
                Ok(Caller::Nobody) => return Ending::Complete,
                Ok(Caller::Goroutine) => {
                    // Once: what the goroutine does is never on a third stack.
                    let Some(left) = goroutine.take() else {
                        return Ending::NoGoroutine;
                    };
                    exact = true;
                    Known::new(left.ip, left.sp, 0)
                }
                Ok(Caller::Called(caller) | Caller::Interrupted(caller)) if caller.ip() == 0 => {
                    return Ending::Complete;
                }
                // Signals can have a stack of their own; nothing else goes back. Only the innermost function
                // can have taken its return address off the stack.
                Ok(Caller::Called(caller))
                    if !stack.leads(known.sp().saturating_add(back), caller.sp()) =>
                {
                    return Ending::NoRules;
                }
                Ok(Caller::Called(caller)) => {
                    exact = false;
                    caller
                }
                Ok(Caller::Interrupted(caller)) => {
                    // Nobody called what returns from a signal: the address is where it begins, not behind a call.
                    if let Some(frame) = frames.last_mut() {
                        frame.exact = true;
                    }
                    exact = true;
                    caller
                }
                // The code that calls `main` may have no table, as that of musl.
                Err(_) if !exact && stack.is_start(known.sp()) => return Ending::Complete,
                Err(Stuck::Missing(Missing::Above)) => return Ending::OutOfCopy,
                Err(_) => return Ending::NoRules,
            };
        }
        Ending::TooDeep
    }

    /// The frame of an address: exact, or behind the call that returns to it.
    pub fn frame(&mut self, space: &Space, address: u64, exact: bool) -> Frame {
        let lookup = address.wrapping_sub(u64::from(!exact));
        self.frame_in(space.find(lookup), address, exact)
    }

    /// The same, where the mapping is known that it is in.
    fn frame_in(&mut self, mapping: Option<&Mapping>, address: u64, exact: bool) -> Frame {
        let back = u64::from(!exact);
        let lookup = address.wrapping_sub(back);
        let in_image = mapping.map_or(lookup, |m| m.in_image(lookup));
        Frame {
            module: mapping.map(|m| self.module(&m.image)),
            address: in_image.wrapping_add(back),
            exact,
            frame_pointer: 0,
        }
    }

    /// The index of an image among the modules.
    pub fn module(&mut self, image: &Arc<Image>) -> ModuleIndex {
        let serial = image.serial() as usize;
        if serial >= self.indices.len() {
            self.indices.resize(serial + 1, None);
        }
        *self.indices[serial].get_or_insert_with(|| {
            self.modules.push(image.clone());
            ModuleIndex(self.modules.len() as u32 - 1)
        })
    }

    fn rule(&mut self, image: &Image, address: u64) -> Rule {
        // Neighbouring images and addresses shall not meet in one place.
        let mixed = (address ^ u64::from(image.serial()) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (mixed >> 32) as usize % REMEMBERED;
        if let Some(seen) = &self.rules[place] {
            if seen.image == image.serial() && seen.address == address {
                return seen.rule;
            }
        }
        let rule = self.tables.rule(image, address);
        self.rules[place] = Some(Remembered {
            image: image.serial(),
            address,
            rule,
        });
        rule
    }

    /// From a frame to its caller.
    fn leave(
        &mut self,
        space: &Space,
        image: &Image,
        (address, exact): (u64, bool),
        known: &Known,
        stack: &Stack,
    ) -> Result<Caller, Stuck> {
        let by_table = match self.rule(image, address) {
            Rule::Root => return Ok(Caller::Nobody),
            Rule::Goroutine => return Ok(Caller::Goroutine),
            Rule::Signal => return rule::by_signal(known, stack).map(Caller::Interrupted),
            Rule::Distance {
                register,
                distance,
                saved,
            } => rule::by_distance(known, stack, (register, distance), &saved),
            Rule::Evaluate { entry } => self.tables.evaluate(image, (address, entry), known, stack),
            Rule::None | Rule::NoTable if is_entry(image, address) => return Ok(Caller::Nobody),
            // Beside functions with tables lie the stubs that lead into libraries.
            Rule::None if exact => {
                let caller = rule::by_return(known, stack)?;
                match is_code(space, caller.ip()) {
                    true => Ok(caller),
                    false => Err(Stuck::Rule),
                }
            }
            Rule::None if is_init(image, address) => {
                let caller = rule::by_return_above(known, stack, 8)?;
                match is_code(space, caller.ip()) {
                    true => Ok(caller),
                    false => Err(Stuck::Rule),
                }
            }
            Rule::None | Rule::NoTable => Err(Stuck::Rule),
        };
        match by_table {
            Err(Stuck::Rule) => by_frame_pointer(space, exact, known, stack),
            other => other.map(Caller::Called),
        }
    }
}

/// Who a frame leads to.
enum Caller {
    Called(Known),
    /// By a signal.
    Interrupted(Known),
    /// By a goroutine, which is on a stack of its own.
    Goroutine,
    Nobody,
}

fn is_code(space: &Space, return_address: u64) -> bool {
    space.find(return_address.wrapping_sub(1)).is_some()
}

/// The entry point of a program that has no table for it, as with musl: short, and nobody calls it.
fn is_entry(image: &Image, address: u64) -> bool {
    const LENGTH: u64 = 64;
    let entry = image.elf().map_or(0, |elf| elf.entry);
    entry != 0 && (entry..entry.saturating_add(LENGTH)).contains(&address)
}

/// The function `_init`, which has no table: it stands first of all code, makes eight bytes of room, and calls.
fn is_init(image: &Image, address: u64) -> bool {
    const LENGTH: u64 = 48;
    let code = image
        .elf()
        .and_then(|elf| elf.loads.iter().find(|load| load.executable));
    let start = code.map_or(0, |load| load.address);
    start != 0 && (start..start.saturating_add(LENGTH)).contains(&address)
}

fn by_frame_pointer(
    space: &Space,
    exact: bool,
    known: &Known,
    stack: &Stack,
) -> Result<Caller, Stuck> {
    // Whoever begins a thread clears it: that is how those who walk along frame pointers know the end. In the
    // innermost frame it may just be zero.
    if !exact && known.get(X86_64::RBP) == Some(0) {
        return Ok(Caller::Nobody);
    }
    let caller = rule::by_frame_pointer(known, stack)?;
    match caller.ip() == 0 || is_code(space, caller.ip()) {
        true => Ok(Caller::Called(caller)),
        false => Err(Stuck::Rule),
    }
}
