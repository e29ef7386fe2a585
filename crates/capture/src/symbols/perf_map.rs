//! Maps that runtimes write of the code they make (`/tmp/perf-PID.map`): a start, a size and a name a
//! line. A map may be of any length, and is written by whoever ran: it is read once, as a stream, and
//! only the names of the addresses that are asked for are kept.

use super::demangle::cut;
use super::elf::open_regular;
use super::fault::Fault;
use rustix::fs::OFlags;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Longer maps are not read on.
const LONGEST_MAP: u64 = 4 << 30;
/// What is kept of a line; names are cut shorter than that.
const LONGEST_LINE: usize = 4096;

/// A map that may be read.
pub struct PerfMap {
    file: File,
}

impl PerfMap {
    /// Opens the map of a program that `user` runs. In a folder that all may write to, others could
    /// leave one too, or a link: only the user's own and root's are believed, and links lead nowhere.
    pub fn open(folder: impl AsFd, name: impl AsRef<Path>, user: u32) -> Result<PerfMap, Fault> {
        let file = open_regular(folder, name.as_ref(), OFlags::NOFOLLOW)?;
        let owner = file.metadata()?.uid();
        if owner != user && owner != 0 {
            return Err(Fault::Owner(owner));
        }
        Ok(PerfMap { file })
    }

    /// The file's, by which it can be told from another of the same name.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// The name of the code at each address, in the order asked for.
    pub fn names(self, addresses: &[u64]) -> Result<Vec<Option<Arc<str>>>, Fault> {
        Ok(names(self.file, addresses)?)
    }
}

/// Reads a map. Code is made, moved and thrown away, so a later line is right where two speak of the
/// same address. A last line without its end was being written, and is left out.
pub fn names(map: impl Read, addresses: &[u64]) -> io::Result<Vec<Option<Arc<str>>>> {
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut slots = Slots::new(sorted.len());
    let mut reader = BufReader::with_capacity(1 << 18, map.take(LONGEST_MAP));
    let mut line = Vec::new();
    while next_line(&mut reader, &mut line)? {
        let Some((start, size, name)) = entry(&line) else {
            continue;
        };
        let from = sorted.partition_point(|at| *at < start);
        let rest = &sorted[from..];
        let count = rest.partition_point(|at| *at - start < size);
        if count > 0 {
            let name = cut(&String::from_utf8_lossy(name));
            slots.fill(from, from + count, Arc::from(name));
        }
    }
    let place = |address: &u64| sorted.binary_search(address).ok();
    let name = |address| place(address).and_then(|place| slots.latest(place));
    Ok(addresses.iter().map(name).collect())
}

/// Reads a line, of which the beginning is kept. False at the end, also if a line is cut short by it.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let room = LONGEST_LINE.saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// `START SIZE NAME`, both numbers in hexadecimal, with or without `0x`. The name may hold spaces.
fn entry(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let mut parts = line.trim_ascii().splitn(3, |byte| *byte == b' ');
    let start = number(parts.next()?)?;
    let size = number(parts.next()?)?;
    let name = parts.next()?.trim_ascii();
    (size > 0 && !name.is_empty()).then_some((start, size, name))
}

fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))
        .unwrap_or(text);
    // What Rust also takes for a number, `+7`, is none here.
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok())?
}

/// For each of many places the name that was put last on a range around it. A range is noted at the
/// few nodes of a binary tree that make it up, so a map of wide ranges costs no more than others.
struct Slots {
    count: usize,
    nodes: Vec<Option<(u64, Arc<str>)>>,
    fills: u64,
}

impl Slots {
    fn new(count: usize) -> Slots {
        Slots {
            count,
            nodes: vec![None; 2 * count],
            fills: 0,
        }
    }

    fn fill(&mut self, from: usize, to: usize, name: Arc<str>) {
        self.fills += 1;
        let (mut low, mut high) = (from + self.count, to + self.count);
        while low < high {
            if low % 2 == 1 {
                self.nodes[low] = Some((self.fills, name.clone()));
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                self.nodes[high] = Some((self.fills, name.clone()));
            }
            low /= 2;
            high /= 2;
        }
    }

    fn latest(&self, place: usize) -> Option<Arc<str>> {
        let mut node = place + self.count;
        let mut latest: Option<&(u64, Arc<str>)> = None;
        while node > 0 {
            let here = self.nodes[node].as_ref();
            if here.map(|here| here.0) > latest.map(|latest| latest.0) {
                latest = here;
            }
            node /= 2;
        }
        latest.map(|latest| latest.1.clone())
    }
}
