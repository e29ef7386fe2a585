//! Where a file has a few things that are known by their names, and the bytes that it has there.

use super::elf::{text_at, Elf, Record};
use super::fault::Fault;
use super::quiet::quietly;
use crate::reader::Theirs;

/// As much is read of each.
const MOST_BYTES: u64 = 1024;
/// More of them than that are not looked for.
const MOST_PLACES: usize = 256;

/// A symbol: a function, or data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSymbol {
    pub name: String,
    pub start: u64,
    pub size: u64,
    /// How it begins; nothing, where the file has only room for it.
    pub bytes: Vec<u8>,
}

/// The symbols of a file whose names are wanted, from both of its tables. The file is not to be trusted.
pub(crate) fn places(file: Theirs, wanted: fn(&str) -> bool) -> Result<Vec<FoundSymbol>, Fault> {
    quietly(|| {
        let elf = Elf::from_theirs(file)?;
        let mut places: Vec<FoundSymbol> = Vec::new();
        for exports in [true, false] {
            for place in in_table(&elf, exports, wanted)? {
                let known =
                    |known: &FoundSymbol| known.name == place.name && known.start == place.start;
                if places.len() < MOST_PLACES && !places.iter().any(known) {
                    places.push(place);
                }
            }
        }
        Ok(places)
    })
}

/// What follows these words in the data of a file that no program changes, up to a NUL; nothing, if they are not there. The file
/// is not to be trusted.
pub(crate) fn text_behind(file: Theirs, words: &[u8]) -> Result<Option<String>, Fault> {
    const LONGEST: usize = 64;
    quietly(|| {
        let elf = Elf::from_theirs(file)?;
        let data = elf.data_named(b".rodata")?;
        let found = data.windows(words.len()).position(|here| here == words);
        let text = found.and_then(|at| data.get(at + words.len()..));
        Ok(text.map(|text| {
            let text = text_at(&text[..text.len().min(LONGEST)], 0);
            String::from_utf8_lossy(text).into_owned()
        }))
    })
}

/// Where, as a file counts, the loader writes the number of the module that has the memory of each thread in which this variable
/// is, if the file has code that asks for it. The file is not to be trusted.
pub(crate) fn module_slot(file: Theirs, variable: &str) -> Result<Option<u64>, Fault> {
    const RELA: u32 = 4;
    const DTPMOD64: u32 = 16;
    quietly(|| {
        let elf = Elf::from_theirs(file)?;
        let Some(table) = elf.symbol_table(true).filter(|_| elf.wide) else {
            return Ok(None);
        };
        let symbols = elf.data(table)?;
        let names = match elf.sections.get(table.link as usize) {
            Some(names) => elf.data(names)?,
            None => Vec::new(),
        };
        // One of no symbol is of the file's own module.
        let is_ours = |symbol: u64| {
            let at = (symbol as usize).saturating_mul(24);
            let record = symbols.get(at..).and_then(|rest| rest.get(..24));
            let symbol_name = record.and_then(|record| Record(record).u32(0));
            let name = symbol_name.map(|name| text_at(&names, name as usize));
            symbol == 0 || name == Some(variable.as_bytes())
        };
        for section in elf.sections.iter().filter(|section| section.kind == RELA) {
            let bytes = elf.data(section)?;
            let slot = bytes.chunks_exact(24).find_map(|record| {
                let record = Record(record);
                let (slot, info) = (record.u64(0)?, record.u64(8)?);
                (info as u32 == DTPMOD64 && is_ours(info >> 32)).then_some(slot)
            });
            if slot.is_some() {
                return Ok(slot);
            }
        }
        Ok(None)
    })
}

fn in_table(elf: &Elf, exports: bool, wanted: fn(&str) -> bool) -> Result<Vec<FoundSymbol>, Fault> {
    let Some(section) = elf.symbol_table(exports) else {
        return Ok(Vec::new());
    };
    let bytes = elf.data(section)?;
    let names = match elf.sections.get(section.link as usize) {
        Some(names) => elf.data(names)?,
        None => Vec::new(),
    };
    let size = if elf.wide { 24 } else { 16 };
    let mut places = Vec::new();
    for record in bytes.chunks_exact(size) {
        let symbol = Symbol::of(Record(record), elf.wide);
        let Some(symbol) = symbol.filter(|symbol| symbol.start != 0 || symbol.of_thread) else {
            continue;
        };
        let name = String::from_utf8_lossy(text_at(&names, symbol.name as usize));
        if wanted(&name) && places.len() < MOST_PLACES {
            places.push(FoundSymbol {
                name: name.into_owned(),
                start: symbol.start,
                size: symbol.size,
                bytes: elf.bytes_at(symbol.start, symbol.size.min(MOST_BYTES)),
            });
        }
    }
    Ok(places)
}

struct Symbol {
    name: u32,
    start: u64,
    size: u64,
    /// It is in the memory of each thread, of this file.
    of_thread: bool,
}

impl Symbol {
    fn of(record: Record, wide: bool) -> Option<Symbol> {
        const THREAD_LOCAL: u8 = 6;
        let (about, section) = if wide { (4, 6) } else { (12, 14) };
        Some(Symbol {
            of_thread: record.u8(about)? & 15 == THREAD_LOCAL && record.u16(section)? != 0,
            name: record.u32(0)?,
            start: record.word(wide, 8, 4)?,
            size: record.word(wide, 16, 8)?,
        })
    }
}
