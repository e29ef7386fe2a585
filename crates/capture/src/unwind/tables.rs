//! The unwind tables of images: read when first needed, forgotten when they take too much room, and
//! searched for the rule of an address. The tables are not to be trusted: the work that an address can
//! cause is bounded.

use std::collections::HashMap;

use gimli::{
    BaseAddresses, CieOrFde, CommonInformationEntry, EhFrame, EndianSlice, FrameDescriptionEntry,
    LittleEndian, Section, UnwindContext, UnwindOffset, UnwindSection,
};

use super::go;
use super::rule::{self, Rule, Stuck};
use super::stack::{Known, Stack};
use crate::address_space::{Elf, FilePart, Image};
use crate::go_table::GoTable;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;
type Fde<'a> = FrameDescriptionEntry<Bytes<'a>>;

/// All tables together. What was used longest ago goes first.
const ROOM: usize = 256 << 20;
/// An entry of a compiler for a very large function has some tens of kilobytes.
const LONGEST_ENTRY: u32 = 256 << 10;
const LONGEST_COMMON: u32 = 4 << 10;

/// The tables of all images that were asked for.
pub struct Tables {
    loaded: HashMap<u32, LoadedTables>,
    context: Box<UnwindContext<usize>>,
    used: usize,
    clock: u64,
}

struct LoadedTables {
    table: Option<UnwindTable>,
    go: Option<GoTable>,
    last_used: u64,
}

impl LoadedTables {
    fn size(&self) -> usize {
        let size = self.table.as_ref().map_or(0, UnwindTable::size);
        size + self.go.as_ref().map_or(0, GoTable::size)
    }
}

/// One image's table.
pub struct UnwindTable {
    frames: Vec<u8>,
    address: u64,
    index: Index,
}

/// Where the entry of an address is.
enum Index {
    /// As the linker made it: sorted pairs of 32-bit distances from its own address.
    Linked { bytes: Vec<u8>, address: u64 },
    /// Made by us, where there is none: the first address and the place of each entry, sorted.
    Made(Vec<(u64, u32)>),
}

impl Default for Tables {
    fn default() -> Tables {
        Tables {
            loaded: HashMap::new(),
            context: Box::new(UnwindContext::new()),
            used: 0,
            clock: 0,
        }
    }
}

impl Tables {
    /// The rule at an address of an image.
    pub fn rule(&mut self, image: &Image, address: u64) -> Rule {
        self.load(image);
        let is_signal_return = || is_signal_return(image, address);
        let Some(loaded) = self.loaded.get(&image.serial()) else {
            return Rule::NoTable;
        };
        let table = loaded.table.as_ref();
        let by_table = table.and_then(|table| table.rule(&mut self.context, address));
        let by_go = || go::rule(loaded.go.as_ref()?, image, address, is_signal_return);
        match by_table.or_else(by_go) {
            Some(rule) => rule,
            None if is_signal_return() => Rule::Signal,
            None if table.is_none() => Rule::NoTable,
            None => Rule::None,
        }
    }

    /// The caller's registers where the rule says that its entry must be evaluated.
    pub fn evaluate(
        &mut self,
        image: &Image,
        (address, entry): (u64, u32),
        registers: &Known,
        stack: &Stack,
    ) -> Result<Known, Stuck> {
        self.load(image);
        let (table, context) = self.get(image).ok_or(Stuck::Rule)?;
        let frames = table.section();
        let bases = table.bases();
        let fde = entry_at(&frames, &bases, entry).ok_or(Stuck::Rule)?;
        let row = fde
            .unwind_info_for_address(&frames, &bases, context, address)
            .map_err(|_| Stuck::Rule)?;
        rule::by_row(registers, stack, row, &frames, fde.cie().encoding())
    }

    /// Bytes that the tables take.
    pub fn used(&self) -> usize {
        self.used
    }

    fn get(&mut self, image: &Image) -> Option<(&UnwindTable, &mut UnwindContext<usize>)> {
        let loaded = self.loaded.get(&image.serial())?;
        Some((loaded.table.as_ref()?, &mut self.context))
    }

    fn load(&mut self, image: &Image) {
        self.clock += 1;
        let last_used = self.clock;
        if let Some(loaded) = self.loaded.get_mut(&image.serial()) {
            loaded.last_used = last_used;
            return;
        }
        let loaded = LoadedTables {
            table: image.elf().and_then(|elf| UnwindTable::read(image, elf)),
            go: image.elf().and_then(|elf| go::read(image, elf)),
            last_used,
        };
        self.used += loaded.size();
        self.loaded.insert(image.serial(), loaded);
        while self.used > ROOM {
            let others = self.loaded.iter().filter(|(_, l)| l.size() > 0);
            let oldest = others.min_by_key(|(_, l)| l.last_used);
            let Some(oldest) = oldest.map(|(&serial, _)| serial) else {
                break;
            };
            // Also the one just read, if it is larger than all the room.
            let gone = self.loaded.remove(&oldest);
            self.used -= gone.as_ref().map_or(0, LoadedTables::size);
        }
    }
}

impl UnwindTable {
    fn read(image: &Image, elf: &Elf) -> Option<UnwindTable> {
        let part = elf.frames?;
        let frames = image.read(part).ok()?;
        let linked = elf.frames_index.and_then(|part| {
            let bytes = image.read(part).ok()?;
            linked_entries(&bytes)?;
            Some(Index::Linked {
                bytes,
                address: part.address,
            })
        });
        Some(UnwindTable::new(frames, part, linked))
    }

    fn new(frames: Vec<u8>, part: FilePart, linked: Option<Index>) -> UnwindTable {
        let mut table = UnwindTable {
            frames,
            address: part.address,
            index: Index::Made(Vec::new()),
        };
        table.index = linked.unwrap_or_else(|| Index::Made(table.make_index()));
        table
    }

    fn size(&self) -> usize {
        let index = match &self.index {
            Index::Linked { bytes, .. } => bytes.len(),
            Index::Made(entries) => entries.len() * size_of::<(u64, u32)>(),
        };
        self.frames.len() + index
    }

    fn section(&self) -> EhFrame<Bytes<'_>> {
        let mut section = EhFrame::new(&self.frames, LittleEndian);
        section.set_address_size(8);
        section
    }

    fn bases(&self) -> BaseAddresses {
        BaseAddresses::default().set_eh_frame(self.address)
    }

    /// Where entries begin, for a table without an index. Ends at the first that is damaged.
    fn make_index(&self) -> Vec<(u64, u32)> {
        let (section, bases) = (self.section(), self.bases());
        let mut found = Vec::new();
        let mut entries = section.entries(&bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            let fde = partial.parse(common_entry);
            let place = u32::try_from(partial.offset());
            let (Ok(fde), Ok(place)) = (fde, place) else {
                break;
            };
            found.push((fde.initial_address(), place));
        }
        found.sort_unstable();
        found
    }

    /// The place of the entry that may hold an address.
    fn entry_of(&self, address: u64) -> Option<u32> {
        match &self.index {
            Index::Made(entries) => {
                let after = entries.partition_point(|(first, _)| *first <= address);
                Some(entries.get(after.checked_sub(1)?)?.1)
            }
            Index::Linked {
                bytes,
                address: own,
            } => {
                let entries = linked_entries(bytes)?;
                let at = |index: usize, word: usize| {
                    let bytes = &entries[index * 8 + word * 4..][..4];
                    let distance = bytes.try_into().map_or(0, i32::from_le_bytes);
                    own.wrapping_add_signed(i64::from(distance))
                };
                let (mut low, mut high) = (0, entries.len() / 8);
                while low < high {
                    let middle = (low + high) / 2;
                    match at(middle, 0) <= address {
                        true => low = middle + 1,
                        false => high = middle,
                    }
                }
                let place = at(low.checked_sub(1)?, 1).checked_sub(self.address)?;
                u32::try_from(place).ok()
            }
        }
    }

    /// The rule of an address; none if the table has nothing for it.
    fn rule(&self, context: &mut UnwindContext<usize>, address: u64) -> Option<Rule> {
        let (section, bases) = (self.section(), self.bases());
        let entry = self.entry_of(address)?;
        let fde = entry_at(&section, &bases, entry)?;
        if !fde.contains(address) {
            return None;
        }
        if fde.is_signal_trampoline() {
            return Some(Rule::Signal);
        }
        let row = fde.unwind_info_for_address(&section, &bases, context, address);
        Some(Rule::of_row(row.ok()?).unwrap_or(Rule::Evaluate { entry }))
    }
}

/// The pairs in an index that is as all linkers make it: count and pairs are 32 bits, and relative to it.
fn linked_entries(index: &[u8]) -> Option<&[u8]> {
    const COUNT_IS_HALF: u8 = 0x03;
    const RELATIVE_HALVES: u8 = 0x3b;
    const FRAMES_ARE_RELATIVE_HALF: u8 = 0x1b;
    let known = [1, FRAMES_ARE_RELATIVE_HALF, COUNT_IS_HALF, RELATIVE_HALVES];
    if index.get(..4)? != known {
        return None;
    }
    let count = u32::from_le_bytes(index.get(8..12)?.try_into().ok()?);
    let size = usize::try_from(count).ok()?.checked_mul(8)?;
    let entries = index.get(12..12usize.checked_add(size)?)?;
    (!entries.is_empty()).then_some(entries)
}

/// How long an entry claims to be.
fn claimed_length(section: &EhFrame<Bytes<'_>>, at: usize) -> Option<u32> {
    let bytes = section.reader().slice().get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn entry_at<'a>(
    section: &EhFrame<Bytes<'a>>,
    bases: &BaseAddresses,
    entry: u32,
) -> Option<Fde<'a>> {
    let at = usize::try_from(entry).ok()?;
    if claimed_length(section, at)? > LONGEST_ENTRY {
        return None;
    }
    let fde = section.fde_from_offset(bases, at.into(), common_entry);
    fde.ok()
}

/// What several entries have in common, unless it is so long that reading it again and again would
/// take long.
fn common_entry<'a>(
    section: &EhFrame<Bytes<'a>>,
    bases: &BaseAddresses,
    at: gimli::EhFrameOffset<usize>,
) -> gimli::Result<CommonInformationEntry<Bytes<'a>>> {
    let length = claimed_length(section, UnwindOffset::into(at));
    match length.is_some_and(|length| length <= LONGEST_COMMON) {
        true => section.cie_from_offset(bases, at),
        false => Err(gimli::Error::NotCiePointer(0)),
    }
}

/// Where a handler returns to, when the table does not tell: `mov $15, %rax; syscall`.
fn is_signal_return(image: &Image, address: u64) -> bool {
    const CODE: [u8; 9] = [0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05];
    // An address to return to is looked up by the byte before it.
    let from = |address: u64| {
        let offset = image.elf()?.offset_of(address)?;
        let part = FilePart {
            offset,
            size: CODE.len() as u64,
            address,
        };
        image.read(part).ok()
    };
    [Some(address), address.checked_add(1)]
        .into_iter()
        .flatten()
        .any(|address| from(address).is_some_and(|bytes| bytes == CODE))
}
