//! From an address in compiled code to the method that was compiled. The code lies in heaps that are divided into
//! segments; a map of them leads back, in steps, to where a piece of code begins.

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

    /// Whether this may be compiled code.
    pub fn have(&self, address: u64) -> bool {
        let mut heaps = self.heaps.iter();
        heaps.any(|heap| (heap.low..heap.high).contains(&address))
    }

    /// Whether nothing can be read of them any more.
    pub fn are_gone(&self, memory: &impl Memory) -> bool {
        let first = self.heaps.first();
        first.is_none_or(|heap| memory.word(heap.segments).is_none())
    }

    /// Where the method may be that was compiled to the code at this address.
    pub fn method(&self, memory: &impl Memory, layout: &Layout, address: u64) -> Option<u64> {
        let compiled = layout.compiled.as_ref()?;
        let mut heaps = self.heaps.iter();
        let heap = heaps.find(|heap| (heap.low..heap.high).contains(&address))?;
        let block = heap.block(memory, compiled, address)?;
        let blob = block.checked_add(compiled.block_size)?;
        let name = text(memory, memory.word(blob.wrapping_add(compiled.name))?);
        // All else is the virtual machine's own.
        let is_method = matches!(&*name, "nmethod" | "native nmethod");
        is_method.then(|| memory.word(blob.wrapping_add(compiled.method)))?
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

    /// The block that is in use at this address.
    fn block(&self, memory: &impl Memory, compiled: &Compiled, address: u64) -> Option<u64> {
        let mut segment = (address - self.low) >> self.size;
        for _ in 0..MOST_STEPS {
            let [back] = memory.array(self.segments.checked_add(segment)?)?;
            if back == FREE {
                return None;
            }
            if back == 0 {
                let block = self.low.checked_add(segment << self.size)?;
                return is_in_use(memory, compiled, block, address - block, self.size);
            }
            segment = segment.checked_sub(u64::from(back))?;
        }
        None
    }
}

/// The block, if it is used and reaches that far.
fn is_in_use(
    memory: &impl Memory,
    compiled: &Compiled,
    block: u64,
    reaches: u64,
    size: u32,
) -> Option<u64> {
    let length = block.wrapping_add(compiled.block_length);
    // It was a word, and is half of one by now, with what says that it is used behind it.
    let length = match compiled.block_used < compiled.block_length + 8 {
        true => u64::from(memory.half(length)?),
        false => memory.word(length)?,
    };
    let [used] = memory.array(block.wrapping_add(compiled.block_used))?;
    let bytes = length.checked_mul(1 << size)?;
    (used != 0 && bytes <= LARGEST_BLOCK && reaches < bytes).then_some(block)
}
