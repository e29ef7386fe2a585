//! Programs and what runtimes say of the code that they make: headers and symbols, debug information, maps.

use std::fs;
use std::ops::Range;
use std::path::Path;

use timesink_capture::address_space::Elf;
use timesink_capture::symbols::perf_map::{self, Wanted};
use timesink_capture::symbols::{Module, Symbols};

use crate::corpus;
use crate::coverage::reading_begins;
use crate::draws::Random;
use crate::mutate;

/// Any bytes of a program.
pub fn elf(random: &mut Random) {
    let mut file = corpus::bytes("program");
    mutate::bytes(&mut file, random);
    resolve(&file, random);
}

/// What stands in its debug sections only.
pub fn dwarf(random: &mut Random) {
    let mut file = corpus::bytes("program");
    let ranges = debug_sections(&file);
    let range = random.one(&ranges).clone();
    let mut section = file[range.clone()].to_vec();
    mutate::bytes(&mut section, random);
    // The sections behind it stay where they are.
    section.resize(range.len(), 0);
    file[range].copy_from_slice(&section);
    resolve(&file, random);
}

/// Where the sections lie that the table of sections gives no address, as those for debuggers: a 64-bit ELF of our own.
fn debug_sections(file: &[u8]) -> Vec<Range<usize>> {
    let number = |at: usize, width: usize| {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(&file[at..at + width]);
        u64::from_le_bytes(bytes) as usize
    };
    let (table, size, count) = (number(0x28, 8), number(0x3a, 2), number(0x3c, 2));
    let sections = (0..count).map(|index| table + index * size);
    let ranges = sections
        // SHT_PROGBITS without an address.
        .filter(|&at| number(at + 4, 4) == 1 && number(at + 16, 8) == 0)
        .map(|at| number(at + 24, 8)..number(at + 24, 8) + number(at + 32, 8))
        .filter(|range| range.len() > 8);
    ranges.collect()
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
