//! Reading a spool, whole or cut off anywhere. Nothing in it is trusted.

use std::fs::File;
use std::io::{BufReader, Read};
use timesink_recording::files::Folder;

use super::{Entry, FRAME_HEAD, FRAME_LIMIT, MAGIC, NAME, NOTE};
use crate::error::Error;

/// How the spool ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpoolEnding {
    /// With the last whole frame.
    Whole,
    /// Inside a frame, or with a damaged one; a sentence.
    Broken(String),
}

pub struct SpoolReader {
    file: BufReader<File>,
    packed: Vec<u8>,
    raw: Vec<u8>,
    unpacker: zstd::bulk::Decompressor<'static>,
    frames: u64,
    /// Bytes of all frames so far, packed and not.
    packed_all: u64,
    raw_all: u64,
}

/// How many times its length a spool may unpack to, and how much it may anyway. The events of a loop of the same call
/// (`dd bs=1`, all timed) unpack to 28 times, its best frame to 32 times; samples alone to 19 times; the rest to 8 to 10 times
/// (measured 2026-11-22). zstd itself can reach 20,000 times.
const MOST_TIMES: u64 = 100;
const ANYWAY: u64 = FRAME_LIMIT as u64;

impl SpoolReader {
    pub fn open(folder: &Folder) -> Result<SpoolReader, Error> {
        let path = folder.path_of(NAME);
        let file = folder.open_file(NAME)?;
        let mut file = BufReader::with_capacity(1 << 18, file);
        // One that ends within its first bytes was killed as it began, and holds nothing.
        let mut magic = Vec::with_capacity(MAGIC.len());
        let read = file
            .by_ref()
            .take(MAGIC.len() as u64)
            .read_to_end(&mut magic);
        if read.is_err() || !MAGIC.starts_with(&magic) {
            return Err(Error::Damaged {
                path,
                what: "this is not a spool of timesink".into(),
            });
        }
        let unpacker =
            zstd::bulk::Decompressor::new().map_err(Error::file(&path, "cannot be unpacked"))?;
        Ok(SpoolReader {
            file,
            packed: Vec::new(),
            raw: Vec::new(),
            unpacker,
            frames: 0,
            packed_all: 0,
            raw_all: 0,
        })
    }

    /// Hand every entry to `take`, until the end or the first fault.
    pub fn for_each(
        &mut self,
        mut take: impl FnMut(Entry) -> Result<(), Error>,
    ) -> Result<SpoolEnding, Error> {
        loop {
            match self.next_frame() {
                Ok(false) => return Ok(SpoolEnding::Whole),
                Err(what) => return Ok(SpoolEnding::Broken(what)),
                Ok(true) => {}
            }
            let mut rest = self.raw.as_slice();
            while !rest.is_empty() {
                let Some((entry, after)) = split_entry(rest) else {
                    return Ok(SpoolEnding::Broken(format!(
                        "frame {} is not made of entries",
                        self.frames
                    )));
                };
                rest = after;
                match entry.split_first() {
                    Some((&NOTE, json)) => match serde_json::from_slice(json) {
                        Ok(note) => take(Entry::Note(note))?,
                        Err(e) => {
                            return Ok(SpoolEnding::Broken(format!(
                                "a note of frame {}: {e}",
                                self.frames
                            )))
                        }
                    },
                    Some(_) => take(Entry::Event(entry))?,
                    None => {}
                }
            }
        }
    }

    /// Read the next frame into `raw`. False at the end, a sentence at a fault.
    fn next_frame(&mut self) -> Result<bool, String> {
        let mut head = [0; FRAME_HEAD];
        match read_up_to(&mut self.file, &mut head) {
            0 => return Ok(false),
            FRAME_HEAD => {}
            n => {
                return Err(format!(
                    "it ends {n} bytes into the head of frame {}",
                    self.frames + 1
                ))
            }
        }
        self.frames += 1;
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (raw, packed, checksum) = (word(0) as usize, word(4) as usize, word(8));
        if raw > FRAME_LIMIT || packed > zstd::zstd_safe::compress_bound(FRAME_LIMIT) {
            return Err(format!(
                "frame {} says it has {raw} bytes, more than any has",
                self.frames
            ));
        }
        self.packed_all += packed as u64;
        self.raw_all += raw as u64;
        let most = ANYWAY.saturating_add(self.packed_all.saturating_mul(MOST_TIMES));
        if self.raw_all > most {
            return Err(format!(
                "up to frame {} it unpacks to {} bytes, and {} bytes of a spool to {most} at most",
                self.frames, self.raw_all, self.packed_all
            ));
        }
        self.packed.resize(packed, 0);
        let got = read_up_to(&mut self.file, &mut self.packed);
        if got != packed {
            return Err(format!(
                "it ends {got} bytes into frame {} of {packed}",
                self.frames
            ));
        }
        if crc32fast::hash(&self.packed) != checksum {
            return Err(format!("the checksum of frame {} is wrong", self.frames));
        }
        self.raw.resize(raw, 0);
        match self
            .unpacker
            .decompress_to_buffer(&self.packed, &mut self.raw[..])
        {
            Ok(n) if n == raw => Ok(true),
            Ok(n) => Err(format!(
                "frame {} has {n} bytes and says {raw}",
                self.frames
            )),
            Err(e) => Err(format!("frame {}: {e}", self.frames)),
        }
    }
}

fn split_entry(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    (rest.len() >= length).then(|| rest.split_at(length))
}

/// As many bytes as there are; an error of the disk counts as the end.
fn read_up_to(file: &mut impl Read, into: &mut [u8]) -> usize {
    let mut got = 0;
    while got < into.len() {
        match file.read(&mut into[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    got
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::Writer;
    use std::path::{Path, PathBuf};
    use timesink_recording::files::Folder;

    /// A folder with a spool of so many frames, each of a megabyte and more, of entries that `entry` makes.
    fn spool(name: &str, frames: usize, mut entry: impl FnMut() -> [u8; 64]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("timesink-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).expect("a folder");
        let held = Folder::open(&folder).expect("the folder");
        let mut writer = Writer::create(&held).expect("a spool");
        for _ in 0..frames * (1 << 20) / 64 {
            writer.event(&entry());
        }
        writer.flush();
        folder
    }

    fn read(folder: &Path) -> (usize, SpoolEnding) {
        let mut entries = 0;
        let held = Folder::open(folder).expect("the folder");
        let mut reader = SpoolReader::open(&held).expect("a spool");
        let ending = reader.for_each(|_| {
            entries += 1;
            Ok(())
        });
        let ending = ending.expect("it is read");
        std::fs::remove_dir_all(folder).expect("it goes");
        (entries, ending)
    }

    /// A spool of one event repeated is read up to where it unpacks to too much, and it is said how much that is.
    #[test]
    fn a_spool_that_unpacks_to_too_much_is_cut() {
        let (entries, ending) = read(&spool("spool-bomb", 40, || [7; 64]));
        // 4 MiB, and next to nothing for its length.
        assert!((30_000..90_000).contains(&entries), "{entries}");
        let SpoolEnding::Broken(told) = ending else {
            panic!("it was believed");
        };
        assert!(
            told.contains("bytes of a spool to") && told.contains("at most"),
            "{told}"
        );
    }

    /// One whose events differ in their times, as those of programs do, is read whole.
    #[test]
    fn a_long_honest_spool_is_read_whole() {
        let mut random = fastrand::Rng::with_seed(1);
        let entry = || {
            let mut bytes = [7; 64];
            random.fill(&mut bytes[8..10]);
            bytes
        };
        let (entries, ending) = read(&spool("spool-long", 12, entry));
        assert_eq!((entries, ending), (12 * (1 << 20) / 64, SpoolEnding::Whole));
    }

    /// Who is killed between making the file and writing its first bytes leaves one that is empty, or nearly so.
    #[test]
    fn a_spool_that_was_only_begun_holds_nothing() {
        for length in 0..MAGIC.len() {
            let folder = spool("spool-begun", 0, || [0; 64]);
            let file = folder.join(NAME);
            std::fs::write(&file, &MAGIC[..length]).expect("a file");
            assert_eq!(read(&folder), (0, SpoolEnding::Whole));
        }
    }
}
