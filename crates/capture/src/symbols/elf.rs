//! The sections of an ELF file, read one by one as they are asked for.
//!
//! Files are read, not mapped: a mapped file that somebody truncates kills who looks at it. What a
//! file may make us read and keep is bounded, and nothing that it says is used as a size or a place
//! before it was held against the file's length. Knows nothing of symbols or DWARF.

use super::fault::{damaged, Fault};
use super::unpack;
use crate::build_id::build_id;
use crate::reader::Theirs;
use rustix::fs::OFlags;
use std::cell::Cell;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Larger files are refused.
const LARGEST_FILE: u64 = 4 << 30;
/// The most that is read or unpacked of one file. Names without the debug information are better than
/// a machine without memory.
const MOST_READ: u64 = 1 << 30;
/// The most sections that are looked at. Files of one section for each function have some ten thousands.
const MOST_SECTIONS: u64 = 1 << 18;
/// Names of symbols and sections are cut behind that.
const LONGEST_TEXT: usize = 16 << 10;
/// Longer notes are not build ids.
const LONGEST_NOTES: u64 = 1 << 20;

const SHT_SYMTAB: u32 = 2;
const SHT_NOTE: u32 = 7;
const SHT_NOBITS: u32 = 8;
const SHT_DYNSYM: u32 = 11;
const SHF_EXECINSTR: u64 = 4;
const SHF_COMPRESSED: u64 = 0x800;
const SHN_XINDEX: u64 = 0xffff;

/// Opens a file to read it. Whatever else than a regular file is there (a device, a pipe) is never opened.
pub(super) fn open_regular(folder: impl AsFd, path: &Path, flags: OFlags) -> Result<File, Fault> {
    timesink_recording::files::open_regular(folder, path, flags)?.ok_or(Fault::NotRegular)
}

/// Little-endian numbers out of a record; `None` beyond its end.
#[derive(Clone, Copy)]
pub(super) struct Record<'a>(pub &'a [u8]);

impl Record<'_> {
    pub(super) fn u8(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }
    pub(super) fn u16(self, at: usize) -> Option<u16> {
        let bytes = self.0.get(at..at.checked_add(2)?)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    }
    pub(super) fn u32(self, at: usize) -> Option<u32> {
        let bytes = self.0.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
    pub(super) fn u64(self, at: usize) -> Option<u64> {
        let bytes = self.0.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
    /// A number of the class's own width: `at64` in a 64-bit file, `at32` in a 32-bit one.
    pub(super) fn word(self, wide: bool, at64: usize, at32: usize) -> Option<u64> {
        if wide {
            self.u64(at64)
        } else {
            self.u32(at32).map(u64::from)
        }
    }
}

/// The bytes up to the first zero, from `at` on; no more than names need, since looking for a zero that
/// is not there costs time for each name.
pub(super) fn text_at(bytes: &[u8], at: usize) -> &[u8] {
    let rest = bytes.get(at..).unwrap_or_default();
    let rest = rest.get(..LONGEST_TEXT).unwrap_or(rest);
    let end = rest.iter().position(|byte| *byte == 0);
    &rest[..end.unwrap_or(rest.len())]
}

enum Source {
    File(Theirs),
    Memory(Vec<u8>),
}

pub(super) struct Section {
    name: u32,
    pub(super) kind: u32,
    flags: u64,
    pub(super) address: u64,
    offset: u64,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) entry_size: u64,
}

impl Section {
    pub(super) fn is_code(&self) -> bool {
        self.flags & SHF_EXECINSTR != 0
    }
    pub(super) fn holds(&self, address: u64) -> bool {
        address >= self.address && address - self.address < self.size
    }
}

pub(super) struct Elf {
    source: Source,
    length: u64,
    /// What may still be read or unpacked.
    left: Cell<u64>,
    /// Whether it is a 64-bit file.
    pub(super) wide: bool,
    pub(super) machine: u16,
    pub(super) sections: Vec<Section>,
    names: Vec<u8>,
    /// Its build id; empty if it has none.
    pub(super) build_id: Vec<u8>,
}

impl Elf {
    pub(super) fn open(path: &Path) -> Result<Elf, Fault> {
        let file = open_regular(rustix::fs::CWD, path, OFlags::empty())?;
        let length = file.metadata()?.size();
        Elf::read(Source::File(file.into()), length)
    }

    pub(super) fn from_theirs(file: Theirs) -> Result<Elf, Fault> {
        let length = file.about()?.size;
        Elf::read(Source::File(file), length)
    }

    pub(super) fn from_bytes(bytes: Vec<u8>) -> Result<Elf, Fault> {
        let length = bytes.len() as u64;
        Elf::read(Source::Memory(bytes), length)
    }

    fn read(source: Source, length: u64) -> Result<Elf, Fault> {
        if length > LARGEST_FILE {
            return Err(Fault::TooLarge);
        }
        let mut elf = Elf {
            source,
            length,
            left: Cell::new(MOST_READ),
            wide: true,
            machine: 0,
            sections: Vec::new(),
            names: Vec::new(),
            build_id: Vec::new(),
        };
        let head = elf.bytes(0, length.min(64))?;
        if head.get(..4) != Some(b"\x7fELF") || head.get(5) != Some(&1) {
            return Err(Fault::NotElf);
        }
        elf.wide = match head.get(4) {
            Some(2) => true,
            Some(1) => false,
            _ => return Err(Fault::NotElf),
        };
        elf.read_sections(Record(&head))
            .unwrap_or_else(|| Err(damaged("its header is cut short")))?;
        elf.build_id = elf.find_build_id();
        Ok(elf)
    }

    /// Reads the table of sections. `None` where a record is too short.
    fn read_sections(&mut self, head: Record) -> Option<Result<(), Fault>> {
        let wide = self.wide;
        self.machine = head.u16(18)?;
        let at = head.word(wide, 0x28, 0x20)?;
        let size = u64::from(head.u16(if wide { 0x3a } else { 0x2e })?);
        let mut count = u64::from(head.u16(if wide { 0x3c } else { 0x30 })?);
        let mut names = u64::from(head.u16(if wide { 0x3e } else { 0x32 })?);
        if at == 0 {
            return Some(Ok(()));
        }
        if size != if wide { 64 } else { 40 } {
            return Some(Err(damaged("sections of an unknown size")));
        }
        // Where there are too many for the header, the first section says how many.
        if count == 0 || names == SHN_XINDEX {
            let first = match self.bytes(at, size) {
                Ok(first) => self.section(Record(&first))?,
                Err(fault) => return Some(Err(fault)),
            };
            count = if count == 0 { first.size } else { count };
            names = if names == SHN_XINDEX {
                u64::from(first.link)
            } else {
                names
            };
        }
        if count > MOST_SECTIONS {
            return Some(Err(Fault::TooLarge));
        }
        let table = match self.bytes(at, count * size) {
            Ok(table) => table,
            Err(fault) => return Some(Err(fault)),
        };
        for record in table.chunks_exact(size as usize) {
            let section = self.section(Record(record))?;
            self.sections.push(section);
        }
        let names = usize::try_from(names).ok()?;
        let names = self.sections.get(names).map(|section| self.raw(section));
        match names {
            Some(Ok(names)) => self.names = names,
            Some(Err(fault)) => return Some(Err(fault)),
            None => {}
        }
        Some(Ok(()))
    }

    fn section(&self, record: Record) -> Option<Section> {
        let wide = self.wide;
        Some(Section {
            name: record.u32(0)?,
            kind: record.u32(4)?,
            flags: record.word(wide, 8, 8)?,
            address: record.word(wide, 16, 12)?,
            offset: record.word(wide, 24, 16)?,
            size: record.word(wide, 32, 20)?,
            link: record.u32(if wide { 40 } else { 24 })?,
            entry_size: record.word(wide, 56, 36)?,
        })
    }

    /// Takes from what may still be read of this file.
    fn spend(&self, size: u64) -> Result<(), Fault> {
        let left = self.left.get().checked_sub(size).ok_or(Fault::TooLarge)?;
        self.left.set(left);
        Ok(())
    }

    fn bytes(&self, offset: u64, size: u64) -> Result<Vec<u8>, Fault> {
        let end = offset.checked_add(size);
        if end.is_none_or(|end| end > self.length) {
            return Err(damaged("a section lies beyond its end"));
        }
        self.spend(size)?;
        match &self.source {
            Source::Memory(bytes) => {
                let range = offset as usize..(offset + size) as usize;
                let bytes = bytes.get(range);
                Ok(bytes.ok_or_else(|| damaged("a short section"))?.to_vec())
            }
            Source::File(file) => {
                let mut bytes = unpack::room(size)?;
                file.read_exact_at(&mut bytes, offset)?;
                Ok(bytes)
            }
        }
    }

    /// A section as it lies in the file; nothing where a debug file leaves out what the program has.
    fn raw(&self, section: &Section) -> Result<Vec<u8>, Fault> {
        if section.kind == SHT_NOBITS {
            return Ok(Vec::new());
        }
        self.bytes(section.offset, section.size)
    }

    /// A section's bytes, unpacked.
    pub(super) fn data(&self, section: &Section) -> Result<Vec<u8>, Fault> {
        let raw = self.raw(section)?;
        if section.flags & SHF_COMPRESSED != 0 {
            return self.unpacked(&raw);
        }
        let name = self.names.get(section.name as usize..);
        let older = name.is_some_and(|name| name.starts_with(b".zdebug_"));
        if older && raw.get(..4) == Some(b"ZLIB") {
            let size = raw.get(4..12).and_then(|size| size.try_into().ok());
            let size = u64::from_be_bytes(size.ok_or_else(|| damaged("a short section"))?);
            self.spend(size)?;
            return unpack::zlib(&raw[12..], size);
        }
        Ok(raw)
    }

    fn unpacked(&self, raw: &[u8]) -> Result<Vec<u8>, Fault> {
        let head = Record(raw);
        let packed = raw.get(if self.wide { 24 } else { 12 }..);
        let (Some(kind), Some(size), Some(packed)) =
            (head.u32(0), head.word(self.wide, 8, 4), packed)
        else {
            return Err(damaged("a short section"));
        };
        self.spend(size)?;
        match kind {
            1 => unpack::zlib(packed, size),
            2 => unpack::zstd(packed, size),
            _ => Err(damaged("a section is packed in an unknown way")),
        }
    }

    fn is_called(&self, section: &Section, name: &[u8]) -> bool {
        let text = self.names.get(section.name as usize..);
        let rest = text.and_then(|text| text.strip_prefix(name));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }

    /// The first section of that name that has bytes in this file.
    pub(super) fn named(&self, name: &[u8]) -> Option<&Section> {
        self.sections
            .iter()
            .find(|section| section.kind != SHT_NOBITS && self.is_called(section, name))
    }

    /// The bytes of the section of that name; none if there is none.
    pub(super) fn data_named(&self, name: &[u8]) -> Result<Vec<u8>, Fault> {
        self.named(name)
            .map_or(Ok(Vec::new()), |section| self.data(section))
    }

    /// The symbol table: the full one, or that of the names which are exported and imported.
    pub(super) fn symbol_table(&self, exports: bool) -> Option<&Section> {
        let kind = if exports { SHT_DYNSYM } else { SHT_SYMTAB };
        self.sections.iter().find(|section| section.kind == kind)
    }

    /// Where code begins. What says that it lies below was thrown away by the linker.
    pub(super) fn code_start(&self) -> u64 {
        let code = self.sections.iter().filter(|section| section.is_code());
        code.map(|section| section.address).min().unwrap_or(0)
    }

    /// The bytes at an address, up to the end of what is there; none where the file has none.
    pub(super) fn bytes_at(&self, address: u64, size: u64) -> Vec<u8> {
        let there = |section: &&Section| {
            section.address != 0 && section.kind != SHT_NOBITS && section.holds(address)
        };
        let Some(section) = self.sections.iter().find(there) else {
            return Vec::new();
        };
        let from = address - section.address;
        let size = size.min(section.size - from);
        let offset = section.offset.checked_add(from);
        let bytes = offset.and_then(|offset| self.bytes(offset, size).ok());
        bytes.unwrap_or_default()
    }

    fn find_build_id(&self) -> Vec<u8> {
        let notes = self
            .sections
            .iter()
            .filter(|section| section.kind == SHT_NOTE && section.size <= LONGEST_NOTES);
        for section in notes.take(64) {
            let Ok(bytes) = self.raw(section) else {
                continue;
            };
            // Shorter ones were made up by somebody: they are not names of files.
            if let Some(id) = build_id(&bytes).filter(|id| id.len() >= 8) {
                return id.to_vec();
            }
        }
        Vec::new()
    }

    /// The checksum that a `.gnu_debuglink` to this file would have.
    pub(super) fn checksum(&self) -> Result<u32, Fault> {
        let Source::File(file) = &self.source else {
            return Err(Fault::NotRegular);
        };
        let mut hasher = crc32fast::Hasher::new();
        let mut block = unpack::room(1 << 20)?;
        let mut at = 0;
        while at < self.length {
            let got = file.read_at(&mut block, at)?;
            if got == 0 {
                break;
            }
            hasher.update(&block[..got]);
            at += got as u64;
        }
        Ok(hasher.finalize())
    }
}
