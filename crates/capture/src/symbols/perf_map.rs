//! Maps that runtimes write of the code they make (`/tmp/perf-PID.map`): a start, a size and a name a
//! line. A map may be of any length, and is written by whoever ran: it is read once, as a stream, and
//! only the names of the addresses that are asked for are kept.

use super::demangle::cut;
use super::elf::open_regular;
use super::fault::Fault;
use crate::reader::Theirs;
use rustix::fs::OFlags;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Longer maps are not read on.
const LONGEST_MAP: u64 = 4 << 30;
/// What is kept of a line; names are cut shorter than that.
const LONGEST_LINE: usize = 4096;
/// A map with a longer line is none, and is not read on: a file may have no end of a line in gigabytes that nobody wrote.
const LONGEST_OF_ALL: u64 = 64 << 20;

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

    /// The name of the code at each of the addresses, in the order asked for.
    pub fn names(self, wanted: &[Wanted<'_>]) -> Result<Vec<Names>, Fault> {
        Ok(names(self.file, wanted)?)
    }
}

/// Addresses whose names are asked for.
pub struct Wanted<'a> {
    pub addresses: &'a [u64],
    /// As long was the map when they were seen for the last time. What it says later is of other code.
    pub until: u64,
}

/// One for each address, if it has one.
pub type Names = Vec<Option<Arc<str>>>;

/// Reads a map. Code is made, moved and thrown away, so a later line is right where two speak of the
/// same address, up to the length at which it was seen for the last time; where no line before that speaks of
/// it, because the whole map was written later, it is the last one of all. A last line without its end was
/// being written, and is left out.
pub fn names(map: impl Read, wanted: &[Wanted<'_>]) -> io::Result<Vec<Names>> {
    let mut all = Places::new(wanted.iter().flat_map(|part| part.addresses));
    let early = wanted.iter().filter(|part| part.until != u64::MAX);
    let mut early: Vec<_> = early
        .map(|part| (part.until, Places::new(part.addresses)))
        .collect();
    let mut reader = BufReader::with_capacity(1 << 18, map.take(LONGEST_MAP));
    let mut line = Vec::new();
    let mut read = 0;
    loop {
        read += match next_line(&mut reader, &mut line)? {
            0 => break,
            length => length,
        };
        let Some((start, size, name)) = entry(&line) else {
            continue;
        };
        if !all.has(start, size) {
            continue;
        }
        let name: Arc<str> = Arc::from(cut(&String::from_utf8_lossy(name)));
        all.fill(start, size, &name);
        for (_, places) in early.iter_mut().filter(|(until, _)| read <= *until) {
            places.fill(start, size, &name);
        }
    }
    let mut early = early.iter();
    let mut named = |part: &Wanted<'_>| {
        let own = match part.until {
            u64::MAX => None,
            _ => early.next().map(|(_, places)| places),
        };
        let name = |at: &u64| {
            own.and_then(|own| own.latest(*at))
                .or_else(|| all.latest(*at))
        };
        part.addresses.iter().map(name).collect()
    };
    Ok(wanted.iter().map(&mut named).collect())
}

/// What is written to a map while it is followed.
pub struct Tail {
    file: Theirs,
    read: u64,
    /// The beginning of a line that was not whole yet.
    line: Vec<u8>,
}

impl Tail {
    /// Follows what is written from now on, if the map is this user's or root's.
    pub(crate) fn of(file: Theirs, user: u32) -> Result<Tail, Fault> {
        let about = file.about()?;
        if about.user != user && about.user != 0 {
            return Err(Fault::Owner(about.user));
        }
        Ok(Tail {
            file,
            read: about.size,
            line: Vec::new(),
        })
    }

    /// How much of the map was looked at.
    pub fn read(&self) -> u64 {
        self.read - self.line.len() as u64
    }

    /// The ranges of code that were told since the last time, as far as they are not too many for now.
    pub fn ranges(&mut self) -> Vec<Range<u64>> {
        const AT_ONCE: usize = 1 << 20;
        let length = self.file.about().map_or(0, |about| about.size);
        if length <= self.read {
            return Vec::new();
        }
        let mut bytes = std::mem::take(&mut self.line);
        let known = bytes.len();
        bytes.resize(known + AT_ONCE, 0);
        let more = self
            .file
            .read_at(&mut bytes[known..], self.read)
            .unwrap_or(0);
        self.read += more as u64;
        bytes.truncate(known + more);
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |end| end + 1);
        // A line that is longer than any is left out.
        if bytes.len() - whole <= LONGEST_LINE {
            self.line = bytes.split_off(whole);
        }
        let lines = bytes[..whole].split(|byte| *byte == b'\n');
        let ranges = lines.filter_map(|line| {
            let (start, size, _) = entry(line)?;
            Some(start..start.saturating_add(size))
        });
        ranges.collect()
    }
}

/// Reads a line, of which the beginning is kept, and gives its length; 0 at the end, also if a line is cut
/// short by it.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    let mut kept = reader.by_ref().take(LONGEST_LINE as u64);
    let length = kept.read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        return Ok(length as u64);
    }
    // Of a line this long only the beginning is used, so that it may be cut short.
    match length {
        LONGEST_LINE => {
            let rest = reader.by_ref().take(LONGEST_OF_ALL).skip_until(b'\n')? as u64;
            Ok(if rest < LONGEST_OF_ALL {
                length as u64 + rest
            } else {
                0
            })
        }
        _ => Ok(0),
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

/// Addresses, and what was said of them.
struct Places {
    sorted: Vec<u64>,
    slots: Slots,
}

impl Places {
    fn new<'a>(addresses: impl IntoIterator<Item = &'a u64>) -> Places {
        let mut sorted: Vec<u64> = addresses.into_iter().copied().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let slots = Slots::new(sorted.len());
        Places { sorted, slots }
    }

    fn range(&self, start: u64, size: u64) -> Range<usize> {
        let from = self.sorted.partition_point(|at| *at < start);
        let count = self.sorted[from..].partition_point(|at| *at - start < size);
        from..from + count
    }

    fn has(&self, start: u64, size: u64) -> bool {
        !self.range(start, size).is_empty()
    }

    fn fill(&mut self, start: u64, size: u64, name: &Arc<str>) {
        let range = self.range(start, size);
        if !range.is_empty() {
            self.slots.fill(range.start, range.end, name.clone());
        }
    }

    fn latest(&self, address: u64) -> Option<Arc<str>> {
        let place = self.sorted.binary_search(&address).ok()?;
        self.slots.latest(place)
    }
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
