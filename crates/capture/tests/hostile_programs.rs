//! Programs are not to be trusted: whatever is wrong with a file, unwinding ends, and soon.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use timesink_capture::address_space::{Change, Mapped, Spaces, Timed};
use timesink_capture::unwind::{Registers, Unwinder};

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
            inode: 0,
            path: file.to_path_buf(),
            build_id: None,
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
            unwinder.unwind(&space, registers, &stack, None, &mut frames);
            assert!(!frames.is_empty());
        }
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
