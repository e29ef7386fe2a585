//! Being told of every mapping, exec, fork and end on this machine, by the kernel's perf events. Which
//! processes matter is for `Spaces` to say.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use libbpf_sys as sys;

use super::records::{self, PerfRecord};
use super::{Change, Timed};
use crate::clock::now_ns;
use crate::error::Error;
use crate::perf_event;

const PAGE: usize = 4096;
/// One processor's ring, without its control page. A power of two.
const RING: usize = 512 << 10;

/// One event and its ring for each processor.
pub struct Watch {
    rings: Vec<Ring>,
    lost: u64,
    /// What was written while the rings were read: others may have written before it in rings that had
    /// been read already.
    held_back: Vec<Timed<Change>>,
    bytes: Vec<u8>,
}

struct Ring {
    page: NonNull<sys::perf_event_mmap_page>,
    _event: OwnedFd,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for Ring {}

impl Watch {
    /// Watch all processes on these processors. Needs privileges.
    pub fn open(processors: &[u32]) -> Result<Watch, Error> {
        let rings = processors.iter().map(|&p| Ring::open(p));
        Ok(Watch {
            rings: rings.collect::<Result<_, _>>()?,
            lost: 0,
            held_back: Vec::new(),
            bytes: Vec::new(),
        })
    }

    /// What has happened until this call began, in the order of time (`CLOCK_MONOTONIC`). What happens
    /// meanwhile comes with the next call.
    pub fn read(&mut self) -> Vec<Timed<Change>> {
        let now_ns = now_ns();
        let mut changes = std::mem::take(&mut self.held_back);
        for ring in &mut self.rings {
            self.bytes.clear();
            ring.take(&mut self.bytes);
            for record in records::parse(&self.bytes) {
                match record {
                    PerfRecord::Change(change) => changes.push(change),
                    PerfRecord::Lost(number) => self.lost += number,
                }
            }
        }
        // Stable: what one processor wrote at one time stays in its order.
        changes.sort_by_key(|change| change.time_ns);
        let until = changes.partition_point(|change| change.time_ns <= now_ns);
        self.held_back = changes.split_off(until);
        changes
    }

    /// How many records found no room in their ring.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

fn open_event(processor: u32) -> io::Result<OwnedFd> {
    let mut event = perf_event::event(sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_DUMMY);
    event.sample_type = u64::from(sys::PERF_SAMPLE_TIME);
    event.set_mmap(1);
    event.set_mmap2(1);
    event.set_comm(1);
    event.set_comm_exec(1);
    event.set_task(1);
    event.set_sample_id_all(1);
    event.set_use_clockid(1);
    event.clockid = libc::CLOCK_MONOTONIC;
    // Nobody waits on it: it is read every few milliseconds anyway.
    event.set_watermark(1);
    event.__bindgen_anon_2.wakeup_watermark = RING as u32 - 1;
    perf_event::open(&event, processor)
}

impl Ring {
    fn open(processor: u32) -> Result<Ring, Error> {
        let failed = |source| Error::System {
            doing: "watching what programs map into memory",
            source,
        };
        let event = open_event(processor).map_err(failed)?;
        // SAFETY: a fresh shared mapping of an event's ring, of the size that the kernel asks for.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGE + RING,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        let page = NonNull::new(page.cast()).filter(|_| page != libc::MAP_FAILED);
        let page = page.ok_or_else(|| failed(io::Error::last_os_error()))?;
        Ok(Ring {
            page,
            _event: event,
        })
    }

    /// Move what is in the ring to the end of `into`.
    fn take(&mut self, into: &mut Vec<u8>) {
        let page = self.page.as_ptr();
        // SAFETY: the mapping lives as long as self. The kernel writes the head and reads the tail, each a
        // word that is only ever touched atomically; between them it writes nothing until the tail moves.
        unsafe {
            let head = AtomicU64::from_ptr(&raw mut (*page).data_head);
            let tail = AtomicU64::from_ptr(&raw mut (*page).data_tail);
            let until = head.load(Ordering::Acquire);
            let from = tail.load(Ordering::Relaxed);
            let size = usize::try_from(until.wrapping_sub(from)).unwrap_or(0);
            let data = page.cast::<u8>().add(PAGE);
            let begin = from as usize % RING;
            let first = size.min(RING).min(RING - begin);
            into.extend_from_slice(std::slice::from_raw_parts(data.add(begin), first));
            let rest = size.min(RING) - first;
            into.extend_from_slice(std::slice::from_raw_parts(data, rest));
            tail.store(until, Ordering::Release);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length.
        unsafe { libc::munmap(self.page.as_ptr().cast(), PAGE + RING) };
    }
}
