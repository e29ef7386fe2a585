//! Objects of V8, and the text of strings, in whichever way these are written: at one place, joined of two, a part of another,
//! or outside of the heap. A word is a small number or leads to an object, and then it is one more than the object's address.

use std::ops::Range;

use super::Layout;
use crate::java::Memory;

/// Strings that others are joined of, or are parts of. Deeper ones are made flat before they are compiled.
const MOST_STEPS: usize = 1 << 10;
/// Text outside of the heap that is not kept at one place.
const UNCACHED: u16 = 0x10;

/// The memory of a process, as V8 lays it out.
pub(super) struct Objects<'a, M> {
    pub memory: &'a M,
    pub layout: &'a Layout,
}

/// Whether a word leads to an object.
pub fn is_object(word: u64) -> bool {
    word & 3 == 1
}

/// A small number.
pub(super) fn number(word: u64) -> Option<i32> {
    (word as u32 == 0).then_some((word >> 32) as i32)
}

/// A part of a string's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextPart {
    pub address: u64,
    /// In characters, which are two bytes long if they are wide.
    pub length: u64,
    pub wide: bool,
}

impl<M: Memory> Objects<'_, M> {
    pub fn word(&self, object: u64, offset: u64) -> Option<u64> {
        self.memory.word((object - 1).wrapping_add(offset))
    }

    /// Words of an object from this one on.
    pub fn words<const N: usize>(&self, object: u64, offset: u64) -> Option<[u64; N]> {
        let mut bytes = [0; 64];
        let bytes = bytes.get_mut(..8 * N)?;
        let read = self.memory.read((object - 1).wrapping_add(offset), bytes);
        let word = |i: usize| bytes[8 * i..].first_chunk().copied().unwrap_or_default();
        (read == 8 * N).then(|| std::array::from_fn(|i| u64::from_le_bytes(word(i))))
    }

    /// Where an object is now: one that was just moved leads there.
    pub fn settled(&self, object: u64) -> u64 {
        let map = is_object(object).then(|| self.word(object, 0)).flatten();
        match map {
            Some(map) if map & 3 == 0 => map | 1,
            _ => object,
        }
    }

    /// What kind of object a word leads to, if it does.
    pub fn kind(&self, object: u64) -> Option<u16> {
        if !is_object(object) {
            return None;
        }
        let map = self.word(object, 0).filter(|map| is_object(*map))?;
        self.memory.short((map - 1).wrapping_add(self.layout.kind))
    }

    pub fn is_string(&self, kind: u16) -> bool {
        kind & self.layout.strings.no_string == 0
    }

    /// The parts of a string in their order, up to so many characters.
    pub fn parts(&self, string: u64, most: u64) -> Option<Vec<TextPart>> {
        let strings = &self.layout.strings;
        let mut parts = Vec::new();
        let length = self.length(string)?.min(most);
        let mut waiting = vec![(string, 0, length)];
        for _ in 0..MOST_STEPS {
            let Some((string, from, length)) = waiting.pop() else {
                return Some(parts);
            };
            if length == 0 {
                continue;
            }
            let string = self.settled(string);
            let kind = self.kind(string).filter(|kind| self.is_string(*kind))?;
            let end = from + length;
            if end > self.length(string)? {
                return None;
            }
            let wide = kind & strings.encoding != strings.one_byte;
            let part = |start: u64| TextPart {
                address: start.wrapping_add(from << u32::from(wide)),
                length,
                wide,
            };
            match kind & strings.way {
                way if way == strings.sequential => {
                    parts.push(part((string - 1).wrapping_add(strings.characters)));
                }
                way if way == strings.external && kind & UNCACHED == 0 => {
                    // Where the text is stands behind who keeps it.
                    parts.push(part(self.word(string, strings.resource + 8)?));
                }
                way if way == strings.joined => {
                    let first = self.word(string, strings.first)?;
                    let second = self.word(string, strings.second)?;
                    let middle = self.length(first)?.clamp(from, end);
                    let before = self.length(first)?.min(from);
                    waiting.push((second, from - before, end - middle));
                    waiting.push((first, before, middle - from));
                }
                way if way == strings.sliced => {
                    let offset = number(self.word(string, strings.offset)?)?;
                    let from = from + u64::try_from(offset).ok()?;
                    waiting.push((self.word(string, strings.parent)?, from, length));
                }
                way if way == strings.thin => {
                    waiting.push((self.word(string, strings.actual)?, from, length));
                }
                _ => return None,
            }
        }
        None
    }

    /// The length of what is a string.
    fn length(&self, string: u64) -> Option<u64> {
        let string = self.settled(string);
        self.kind(string).filter(|kind| self.is_string(*kind))?;
        let at = (string - 1).wrapping_add(self.layout.strings.length);
        self.memory.half(at).map(u64::from)
    }

    /// The text of a string, up to so many characters.
    pub fn text(&self, string: u64, most: u64) -> Option<String> {
        let text = self.slice(string, 0..most)?;
        Some(String::from_utf16_lossy(&text))
    }

    /// These characters of a string, as far as there are so many.
    pub fn slice(&self, string: u64, range: Range<u64>) -> Option<Vec<u16>> {
        let mut text: Vec<u16> = Vec::new();
        let mut before = range.start;
        for mut part in self.parts(string, range.end)? {
            let left_out = before.min(part.length);
            before -= left_out;
            part.length -= left_out;
            part.address = part.address.wrapping_add(left_out << u32::from(part.wide));
            if part.length == 0 {
                continue;
            }
            let mut bytes = vec![0; (part.length << u32::from(part.wide)) as usize];
            if self.memory.read(part.address, &mut bytes) != bytes.len() {
                return None;
            }
            match part.wide {
                true => text.extend(
                    bytes
                        .chunks_exact(2)
                        .map(|two| u16::from_le_bytes([two[0], two[1]])),
                ),
                false => text.extend(bytes.into_iter().map(u16::from)),
            }
        }
        Some(text)
    }
}
