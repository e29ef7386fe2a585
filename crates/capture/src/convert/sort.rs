//! Events by thread and time, in bounded memory: runs that fit into memory are sorted and spilled, and
//! then merged. (A thread's events do not come in its own order: each processor gathers turns and
//! hands them over together.)

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use timesink_recording::files::Folder;

use crate::error::Error;

/// A run has at most this many bytes of events.
const RUN_BYTES: usize = 24 << 20;

/// What events are sorted by: the thread, the time.
type Key = (u32, u64);

pub struct Sorter {
    folder: Folder,
    run_bytes: usize,
    arena: Vec<u8>,
    /// Each event's key, and where it lies in the arena.
    index: Vec<(Key, u32, u32)>,
    runs: Vec<File>,
}

/// Where the next event of a run is.
struct SortedRun {
    file: BufReader<File>,
    next: Option<(Key, Vec<u8>)>,
}

impl Sorter {
    pub fn new(folder: Folder) -> Sorter {
        Sorter::with_run_bytes(folder, RUN_BYTES)
    }

    fn with_run_bytes(folder: Folder, run_bytes: usize) -> Sorter {
        Sorter {
            folder,
            run_bytes,
            arena: Vec::new(),
            index: Vec::new(),
            runs: Vec::new(),
        }
    }

    pub fn push(&mut self, thread: u32, t: u64, event: &[u8]) -> Result<(), Error> {
        if self.arena.len() + event.len() > self.run_bytes && !self.index.is_empty() {
            self.spill()?;
        }
        self.index
            .push(((thread, t), self.arena.len() as u32, event.len() as u32));
        self.arena.extend_from_slice(event);
        Ok(())
    }

    /// The sort is stable: what has the same time stays in the order of arrival.
    fn sort(&mut self) {
        self.index.sort_by_key(|(key, ..)| *key);
    }

    fn spill(&mut self) -> Result<(), Error> {
        self.sort();
        let name = format!("sort-{}.tmp", self.runs.len());
        let path = self.folder.path_of(&name);
        let fault = |e| Error::File {
            path: path.clone(),
            doing: "cannot be written",
            source: e,
        };
        let file = self.folder.create_file(&name)?;
        // Nobody else needs the name, and so nothing is left behind.
        self.folder.remove(&name)?;
        let mut out = BufWriter::with_capacity(1 << 18, file);
        for &((thread, t), at, length) in &self.index {
            out.write_all(&thread.to_le_bytes()).map_err(fault)?;
            out.write_all(&t.to_le_bytes()).map_err(fault)?;
            out.write_all(&length.to_le_bytes()).map_err(fault)?;
            out.write_all(&self.arena[at as usize..(at + length) as usize])
                .map_err(fault)?;
        }
        self.runs
            .push(out.into_inner().map_err(|e| fault(e.into_error()))?);
        self.arena.clear();
        self.index.clear();
        Ok(())
    }

    /// Every event, thread by thread, each thread's in the order of time.
    pub fn for_each(
        mut self,
        mut take: impl FnMut(u32, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.sort();
        if self.runs.is_empty() {
            for &((thread, _), at, length) in &self.index {
                take(thread, &self.arena[at as usize..(at + length) as usize])?;
            }
            return Ok(());
        }
        self.spill()?;
        self.arena = Vec::new();
        self.index = Vec::new();
        let fault = |e| Error::File {
            path: self.folder.path().to_owned(),
            doing: "cannot be sorted in",
            source: e,
        };
        let mut runs = Vec::new();
        for mut file in std::mem::take(&mut self.runs) {
            file.seek(SeekFrom::Start(0)).map_err(fault)?;
            let mut run = SortedRun {
                file: BufReader::with_capacity(1 << 17, file),
                next: None,
            };
            run.advance().map_err(fault)?;
            runs.push(run);
        }
        // Of the same time, the earlier run's first: that is the order of arrival.
        let head = |runs: &[SortedRun], i: usize| runs[i].next.as_ref().map(|n| Reverse((n.0, i)));
        let mut heads: BinaryHeap<_> = (0..runs.len()).filter_map(|i| head(&runs, i)).collect();
        while let Some(Reverse(((thread, _), i))) = heads.pop() {
            if let Some((_, event)) = &runs[i].next {
                take(thread, event)?;
            }
            runs[i].advance().map_err(fault)?;
            heads.extend(head(&runs, i));
        }
        Ok(())
    }
}

impl SortedRun {
    fn advance(&mut self) -> std::io::Result<()> {
        let mut head = [0; 16];
        let mut buffer = self.next.take().map(|n| n.1).unwrap_or_default();
        match self.file.read_exact(&mut head) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(e) => return Err(e),
        }
        let word = |at: usize| [head[at], head[at + 1], head[at + 2], head[at + 3]];
        let low = u64::from(u32::from_le_bytes(word(4)));
        let t = low | u64::from(u32::from_le_bytes(word(8))) << 32;
        buffer.resize(u32::from_le_bytes(word(12)) as usize, 0);
        self.file.read_exact(&mut buffer)?;
        self.next = Some(((u32::from_le_bytes(word(0)), t), buffer));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 events of 13 threads, of which every third comes 40 events too late.
    fn sorted(run_bytes: usize) -> Vec<(u32, String)> {
        let folder =
            std::env::temp_dir().join(format!("timesink-sort-{}-{run_bytes}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
        let opened = Folder::open(&folder).expect("it opens");
        let mut sorter = Sorter::with_run_bytes(opened, run_bytes);
        for i in 0..1000u32 {
            let thread = (i * 7919) % 13;
            let t = u64::from(if i % 3 == 0 { i.saturating_sub(40) } else { i });
            let event = format!("{t:04} {i:04}{}", "x".repeat((i % 5) as usize));
            sorter.push(thread, t, event.as_bytes()).unwrap();
        }
        let mut out = Vec::new();
        sorter
            .for_each(|t, e| {
                out.push((t, String::from_utf8(e.to_vec()).unwrap()));
                Ok(())
            })
            .unwrap();
        assert_eq!(
            std::fs::read_dir(&folder).unwrap().count(),
            0,
            "nothing is left behind"
        );
        std::fs::remove_dir(&folder).unwrap();
        out
    }

    /// However small the memory, events come out by thread and time, and those of one time as they came.
    #[test]
    fn runs_of_any_size_give_the_same_order() {
        let all = sorted(1 << 20);
        assert_eq!(all.len(), 1000);
        assert!(
            all.windows(2).all(|w| w[0] <= w[1]),
            "by thread, then time, then number of arrival"
        );
        assert_eq!(sorted(100), all);
        assert_eq!(sorted(3000), all);
    }
}
