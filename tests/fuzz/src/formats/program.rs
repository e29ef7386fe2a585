//! Programs and what runtimes say of the code that they make: headers and symbols, debug information, tables for unwinding, maps.

use std::fs;
use std::ops::Range;
use std::path::Path;

use timesink_capture::address_space::{Change, Elf, FileNumber, Mapped, Spaces, Timed};
use timesink_capture::symbols::perf_map::{self, Wanted};
use timesink_capture::symbols::{Module, Symbols};
use timesink_capture::unwind::{Piece, Registers, Stack, Unwinder};

use crate::corpus;
use crate::coverage::reading_begins;
use crate::draws::{Random, Rounds};
use crate::mutate;

/// Where the program is pretended to be mapped.
const PLACE: u64 = 0x5000_0000;

fn one_of(programs: &[&str], random: &mut Random) -> Vec<u8> {
    let name = random.one(programs);
    corpus::bytes(name)
}

/// Any bytes of a program.
pub fn elf(random: &mut Random) {
    let mut file = one_of(&corpus::PROGRAMS, random);
    mutate::bytes(&mut file, random);
    resolve(&file, random);
}

/// What stands in its debug sections only.
pub fn dwarf(random: &mut Random) {
    let mut file = one_of(&corpus::PROGRAMS[..3], random);
    change_section(&mut file, |name| name.starts_with(".debug"), random);
    resolve(&file, random);
}

/// What says who called whom.
pub fn unwind(random: &mut Random) {
    let mut file = one_of(&corpus::PROGRAMS, random);
    let has_tables = |name: &str| name.starts_with(".eh_frame") || name == ".gopclntab";
    let mut rounds = Rounds::about(random, &[2]);
    while rounds.one_more(random) {
        change_section(&mut file, has_tables, random);
    }
    if random.once_in(8) {
        mutate::bytes(&mut file, random);
    }
    let path = std::env::current_dir().expect("a folder").join("input.elf");
    let _ = fs::remove_file(&path);
    fs::write(&path, &file).expect("written");
    let sp = *random.one(&[0x7000_0000, u64::MAX - 16, 0]);
    let mut word = || {
        let code = PLACE + 0x1000 + random.next() % 0x300;
        *random.one(&[0, sp.wrapping_add(64), code])
    };
    let words: Vec<u64> = (0..64).map(|_| word()).collect();
    reading_begins();
    unwind_everywhere(&path, sp, &words);
}

/// Unwinds at many addresses of a file that is mapped whole into this process, with a stack of these words.
fn unwind_everywhere(path: &Path, sp: u64, words: &[u64]) {
    let pid = std::process::id();
    let mut spaces = Spaces::new();
    spaces.seed(pid).expect("our own mappings");
    let mapped = Change::Mapped(Mapped {
        pid,
        start: PLACE,
        length: 0x10000,
        offset: 0,
        file: FileNumber::default(),
        path: path.to_owned(),
    });
    for what in [Change::Executed { pid }, mapped] {
        let time_ns = u64::MAX;
        spaces.apply(&Timed { time_ns, what });
    }
    let space = spaces.space(pid).expect("followed");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let stack = Stack {
        inner: Piece {
            start: sp,
            bytes: &bytes,
        },
        ..Stack::default()
    };
    let (mut unwinder, mut frames) = (Unwinder::new(), Vec::new());
    for address in (0x1000..0x1300).step_by(7) {
        let registers = Registers {
            ip: PLACE + address,
            sp,
            bp: sp.wrapping_add(64),
            bx: None,
            di: None,
        };
        unwinder.unwind(space, registers, &stack, None, &mut frames);
        assert!(!frames.is_empty());
    }
}

/// Changes one of the sections with such a name; where all others are stays as it was.
fn change_section(file: &mut [u8], is_meant: impl Fn(&str) -> bool, random: &mut Random) {
    let mut ranges = sections(file);
    ranges.retain(|(name, range)| is_meant(name) && range.len() > 8);
    if ranges.is_empty() {
        return;
    }
    let (_, range) = random.one(&ranges).clone();
    let mut section = file[range.clone()].to_vec();
    mutate::bytes(&mut section, random);
    section.resize(range.len(), 0);
    file[range].copy_from_slice(&section);
}

/// The sections with content of a 64-bit ELF of our own.
fn sections(file: &[u8]) -> Vec<(String, Range<usize>)> {
    let number = |at: usize, width: usize| {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(&file[at..at + width]);
        u64::from_le_bytes(bytes) as usize
    };
    let (table, size, count) = (number(0x28, 8), number(0x3a, 2), number(0x3c, 2));
    let range = |at: usize| number(at + 24, 8)..number(at + 24, 8) + number(at + 32, 8);
    let names = range(table + number(0x3e, 2) * size).start;
    let sections = (0..count).map(|index| table + index * size);
    // All but SHT_NOBITS.
    let sections = sections.filter(|&at| number(at + 4, 4) != 8);
    let name = |at: usize| {
        let bytes = file[names + number(at, 4)..].split(|byte| *byte == 0);
        let bytes = bytes.into_iter().next().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    sections.map(|at| (name(at), range(at))).collect()
}

fn resolve(file: &[u8], random: &mut Random) {
    let path = Path::new("input.elf");
    let _ = fs::remove_file(path);
    fs::write(path, file).expect("written");
    let offsets: Vec<u64> = (0x1000..0x1300)
        .step_by(3)
        .chain([0, u64::MAX, random.next()])
        .collect();
    let module = Module {
        path: path.to_owned(),
        memory: None,
        shown: "input.elf".to_owned(),
        build_id: Vec::new(),
        stamp: None,
    };
    reading_begins();
    let resolved = Symbols::new(None).resolve(&module, &offsets);
    assert_eq!(resolved.frames.len(), offsets.len());
    let _ = Elf::parse(file);
}

/// Lines of a start, a size and a name.
pub fn perf_map(random: &mut Random) {
    let line = |at: u64| {
        format!(
            "{:x} {:x} LazyCompile:~name{at} file.js:{at}:1",
            0x1000 + at * 64,
            64
        )
    };
    let lines: Vec<String> = (0..200).map(line).collect();
    let mut map = mutate::text(&(lines.join("\n") + "\n"), random).into_bytes();
    if random.once_in(2) {
        mutate::bytes(&mut map, random);
    }
    fs::write("input.map", &map).expect("written");
    let addresses: Vec<u64> = (0..100)
        .map(|_| 0x1000 + random.next() % 0x4000)
        .chain([0, u64::MAX])
        .collect();
    let wanted = [Wanted {
        addresses: &addresses,
        until: random.next() % (map.len() as u64 + 1),
    }];
    reading_begins();
    let names = perf_map::names(map.as_slice(), &wanted).expect("memory can be read");
    assert_eq!(names.len(), 1);
}
