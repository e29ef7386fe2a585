//! Waits for a file on a disk, each with what the disk was asked for meanwhile: from which sector on, how much, and how
//! much else it had to do.
//!
//! A request does not say which file it is for. It was handed over by the thread that then waited, and that wait knows
//! its file. What nobody waited for, because it was read ahead in time, is no wait and is not here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::tables::Request;
use timesink_recording::words::{Detail, RequestKind, State};
use timesink_recording::Nanos;

use crate::timeline::Timeline;

/// One wait, and the requests that were done while it lasted, taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRead {
    /// The index of the wait's span, in [`Timeline::span`].
    pub span: usize,
    /// First sector of the first request, and of what comes after the last one.
    pub first_sector: u64,
    pub end_sector: u64,
    pub bytes: u64,
    /// Reads of recorded threads that the disk had to do as the first was handed over, this one included.
    pub in_flight: u64,
}

/// The waits of one process for one file, thread by thread, in the order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskReads {
    pub process: ProcessId,
    pub object: ObjectId,
    pub threads: Vec<Vec<DiskRead>>,
}

const SECTOR_BYTES: u64 = 512;

impl DiskReads {
    /// All of them, by process and file; the requests may come in any order.
    pub fn all(timeline: &Timeline, mut requests: Vec<Request>) -> Vec<DiskReads> {
        requests.retain(|row| row.kind == RequestKind::Read && row.thread.is_some());
        requests.sort_by_key(|row| (row.issued, row.completed, row.device, row.sector));
        let mut at_work: FxHashMap<u64, BinaryHeap<Reverse<Nanos>>> = FxHashMap::default();
        let mut waits: FxHashMap<usize, DiskRead> = FxHashMap::default();
        for row in &requests {
            let at_work = at_work.entry(row.device).or_default();
            while at_work.peek().is_some_and(|done| done.0 <= row.issued) {
                at_work.pop();
            }
            at_work.push(Reverse(row.completed));
            let Some(span) = waited_in(timeline, row) else {
                continue;
            };
            let end_sector = row.sector.saturating_add(row.bytes / SECTOR_BYTES);
            let read = waits.entry(span).or_insert(DiskRead {
                span,
                first_sector: row.sector,
                end_sector,
                bytes: 0,
                in_flight: at_work.len() as u64,
            });
            read.end_sector = end_sector;
            read.bytes = read.bytes.saturating_add(row.bytes);
        }
        by_file(timeline, waits.into_values().collect())
    }
}

/// The wait of its thread for the disk in which a request was done, if it waited then.
fn waited_in(timeline: &Timeline, row: &Request) -> Option<usize> {
    let slot = timeline.slot(row.thread?)?;
    let spans = timeline.spans_of(slot);
    let last = spans.partition_point(|span| span.t0 < row.completed);
    let span = spans.get(last.checked_sub(1)?)?;
    let waits = span.state == State::Wait && span.detail == Detail::DiskRead;
    (waits && span.object().is_some() && row.completed <= span.t1)
        .then(|| timeline.wait_at(slot, span.t0))
        .flatten()
}

fn by_file(timeline: &Timeline, mut reads: Vec<DiskRead>) -> Vec<DiskReads> {
    // Spans are numbered thread by thread, in the order of time.
    reads.sort_unstable_by_key(|read| read.span);
    let mut files: FxHashMap<(ProcessId, ObjectId), DiskReads> = FxHashMap::default();
    let mut before: FxHashMap<(ProcessId, ObjectId), usize> = FxHashMap::default();
    for read in reads {
        let Some(span) = timeline.span(read.span) else {
            continue;
        };
        let (Some(object), Some(slot)) = (span.object(), timeline.slot(span.thread)) else {
            continue;
        };
        let process = timeline.threads[slot].process;
        let key = (process, object);
        let file = files.entry(key).or_insert_with(|| DiskReads {
            process,
            object,
            threads: Vec::new(),
        });
        if before.insert(key, slot) != Some(slot) {
            file.threads.push(Vec::new());
        }
        if let Some(thread) = file.threads.last_mut() {
            thread.push(read);
        }
    }
    let mut files: Vec<DiskReads> = files.into_values().collect();
    files.sort_by_key(|file| (file.process, file.object));
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_recording::notation::recording;

    fn drawn(text: &str) -> Vec<DiskReads> {
        let drawn = recording(text);
        let timeline = Timeline::of(&drawn).expect("its spans");
        DiskReads::all(&timeline, drawn.rows().expect("its requests"))
    }

    /// A wait has the requests that were done while it lasted, and those done while nobody waited are nobody's.
    #[test]
    fn waits_have_their_requests() {
        let files = drawn(
            "process 1 a
             thread 1.1 tid 1 a
             1.1: cpu 0..10us | wait 10us..100us disk read f by block device | cpu +50us
                | wait 150us..250us disk read f by block device | cpu +10us
             request 1.1 5us..90us read 800 bytes 4096
             request 1.1 110us..140us read 900 bytes 4096
             request 1.1 120us..240us read 1000 bytes 8192
             request 1.1 121us..245us read 1016 bytes 4096
             request 1.1 5us..90us write 5 bytes 4096",
        );
        let reads = &files[0].threads[0];
        let told = |read: &DiskRead| (read.first_sector, read.end_sector, read.bytes);
        let told: Vec<_> = reads.iter().map(told).collect();
        assert_eq!(told, [(800, 808, 4096), (1000, 1024, 12288)]);
        assert_eq!((reads[0].in_flight, reads[1].in_flight), (1, 2));
        assert_eq!((files.len(), files[0].threads.len()), (1, 1));
    }

    /// What several threads ask for at the same time is counted, and each thread's reads are its own.
    #[test]
    fn threads_are_told_apart() {
        let files = drawn(
            "process 1 a
             thread 1.1 tid 1 a
             thread 1.2 tid 2 a
             1.1: cpu 0..10us | wait 10us..100us disk read f by block device | cpu +50us
             1.2: cpu 0..20us | wait 20us..110us disk read f by block device | cpu +50us
             request 1.1 5us..90us read 800 bytes 4096
             request 1.2 15us..105us read 80 bytes 4096",
        );
        let threads = &files[0].threads;
        let in_flight: Vec<u64> = threads.iter().map(|reads| reads[0].in_flight).collect();
        assert_eq!(in_flight, [1, 2]);
    }
}
