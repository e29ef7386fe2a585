//! Where the lines of a script end: as V8 has counted them already, which it does when somebody asks for a line, or
//! else as its text says.

use super::objects::{number, Objects, TextPart};
use crate::java::Memory;

/// Longer scripts have no lines, nor have those of more lines.
const LONGEST_SOURCE: u64 = 16 << 20;
const MOST_LINES: usize = 1 << 20;
/// So much is read at once.
const BYTES: usize = 1 << 16;

/// The ends of a script's lines; `None` if they are not to be had.
pub(super) fn ends(objects: &Objects<impl Memory>, counted: u64, source: u64) -> Option<Vec<u32>> {
    if objects.kind(counted) == Some(objects.layout.kinds.array) {
        return told(objects, counted);
    }
    // One longer is read, to tell whether it is longer.
    let parts = objects.parts(source, LONGEST_SOURCE + 1)?;
    let length: u64 = parts.iter().map(|part| part.length).sum();
    if length > LONGEST_SOURCE {
        return None;
    }
    let mut lines = Lines::default();
    for part in &parts {
        lines.read(objects.memory, part)?;
    }
    // The collector may have moved it meanwhile.
    (objects.parts(source, LONGEST_SOURCE + 1)? == parts).then_some(lines.ends)
}

/// As V8 has them.
fn told(objects: &Objects<impl Memory>, array: u64) -> Option<Vec<u32>> {
    let length = number(objects.word(array, objects.layout.array_length)?)?;
    let length = usize::try_from(length).ok().filter(|l| *l <= MOST_LINES)?;
    let mut bytes = vec![0; 8 * length];
    let at = (array - 1).wrapping_add(objects.layout.array);
    if objects.memory.read(at, &mut bytes) != bytes.len() {
        return None;
    }
    let words = bytes.chunks_exact(8).map(|word| {
        let word = u64::from_le_bytes(*word.first_chunk()?);
        u32::try_from(number(word)?).ok()
    });
    words.collect()
}

#[derive(Default)]
struct Lines {
    ends: Vec<u32>,
    /// How many characters were read.
    read: u32,
    /// The last of them was a carriage return, which ends a line unless a line feed follows.
    returned: bool,
}

impl Lines {
    fn read(&mut self, memory: &impl Memory, part: &TextPart) -> Option<()> {
        let mut bytes = vec![0; BYTES];
        let mut address = part.address;
        let mut left = part.length << u32::from(part.wide);
        while left > 0 {
            let now = &mut bytes[..(left as usize).min(BYTES)];
            if memory.read(address, now) != now.len() {
                return None;
            }
            address = address.checked_add(now.len() as u64)?;
            left -= now.len() as u64;
            match part.wide {
                true => {
                    let two = now.chunks_exact(2);
                    two.for_each(|two| self.take(u16::from_le_bytes([two[0], two[1]])));
                }
                false => now.iter().for_each(|byte| self.take(u16::from(*byte))),
            }
            if self.ends.len() > MOST_LINES {
                return None;
            }
        }
        Some(())
    }

    fn take(&mut self, character: u16) {
        const LINE_FEED: u16 = b'\n' as u16;
        const RETURN: u16 = b'\r' as u16;
        const SEPARATORS: [u16; 2] = [0x2028, 0x2029];
        if self.returned && character != LINE_FEED {
            self.ends.push(self.read - 1);
        }
        self.returned = character == RETURN;
        if character == LINE_FEED || SEPARATORS.contains(&character) {
            self.ends.push(self.read);
        }
        self.read += 1;
    }
}
