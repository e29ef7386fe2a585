//! Maps of code that was made while the program ran.

use super::super::perf_map::{names, PerfMap};
use super::super::Fault;
use super::*;
use rustix::fs::CWD;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

fn named(map: &[u8], addresses: &[u64]) -> Vec<String> {
    let names = names(map, addresses).expect("reading memory does not fail");
    let text = |name: &Option<std::sync::Arc<str>>| name.as_deref().unwrap_or("-").to_owned();
    names.iter().map(text).collect()
}

/// Each address has the name of the latest line that covers it, in the order asked for.
#[test]
fn the_latest_line_is_right() {
    let map = b"1000 100 first\n1000 10 over its beginning\n1080 4 inside\n10f0 20 over its end\n";
    let addresses = [
        0x1110, 0x1000, 0x100f, 0x1010, 0x1083, 0x1084, 0x10ef, 0x10f0, 0xfff, 0x1000,
    ];
    assert_eq!(
        named(map, &addresses),
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
    assert!(named(map, &[]).is_empty());
}

/// The same holds for ranges of all lengths at all places, compared with a plain search.
#[test]
fn any_ranges_are_right() {
    let mut random = 7u64;
    let mut next = |most: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % most
    };
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
            map,
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
    let names = names(map, &[0x1000, 0x2000]).expect("reading memory does not fail");
    let name = names[0].as_deref().unwrap_or_default();
    assert!(
        name.starts_with("xxx") && name.len() <= 512,
        "{} bytes",
        name.len()
    );
    assert_eq!(names[1].as_deref(), Some("next"));
}

/// Only a regular file of the program's user, or of root, is taken for its map.
#[test]
fn maps_of_others_are_refused() {
    let folder = Folder::new();
    let path = folder.path("perf-1.map");
    fs::write(&path, "1000 10 made\n").expect("a file");
    let owner = fs::metadata(&path).expect("it is there").uid();
    let map = PerfMap::open(CWD, &path, owner).expect("it is the owner's");
    let names = map.names(&[0x1008]).expect("it can be read");
    assert_eq!(names[0].as_deref(), Some("made"));
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
