//! How much stack the probes may use, told before any kernel is asked. Kernels up to 6.x allow a program 512 bytes with all
//! that it calls, each function counted in steps of 32; what is refused there loads elsewhere, so it would not be
//! noticed here. Knows nothing of what is on the stack; recursion is the verifier's to refuse.

use std::collections::{BTreeMap, BTreeSet};

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};

/// The deepest that a chain of calls may reach, of the 512 bytes that there are.
pub const MOST: u64 = 400;

/// The verifier counts each function's part in steps of this size, and at least one.
const STEP: u64 = 32;

const FRAME_POINTER: u8 = 10;

/// A place in the code: the number of its section, and the bytes from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CodePlace {
    section: usize,
    at: u64,
}

impl CodePlace {
    fn moved(self, bytes: i64) -> CodePlace {
        CodePlace {
            at: self.at.wrapping_add_signed(bytes),
            ..self
        }
    }
}

struct BpfFunction {
    name: String,
    size: u64,
    /// The lowest address that it uses, below the frame pointer.
    depth: u64,
    calls: BTreeSet<CodePlace>,
}

/// A chain of calls, and the stack that it takes.
pub struct Chain {
    pub bytes: u64,
    /// Each function with its part, the program first.
    pub functions: Vec<(String, u64)>,
}

impl std::fmt::Display for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} bytes:", self.bytes)?;
        for (name, bytes) in &self.functions {
            write!(f, " {name} {bytes}")?;
        }
        Ok(())
    }
}

/// The deepest chain from each program, the deepest of all first.
pub fn deepest_chains(object: &[u8]) -> Vec<Chain> {
    let file = object::File::parse(object).expect("clang wrote an object file");
    let functions = functions(&file);
    let called: BTreeSet<CodePlace> = functions.values().flat_map(|f| f.calls.clone()).collect();
    let programs = functions.keys().filter(|place| !called.contains(place));
    let mut chains: Vec<Chain> = programs.map(|&place| deepest(&functions, place)).collect();
    chains.sort_by_key(|chain| std::cmp::Reverse(chain.bytes));
    chains
}

fn deepest(functions: &BTreeMap<CodePlace, BpfFunction>, place: CodePlace) -> Chain {
    let function = &functions[&place];
    let own = function.depth.max(1).next_multiple_of(STEP);
    let below = function.calls.iter().map(|&call| deepest(functions, call));
    let mut chain = below.max_by_key(|chain| chain.bytes).unwrap_or(Chain {
        bytes: 0,
        functions: Vec::new(),
    });
    chain.bytes += own;
    chain.functions.insert(0, (function.name.clone(), own));
    chain
}

fn functions(file: &object::File) -> BTreeMap<CodePlace, BpfFunction> {
    let mut functions = BTreeMap::new();
    for symbol in file.symbols() {
        let kind = symbol.kind() == object::SymbolKind::Text;
        let (Some(section), true) = (symbol.section_index(), kind && symbol.size() > 0) else {
            continue;
        };
        let function = BpfFunction {
            name: symbol.name().unwrap_or("?").to_string(),
            size: symbol.size(),
            depth: 0,
            calls: BTreeSet::new(),
        };
        let place = CodePlace {
            section: section.0,
            at: symbol.address(),
        };
        functions.insert(place, function);
    }
    for section in file.sections() {
        let code = section.data().expect("its sections can be read");
        let targets = targets(file, &section);
        let own = functions.iter_mut();
        for (&place, function) in own.filter(|(place, _)| place.section == section.index().0) {
            let body = &code[place.at as usize..(place.at + function.size) as usize];
            look_through(function, body, place, &targets);
        }
    }
    functions
}

/// Which code the instructions of a section are to be linked to, by where they are; `None` if it is not ours.
fn targets(file: &object::File, section: &object::Section) -> BTreeMap<u64, Option<CodePlace>> {
    let mut targets = BTreeMap::new();
    for (at, relocation) in section.relocations() {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            continue;
        };
        let symbol = file.symbol_by_index(index).expect("the symbol is there");
        // What is in no section is the kernel's.
        let section = symbol
            .section_index()
            .and_then(|index| file.section_by_index(index).ok());
        let section = section.filter(|s| s.kind() == object::SectionKind::Text);
        let place = section.map(|section| CodePlace {
            section: section.index().0,
            at: symbol.address(),
        });
        targets.insert(at, place);
    }
    targets
}

/// One instruction: 8 bytes.
struct Instruction {
    code: u8,
    to: u8,
    from: u8,
    offset: i16,
    immediate: i32,
}

impl Instruction {
    fn at(bytes: &[u8]) -> Instruction {
        Instruction {
            code: bytes[0],
            to: bytes[1] & 15,
            from: bytes[1] >> 4,
            offset: i16::from_le_bytes([bytes[2], bytes[3]]),
            immediate: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        }
    }
}

// Of loads and stores without the bits that say how wide they are.
const LOAD: u8 = 0x61;
const STORE: u8 = 0x63;
const STORE_CONSTANT: u8 = 0x62;
const SIZE: u8 = 0x18;
const ADD_CONSTANT: u8 = 0x07;
const MOVE: u8 = 0xbf;
const CALL: u8 = 0x85;
const WIDE_CONSTANT: u8 = 0x18; // takes two places
const OWN_FUNCTION: u8 = 1; // as `from` of a call

/// Note what a function uses of its stack, and what it calls.
fn look_through(
    function: &mut BpfFunction,
    body: &[u8],
    start: CodePlace,
    targets: &BTreeMap<u64, Option<CodePlace>>,
) {
    // How far from the frame pointer each register points that was made from it.
    let mut points: [Option<i64>; 11] = [None; 11];
    points[FRAME_POINTER as usize] = Some(0);
    let mut at = 0;
    while at + 8 <= body.len() {
        let i = Instruction::at(&body[at..]);
        let place = start.at + at as u64;
        let target = targets.get(&place).copied(); // None: it is not linked
        at += 8;
        let mut touch = |from_it: Option<i64>| {
            let below = from_it.map_or(0, |bytes| (-bytes).max(0) as u64);
            function.depth = function.depth.max(below);
        };
        let moved = |register: u8, by: i64| points[register as usize].map(|bytes| bytes + by);
        let (offset, immediate) = (i64::from(i.offset), i64::from(i.immediate));
        match i.code {
            MOVE => points[i.to as usize] = points[i.from as usize],
            ADD_CONSTANT => {
                points[i.to as usize] = moved(i.to, immediate);
                touch(points[i.to as usize]);
            }
            CALL => {
                points[..6].fill(None);
                // Counted in instructions, from the next one or from where the linker will say.
                let base = target.unwrap_or(Some(CodePlace { at: place, ..start }));
                if let (OWN_FUNCTION, Some(base)) = (i.from, base) {
                    function.calls.insert(base.moved(8 * (immediate + 1)));
                }
            }
            WIDE_CONSTANT => {
                at += 8;
                points[i.to as usize] = None;
                // The address of a function: one that a helper will call.
                function
                    .calls
                    .extend(target.flatten().map(|base| base.moved(immediate)));
            }
            code if code & !SIZE == LOAD => {
                touch(moved(i.from, offset));
                points[i.to as usize] = None;
            }
            code if code & !SIZE == STORE || code & !SIZE == STORE_CONSTANT => {
                touch(moved(i.to, offset));
            }
            // All other arithmetic.
            code if code & 7 == 7 || code & 7 == 4 => points[i.to as usize] = None,
            _ => {}
        }
    }
}
