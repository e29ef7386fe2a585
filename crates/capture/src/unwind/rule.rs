//! How to get from a frame to its caller: what a row of an unwind table says, in a form that is small and quick to follow.
//! Expressions, which are rare, are evaluated each time, within limits.

use gimli::{
    CfaRule, Encoding, Evaluation, EvaluationResult, Expression, Location, Reader, Register,
    RegisterRule, UnwindSection, UnwindTableRow, Value, X86_64,
};

use super::stack::{Known, Missing, Stack, SAVED};

/// A table is not to be trusted: an expression could go round in circles.
const MOST_OPERATIONS: u32 = 256;

/// What to do at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Here the thread began.
    Root,
    /// The kernel put a signal's frame here: all registers lie above the stack pointer.
    Signal,
    /// The caller's frame begins at a distance from a register, with the return address below.
    Distance {
        register: u8,
        distance: i32,
        /// Where the registers of `SAVED` are, from the beginning of the caller's frame, in words.
        saved: [Saved; SAVED.len()],
    },
    /// Go changed stacks here: the goroutine was left on its own.
    Goroutine,
    /// The entry at this place of the table needs to be evaluated.
    Evaluate { entry: u32 },
    /// The table has nothing for this address.
    None,
    /// There is no table at all.
    NoTable,
}

/// Where a register of the caller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// Still in the register.
    Kept,
    /// In memory, so many words from the beginning of the caller's frame.
    Word(i16),
    Gone,
}

/// Why a frame could not be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stuck {
    Missing(Missing),
    /// The rule makes no sense here, or needs what is not known.
    Rule,
}

impl From<Missing> for Stuck {
    fn from(missing: Missing) -> Stuck {
        Stuck::Missing(missing)
    }
}

impl Rule {
    /// The rule of a row, if it is of the usual kind.
    pub fn of_row(row: &UnwindTableRow<usize>) -> Option<Rule> {
        match row.register(X86_64::RA) {
            None | Some(RegisterRule::Undefined) => return Some(Rule::Root),
            Some(RegisterRule::Offset(-8)) => {}
            Some(_) => return None,
        }
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else {
            return None;
        };
        let mut saved = [Saved::Kept; SAVED.len()];
        for (saved, register) in saved.iter_mut().zip(SAVED) {
            *saved = match row.register(register) {
                None | Some(RegisterRule::SameValue) => Saved::Kept,
                Some(RegisterRule::Offset(at)) if at % 8 == 0 => {
                    Saved::Word(i16::try_from(at / 8).ok()?)
                }
                Some(RegisterRule::Undefined) => Saved::Gone,
                Some(_) => return None,
            };
        }
        Some(Rule::Distance {
            register: u8::try_from(register.0).ok()?,
            distance: i32::try_from(*offset).ok()?,
            saved,
        })
    }
}

/// The caller's registers, by a rule of the usual kind.
pub fn by_distance(
    registers: &Known,
    stack: &Stack,
    (register, distance): (u8, i32),
    saved: &[Saved; SAVED.len()],
) -> Result<Known, Stuck> {
    let base = registers.get(Register(u16::from(register)));
    let frame = base.and_then(|base| base.checked_add_signed(i64::from(distance)));
    let frame = frame.ok_or(Stuck::Rule)?;
    let mut caller = *registers;
    caller.set(X86_64::RA, Some(return_address(stack, frame)?));
    caller.set(X86_64::RSP, Some(frame));
    for (saved, register) in saved.iter().zip(SAVED) {
        match saved {
            Saved::Kept => {}
            Saved::Gone => caller.set(register, None),
            Saved::Word(words) => {
                let at = frame.wrapping_add_signed(i64::from(*words) * 8);
                caller.set(register, saved_value(registers, stack, register, at));
            }
        }
    }
    Ok(caller)
}

fn return_address(stack: &Stack, frame: u64) -> Result<u64, Stuck> {
    Ok(stack.read(frame.checked_sub(8).ok_or(Stuck::Rule)?)?)
}

/// A function that returns has taken its registers off the stack already, though the table does not say so: below the
/// stack pointer nothing is saved.
fn saved_value(registers: &Known, stack: &Stack, which: Register, at: u64) -> Option<u64> {
    if !stack.leads(registers.sp(), at) {
        return registers.get(which);
    }
    stack.read(at).ok()
}

/// What a signal interrupted, from the frame that the kernel laid on the stack (`struct ucontext`).
pub fn by_signal(registers: &Known, stack: &Stack) -> Result<Known, Stuck> {
    const CONTEXT: [(Register, u64); 10] = [
        (X86_64::R8, 40),
        (X86_64::R12, 72),
        (X86_64::R13, 80),
        (X86_64::R14, 88),
        (X86_64::R15, 96),
        (X86_64::RBP, 120),
        (X86_64::RBX, 128),
        (X86_64::R10, 56),
        (X86_64::RSP, 160),
        (X86_64::RA, 168),
    ];
    let mut interrupted = *registers;
    for (register, at) in CONTEXT {
        let value = stack.read(registers.sp().wrapping_add(at))?;
        interrupted.set(register, Some(value));
    }
    Ok(interrupted)
}

/// The caller's registers by the frame pointer, for code that has no table.
pub fn by_frame_pointer(registers: &Known, stack: &Stack) -> Result<Known, Stuck> {
    /// A frame that is farther away is no frame: the register holds something else.
    const FARTHEST: u64 = 8 << 20;
    let frame = registers.get(X86_64::RBP).ok_or(Stuck::Rule)?;
    let farthest = stack.end().saturating_add(FARTHEST);
    if frame < registers.sp() || frame > farthest || frame % 8 != 0 {
        return Err(Stuck::Rule);
    }
    let mut caller = *registers;
    for register in SAVED {
        caller.set(register, None);
    }
    caller.set(X86_64::RBP, Some(stack.read(frame)?));
    caller.set(X86_64::RA, Some(stack.read(frame + 8)?));
    caller.set(X86_64::RSP, Some(frame + 16));
    Ok(caller)
}

/// The caller's registers where the function has put nothing onto the stack yet, as in the stubs
/// through which libraries are called.
pub fn by_return(registers: &Known, stack: &Stack) -> Result<Known, Stuck> {
    by_return_above(registers, stack, 0)
}

/// The return address lies above this much room.
pub fn by_return_above(registers: &Known, stack: &Stack, room: u64) -> Result<Known, Stuck> {
    let at = registers.sp().saturating_add(room);
    let mut caller = *registers;
    caller.set(X86_64::RA, Some(stack.read(at)?));
    caller.set(X86_64::RSP, at.checked_add(8));
    Ok(caller)
}

/// The caller's registers by a row with expressions.
pub fn by_row<R: Reader<Offset = usize>>(
    registers: &Known,
    stack: &Stack,
    row: &UnwindTableRow<usize>,
    section: &impl UnwindSection<R>,
    encoding: Encoding,
) -> Result<Known, Stuck> {
    let evaluate = |expression: Expression<R>, first| {
        self::evaluate(registers, stack, expression, encoding, first)
    };
    let frame = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => registers
            .get(*register)
            .and_then(|base| base.checked_add_signed(*offset))
            .ok_or(Stuck::Rule)?,
        CfaRule::Expression(e) => evaluate(e.get(section).map_err(|_| Stuck::Rule)?, None)?,
    };
    let value = |register: Register| -> Result<u64, Stuck> {
        let at = |address| Ok(stack.read(address)?);
        match row.register(register).ok_or(Stuck::Rule)? {
            RegisterRule::SameValue => registers.get(register).ok_or(Stuck::Rule),
            RegisterRule::Offset(offset) => at(frame.wrapping_add_signed(offset)),
            RegisterRule::ValOffset(offset) => Ok(frame.wrapping_add_signed(offset)),
            RegisterRule::Register(other) => registers.get(other).ok_or(Stuck::Rule),
            RegisterRule::Expression(e) => {
                let expression = e.get(section).map_err(|_| Stuck::Rule)?;
                at(evaluate(expression, Some(frame))?)
            }
            RegisterRule::ValExpression(e) => {
                let expression = e.get(section).map_err(|_| Stuck::Rule)?;
                evaluate(expression, Some(frame))
            }
            RegisterRule::Constant(value) => Ok(value),
            _ => Err(Stuck::Rule),
        }
    };
    let mut caller = *registers;
    caller.set(X86_64::RA, Some(value(X86_64::RA)?));
    caller.set(X86_64::RSP, Some(frame));
    for register in SAVED {
        if row.register(register).is_some() {
            caller.set(register, value(register).ok());
        }
    }
    Ok(caller)
}

fn evaluate<R: Reader<Offset = usize>>(
    registers: &Known,
    stack: &Stack,
    expression: Expression<R>,
    encoding: Encoding,
    first: Option<u64>,
) -> Result<u64, Stuck> {
    let mut evaluation: Evaluation<R> = expression.evaluation(encoding);
    evaluation.set_max_iterations(MOST_OPERATIONS);
    if let Some(first) = first {
        evaluation.set_initial_value(first);
    }
    let mut asks = evaluation.evaluate();
    loop {
        asks = match asks.map_err(|_| Stuck::Rule)? {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = registers.get(register).ok_or(Stuck::Rule)?;
                evaluation.resume_with_register(Value::Generic(value))
            }
            EvaluationResult::RequiresMemory {
                address, size: 8, ..
            } => evaluation.resume_with_memory(Value::Generic(stack.read(address)?)),
            _ => return Err(Stuck::Rule),
        };
    }
    match evaluation.result().first().map(|piece| &piece.location) {
        Some(Location::Address { address }) => Ok(*address),
        Some(Location::Value {
            value: Value::Generic(value),
        }) => Ok(*value),
        _ => Err(Stuck::Rule),
    }
}

#[cfg(test)]
mod tests {
    use super::super::stack::Piece;
    use super::*;
    use gimli::{EndianSlice, Format, LittleEndian};

    fn value(code: &[u8]) -> Result<u64, Stuck> {
        let known = Known::new(0x40_000f, 0x1000, 0x1008);
        let inner = Piece {
            start: 0x1000,
            bytes: &[0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0],
        };
        let stack = Stack {
            inner,
            ..Stack::default()
        };
        let encoding = Encoding {
            format: Format::Dwarf32,
            version: 1,
            address_size: 8,
        };
        let expression = Expression(EndianSlice::new(code, LittleEndian));
        evaluate(&known, &stack, expression, encoding, None)
    }

    /// Registers and memory are read as the code asks; memory that was not copied is told.
    #[test]
    fn expressions() {
        const BP: u8 = 0x76;
        const DEREF: u8 = 0x06;
        assert_eq!(value(&[BP, 0, DEREF]), Ok(7));
        // The stubs of libraries: 8 or 16 bytes, by how far into the stub.
        let stub = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
        assert_eq!(value(&stub), Ok(0x1010));
        assert_eq!(value(&[BP, 8, DEREF]), Err(Stuck::Missing(Missing::Above)));
        // rbx is not known.
        assert_eq!(value(&[0x73, 0]), Err(Stuck::Rule));
    }

    /// An expression that goes round in circles, or has no result, is left.
    #[test]
    fn hostile_expressions() {
        assert_eq!(value(&[0x2f, 0xfd, 0xff]), Err(Stuck::Rule));
        assert_eq!(value(&[0x31, 0x12, 0x2f, 0xfc, 0xff]), Err(Stuck::Rule));
        assert_eq!(value(&[]), Err(Stuck::Rule));
        assert_eq!(value(&[0x22]), Err(Stuck::Rule));
        assert_eq!(value(&[0xff; 9]), Err(Stuck::Rule));
    }
}
