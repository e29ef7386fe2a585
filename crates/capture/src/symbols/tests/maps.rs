//! Maps of code that was made while the program ran.

use super::super::perf_map::{self, PerfMap, Tail, Wanted};
use super::super::Fault;
use super::*;
use crate::reader::Theirs;
use rustix::fs::CWD;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

/// All that is wanted was seen until the end.
fn whole(addresses: &[u64]) -> [Wanted<'_>; 1] {
    let until = u64::MAX;
    [Wanted { addresses, until }]
}

fn text(name: &Option<std::sync::Arc<str>>) -> String {
    name.as_deref().unwrap_or("-").to_owned()
}

fn named(map: impl Read, addresses: &[u64]) -> Vec<String> {
    let names = perf_map::names(map, &whole(addresses)).expect("reading does not fail");
    names[0].iter().map(text).collect()
}

/// Each address has the name of the latest line that covers it, in the order asked for.
#[test]
fn the_latest_line_is_right() {
    let map = b"1000 100 first\n1000 10 over its beginning\n1080 4 inside\n10f0 20 over its end\n";
    let addresses = [
        0x1110, 0x1000, 0x100f, 0x1010, 0x1083, 0x1084, 0x10ef, 0x10f0, 0xfff, 0x1000,
    ];
    assert_eq!(
        named(&map[..], &addresses),
        [
            "-",
            "over its beginning",
            "over its beginning",
            "first",
            "inside",
            "first",
            "first",
            "over its end",
            "-",
            "over its beginning",
        ]
    );
    assert!(named(&map[..], &[]).is_empty());
}

/// The same holds for ranges of all lengths at all places, compared with a plain search.
#[test]
fn any_ranges_are_right() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut next = |most: u64| random.u64(..most);
    for _ in 0..200 {
        let ranges: Vec<(u64, u64)> = (0..next(20)).map(|_| (next(64), 1 + next(40))).collect();
        let line =
            |(index, (start, size)): (usize, &(u64, u64))| format!("{start:x} {size:x} n{index}\n");
        let map: String = ranges.iter().enumerate().map(line).collect();
        let addresses: Vec<u64> = (0..next(50)).map(|_| next(110)).collect();
        for (address, name) in addresses.iter().zip(named(map.as_bytes(), &addresses)) {
            let covers = |(start, size): &(u64, u64)| *address >= *start && *address < start + size;
            let expected = ranges.iter().rposition(covers);
            assert_eq!(
                name,
                expected.map_or("-".to_owned(), |index| format!("n{index}"))
            );
        }
    }
}

/// Prefixes, spaces in names and lines that make no sense are coped with.
#[test]
fn lines_of_all_kinds_are_read() {
    let map = b"0x1000 0x10 with prefixes\n2000 10 LazyCompile:*f /a b.js:1:2\r\n\n \nzz 1 no number\n\
        3000\n3000 10\n3000 10 \n+4000 10 signed\n5000 0 empty\nffffffffffffffff ff at the end of all\n\
        10000000000000000 10 too large\n6000 10 \xff\xfe\x1b[31m\n7000 10 cut sho";
    assert_eq!(
        named(
            &map[..],
            &[
                0x1000,
                0x2005,
                0x3000,
                0x4000,
                0x5000,
                u64::MAX,
                0,
                0x6000,
                0x7000
            ]
        ),
        [
            "with prefixes",
            "LazyCompile:*f /a b.js:1:2",
            "-",
            "-",
            "-",
            "at the end of all",
            "-",
            "\u{fffd}\u{fffd}\u{1b}[31m",
            "-",
        ]
    );
}

/// A line without an end takes no more memory than another, and the lines behind it are still read.
#[test]
fn a_line_without_end_is_cut() {
    let long = std::io::repeat(b'x').take(50 << 20);
    let map = b"1000 10 ".chain(long).chain(&b"\n2000 10 next\n"[..]);
    let names = named(map, &[0x1000, 0x2000]);
    let length = names[0].len();
    assert!(
        names[0].starts_with("xxx") && length <= 512,
        "{length} bytes"
    );
    assert_eq!(names[1], "next");
}

/// Only a regular file of the program's user, or of root, is taken for its map.
#[test]
fn maps_of_others_are_refused() {
    let folder = Folder::new();
    let path = folder.path("perf-1.map");
    fs::write(&path, "1000 10 made\n").expect("a file");
    let owner = fs::metadata(&path).expect("it is there").uid();
    let map = PerfMap::open(CWD, &path, owner).expect("it is the owner's");
    let names = map.names(&whole(&[0x1008])).expect("it can be read");
    assert_eq!(text(&names[0][0]), "made");
    folder.run("mkfifo pipe");
    let refused = PerfMap::open(CWD, folder.path("pipe"), owner);
    assert!(matches!(refused, Err(Fault::NotRegular)));
    folder.run("ln -s perf-1.map link");
    let refused = PerfMap::open(CWD, folder.path("link"), owner);
    assert!(matches!(refused, Err(Fault::NotRegular)));
    if owner != 0 {
        let refused = PerfMap::open(CWD, &path, owner + 1);
        assert!(matches!(refused, Err(Fault::Owner(found)) if found == owner));
    }
}

/// A file without an end of a line, as a sparse one is, is not read to its end; names from before that count.
#[test]
fn a_line_without_an_end() {
    struct Counted<'a>(&'a std::cell::Cell<u64>);
    impl Read for Counted<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            self.0.set(self.0.get() + bytes.len() as u64);
            bytes.fill(0);
            Ok(bytes.len())
        }
    }
    let read = std::cell::Cell::new(0);
    let map = b"1000 10 before\n".chain(Counted(&read));
    assert_eq!(named(map, &[0x1000]), ["before"]);
    assert!(read.get() < 80 << 20, "{} bytes were read", read.get());
}

/// Code that is thrown away leaves its place to other code: what was seen while the map had a certain length
/// has the name that the map had for it by then, and not that of what came there later.
#[test]
fn code_that_is_reused() {
    let lines = [
        "1000 100 first\n",
        "1000 80 second\n",
        "1000 100 third\n",
        "2000 10 late\n",
    ];
    let map = lines.concat();
    let at = |count: usize| lines[..count].iter().map(|line| line.len() as u64).sum();
    let both = [0x1008, 0x1090];
    let part = |until, addresses| Wanted { addresses, until };
    let wanted = [
        part(at(1), &both[..]),
        part(at(2), &both[..]),
        // A line that was not whole then counts as not there.
        part(at(3) - 1, &both[..]),
        part(u64::MAX, &both[..]),
        // All was written later, as Java does: then the last line is right.
        part(0, &both[..]),
        part(at(1), &[0x2000][..]),
    ];
    let names = perf_map::names(map.as_bytes(), &wanted).expect("reading memory does not fail");
    let names: Vec<Vec<String>> = names
        .iter()
        .map(|part| part.iter().map(text).collect())
        .collect();
    let expected: [&[&str]; 6] = [
        &["first", "first"],
        &["second", "first"],
        &["second", "first"],
        &["third", "third"],
        &["third", "third"],
        &["late"],
    ];
    assert_eq!(names, expected);
}

/// A map that is being written is followed line by line, also where a line comes in two pieces.
#[test]
fn a_map_that_is_being_written() {
    use std::io::Write;
    let folder = Folder::new();
    let path = folder.path("perf-1.map");
    let mut file = fs::File::create(&path).expect("a file");
    let mut write = |text: &str| file.write_all(text.as_bytes()).expect("written");
    write("1000 10 before\n");
    let owner = fs::metadata(&path).expect("it is there").uid();
    let open = || PerfMap::open(CWD, &path, owner).expect("it is the owner's");
    let theirs = Theirs::named_here(&path).expect("it is there");
    let mut tail = Tail::of(theirs, owner).expect("it can be followed");
    let told = |tail: &mut Tail| -> Vec<(u64, u64)> {
        let ranges = tail.ranges().into_iter();
        ranges.map(|range| (range.start, range.end)).collect()
    };
    assert_eq!((told(&mut tail), tail.read()), (vec![], 15));
    write("2000 10 made\n3000 2");
    assert_eq!((told(&mut tail), tail.read()), (vec![(0x2000, 0x2010)], 28));
    let names = open().names(&whole(&[0x2000, 0x3000])).expect("read");
    assert_eq!(names[0].iter().map(text).collect::<Vec<_>>(), ["made", "-"]);
    write("0 later\n");
    assert_eq!((told(&mut tail), tail.read()), (vec![(0x3000, 0x3020)], 42));
    write(&"x".repeat(3 << 20));
    (0..4).for_each(|_| assert!(tail.ranges().is_empty()));
    write("\n4000 10 behind\n");
    assert_eq!(told(&mut tail), [(0x4000, 0x4010)]);
}

/// A map of a gigabyte, of which little is wanted, is read in one go and in little memory. (It has holes, so
/// that it takes no room on the disk.)
#[test]
fn a_map_of_a_gigabyte() {
    const LENGTH: u64 = 1 << 30;
    const PARTS: u64 = 64;
    let folder = Folder::new();
    let path = folder.path("perf-1.map");
    let file = fs::File::create(&path).expect("a file");
    file.set_len(LENGTH).expect("a long file");
    for part in 0..PARTS {
        use std::os::unix::fs::FileExt;
        let lines: String = (0..100)
            .map(|i| format!("\n{:x} 10 part {part} line {i}", 0x10_0000 + i * 16))
            .collect();
        let at = part * (LENGTH / PARTS);
        file.write_all_at(format!("{lines}\n").as_bytes(), at)
            .expect("written");
    }
    let owner = file.metadata().expect("it is there").uid();
    let map = PerfMap::open(CWD, &path, owner).expect("it is the owner's");
    let addresses: Vec<u64> = (0..20_000).map(|i| 0x10_0000 + i).collect();
    let half = Wanted {
        addresses: &addresses,
        until: LENGTH / 2,
    };
    let names = map.names(&[half]).expect("it can be read");
    assert_eq!(text(&names[0][0]), "part 31 line 0");
    assert_eq!(text(&names[0][1599]), "part 31 line 99");
    assert_eq!(text(&names[0][1600]), "-");
}
