//! Spools as a killed timesink leaves them: entries changed, put elsewhere and repeated, in frames with right checksums.

use std::fs;
use std::path::Path;

use timesink_capture::convert::convert;
use timesink_capture::patience::Patience;
use timesink_recording::files::Folder;

use crate::corpus;
use crate::coverage::reading_begins;
use crate::draws::{Random, Rounds};
use crate::mutate;

/// What a spool begins with, and each frame: its length, its packed length, its checksum.
const MAGIC: usize = 8;
const HEAD: usize = 12;

pub fn spool(random: &mut Random) {
    let folder = Path::new("input.timesink");
    let _ = fs::remove_dir_all(folder);
    fs::create_dir(folder).expect("a folder");
    let whole = corpus::bytes("killed.timesink/spool.bin");
    let mut all = entries(&whole);
    // Reading the real programs and libraries takes longer than all else; others try how that is done.
    if !random.once_in(32) {
        all.iter_mut().for_each(|entry| leads_nowhere(entry));
    }
    let mut spool = match random.once_in(4) {
        true => frames(&whole[..MAGIC], &all),
        false => rebuilt(&whole[..MAGIC], all, random),
    };
    if random.once_in(4) {
        mutate::bytes(&mut spool, random);
    }
    fs::write(folder.join("spool.bin"), spool).expect("written");
    reading_begins();
    if let Ok(folder) = Folder::open(folder) {
        let _ = convert(&folder, None, None, &Patience::default());
    }
}

/// A note's module comes to be one that has no file, by its path or by its build id.
fn leads_nowhere(entry: &mut [u8]) {
    for (before, nowhere) in [("\"/", "nowhere"), ("\"build_id\":\"", "00000000")] {
        let ends = entry.windows(before.len()).enumerate();
        let ends = ends.filter(|(_, here)| *here == before.as_bytes());
        let ends: Vec<usize> = ends.map(|(at, _)| at + before.len()).collect();
        for end in ends {
            let there = entry[end..].iter_mut().take_while(|byte| **byte != b'"');
            there.zip(nowhere.bytes()).for_each(|(old, new)| *old = new);
        }
    }
}

fn rebuilt(magic: &[u8], mut entries: Vec<Vec<u8>>, random: &mut Random) -> Vec<u8> {
    let mut rounds = Rounds::about(random, &[2, 5, 50, 500]);
    while rounds.one_more(random) {
        let (at, other) = (random.below(entries.len()), random.below(entries.len()));
        match random.below(10) {
            0 => entries.swap(at, other),
            1 if entries.len() > 2 => drop(entries.remove(at)),
            2 => {
                let entry = entries[at].clone();
                let times = *random.one(&[1, 10, 200]);
                entries.splice(at..at, std::iter::repeat_n(entry, times));
            }
            _ => mutate::bytes(&mut entries[at], random),
        }
    }
    frames(magic, &entries)
}

fn frames(magic: &[u8], entries: &[Vec<u8>]) -> Vec<u8> {
    let mut spool = magic.to_vec();
    for some in entries.chunks(500) {
        let mut raw = Vec::new();
        for entry in some {
            raw.extend((entry.len() as u32).to_le_bytes());
            raw.extend(entry);
        }
        let packed = zstd::bulk::compress(&raw, 1).expect("it packs");
        for word in [
            raw.len() as u32,
            packed.len() as u32,
            crc32fast::hash(&packed),
        ] {
            spool.extend(word.to_le_bytes());
        }
        spool.extend(packed);
    }
    spool
}

/// The entries of all whole frames.
fn entries(spool: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut rest = &spool[MAGIC..];
    while let Some((head, after)) = rest.split_at_checked(HEAD) {
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let Some((packed, after)) = after.split_at_checked(word(4) as usize) else {
            break;
        };
        let raw = zstd::bulk::decompress(packed, word(0) as usize).expect("our own frame");
        let mut left = raw.as_slice();
        while let Some((length, after)) = left.split_first_chunk::<4>() {
            let (entry, after) = after.split_at(u32::from_le_bytes(*length) as usize);
            all.push(entry.to_vec());
            left = after;
        }
        rest = after;
    }
    all
}
