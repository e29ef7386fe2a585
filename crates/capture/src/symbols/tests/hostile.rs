//! Programs that were damaged, or made to do harm: fewer names or none, no panic, no long wait.

use super::super::elf::Elf;
use super::super::texts::Texts;
use super::super::{debug_files::Places, Known, Search};
use super::*;
use std::time::{Duration, Instant};

/// All answers for some offsets in a program that is given as bytes.
fn look(bytes: Vec<u8>, wanted: &[u64]) -> Vec<Known> {
    let Ok(elf) = super::super::quiet::quietly(|| Elf::from_bytes(bytes)) else {
        return Vec::new();
    };
    let nowhere = Path::new("/nonexistent");
    let search = Search {
        elf: &elf,
        path: nowhere,
        places: &Places::new(nowhere),
        debug: None,
        wanted,
    };
    search.run(&mut Texts::default()).0
}

/// A program cut short anywhere, or with bits turned over, costs names and nothing else.
#[test]
fn damaged_programs_do_no_harm() {
    let folder = Folder::new();
    let source = PROGRAM.replace("#include <stdio.h>", "int printf(const char *, ...);");
    fs::write(folder.path("prog.c"), source).expect("a source file");
    folder.run("gcc -g -O2 -c -fno-pic prog.c && ld -e main --unresolved-symbols=ignore-all -o prog prog.o");
    folder.run("cp prog packed && objcopy --compress-debug-sections=zlib packed");
    let here = folder.label("prog", "here");
    let wanted: Vec<u64> = (here - 8..here + 24).collect();
    let begun = Instant::now();
    for name in ["prog", "packed"] {
        let good = fs::read(folder.path(name)).expect("it is there");
        let whole = look(good.clone(), &wanted);
        assert_eq!(shown(&whole[8].frames), WHOLE);
        for end in (0..good.len()).step_by(good.len().div_ceil(1000)) {
            look(good[..end].to_vec(), &wanted);
        }
        let mut random = fastrand::Rng::with_seed(1);
        let mut next = |most: usize| random.usize(..most);
        for _ in 0..2000 {
            let mut bytes = good.clone();
            for _ in 0..1 + next(6) {
                let at = next(bytes.len());
                bytes[at] = match next(3) {
                    0 => 0xff,
                    1 => 0,
                    _ => bytes[at] ^ (1 << next(8)),
                };
            }
            look(bytes, &wanted);
        }
    }
    let took = begun.elapsed();
    assert!(
        took < Duration::from_secs(60),
        "6000 small programs took {took:?}"
    );
}

/// Sections that unpack to more than they say, or say more than they hold, are refused without room
/// being made for it.
#[test]
fn packed_sections_are_held_to_their_size() {
    use super::super::unpack;
    let zeros = vec![0u8; 10 << 20];
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&zeros, 6);
    assert!(unpack::zlib(&packed, zeros.len() as u64).is_ok_and(|bytes| bytes == zeros));
    assert!(unpack::zlib(&packed, 1000).is_err());
    assert!(unpack::zlib(&packed, 11 << 20).is_err());
    assert!(unpack::zlib(&packed, u64::MAX).is_err());
    let packed = zstd::encode_all(&zeros[..], 1).expect("it can be packed");
    assert!(unpack::zstd(&packed, zeros.len() as u64).is_ok_and(|bytes| bytes == zeros));
    assert!(unpack::zstd(&packed, 1000).is_err());
    assert!(unpack::zstd(&packed, u64::MAX).is_err());
    let folder = Folder::new();
    folder.run("head -c 10485760 /dev/zero | xz > zeros.xz");
    let packed = fs::read(folder.path("zeros.xz")).expect("it is there");
    assert!(unpack::xz(&packed, 10 << 20).is_ok_and(|bytes| bytes == zeros));
    assert!(unpack::xz(&packed, 1000).is_err());
}
