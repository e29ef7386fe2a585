//! From an address in compiled code to the methods that are at work there: the one that was compiled, and those that became part of its code. A
//! virtual machine keeps that for its own stack traces, in numbers of one to five bytes.

use std::collections::HashMap;

use super::layout::{address, is_on, offset, Fields};
use super::Memory;

/// So many places of a method are described at most.
const MOST_PLACES: u64 = 1 << 20;
/// No methods are within each other that deep.
const DEEPEST: usize = 128;
/// Three numbers are not longer.
const LONGEST: usize = 15;
/// Since this version no byte of a number is zero.
const WITHOUT_ZERO: u32 = 20;

/// A method at work, and how far it is in its code; that is not known where it has just begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtWork {
    pub method: u64,
    pub position: Option<u32>,
}

/// Where compiled code describes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scopes {
    code: Place,
    places: Place,
    /// Where these end.
    places_end: Place,
    data: Place,
    methods: Place,
    place_size: u64,
    place_offset: u64,
    place_data: u64,
    encoding: Encoding,
    /// All places are described, not only those that call something.
    is_exact: bool,
}

/// How to get from the head of a piece of code to a part of it, by fields of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Pointer(u64),
    Within(u64),
    /// Behind what the first one points to.
    Behind(u64, u64),
}

impl Place {
    fn of(self, memory: &impl Memory, head: u64) -> Option<u64> {
        let pointer = |field| memory.word(head.checked_add(field)?);
        let distance = |field| memory.half(head.checked_add(field)?).map(u64::from);
        match self {
            Place::Pointer(field) => pointer(field),
            Place::Within(field) => head.checked_add(distance(field)?),
            Place::Behind(start, field) => pointer(start)?.checked_add(distance(field)?),
        }
    }
}

/// How numbers are written: six bits of each byte, as long as it is 192 or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Encoding {
    /// What a byte has too much.
    excess: u8,
}

impl Encoding {
    /// As the version of the virtual machine has it.
    pub fn of(memory: &impl Memory, fields: &Fields) -> Option<Encoding> {
        let version = address(fields, "Abstract_VM_Version", "_vm_major_version")?;
        let version = memory.half(version)?;
        Some(Encoding {
            excess: u8::from(version >= WITHOUT_ZERO),
        })
    }

    pub fn number(self, bytes: &mut impl Iterator<Item = u8>) -> Option<u32> {
        let mut sum: u32 = 0;
        for shift in (0..).step_by(6).take(5) {
            let byte = bytes.next()?;
            let part = u32::from(byte.checked_sub(self.excess)?);
            sum = sum.wrapping_add(part.wrapping_shl(shift));
            if byte < 192 {
                break;
            }
        }
        Some(sum)
    }

    pub fn signed(self, bytes: &mut impl Iterator<Item = u8>) -> Option<i32> {
        let number = self.number(bytes)?;
        Some((number >> 1) as i32 ^ -((number & 1) as i32))
    }
}

impl Scopes {
    /// Tested with versions 17, 21 and 25; of others that keep it elsewhere nothing is known.
    pub fn of(
        memory: &impl Memory,
        fields: &Fields,
        sizes: &HashMap<String, u64>,
    ) -> Option<Scopes> {
        let of = |kind, field| offset(fields, kind, field);
        let scopes = |code, [places, places_end, data, methods]: [Place; 4]| {
            Some(Scopes {
                code,
                places,
                places_end,
                data,
                methods,
                place_size: sizes.get("PcDesc").copied().filter(|size| *size > 0)?,
                place_offset: of("PcDesc", "_pc_offset")?,
                place_data: of("PcDesc", "_scope_decode_offset")?,
                encoding: Encoding::of(memory, fields)?,
                is_exact: is_on(memory, fields, sizes, "DebugNonSafepoints")?,
            })
        };
        let places = of("nmethod", "_scopes_pcs_offset")?;
        if let Some(apart) = of("nmethod", "_immutable_data") {
            let data = Place::Behind(apart, of("nmethod", "_scopes_data_offset")?);
            let methods = of("CodeBlob", "_mutable_data")?;
            let methods = Place::Behind(methods, of("CodeBlob", "_relocation_size")?);
            return scopes(
                Place::Within(of("CodeBlob", "_code_offset")?),
                [Place::Behind(apart, places), data, data, methods],
            );
        }
        scopes(
            Place::Pointer(of("CodeBlob", "_code_begin")?),
            [
                Place::Within(places),
                Place::Within(of("nmethod", "_dependencies_offset")?),
                Place::Pointer(of("CompiledMethod", "_scopes_data_begin")?),
                Place::Within(of("nmethod", "_metadata_offset")?),
            ],
        )
    }

    /// The methods at work, innermost first. An address is that of an instruction, or one that a call returns to: most of these are described in
    /// any case. `None` where it is not.
    pub fn at_work(
        &self,
        memory: &impl Memory,
        head: u64,
        at: u64,
        returns: bool,
    ) -> Option<Vec<AtWork>> {
        if !returns && !self.is_exact {
            return None;
        }
        let offset = at.checked_sub(self.code.of(memory, head)?)?;
        let mut next = self.described(memory, head, i32::try_from(offset).ok()?, returns)?;
        let data = self.data.of(memory, head)?;
        let methods = self.methods.of(memory, head)?;
        let mut at_work = Vec::new();
        while at_work.len() < DEEPEST {
            let mut bytes = [0; LONGEST];
            let count = memory.read(data.checked_add(u64::from(next))?, &mut bytes);
            let mut bytes = bytes[..count].iter().copied();
            let mut number = || self.encoding.number(&mut bytes);
            let (caller, method, position) = (number()?, number()?, number()?);
            let place = 8 * u64::from(method.checked_sub(1)?);
            at_work.push(AtWork {
                method: memory.word(methods.checked_add(place)?)?,
                position: position.checked_sub(1),
            });
            if caller == 0 {
                return Some(at_work);
            }
            next = caller;
        }
        None
    }

    /// Where it is told what is at work at this offset of the code.
    fn described(
        &self,
        memory: &impl Memory,
        head: u64,
        offset: i32,
        returns: bool,
    ) -> Option<u32> {
        let start = self.places.of(memory, head)?;
        let bytes = self.places_end.of(memory, head)?.checked_sub(start)?;
        let count = bytes / self.place_size;
        if count > MOST_PLACES {
            return None;
        }
        let place = |index: u64| start.checked_add(index * self.place_size);
        let offset_of = |index: u64| {
            let place = place(index)?.checked_add(self.place_offset)?;
            memory.half(place).map(|offset| offset as i32)
        };
        // The first one that does not lie before it.
        let (mut from, mut until) = (0, count);
        while from < until {
            let middle = from + (until - from) / 2;
            match offset_of(middle)? < offset {
                true => from = middle + 1,
                false => until = middle,
            }
        }
        let found = offset_of(from).filter(|_| from < count)?;
        // Calls of what never stops for a collection are not described, unless all is.
        if found == i32::MAX || returns && found != offset && !self.is_exact {
            return None;
        }
        let data = memory.half(place(from)?.checked_add(self.place_data)?)?;
        (data != 0).then_some(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers as versions before 20 and since write them.
    #[test]
    fn numbers() {
        for (excess, bytes, number) in [
            (0, &[0][..], 0),
            (0, &[191], 191),
            (0, &[192, 0], 192),
            (0, &[200, 1], 264),
            (1, &[1], 0),
            (1, &[191], 190),
            (1, &[201, 1], 200),
            (0, &[255, 252, 252, 252, 252], u32::MAX),
        ] {
            let read = Encoding { excess }.number(&mut bytes.iter().copied());
            assert_eq!(read, Some(number), "{bytes:?}");
        }
        assert_eq!(Encoding { excess: 0 }.number(&mut [200].into_iter()), None);
        assert_eq!(Encoding { excess: 1 }.number(&mut [0].into_iter()), None);
        let signed = |byte| Encoding { excess: 0 }.signed(&mut [byte].into_iter());
        assert_eq!([0, 1, 2, 3].map(signed), [0, -1, 1, -2].map(Some));
    }
}
