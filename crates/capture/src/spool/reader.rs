//! Reading a spool, whole or cut off anywhere. Nothing in it is trusted.

use std::fs::File;
use std::io::{BufReader, Read};
use timesink_recording::files::Folder;

use super::{Entry, FRAME_HEAD, FRAME_LIMIT, MAGIC, NAME, NOTE};
use crate::error::Error;

/// How the spool ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With the last whole frame.
    Whole,
    /// Inside a frame, or with a damaged one; a sentence.
    Broken(String),
}

pub struct Reader {
    file: BufReader<File>,
    packed: Vec<u8>,
    raw: Vec<u8>,
    unpacker: zstd::bulk::Decompressor<'static>,
    frames: u64,
}

impl Reader {
    pub fn open(folder: &Folder) -> Result<Reader, Error> {
        let path = folder.path_of(NAME);
        let file = folder.open_file(NAME)?;
        let mut file = BufReader::with_capacity(1 << 18, file);
        let mut magic = [0; MAGIC.len()];
        if file.read_exact(&mut magic).is_err() || &magic != MAGIC {
            return Err(Error::Damaged {
                path,
                what: "this is not a spool of timesink".into(),
            });
        }
        let unpacker =
            zstd::bulk::Decompressor::new().map_err(Error::file(&path, "cannot be unpacked"))?;
        Ok(Reader {
            file,
            packed: Vec::new(),
            raw: Vec::new(),
            unpacker,
            frames: 0,
        })
    }

    /// Hand every entry to `take`, until the end or the first fault.
    pub fn for_each(
        &mut self,
        mut take: impl FnMut(Entry) -> Result<(), Error>,
    ) -> Result<Ending, Error> {
        loop {
            match self.next_frame() {
                Ok(false) => return Ok(Ending::Whole),
                Err(what) => return Ok(Ending::Broken(what)),
                Ok(true) => {}
            }
            let mut rest = self.raw.as_slice();
            while !rest.is_empty() {
                let Some((entry, after)) = split_entry(rest) else {
                    return Ok(Ending::Broken(format!(
                        "frame {} is not made of entries",
                        self.frames
                    )));
                };
                rest = after;
                match entry.split_first() {
                    Some((&NOTE, json)) => match serde_json::from_slice(json) {
                        Ok(note) => take(Entry::Note(note))?,
                        Err(e) => {
                            return Ok(Ending::Broken(format!(
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
