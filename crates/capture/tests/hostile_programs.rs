//! Programs are not to be trusted: whatever is wrong with a file, unwinding ends, and soon.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use timesink_capture::address_space::{Change, FileNumber, Mapped, Spaces, Timed};
use timesink_capture::unwind::{Ending, Piece, Registers, Stack, Unwinder};

/// Where the file is pretended to be mapped.
const PLACE: u64 = 0x5000_0000;

/// A small program, with an index of its tables or without.
fn program(name: &str, flags: &[&str]) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
    let text =
        "void g(int *); int f(int n) { int a[n]; g(a); return a[0]; } void g(int *a) { *a = 1; }";
    fs::write(&source, text).expect("written");
    let built = Command::new("gcc")
        .args(["-O1", "-shared", "-nostdlib", "-fPIC", "-o"])
        .args([&program, &source])
        .args(flags)
        .status();
    assert!(built.expect("gcc runs").success());
    fs::read(&program).expect("the program")
}

/// Unwinding at every few bytes of a file, mapped whole into a process.
fn unwind_everywhere(spaces: &mut Spaces, unwinder: &mut Unwinder, file: &Path, length: u64) {
    let pid = std::process::id();
    let changes = [
        Change::Executed { pid },
        Change::Mapped(Mapped {
            pid,
            start: PLACE,
            length: length.max(1) + 0x4000,
            offset: 0,
            file: FileNumber::default(),
            path: file.to_path_buf(),
        }),
    ];
    for what in changes {
        let time_ns = u64::MAX;
        spaces.apply(&Timed { time_ns, what });
    }
    let space = spaces.space(pid).expect("followed").clone();
    let mut stack = Vec::new();
    for word in 0..64u64 {
        stack.extend((PLACE + 0x1000 + word).to_le_bytes());
    }
    let mut frames = Vec::new();
    for address in (0x1000..0x1100).step_by(5) {
        for sp in [0x7000_0000, u64::MAX - 16, 0] {
            let registers = Registers {
                ip: PLACE + address,
                sp,
                bp: sp.wrapping_add(64),
                bx: None,
                di: None,
            };
            unwinder.unwind(&space, registers, &all_at(sp, &stack), None, &mut frames);
            assert!(!frames.is_empty());
        }
    }
}

fn all_at(start: u64, bytes: &[u8]) -> Stack<'_> {
    Stack {
        inner: Piece { start, bytes },
        ..Stack::default()
    }
}

fn altered(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("altered-{name}"))
}

/// One file after another at the same path, each a new one. Tells how many bytes of tables were read.
fn try_all(name: &str, files: impl Iterator<Item = Vec<u8>>) -> usize {
    let path = altered(name);
    let mut spaces = Spaces::new();
    spaces.seed(std::process::id()).expect("our own mappings");
    let mut unwinder = Unwinder::new();
    for bytes in files {
        let _ = fs::remove_file(&path);
        fs::write(&path, &bytes).expect("written");
        let start = Instant::now();
        unwind_everywhere(&mut spaces, &mut unwinder, &path, bytes.len() as u64);
        assert!(start.elapsed() < Duration::from_secs(10));
    }
    unwinder.table_bytes()
}

/// A program that ends anywhere is unwound as far as it goes, without a panic.
#[test]
fn truncated() {
    let whole = program("truncated.so", &[]);
    let ends = (0..whole.len()).step_by(97);
    try_all("truncated", ends.map(|end| whole[..end].to_vec()));
}

/// Nor does it matter which bits of it are wrong: in its headers, its tables, or their index.
#[test]
fn flipped() {
    for (name, flags) in [
        ("indexed.so", &[][..]),
        ("bare.so", &["-Wl,--no-eh-frame-hdr"][..]),
    ] {
        let whole = program(name, flags);
        // Headers, some of their bytes; the tables, all of them.
        let tables = 0x2000..0x20a0.min(whole.len());
        let places = (0..0x240).step_by(3).chain(tables);
        let files = places.flat_map(|place| {
            [0x01u8, 0x80, 0xff].map(|bits| {
                let mut bytes = whole.clone();
                bytes[place] ^= bits;
                bytes
            })
        });
        // As it was, its tables are read: they are what is altered.
        assert!(try_all(name, std::iter::once(whole.clone())) > 0);
        try_all(name, files);
    }
}

/// A library with the tables of Go, of two functions: one that makes room, and one that nobody called.
const GO: &str = include_str!("unwind/go-table.s");

/// Nor do tables of Go have to be right, wherever they are not, or whole.
#[test]
fn tables_of_go() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("go.s"), folder.join("go.so"));
    fs::write(&source, GO).expect("written");
    let mut build = Command::new("gcc");
    build.args(["-shared", "-nostdlib", "-o"]);
    let built = build.args([&program, &source]).status();
    assert!(built.expect("gcc runs").success());
    let whole = fs::read(&program).expect("the program");
    let magic = 0xffff_fff1u32.to_le_bytes();
    let table = whole
        .windows(4)
        .position(|w| w == magic)
        .expect("the table");
    // As it is, it is read; and the room that a function makes is known: four instructions later its caller is found.
    assert!(try_all("go", std::iter::once(whole.clone())) > 0);
    assert_eq!(callers_in(&program, 0x1002), [0x1002, 0x1050]);
    assert_eq!(callers_in(&program, 0x1008), [0x1008, 0x1060]);
    assert_eq!(callers_in(&program, 0x1044), [0x1044]);
    let places = table..table + 0x100;
    let files = places.flat_map(|place| {
        [0x01u8, 0x10, 0x80, 0xff].map(|bits| {
            let mut bytes = whole.clone();
            bytes[place] ^= bits;
            bytes
        })
    });
    try_all("go", files);
    try_all(
        "go",
        (table..table + 0x100).map(|end| whole[..end].to_vec()),
    );
}

/// The frames at an address of a library of which the stack has two: by one of them it was called if it made no room,
/// by the other if it made 16 bytes.
fn callers_in(program: &Path, address: u64) -> Vec<u64> {
    let mut spaces = Spaces::new();
    let pid = std::process::id();
    spaces.seed(pid).expect("our own mappings");
    let mapped = Change::Mapped(Mapped {
        pid,
        start: PLACE,
        length: 0x8000,
        offset: 0,
        file: FileNumber::default(),
        path: program.to_path_buf(),
    });
    for what in [Change::Executed { pid }, mapped] {
        let time_ns = u64::MAX;
        spaces.apply(&Timed { time_ns, what });
    }
    let space = spaces.space(pid).expect("followed");
    let words = [PLACE + 0x1050, 7, PLACE + 0x1060];
    let stack: Vec<u8> = words
        .iter()
        .flat_map(|word: &u64| word.to_le_bytes())
        .collect();
    let registers = Registers {
        ip: PLACE + address,
        sp: 0x7000_0000,
        bp: 0,
        bx: None,
        di: None,
    };
    let mut frames = Vec::new();
    let mut unwinder = Unwinder::new();
    let ending = unwinder.unwind(
        space,
        registers,
        &all_at(registers.sp, &stack),
        None,
        &mut frames,
    );
    assert_eq!(ending, Ending::Complete);
    frames.iter().map(|frame| frame.address).collect()
}

/// What is no regular file is not opened: a pipe would block for ever.
#[test]
fn no_file() {
    let pipe = altered("pipe");
    let _ = fs::remove_file(&pipe);
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let mut spaces = Spaces::new();
    spaces.seed(std::process::id()).expect("our own mappings");
    let mut unwinder = Unwinder::new();
    for path in [
        pipe.as_path(),
        Path::new("/dev/zero"),
        Path::new("/proc"),
        Path::new("/no"),
    ] {
        unwind_everywhere(&mut spaces, &mut unwinder, path, 0x1000);
        let space = spaces.space(std::process::id()).expect("followed");
        assert!(space.mappings()[0].image.problem().is_some());
    }
}
