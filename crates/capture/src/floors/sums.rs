//! Checksums and hashes, as rates.

use std::hash::{DefaultHasher, Hasher};
use std::hint::black_box;
use std::io;

use timesink_recording::floors::{Floors, ForBytes};

use super::pinned::{processors, Pinned};
use super::{Kind, Lengths};

/// So many bytes at once: they stay in a cache near the processor.
const BYTES: usize = 64 << 10;
/// Such blocks in one go, and goes in a round.
const BLOCKS: usize = 16;
const GOES: usize = 6;

pub(super) struct Sums {
    bytes: Vec<u8>,
    crc32: Lengths,
    hash: Lengths,
}

impl Default for Sums {
    fn default() -> Sums {
        Sums {
            bytes: (0..BYTES).map(|at| (at * 31) as u8).collect(),
            crc32: Lengths::default(),
            hash: Lengths::default(),
        }
    }
}

impl Kind for Sums {
    fn name(&self) -> &'static str {
        "checksums"
    }

    fn round(&mut self) -> io::Result<()> {
        let _here = Pinned::to(processors().0);
        let bytes = &self.bytes;
        for _ in 0..GOES {
            self.crc32.time(BLOCKS, || {
                for _ in 0..BLOCKS {
                    black_box(crc32fast::hash(black_box(bytes)));
                }
            });
            self.hash.time(BLOCKS, || {
                for _ in 0..BLOCKS {
                    let mut hasher = DefaultHasher::new();
                    hasher.write(black_box(bytes));
                    black_box(hasher.finish());
                }
            });
        }
        Ok(())
    }

    fn tell(&mut self, floors: &mut Floors) {
        let sized = |lengths: &Lengths| {
            let bytes = BYTES as u64;
            lengths.figure().map(|takes| ForBytes { bytes, takes })
        };
        floors.crc32 = sized(&self.crc32);
        floors.hash = sized(&self.hash);
    }
}
