//! Calls into libraries go through stubs without a symbol: each jumps to where a slot points, and a
//! relocation says whose address the loader puts there. For x86-64 only.

use super::elf::{text_at, Elf, Record};
use super::fault::Fault;
use std::collections::HashMap;

const EM_X86_64: u16 = 62;
const RELOCATION: usize = 24;
const STUB: u64 = 16;
/// More relocations of functions than any library has; those of data are skipped.
const MOST_SLOTS: usize = 1 << 20;
const R_X86_64_GLOB_DAT: u32 = 6;
const R_X86_64_JUMP_SLOT: u32 = 7;

/// The stubs of one file.
#[derive(Default)]
pub(super) struct Stubs {
    sections: Vec<StubSection>,
    /// Slot -> index of the symbol.
    slots: HashMap<u64, u32>,
    symbols: Vec<u8>,
    names: Vec<u8>,
}

struct StubSection {
    address: u64,
    stub: u64,
    code: Vec<u8>,
}

impl Stubs {
    /// Reads what is needed, if any of the addresses is in a stub at all.
    pub(super) fn read(elf: &Elf, wanted: &[u64]) -> Result<Stubs, Fault> {
        let mut stubs = Stubs::default();
        if elf.machine != EM_X86_64 || !elf.wide {
            return Ok(stubs);
        }
        for name in [".plt", ".plt.sec", ".plt.got"] {
            let Some(section) = elf.named(name.as_bytes()) else {
                continue;
            };
            let from = wanted.partition_point(|address| *address < section.address);
            if wanted.get(from).is_some_and(|first| section.holds(*first)) {
                let stub = match section.entry_size {
                    8 => 8,
                    _ => STUB,
                };
                stubs.sections.push(StubSection {
                    address: section.address,
                    stub,
                    code: elf.data(section)?,
                });
            }
        }
        if stubs.sections.is_empty() {
            return Ok(stubs);
        }
        stubs.read_slots(elf)?;
        if let Some(table) = elf.symbol_table(true) {
            stubs.symbols = elf.data(table)?;
            if let Some(names) = elf.sections.get(table.link as usize) {
                stubs.names = elf.data(names)?;
            }
        }
        Ok(stubs)
    }

    fn read_slots(&mut self, elf: &Elf) -> Result<(), Fault> {
        for name in [".rela.plt", ".rela.dyn"] {
            let bytes = elf.data_named(name.as_bytes())?;
            for record in bytes.chunks_exact(RELOCATION) {
                let record = Record(record);
                let (Some(slot), Some(kind), Some(symbol)) =
                    (record.u64(0), record.u32(8), record.u32(12))
                else {
                    continue;
                };
                let function = matches!(kind, R_X86_64_GLOB_DAT | R_X86_64_JUMP_SLOT);
                if function && self.slots.len() < MOST_SLOTS {
                    self.slots.insert(slot, symbol);
                }
            }
        }
        Ok(())
    }

    /// The function that a stub jumps to.
    pub(super) fn target(&self, address: u64) -> Option<&[u8]> {
        let section = self.sections.iter().find(|section| {
            address >= section.address && address - section.address < section.code.len() as u64
        })?;
        let start = (address - section.address) / section.stub * section.stub;
        let at = usize::try_from(start).ok()?;
        let end = section.code.len().min(at + section.stub as usize);
        let code = section.code.get(at..end)?;
        // `jmp *slot(%rip)`, alone or behind `endbr64` and `bnd`.
        let jump = code
            .windows(2)
            .take(8)
            .position(|bytes| bytes == [0xff, 0x25])?;
        let distance = Record(code).u32(jump + 2)?;
        let behind = section.address.wrapping_add(start + jump as u64 + 6);
        let slot = behind.wrapping_add_signed(i64::from(distance as i32));
        let symbol = usize::try_from(*self.slots.get(&slot)?).ok()?;
        let record = self.symbols.get(symbol.checked_mul(24)?..)?;
        let name = text_at(&self.names, usize::try_from(Record(record).u32(0)?).ok()?);
        (!name.is_empty()).then_some(name)
    }
}
