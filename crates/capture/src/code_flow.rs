//! What a small function of x86-64 does with its arguments and with the memory of its thread: registers and the function's own stack
//! are followed through its branches. Pure. It knows few instructions: where another one comes, that way is not followed further,
//! and that is told. Nothing is executed.

use std::collections::{HashMap, HashSet};

/// What a value counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    Number,
    /// Where the thread's FS register points.
    Storage,
    /// The stack pointer as the function began.
    Stack,
    /// So many arguments were before it.
    Argument(u8),
    /// It was read from memory: the index of that among all that was read.
    Read(usize),
}

/// A value as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Value {
    pub origin: Origin,
    pub plus: i64,
}

impl Value {
    pub const fn new(origin: Origin, plus: i64) -> Value {
        Value { origin, plus }
    }

    const fn number(number: i64) -> Value {
        Value::new(Origin::Number, number)
    }

    fn add(self, other: Value) -> Option<Value> {
        let plus = self.plus.wrapping_add(other.plus);
        match (self.origin, other.origin) {
            (origin, Origin::Number) | (Origin::Number, origin) => Some(Value::new(origin, plus)),
            _ => None,
        }
    }
}

/// Eight bytes that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    pub at: Value,
    pub value: Option<Value>,
}

/// What a function does.
#[derive(Debug, Default)]
pub struct Followed {
    /// All its ways were followed to their ends.
    pub whole: bool,
    pub writes: Vec<Write>,
    /// Where it reads eight bytes from.
    pub reads: Vec<Option<Value>>,
    /// The first three arguments of each call.
    pub calls: Vec<[Option<Value>; 3]>,
}

const RAX: usize = 0;
const RDX: usize = 2;
const RSP: usize = 4;
const RBP: usize = 5;
const RSI: usize = 6;
const RDI: usize = 7;
/// What a call may change.
const SCRATCH: [usize; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];
/// In the order in which arguments are passed.
const ARGUMENTS: [usize; 4] = [7, 6, 2, 1];
/// A vector is no longer.
const LONGEST_WRITE: i64 = 32;

#[derive(Clone)]
struct State {
    registers: [Option<Value>; 16],
    slots: HashMap<i64, Value>,
}

impl State {
    fn beginning() -> State {
        let mut registers = [None; 16];
        for (index, register) in ARGUMENTS.into_iter().enumerate() {
            registers[register] = Some(Value::new(Origin::Argument(index as u8), 0));
        }
        registers[RSP] = Some(Value::new(Origin::Stack, 0));
        State {
            registers,
            slots: HashMap::new(),
        }
    }

    fn forget(&mut self, operand: Operand) {
        match operand {
            Operand::Register(register) => self.registers[register] = None,
            Operand::Memory(at) => self.forget_slots(at),
        }
    }

    fn forget_slots(&mut self, at: Option<Value>) {
        if let Some(at) = at.filter(|at| at.origin == Origin::Stack) {
            let touched = at.plus.saturating_sub(7)..at.plus.saturating_add(LONGEST_WRITE);
            self.slots.retain(|slot, _| !touched.contains(slot));
        }
    }
}

/// What an instruction works on.
#[derive(Clone, Copy)]
enum Operand {
    Register(usize),
    /// Its address.
    Memory(Option<Value>),
}

/// What comes before an instruction's code.
#[derive(Clone, Copy, Default)]
struct Prefixes {
    of_thread: bool,
    half: bool,
    rex: u8,
}

impl Prefixes {
    fn wide(self) -> bool {
        self.rex & 8 != 0
    }

    fn high(self, bit: u8) -> usize {
        usize::from(self.rex >> bit & 1) << 3
    }

    /// How long a number is that stands in an instruction.
    fn immediate(self) -> usize {
        if self.half && !self.wide() {
            2
        } else {
            4
        }
    }
}

/// What comes after an instruction.
enum Next {
    Follows,
    /// A branch to there, which may not be taken.
    Branch(usize),
    Jump(usize),
    End,
    Unknown,
}

struct Flow<'c> {
    code: &'c [u8],
    at: usize,
    state: State,
    found: Followed,
}

/// Follows a function from its first byte.
pub fn follow(code: &[u8]) -> Followed {
    let mut flow = Flow {
        code,
        at: 0,
        state: State::beginning(),
        found: Followed {
            whole: true,
            ..Followed::default()
        },
    };
    let mut seen: HashSet<usize> = HashSet::new();
    let mut ways = vec![(0, flow.state.clone())];
    while let Some((at, state)) = ways.pop() {
        (flow.at, flow.state) = (at, state);
        while seen.insert(flow.at) {
            match flow.step().unwrap_or(Next::Unknown) {
                Next::Follows => {}
                Next::Branch(to) => ways.push((to, flow.state.clone())),
                Next::Jump(to) => flow.at = to,
                Next::End => break,
                Next::Unknown => {
                    flow.found.whole = false;
                    break;
                }
            }
        }
    }
    flow.found
}

impl Flow<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.code.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// A number with a sign, of so many bytes.
    fn number(&mut self, length: usize) -> Option<i64> {
        let bytes = self.code.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        let mut all = [0; 8];
        all.get_mut(..length)?.copy_from_slice(bytes);
        let unused = 64 - 8 * length as u32;
        Some(i64::from_le_bytes(all) << unused >> unused)
    }

    fn target(&mut self, length: usize) -> Option<usize> {
        let distance = self.number(length)?;
        self.at.checked_add_signed(distance as isize)
    }

    fn step(&mut self) -> Option<Next> {
        let mut prefixes = Prefixes::default();
        loop {
            match self.byte()? {
                0x64 => prefixes.of_thread = true,
                0x66 => prefixes.half = true,
                0x2e | 0x3e | 0xf0 | 0xf2 | 0xf3 => {}
                rex @ 0x40..=0x4f => {
                    prefixes.rex = rex;
                    let code = self.byte()?;
                    return self.instruction(prefixes, code);
                }
                code => return self.instruction(prefixes, code),
            }
        }
    }

    fn instruction(&mut self, prefixes: Prefixes, code: u8) -> Option<Next> {
        match code {
            0x0f => return self.longer(prefixes),
            0x50..=0x57 => self.push(usize::from(code - 0x50) + prefixes.high(0)),
            0x58..=0x5f => self.pop(usize::from(code - 0x58) + prefixes.high(0)),
            0x70..=0x7f => return Some(Next::Branch(self.target(1)?)),
            0xeb => return Some(Next::Jump(self.target(1)?)),
            0xe9 => {
                // Beyond the function, it is a call that does not come back here.
                let to = self.target(4);
                let inside = to.filter(|to| *to < self.code.len());
                return Some(inside.map_or(Next::End, Next::Jump));
            }
            0xe8 => {
                self.number(4)?;
                self.call();
            }
            0xc3 | 0xcc => return Some(Next::End),
            0x90 | 0x98 | 0x99 => self.state.registers[RAX] = None,
            0xc9 => {
                self.state.registers[RSP] = self.state.registers[RBP];
                self.pop(RBP);
            }
            0xa8 | 0x3c => drop(self.number(1)?),
            0xa9 | 0x3d => drop(self.number(prefixes.immediate())?),
            0x04 | 0x0c | 0x24 | 0x2c | 0x34 => {
                self.number(1)?;
                self.state.registers[RAX] = None;
            }
            0x05 | 0x0d | 0x25 | 0x2d | 0x35 => {
                self.number(prefixes.immediate())?;
                self.state.registers[RAX] = None;
            }
            0xb0..=0xb7 => {
                self.number(1)?;
                // Without REX, half of these are parts of others.
                let register = usize::from(code - 0xb0);
                self.state.registers[register | prefixes.high(0)] = None;
                self.state.registers[register & 3 | prefixes.high(0)] = None;
            }
            0xb8..=0xbf => {
                let length = if prefixes.wide() {
                    8
                } else {
                    prefixes.immediate()
                };
                let number = self.number(length)?;
                let number = if length == 4 {
                    number & 0xffff_ffff
                } else {
                    number
                };
                let register = usize::from(code - 0xb8) + prefixes.high(0);
                self.state.registers[register] = (length != 2).then_some(Value::number(number));
            }
            _ => return self.with_operands(prefixes, code),
        }
        Some(Next::Follows)
    }

    /// Instructions of two bytes.
    fn longer(&mut self, prefixes: Prefixes) -> Option<Next> {
        let code = self.byte()?;
        match code {
            0x0b => return Some(Next::End),
            0x80..=0x8f => {
                let to = self.target(4)?;
                let inside = to < self.code.len();
                return Some(if inside {
                    Next::Branch(to)
                } else {
                    Next::Follows
                });
            }
            0x18..=0x1f => drop(self.operands(prefixes)?),
            // Of vectors, to registers of theirs.
            0x10 | 0x12 | 0x14..=0x16 | 0x28 | 0x2e | 0x2f | 0x51..=0x6f | 0x74..=0x76 => {
                self.operands(prefixes)?;
            }
            // From these to memory.
            0x11 | 0x13 | 0x17 | 0x29 | 0x7e | 0x7f | 0xd6 | 0xe7 => {
                let (_, to) = self.operands(prefixes)?;
                self.state.forget(to);
            }
            // Which write to a register.
            0x40..=0x4f | 0xaf | 0xb6 | 0xb7 | 0xbc..=0xbf => {
                let (register, _) = self.operands(prefixes)?;
                self.state.registers[register] = None;
            }
            // Which write to a byte.
            0x90..=0x9f => {
                let (_, to) = self.operands(prefixes)?;
                self.state.forget(to);
            }
            // Which read and write both.
            0xb0 | 0xb1 | 0xc0 | 0xc1 => {
                let (register, to) = self.operands(prefixes)?;
                self.state.forget(to);
                self.state.registers[register] = None;
                self.state.registers[RAX] = None;
            }
            0xba => {
                let (_, to) = self.operands(prefixes)?;
                self.number(1)?;
                self.state.forget(to);
            }
            0xd4 | 0xdb | 0xdf | 0xeb | 0xef | 0xfe => drop(self.operands(prefixes)?),
            0x70 | 0xc6 => {
                self.operands(prefixes)?;
                self.number(1)?;
            }
            _ => return None,
        }
        Some(Next::Follows)
    }

    fn with_operands(&mut self, prefixes: Prefixes, code: u8) -> Option<Next> {
        match code {
            0x89 | 0x88 => {
                let (from, to) = self.operands(prefixes)?;
                let value = self.state.registers[from].filter(|_| code == 0x89);
                self.write(prefixes, to, value);
            }
            0x8b => {
                let (to, from) = self.operands(prefixes)?;
                self.state.registers[to] = self.read(prefixes, from);
            }
            0x8d => {
                let (to, from) = self.operands(prefixes)?;
                let address = match from {
                    Operand::Memory(at) if prefixes.wide() => at,
                    _ => None,
                };
                self.state.registers[to] = address;
            }
            0x87 => {
                let (register, place) = self.operands(prefixes)?;
                let value = self.state.registers[register];
                self.state.registers[register] = self.read(prefixes, place);
                self.write(prefixes, place, value);
            }
            0xc7 => {
                let (_, to) = self.operands(prefixes)?;
                let number = self.number(prefixes.immediate())?;
                self.write(prefixes, to, Some(Value::number(number)));
            }
            0x80 | 0x81 | 0x83 | 0xc0 | 0xc1 | 0xc6 | 0x6b | 0x69 => {
                return self.with_number(prefixes, code);
            }
            // Comparisons.
            0x38..=0x3b | 0x84 | 0x85 => drop(self.operands(prefixes)?),
            0x01 | 0x03 | 0x31 | 0x33 => self.combined(prefixes, code)?,
            // To memory, or to a register.
            0x00 | 0x08 | 0x09 | 0x20 | 0x21 | 0x28 | 0x29 | 0x30 | 0xd0..=0xd3 => {
                let (_, to) = self.operands(prefixes)?;
                self.state.forget(to);
            }
            0x02 | 0x0a | 0x0b | 0x22 | 0x23 | 0x2a | 0x2b | 0x32 | 0x63 | 0x8a => {
                let (to, _) = self.operands(prefixes)?;
                self.state.registers[to] = None;
            }
            0xf6 | 0xf7 | 0xfe | 0xff => return self.of_one(prefixes, code),
            _ => return None,
        }
        Some(Next::Follows)
    }

    /// Sums, and what is exclusive of each other.
    fn combined(&mut self, prefixes: Prefixes, code: u8) -> Option<()> {
        let (register, other) = self.operands(prefixes)?;
        let value = match other {
            Operand::Register(other) if matches!(code, 0x31 | 0x33) => {
                (other == register).then_some(Value::number(0))
            }
            Operand::Register(other) if prefixes.wide() => self.sum(register, other),
            _ => None,
        };
        let to = match code {
            0x01 | 0x31 => other,
            _ => Operand::Register(register),
        };
        self.state.forget(to);
        if let Operand::Register(to) = to {
            self.state.registers[to] = value;
        }
        Some(())
    }

    fn with_number(&mut self, prefixes: Prefixes, code: u8) -> Option<Next> {
        let (what, to) = self.operands(prefixes)?;
        let long = matches!(code, 0x81 | 0x69);
        let number = self.number(if long { prefixes.immediate() } else { 1 })?;
        if matches!(code, 0x69 | 0x6b) {
            self.state.registers[what] = None;
            return Some(Next::Follows);
        }
        let arithmetic = matches!(code, 0x81 | 0x83);
        let sum = match (what & 7, to) {
            // A comparison.
            (7, _) if code != 0xc0 && code != 0xc1 => return Some(Next::Follows),
            (0, Operand::Register(to)) if arithmetic && prefixes.wide() => {
                self.state.registers[to].and_then(|value| value.add(Value::number(number)))
            }
            (5, Operand::Register(to)) if arithmetic && prefixes.wide() => {
                let number = Value::number(number.wrapping_neg());
                self.state.registers[to].and_then(|value| value.add(number))
            }
            _ => None,
        };
        self.state.forget(to);
        if let Operand::Register(to) = to {
            self.state.registers[to] = sum;
        }
        Some(Next::Follows)
    }

    fn of_one(&mut self, prefixes: Prefixes, code: u8) -> Option<Next> {
        let (what, operand) = self.operands(prefixes)?;
        match (code, what & 7) {
            (0xf6, 0 | 1) => drop(self.number(1)?),
            (0xf7, 0 | 1) => drop(self.number(prefixes.immediate())?),
            (0xf6 | 0xf7, 2 | 3) | (0xfe | 0xff, 0 | 1) => self.state.forget(operand),
            (0xf6 | 0xf7, _) => {
                self.state.registers[RAX] = None;
                self.state.registers[RDX] = None;
            }
            (0xff, 2) => self.call(),
            (0xff, 4) => return Some(Next::End),
            _ => return None,
        }
        Some(Next::Follows)
    }

    fn sum(&self, a: usize, b: usize) -> Option<Value> {
        self.state.registers[a]?.add(self.state.registers[b]?)
    }

    fn push(&mut self, register: usize) {
        let value = self.state.registers[register];
        self.move_stack(-8);
        let top = self.state.registers[RSP];
        self.write_to(top, value);
    }

    fn pop(&mut self, register: usize) {
        let top = self.state.registers[RSP].filter(|top| top.origin == Origin::Stack);
        let value = top.and_then(|top| self.state.slots.get(&top.plus).copied());
        self.move_stack(8);
        self.state.registers[register] = value;
    }

    fn move_stack(&mut self, by: i64) {
        let top = self.state.registers[RSP];
        self.state.registers[RSP] = top.and_then(|top| top.add(Value::number(by)));
    }

    fn call(&mut self) {
        let arguments = [RDI, RSI, RDX].map(|register| self.state.registers[register]);
        self.found.calls.push(arguments);
        for register in SCRATCH {
            self.state.registers[register] = None;
        }
    }

    fn read(&mut self, prefixes: Prefixes, from: Operand) -> Option<Value> {
        let at = match from {
            Operand::Register(from) => {
                return self.state.registers[from].filter(|_| prefixes.wide());
            }
            Operand::Memory(_) if !prefixes.wide() => return None,
            Operand::Memory(at) => at,
        };
        match at {
            // What FS points to begins with where it points.
            Some(at) if at == Value::new(Origin::Storage, 0) => Some(at),
            Some(at) if at.origin == Origin::Stack => self.state.slots.get(&at.plus).copied(),
            at => {
                self.found.reads.push(at);
                Some(Value::new(Origin::Read(self.found.reads.len() - 1), 0))
            }
        }
    }

    fn write(&mut self, prefixes: Prefixes, to: Operand, value: Option<Value>) {
        match to {
            Operand::Register(to) => {
                // A number of four bytes fills the register.
                let number = value.filter(|v| v.origin == Origin::Number && v.plus >= 0);
                self.state.registers[to] = if prefixes.wide() { value } else { number };
            }
            Operand::Memory(at) if prefixes.wide() => self.write_to(at, value),
            Operand::Memory(at) => self.state.forget_slots(at),
        }
    }

    fn write_to(&mut self, at: Option<Value>, value: Option<Value>) {
        let Some(at) = at else {
            return;
        };
        if at.origin == Origin::Stack {
            let touched = at.plus.saturating_sub(7)..at.plus.saturating_add(8);
            self.state.slots.retain(|slot, _| !touched.contains(slot));
            if let Some(value) = value {
                self.state.slots.insert(at.plus, value);
            }
            return;
        }
        self.found.writes.push(Write { at, value });
    }

    /// A register, or what an instruction does, and what it works on.
    fn operands(&mut self, prefixes: Prefixes) -> Option<(usize, Operand)> {
        let form = self.byte()?;
        let register = usize::from(form >> 3 & 7) + prefixes.high(2);
        let low = usize::from(form & 7);
        let how = form >> 6;
        if how == 3 {
            return Some((register, Operand::Register(low + prefixes.high(0))));
        }
        let mut base = Some(Value::number(0));
        if low == RSP {
            let scaled = self.byte()?;
            let index = usize::from(scaled >> 3 & 7) + prefixes.high(1);
            let from = usize::from(scaled & 7);
            if !(from == RBP && how == 0) {
                base = self.state.registers[from + prefixes.high(0)];
            }
            if index != RSP {
                base = None;
            }
            let length = match how {
                1 => 1,
                2 => 4,
                _ if from == RBP => 4,
                _ => 0,
            };
            return Some((register, self.memory(prefixes, base, length)?));
        }
        // From the instruction itself.
        let of_code = low == RBP && how == 0;
        base = self.state.registers[low + prefixes.high(0)].filter(|_| !of_code);
        let length = match how {
            1 => 1,
            2 => 4,
            _ if of_code => 4,
            _ => 0,
        };
        Some((register, self.memory(prefixes, base, length)?))
    }

    fn memory(
        &mut self,
        prefixes: Prefixes,
        base: Option<Value>,
        length: usize,
    ) -> Option<Operand> {
        let distance = if length == 0 { 0 } else { self.number(length)? };
        let mut at = base.and_then(|base| base.add(Value::number(distance)));
        if prefixes.of_thread {
            let number = at.filter(|at| at.origin == Origin::Number);
            at = number.map(|at| Value::new(Origin::Storage, at.plus));
        }
        Some(Operand::Memory(at))
    }
}
