//! The little of an ELF file that unwinding needs: where its code is loaded, where its unwind tables are, its
//! build id and its entry point. Symbols are read elsewhere.
//!
//! The file is not to be trusted. Every offset is checked against the file's length, every size against a
//! limit, and only what is asked for is read: a file that is mapped could be shortened under us, and would
//! then end timesink with SIGBUS.

use std::io;
use std::ops::Range;

use crate::build_id::build_id;
use crate::reader::Theirs;

/// Headers beyond these numbers are not from a compiler.
const MOST_PROGRAM_HEADERS: u16 = 256;
const SECTION_HEADERS_LIMIT: u64 = 4 << 20;
const NOTES_LIMIT: u64 = 64 << 10;
/// The largest unwind table that is read; browsers have 20 MB.
pub const TABLE_LIMIT: u64 = 128 << 20;

const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const SECTION_HEADER: usize = 64;
const NAMES_LIMIT: u64 = 1 << 20;

const PT_LOAD: u32 = 1;
const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;
const PT_TLS: u32 = 7;
const ET_EXEC: u16 = 2;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const PF_X: u32 = 1;
const EM_X86_64: u16 = 62;
const SHT_PROGBITS: u32 = 1;
const SHT_NOTE: u32 = 7;
const SHT_X86_64_UNWIND: u32 = 0x7000_0001;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    #[error("it is no ELF file")]
    NotElf,
    #[error("it is for another kind of processor")]
    Foreign,
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    #[error("it cannot be read")]
    Unreadable,
}

/// Something that bytes can be read of.
pub trait Source {
    fn length(&self) -> u64;
    /// Fills all of `bytes`, or fails.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;
}

impl Source for [u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(offset).ok();
        let part = from.and_then(|from| self.get(from..from.checked_add(bytes.len())?));
        bytes.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// A file and the length that it had when it was opened.
impl Source for (&Theirs, u64) {
    fn length(&self) -> u64 {
        self.1
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(bytes, offset)
    }
}

/// A part of the file that is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    pub offset: u64,
    pub size: u64,
    pub address: u64,
    pub executable: bool,
    /// So many zeros follow in memory.
    pub zeros: u64,
}

/// A part of the file, and the address it has by the file's own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePart {
    pub offset: u64,
    pub size: u64,
    pub address: u64,
}

/// The storage of which each thread has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadLocal {
    pub size: u64,
    pub address: u64,
    pub alignment: u64,
}

impl ThreadLocal {
    /// How far before the place to which FS points a program's own begins.
    pub fn distance(self) -> Option<u64> {
        let alignment = self.alignment.max(1);
        if !alignment.is_power_of_two() {
            return None;
        }
        // It ends where FS points, and begins at the last place below that is as its alignment and its address in the file want it.
        let skew = self.address & (alignment - 1);
        let size = self.size.checked_add(skew)?;
        Some(size.checked_next_multiple_of(alignment)? - skew)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Elf {
    pub loads: Vec<Load>,
    pub entry: u64,
    /// `.eh_frame`
    pub frames: Option<FilePart>,
    /// `.eh_frame_hdr`
    pub frames_index: Option<FilePart>,
    /// Go's own tables.
    pub go: Option<FilePart>,
    /// What Go knows of the program as a whole.
    pub go_module: Option<FilePart>,
    /// Which version of Go it was built with.
    pub go_build: Option<FilePart>,
    pub text: Option<FilePart>,
    /// What the header for tags (sdk/c) leaves for a recorder.
    pub tags_note: Option<FilePart>,
    /// Which compilers and linkers made it.
    pub comment: Option<FilePart>,
    pub thread_local: Option<ThreadLocal>,
    /// It is a program, not a library.
    pub is_program: bool,
    pub build_id: Option<Vec<u8>>,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let part = bytes.get(at..at + 8).and_then(|b| b.try_into().ok());
    part.map_or(0, u64::from_le_bytes)
}

fn half(bytes: &[u8], at: usize) -> u32 {
    let part = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
    part.map_or(0, u32::from_le_bytes)
}

fn short(bytes: &[u8], at: usize) -> u16 {
    let part = bytes.get(at..at + 2).and_then(|b| b.try_into().ok());
    part.map_or(0, u16::from_le_bytes)
}

/// Read a part, if it lies in the file and is not larger than the limit.
pub fn read_part(
    source: &(impl Source + ?Sized),
    part: Range<u64>,
    limit: u64,
) -> Result<Vec<u8>, ElfError> {
    let size = part.end.checked_sub(part.start);
    let size = size.filter(|size| *size <= limit && part.end <= source.length());
    let size = size.and_then(|size| usize::try_from(size).ok());
    let mut bytes = vec![0; size.ok_or(ElfError::Damaged("a part lies outside of it"))?];
    let read = source.read_at(part.start, &mut bytes);
    read.map_err(|_| ElfError::Unreadable)?;
    Ok(bytes)
}

fn table(
    source: &(impl Source + ?Sized),
    offset: u64,
    size: u64,
    limit: u64,
) -> Result<Vec<u8>, ElfError> {
    let end = offset.checked_add(size);
    let end = end.ok_or(ElfError::Damaged("an offset is out of bounds"))?;
    read_part(source, offset..end, limit)
}

impl Elf {
    pub fn parse(source: &(impl Source + ?Sized)) -> Result<Elf, ElfError> {
        let mut head = [0; HEADER];
        let read = source.read_at(0, &mut head);
        read.map_err(|_| ElfError::NotElf)?;
        if head[..4] != *b"\x7fELF" {
            return Err(ElfError::NotElf);
        }
        // 64 bits, little end first.
        if head[4] != 2 || head[5] != 1 || short(&head, 18) != EM_X86_64 {
            return Err(ElfError::Foreign);
        }
        let mut elf = Elf {
            entry: word(&head, 24),
            is_program: short(&head, 16) == ET_EXEC,
            ..Elf::default()
        };
        let number = short(&head, 56);
        if usize::from(short(&head, 54)) != PROGRAM_HEADER || number > MOST_PROGRAM_HEADERS {
            return Err(ElfError::Damaged("its program headers"));
        }
        let size = u64::from(number) * PROGRAM_HEADER as u64;
        let headers = table(source, word(&head, 32), size, size)?;
        for header in headers.chunks_exact(PROGRAM_HEADER) {
            elf.program_header(source, header);
        }
        // A file without section headers is not damaged: they can be stripped.
        elf.parts_by_sections(source, &head);
        elf.frames = elf.frames.or_else(|| elf.frames_by_index(source));
        Ok(elf)
    }

    fn program_header(&mut self, source: &(impl Source + ?Sized), header: &[u8]) {
        let (offset, address, size) = (word(header, 8), word(header, 16), word(header, 32));
        if offset.checked_add(size).is_none() || address.checked_add(size).is_none() {
            return;
        }
        match half(header, 0) {
            PT_LOAD => self.loads.push(Load {
                offset,
                size,
                address,
                executable: half(header, 4) & PF_X != 0,
                zeros: word(header, 40).saturating_sub(size),
            }),
            PT_INTERP => self.is_program = true,
            PT_TLS => {
                self.thread_local = Some(ThreadLocal {
                    size: word(header, 40),
                    address,
                    alignment: word(header, 48),
                });
            }
            PT_GNU_EH_FRAME if size <= TABLE_LIMIT => {
                self.frames_index = Some(FilePart {
                    offset,
                    size,
                    address,
                });
            }
            PT_NOTE if self.build_id.is_none() => {
                let notes = table(source, offset, size, NOTES_LIMIT);
                self.build_id = notes
                    .ok()
                    .and_then(|notes| Some(build_id(&notes)?.to_vec()));
            }
            _ => {}
        }
    }

    fn parts_by_sections(&mut self, source: &(impl Source + ?Sized), head: &[u8]) -> Option<()> {
        if usize::from(short(head, 58)) != SECTION_HEADER {
            return None;
        }
        let size = u64::from(short(head, 60)) * SECTION_HEADER as u64;
        let sections = table(source, word(head, 40), size, SECTION_HEADERS_LIMIT).ok()?;
        let names_at = usize::from(short(head, 62)) * SECTION_HEADER;
        let names = sections.get(names_at..names_at + SECTION_HEADER)?;
        let names = table(source, word(names, 24), word(names, 32), NAMES_LIMIT).ok()?;
        for section in sections.chunks_exact(SECTION_HEADER) {
            let name = names.get(half(section, 0) as usize..).unwrap_or_default();
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            let part = match name {
                b".eh_frame" => &mut self.frames,
                b".gopclntab" | b".data.rel.ro.gopclntab" => &mut self.go,
                b".go.module" => &mut self.go_module,
                b".go.buildinfo" => &mut self.go_build,
                b".text" => &mut self.text,
                b".note.timesink" => &mut self.tags_note,
                b".comment" => &mut self.comment,
                _ => continue,
            };
            let in_file = matches!(
                half(section, 4),
                SHT_PROGBITS | SHT_NOTE | SHT_X86_64_UNWIND
            );
            let (offset, size) = (word(section, 24), word(section, 32));
            let end = offset.checked_add(size);
            if in_file && part.is_none() && end.is_some_and(|end| end <= source.length()) {
                *part = Some(FilePart {
                    offset,
                    size,
                    address: word(section, 16),
                });
            }
        }
        self.frames = self.frames.filter(|part| part.size <= TABLE_LIMIT);
        Some(())
    }

    /// Where section headers are stripped, the index still says where the frames begin. They have an end
    /// mark of their own.
    fn frames_by_index(&self, source: &(impl Source + ?Sized)) -> Option<FilePart> {
        const PC_RELATIVE_HALF: u8 = 0x1b;
        let index = self.frames_index?;
        let head = table(source, index.offset, 8, 8).ok()?;
        if head[0] != 1 || head[1] != PC_RELATIVE_HALF {
            return None;
        }
        let distance = i64::from(half(&head, 4) as i32);
        let address = index.address.checked_add(4)?.checked_add_signed(distance)?;
        let load = self
            .loads
            .iter()
            .find(|load| (load.address..load.address + load.size).contains(&address))?;
        let into = address - load.address;
        Some(FilePart {
            offset: load.offset + into,
            size: load.size - into,
            address,
        })
        .filter(|part| part.size <= TABLE_LIMIT)
    }

    /// The address, as the file counts, of what lies at this offset in it.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        const PAGE: u64 = 4096;
        let in_pages = |load: &&Load| {
            let end = (load.offset + load.size).checked_next_multiple_of(PAGE);
            (load.offset / PAGE * PAGE..end.unwrap_or(u64::MAX)).contains(&offset)
        };
        let exactly = |load: &&Load| (load.offset..load.offset + load.size).contains(&offset);
        let code = || self.loads.iter().filter(|load| load.executable);
        // Whole pages are mapped, so two parts of the file can lie at one offset; code comes first.
        let load = code()
            .find(exactly)
            .or_else(|| code().find(in_pages))
            .or_else(|| self.loads.iter().find(exactly))?;
        Some(offset.wrapping_sub(load.offset).wrapping_add(load.address))
    }

    /// Address and length of what the program begins with zeros in, in whole words.
    pub fn zeroed(&self) -> Option<(u64, u64)> {
        let load = self.loads.iter().max_by_key(|load| load.zeros)?;
        let start = load
            .address
            .checked_add(load.size)?
            .checked_next_multiple_of(8)?;
        (load.zeros >= 16).then(|| (start, (load.zeros - 8) / 8 * 8))
    }

    /// The offset in the file of code at this address.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let holds = |load: &&Load| (load.address..load.address + load.size).contains(&address);
        let load = self.loads.iter().find(holds)?;
        Some(address - load.address + load.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in this very test is found: code, tables, the build id if it has one.
    #[test]
    fn own_program() {
        let bytes = std::fs::read("/proc/self/exe").expect("the test");
        let elf = Elf::parse(&bytes[..]).expect("ELF");
        let code = elf.loads.iter().find(|l| l.executable).expect("code");
        assert_eq!(elf.address_of(code.offset), Some(code.address));
        assert_eq!(elf.offset_of(code.address), Some(code.offset));
        let (frames, index) = (
            elf.frames.expect("frames"),
            elf.frames_index.expect("index"),
        );
        assert!(frames.size > 1000 && index.size > 100);
        assert_eq!(
            elf.frames_by_index(&bytes[..]).expect("frames").address,
            frames.address
        );
    }
}
