//! A copy of the top of a stack, and the registers as far as they are known. Pure.

use gimli::{Register, X86_64};

/// Numbers as DWARF has them: 16 general registers and the return address.
const REGISTERS: usize = 17;
/// What a function must give back as it found it, beside the stack pointer.
pub const SAVED: [Register; 6] = [
    X86_64::RBX,
    X86_64::RBP,
    X86_64::R12,
    X86_64::R13,
    X86_64::R14,
    X86_64::R15,
];

/// Why a word is not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// It lies above what was copied.
    Above,
    /// It is in no part of the stack that is in use.
    Elsewhere,
}

/// The bytes from the stack pointer upwards.
#[derive(Debug, Clone, Copy)]
pub struct Stack<'a> {
    pub start: u64,
    pub bytes: &'a [u8],
}

impl Stack<'_> {
    pub fn read(&self, address: u64) -> Result<u64, Missing> {
        let from = address.checked_sub(self.start).ok_or(Missing::Elsewhere)?;
        let from = usize::try_from(from).map_err(|_| Missing::Above)?;
        let end = from.checked_add(8).ok_or(Missing::Above)?;
        let word = self.bytes.get(from..end).ok_or(Missing::Above)?;
        Ok(word.try_into().map_or(0, u64::from_le_bytes))
    }

    /// Whether this is where a program's first thread begins: the copy ends with the number of its arguments and the first
    /// of them, and there is room below for no more than the code that starts `main`.
    pub fn is_start(&self, address: u64) -> bool {
        const STARTING: u64 = 256;
        const MOST_ARGUMENTS: u64 = 1 << 22;
        const PAGE: u64 = 4096;
        let end = self.end();
        let last = |words: u64| self.read(end.saturating_sub(8 * words)).unwrap_or(0);
        // Other copies end with a page. The argument itself lies above.
        end >= 16
            && end.is_multiple_of(16)
            && !end.is_multiple_of(PAGE)
            && (1..MOST_ARGUMENTS).contains(&last(2))
            && last(1)
                .checked_sub(end)
                .is_some_and(|above| above < 64 << 20)
            && (end.saturating_sub(16 + STARTING)..end - 8).contains(&address)
    }

    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }
}

/// Known of one frame. Those that were not recorded are unknown until some frame has saved them.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    values: [u64; REGISTERS],
    known: u32,
}

impl Known {
    pub fn new(ip: u64, sp: u64, bp: u64) -> Known {
        let mut registers = Known {
            values: [0; REGISTERS],
            known: 0,
        };
        registers.set(X86_64::RA, Some(ip));
        registers.set(X86_64::RSP, Some(sp));
        registers.set(X86_64::RBP, Some(bp));
        registers
    }

    pub fn get(&self, register: Register) -> Option<u64> {
        let known = self.known.checked_shr(u32::from(register.0)).unwrap_or(0) & 1 != 0;
        let value = self.values.get(usize::from(register.0));
        value.copied().filter(|_| known)
    }

    pub fn set(&mut self, register: Register, value: Option<u64>) {
        let Some(place) = self.values.get_mut(usize::from(register.0)) else {
            return;
        };
        let bit = 1 << register.0;
        self.known = match value {
            Some(_) => self.known | bit,
            None => self.known & !bit,
        };
        *place = value.unwrap_or(0);
    }

    pub fn ip(&self) -> u64 {
        self.values[usize::from(X86_64::RA.0)]
    }

    pub fn sp(&self) -> u64 {
        self.values[usize::from(X86_64::RSP.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words are read only where they were copied, and what is missing is told apart.
    #[test]
    fn reading() {
        let stack = Stack {
            start: 0x1000,
            bytes: &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0],
        };
        assert_eq!(stack.read(0x1000), Ok(1));
        assert_eq!(stack.read(0x1003), Ok(2 << 40));
        assert_eq!(stack.read(0x1004), Err(Missing::Above));
        assert_eq!(stack.read(u64::MAX), Err(Missing::Above));
        assert_eq!(stack.read(0xfff), Err(Missing::Elsewhere));
    }

    /// A copy that ends with arguments reaches to where the program began, and only what is near to that began there.
    #[test]
    fn where_a_program_began() {
        let mut bytes = vec![0; 4096];
        let start = 0x7ffd_0000_0410;
        let end = start + bytes.len() as u64;
        let is_start = |bytes: &[u8], address| Stack { start, bytes }.is_start(address);
        let length = bytes.len();
        bytes[length - 16..length - 8].copy_from_slice(&3u64.to_le_bytes());
        bytes[length - 8..].copy_from_slice(&(end + 4000).to_le_bytes());
        assert!(is_start(&bytes, end - 16) && is_start(&bytes, end - 200));
        assert!(!is_start(&bytes, end - 300) && !is_start(&bytes, end) && !is_start(&bytes, 0));
        // No arguments, and a first argument that is none.
        for (at, value) in [(16, 0u64), (8, end - 64), (8, 7)] {
            let mut other = bytes.clone();
            other[length - at..length - at + 8].copy_from_slice(&value.to_le_bytes());
            assert!(!is_start(&other, end - 16), "{at} {value}");
        }
        assert!(!is_start(&[], start));
        assert!(!Stack {
            start: 3,
            bytes: &[]
        }
        .is_start(0));
    }

    /// Only what was set is known, and a register that does not exist is none.
    #[test]
    fn knowing() {
        let mut registers = Known::new(1, 2, 3);
        assert_eq!(registers.get(X86_64::RBP), Some(3));
        assert_eq!(registers.get(X86_64::RBX), None);
        registers.set(X86_64::RBX, Some(4));
        registers.set(X86_64::RBP, None);
        registers.set(Register(60), Some(5));
        assert_eq!(registers.get(X86_64::RBX), Some(4));
        assert_eq!(registers.get(X86_64::RBP), None);
        assert_eq!(registers.get(Register(60)), None);
    }
}
