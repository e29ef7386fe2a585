//! From a position in a method's code to the line of its source: a table behind the code, as steps.

use super::{Layout, Memory};

/// No table is longer.
const LONGEST: u64 = 1 << 16;
/// Of a method's flags: it has a table.
const HAS_TABLE: u16 = 1;
/// Of a step: it is not in this byte.
const LARGE: u8 = 0xff;

/// The bytes from an address on, some at a time.
struct Bytes<'a, M> {
    memory: &'a M,
    next: u64,
    end: u64,
    piece: [u8; 64],
    left: std::ops::Range<usize>,
}

impl<M: Memory> Iterator for Bytes<'_, M> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        if self.left.is_empty() && self.next < self.end {
            let count = self.memory.read(self.next, &mut self.piece);
            self.left = 0..count;
            self.next += count as u64;
        }
        self.piece.get(self.left.next()?).copied()
    }
}

/// How far a method is that executes the bytecode at this address; `None` if none of its own is there.
pub fn position(memory: &impl Memory, layout: &Layout, method: u64, bytecode: u64) -> Option<u32> {
    let table = layout.lines.as_ref()?;
    let constant = memory.word(method.checked_add(layout.const_method)?)?;
    let size = memory.short(constant.checked_add(table.code_size)?)?;
    let position = bytecode.checked_sub(constant.checked_add(table.size)?)?;
    (position < u64::from(size)).then_some(position as u32)
}

/// The line at this position of a method; `None` if there is no table, or it has none for that.
pub fn line(memory: &impl Memory, layout: &Layout, method: u64, position: u32) -> Option<u32> {
    let table = layout.lines.as_ref()?;
    let constant = memory.word(method.checked_add(layout.const_method)?)?;
    let has = memory.short(constant.checked_add(table.flags)?)? & HAS_TABLE != 0;
    let size = memory.short(constant.checked_add(table.code_size)?)?;
    if !has || position >= u32::from(size) {
        return None;
    }
    let start = constant.checked_add(table.size + u64::from(size))?;
    let mut bytes = Bytes {
        memory,
        next: start,
        end: start.checked_add(LONGEST)?,
        piece: [0; 64],
        left: 0..0,
    };
    let (mut at, mut line) = (0_i32, 0_i32);
    let mut best: Option<(i32, i32)> = None;
    let position = position as i32;
    loop {
        let step = match bytes.next()? {
            0 => break,
            LARGE => (
                table.encoding.signed(&mut bytes)?,
                table.encoding.signed(&mut bytes)?,
            ),
            step => (i32::from(step >> 3), i32::from(step & 7)),
        };
        at = at.wrapping_add(step.0);
        line = line.wrapping_add(step.1);
        if at <= position && best.is_none_or(|(before, _)| at >= before) {
            best = Some((at, line));
        }
    }
    let (_, line) = best?;
    u32::try_from(line).ok().filter(|line| *line > 0)
}
