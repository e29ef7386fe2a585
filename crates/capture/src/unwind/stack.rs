//! Copies of parts of a stack, and the registers as far as they are known. Pure.

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

/// The bytes from an address upwards.
#[derive(Debug, Clone, Copy, Default)]
pub struct Piece<'a> {
    pub start: u64,
    pub bytes: &'a [u8],
}

/// What was copied of a thread's stack.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stack<'a> {
    /// From the stack pointer on.
    pub inner: Piece<'a>,
    /// Where the stack goes on: its outermost part, or another stack that the thread has left. It may be empty.
    pub beyond: Piece<'a>,
}

impl Stack<'_> {
    pub fn read(&self, address: u64) -> Result<u64, Missing> {
        match (self.inner.read(address), self.beyond.read(address)) {
            (Some(word), _) | (None, Some(word)) => Ok(word),
            _ if address < self.inner.start => Err(Missing::Elsewhere),
            _ => Err(Missing::Above),
        }
    }

    /// Whether a frame that begins here may be called by one that begins there: stacks grow downwards, and only one that
    /// was made for something leads to where that began, which may be anywhere.
    pub fn leads(&self, from: u64, to: u64) -> bool {
        to >= from || self.beyond.reaches(to) && !self.beyond.reaches(from)
    }

    /// Whether this is where a program's first thread begins.
    pub fn is_start(&self, address: u64) -> bool {
        self.inner.is_start(address) || self.beyond.is_start(address)
    }

    pub fn end(&self) -> u64 {
        self.inner.end().max(self.beyond.end())
    }
}

impl Piece<'_> {
    fn read(&self, address: u64) -> Option<u64> {
        let from = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let word = self.bytes.get(from..from.checked_add(8)?)?;
        Some(u64::from_le_bytes(word.try_into().ok()?))
    }

    /// Whether a frame can begin here, above its return address.
    fn reaches(&self, address: u64) -> bool {
        self.start < address && address <= self.end()
    }

    /// The copy ends with the number of a program's arguments and the first of them, and there is room below for no more
    /// than the code that starts `main`.
    fn is_start(&self, address: u64) -> bool {
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

    fn end(&self) -> u64 {
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
        let inner = Piece {
            start: 0x1000,
            bytes: &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0],
        };
        let stack = Stack {
            inner,
            ..Stack::default()
        };
        assert_eq!(stack.read(0x1000), Ok(1));
        assert_eq!(stack.read(0x1003), Ok(2 << 40));
        assert_eq!(stack.read(0x1004), Err(Missing::Above));
        assert_eq!(stack.read(u64::MAX), Err(Missing::Above));
        assert_eq!(stack.read(0xfff), Err(Missing::Elsewhere));
    }

    /// A word is read in either piece, and what lies between them is missing.
    #[test]
    fn two_pieces() {
        let piece = |start, bytes| Piece { start, bytes };
        let stack = Stack {
            inner: piece(0x1000, &[1; 16]),
            beyond: piece(0x9000, &[2; 16]),
        };
        assert_eq!(stack.read(0x1008), Ok(0x0101_0101_0101_0101));
        assert_eq!(stack.read(0x9008), Ok(0x0202_0202_0202_0202));
        for missing in [0x100c, 0x5000, 0x8ffc, 0x9010] {
            assert_eq!(stack.read(missing), Err(Missing::Above), "{missing:x}");
        }
        assert_eq!(stack.read(0xff8), Err(Missing::Elsewhere));
        assert_eq!(stack.end(), 0x9010);
        assert!(!stack.is_start(0x9000));
    }

    /// Callers lie above, but for one on the stack from which the program went to another: that may be anywhere, once.
    #[test]
    fn callers() {
        let piece = |start| Piece {
            start,
            bytes: &[0; 16],
        };
        let stack = Stack {
            inner: piece(0x9000),
            beyond: piece(0x1000),
        };
        assert!(stack.leads(0x9000, 0x9000) && stack.leads(0x9000, 0x9008));
        assert!(!stack.leads(0x9008, 0x9000));
        assert!(stack.leads(0x9000, 0x1008) && stack.leads(0x9000, 0x1010));
        assert!(!stack.leads(0x9000, 0x1000) && !stack.leads(0x9000, 0x1018));
        assert!(stack.leads(0x1008, 0x1010) && !stack.leads(0x1010, 0x1008));
    }

    /// A copy that ends with arguments reaches to where the program began, and only what is near to that began there.
    #[test]
    fn where_a_program_began() {
        let mut bytes = vec![0; 4096];
        let start = 0x7ffd_0000_0410;
        let end = start + bytes.len() as u64;
        let is_start = |bytes: &[u8], address| Piece { start, bytes }.is_start(address);
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
        assert!(!Piece {
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
