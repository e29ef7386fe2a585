//! The tables that Go programs carry for their own unwinder (`.gopclntab`, Go 1.18 and newer), stripped or not: how far the
//! stack pointer is from the return address at each instruction, and what functions are called. Read piece by piece as
//! addresses are asked for. Not to be trusted, as all that is in files: each piece has a limit. Pure.

const VERSION_18: u32 = 0xffff_fff0;
const VERSION_20: u32 = 0xffff_fff1;
const HEADER: u64 = 72;
const MOST_FUNCTIONS: u64 = 4 << 20;
/// A function of which the distance changes more often is not followed.
const LONGEST_PROGRAM: u64 = 4096;
/// Names are cut behind that.
const LONGEST_NAME: u64 = 4096;
/// Where the start of the code stands in the description of the module.
const TEXT_IN_MODULE: usize = 176;

/// Nobody called it.
pub const TOP_FRAME: u8 = 1;
/// It sets the stack pointer to something that the tables do not tell.
pub const WRITES_SP: u8 = 2;
pub const ASSEMBLY: u8 = 4;

/// Where the code may be that a table is about.
pub struct Code<'a> {
    /// `.go.module`, the program's description of itself.
    pub module: Option<&'a [u8]>,
    /// Address and size of `.text`.
    pub text: Option<(u64, u64)>,
}

pub struct GoTable {
    /// Where the code is that all entries count from.
    text: u64,
    /// Where each function begins, and its place in `about`, sorted; at the end where the last one ends.
    functions: Vec<u8>,
    number: usize,
    names: u64,
    programs: u64,
    about: u64,
    is_20: bool,
}

pub struct GoFunction {
    begins: u32,
    /// How far into it the address is that was asked for.
    into: u32,
    name: u32,
    program: u32,
    pub flags: u8,
}

/// Reads some bytes of a table from a place on, fewer at its end.
pub type Piece<'a> = &'a dyn Fn(u64, u64) -> Option<Vec<u8>>;

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    let part = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(part.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(part.try_into().ok()?))
}

impl GoTable {
    pub fn read(piece: Piece, code: &Code) -> Option<GoTable> {
        let head = piece(0, HEADER)?;
        let version = half(&head, 0)?;
        // Instructions of any length, pointers of eight bytes.
        if !matches!(version, VERSION_18 | VERSION_20) || head.get(4..8)? != [0, 0, 1, 8] {
            return None;
        }
        let number = word(&head, 8)?;
        let about = word(&head, 64)?;
        if number == 0 || number > MOST_FUNCTIONS {
            return None;
        }
        let functions = piece(about, number * 8 + 4)?;
        let number = usize::try_from(number).ok()?;
        if functions.len() != number * 8 + 4 {
            return None;
        }
        let length = half(&functions, number * 8)?;
        Some(GoTable {
            text: text(code, word(&head, 24)?, u64::from(length))?,
            functions,
            number,
            names: word(&head, 32)?,
            programs: word(&head, 56)?,
            about,
            is_20: version == VERSION_20,
        })
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        self.functions.len()
    }

    /// The function that an address is in, if it is one of Go's.
    pub fn function(&self, piece: Piece, address: u64) -> Option<GoFunction> {
        let offset = u32::try_from(address.checked_sub(self.text)?).ok()?;
        let begins = |index: usize| half(&self.functions, index * 8).unwrap_or(u32::MAX);
        let (mut low, mut high) = (0, self.number + 1);
        while low < high {
            let middle = (low + high) / 2;
            match begins(middle) <= offset {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let index = low.checked_sub(1).filter(|index| *index < self.number)?;
        let place = half(&self.functions, index * 8 + 4)?;
        let about = piece(self.about.checked_add(u64::from(place))?, 44)?;
        let flags = if self.is_20 { 41 } else { 37 };
        let function = GoFunction {
            begins: half(&about, 0)?,
            into: offset - begins(index),
            name: half(&about, 4)?,
            program: half(&about, 16)?,
            flags: *about.get(flags)?,
        };
        (function.begins == begins(index)).then_some(function)
    }

    pub fn name(&self, piece: Piece, function: &GoFunction) -> Option<Vec<u8>> {
        let at = self.names.checked_add(u64::from(function.name))?;
        let mut name = piece(at, LONGEST_NAME)?;
        name.truncate(name.iter().position(|byte| *byte == 0)?);
        Some(name)
    }

    /// How far the stack pointer is from the return address.
    pub fn distance(&self, piece: Piece, function: &GoFunction) -> Option<i32> {
        let program = self.programs.checked_add(u64::from(function.program))?;
        distance(&piece(program, LONGEST_PROGRAM)?, function.into)
    }
}

/// Where the code begins that the table is about: as its header says, or the description of the module; or, if both leave
/// that to the loader, with the section, if it is as long as the table's functions.
fn text(code: &Code, in_header: u64, length: u64) -> Option<u64> {
    let in_module = || word(code.module?, TEXT_IN_MODULE).filter(|text| *text != 0);
    let told = Some(in_header).filter(|text| *text != 0).or_else(in_module);
    let alike = |(_, size): &(u64, u64)| size.abs_diff(length) < 64;
    told.or_else(|| Some(code.text.filter(alike)?.0))
}

/// How far the stack pointer is from the return address, at an offset into a function: pairs of changes, of the distance
/// and of how many instructions' bytes it is for.
fn distance(program: &[u8], offset: u32) -> Option<i32> {
    let mut bytes = program.iter().copied();
    let mut number = || {
        let mut number = 0u32;
        for shift in (0..32).step_by(7) {
            let byte = bytes.next()?;
            number |= u32::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    };
    let (mut distance, mut end) = (-1i32, 0u32);
    loop {
        let change = number()?;
        if change == 0 && end != 0 {
            return None;
        }
        let change = (change >> 1) as i32 ^ -((change & 1) as i32);
        distance = distance.checked_add(change)?;
        end = end.checked_add(number()?)?;
        if offset < end {
            return Some(distance).filter(|room| *room >= 0 && *room % 8 == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distances change where the table says so, by positive and negative steps; it ends with a zero.
    #[test]
    fn distances() {
        // 0 for 4 bytes, 8 for 2, 136 for 300, 0 for 1.
        let program = [2, 4, 16, 2, 0x80, 2, 0xac, 2, 0x8f, 2, 1, 0];
        assert_eq!(distance(&program, 0), Some(0));
        assert_eq!(distance(&program, 3), Some(0));
        assert_eq!(distance(&program, 4), Some(8));
        assert_eq!(distance(&program, 6), Some(136));
        assert_eq!(distance(&program, 305), Some(136));
        assert_eq!(distance(&program, 306), Some(0));
        assert_eq!(distance(&program, 307), None);
    }

    /// Nonsense has no distance: cut short, endless numbers, distances that no stack has.
    #[test]
    fn damaged_distances() {
        assert_eq!(distance(&[], 0), None);
        assert_eq!(distance(&[2], 0), None);
        assert_eq!(distance(&[0xff; 4096], 0), None);
        assert_eq!(distance(&[1, 9], 0), None);
        assert_eq!(distance(&[8, 9], 0), None);
        assert_eq!(distance(&[2, 0, 0, 0], 5), None);
    }
}
