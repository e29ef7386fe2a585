//! From an address in compiled code to the method that was compiled, and those that became part of it. The code lies in heaps, divided into
//! segments; a map of them leads back, in steps, to where a piece of code begins.

use std::ops::Range;

use super::inlined::AtWork;
use super::layout::{text, Compiled};
use super::{Layout, Memory};

/// There are three at most.
const MOST_HEAPS: u32 = 16;
/// Steps back; one of them can be 250 segments long.
const MOST_STEPS: usize = 1 << 12;
/// No method is compiled to that much.
const LARGEST_BLOCK: u64 = 1 << 30;
/// In the map of segments: nothing is here.
const FREE: u8 = 0xff;

/// Where compiled code is in one virtual machine.
#[derive(Debug)]
pub struct Heaps {
    heaps: Vec<Heap>,
}

#[derive(Debug)]
struct Heap {
    low: u64,
    high: u64,
    segments: u64,
    /// Of a segment's size, the logarithm.
    size: u32,
}

impl Heaps {
    /// The heaps that there are; they stay where they are.
    pub fn read(memory: &impl Memory, layout: &Layout) -> Option<Heaps> {
        let compiled = layout.compiled.as_ref()?;
        let list = memory.word(compiled.heaps).filter(|list| *list != 0)?;
        let count = memory.half(list.wrapping_add(compiled.list_length))?;
        if count == 0 || count > MOST_HEAPS {
            return None;
        }
        let data = memory.word(list.wrapping_add(compiled.list))?;
        let heaps = (0..u64::from(count)).map(|i| {
            let heap = memory.word(data.wrapping_add(8 * i))?;
            Heap::read(memory, compiled, heap)
        });
        Some(Heaps {
            heaps: heaps.collect::<Option<_>>()?,
        })
    }

    /// Where all of it is, with what is between.
    pub fn range(&self) -> Range<u64> {
        let low = self.heaps.iter().map(|heap| heap.low).min();
        let high = self.heaps.iter().map(|heap| heap.high).max();
        low.unwrap_or_default()..high.unwrap_or_default()
    }

    /// Whether this may be compiled code.
    pub fn have(&self, address: u64) -> bool {
        let mut heaps = self.heaps.iter();
        heaps.any(|heap| (heap.low..heap.high).contains(&address))
    }

    /// The piece of code that an address is in.
    pub fn piece(&self, memory: &impl Memory, layout: &Layout, address: u64) -> Option<Piece> {
        let compiled = layout.compiled.as_ref()?;
        let mut heaps = self.heaps.iter();
        let heap = heaps.find(|heap| (heap.low..heap.high).contains(&address))?;
        let block = heap.block(memory, address)?;
        let head = Head::read(memory, compiled, block)?;
        let bytes = head.length.checked_mul(1 << heap.size)?;
        let inside = bytes <= LARGEST_BLOCK && address - block < bytes;
        (head.used && inside).then_some(Piece { block, head })
    }
}

/// A piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    block: u64,
    head: Head,
}

/// What a piece of code was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Where the method may be that was compiled to it.
    Method(u64),
    /// The virtual machine's own, as it calls it: `StubRoutines (1)`. Empty if it does not say.
    Own(String),
}

impl Piece {
    pub fn origin(&self, memory: &impl Memory) -> Origin {
        let name = text(memory, self.head.name);
        match &*name {
            "nmethod" | "native nmethod" => Origin::Method(self.head.method),
            _ => Origin::Own(name),
        }
    }

    /// The methods at work at an address of it, or that a call returns to: innermost first, the one that was compiled last. None if that is not
    /// told.
    pub fn at_work(
        &self,
        memory: &impl Memory,
        layout: &Layout,
        at: u64,
        returns: bool,
    ) -> Vec<AtWork> {
        let at_work = layout.compiled.as_ref().and_then(|compiled| {
            let scopes = compiled.scopes.as_ref()?;
            let head = self.block.checked_add(compiled.block_size)?;
            scopes.at_work(memory, head, at, returns)
        });
        let is_this = |outermost: &AtWork| outermost.method == self.head.method;
        at_work
            .filter(|at_work| at_work.last().is_some_and(is_this))
            .unwrap_or_default()
    }

    /// Whether it is still there; `None` if there is nothing any more.
    pub fn is_there(&self, memory: &impl Memory, layout: &Layout) -> Option<bool> {
        let compiled = layout.compiled.as_ref()?;
        Some(Head::read(memory, compiled, self.block)? == self.head)
    }
}

/// How it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    length: u64,
    used: bool,
    name: u64,
    method: u64,
    /// Each compilation has its own.
    number: u32,
}

impl Head {
    /// All of it is near enough to be read at once.
    const SIZE: usize = 512;

    fn read(memory: &impl Memory, compiled: &Compiled, block: u64) -> Option<Head> {
        let blob = compiled.block_size;
        let (name, method) = (blob + compiled.name, blob + compiled.method);
        let number = blob + compiled.number.unwrap_or(compiled.name);
        let ends = [
            compiled.block_length,
            compiled.block_used,
            name,
            method,
            number,
        ]
        .map(|at| at + 8);
        let mut bytes = [0; Head::SIZE];
        let bytes = bytes.get_mut(..*ends.iter().max()? as usize)?;
        if memory.read(block, bytes) != bytes.len() {
            return None;
        }
        let word = |at: u64| {
            let bytes = bytes.get(at as usize..)?.first_chunk::<8>()?;
            Some(u64::from_le_bytes(*bytes))
        };
        let length = word(compiled.block_length)?;
        // It was a word, and is half of one by now, with what says that it is used behind it.
        let half = compiled.block_used < compiled.block_length + 8;
        Some(Head {
            length: if half { length & 0xffff_ffff } else { length },
            used: *bytes.get(compiled.block_used as usize)? != 0,
            name: word(name)?,
            method: word(method)?,
            number: word(number)? as u32,
        })
    }
}

impl Heap {
    fn read(memory: &impl Memory, compiled: &Compiled, heap: u64) -> Option<Heap> {
        let space = heap.wrapping_add(compiled.memory);
        let segments = heap.wrapping_add(compiled.segments);
        let size = memory.half(heap.wrapping_add(compiled.segment_size))?;
        Some(Heap {
            low: memory.word(space.wrapping_add(compiled.low))?,
            high: memory.word(space.wrapping_add(compiled.high))?,
            segments: memory.word(segments.wrapping_add(compiled.low))?,
            size: (size < 32).then_some(size)?,
        })
    }

    /// Where the block begins that an address is in.
    fn block(&self, memory: &impl Memory, address: u64) -> Option<u64> {
        let mut segment = (address - self.low) >> self.size;
        for _ in 0..MOST_STEPS {
            let [back] = memory.array(self.segments.checked_add(segment)?)?;
            if back == FREE {
                return None;
            }
            if back == 0 {
                return self.low.checked_add(segment << self.size);
            }
            segment = segment.checked_sub(u64::from(back))?;
        }
        None
    }
}
