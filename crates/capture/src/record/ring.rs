//! The ring of events, emptied by whoever records, and by a thread of its own while that one is at other work for long: the first
//! stack in a large program has its file read, which takes longer than the ring lasts. What came is handed on in its order.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::kernel::Kernel;

/// The ring is emptied by the thread when nobody else has done so for that long, and as often again.
const PATIENCE: Duration = Duration::from_millis(3);
/// What is not yet handed on may be so much, beside what is in the ring: then events are lost, and counted, as they are without the
/// thread. `npm install` fills the ring of 16 MiB within a tenth of a second (2026-11-26).
const MOST: usize = 128 << 20;
const KEPT: usize = 4 << 20;

pub struct Ring {
    shared: Arc<Shared>,
    relief: Option<JoinHandle<()>>,
}

struct Shared {
    ring: Mutex<Consumer>,
    taken: Arc<Mutex<Taken>>,
    busy: Mutex<Busy>,
    changed: Condvar,
}

struct Consumer(libbpf_rs::RingBuffer<'static>);

// SAFETY: libbpf ties a ring to no thread; it is used by one at a time, and what it calls is only this room's, which may go
// from thread to thread.
#[allow(unsafe_code)]
unsafe impl Send for Consumer {}

/// What came out of the ring, event after event.
#[derive(Default)]
struct Taken {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

/// What the one who records is at.
#[derive(Clone, Copy)]
enum Busy {
    No,
    Since(Instant),
    /// It has ended.
    Over,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ring {
    pub fn new(kernel: &Kernel) -> Result<Ring, Error> {
        let taken: Arc<Mutex<Taken>> = Arc::default();
        let into = Arc::clone(&taken);
        let ring = kernel.ring("ring", move |bytes| {
            let mut taken = locked(&into);
            taken.bytes.extend_from_slice(bytes);
            taken.lengths.push(bytes.len());
        })?;
        let shared = Arc::new(Shared {
            ring: Mutex::new(Consumer(ring)),
            taken,
            busy: Mutex::new(Busy::No),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&shared);
        let relief = std::thread::Builder::new().spawn(move || own.relieve());
        // Without the thread it goes as it would without long work.
        let relief = relief.ok();
        Ok(Ring { shared, relief })
    }

    /// Hands on all that has come.
    pub fn drain(&self, mut take: impl FnMut(&[u8])) {
        self.shared.empty();
        let mut taken = std::mem::take(&mut *locked(&self.shared.taken));
        let mut rest = taken.bytes.as_slice();
        for length in taken.lengths.drain(..) {
            let (event, after) = rest.split_at(length.min(rest.len()));
            take(event);
            rest = after;
        }
        taken.bytes.clear();
        // The room is used again, unless it is much.
        let mut now = locked(&self.shared.taken);
        if now.lengths.is_empty() && taken.bytes.capacity() <= KEPT {
            *now = taken;
        }
    }

    /// From here on nobody drains it for a while.
    pub fn leave(&self) {
        self.tell(Busy::Since(Instant::now()));
    }

    pub fn come_back(&self) {
        self.tell(Busy::No);
    }

    fn tell(&self, busy: Busy) {
        *locked(&self.shared.busy) = busy;
        self.shared.changed.notify_one();
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.tell(Busy::Over);
        if let Some(relief) = self.relief.take() {
            let _ = relief.join();
        }
    }
}

impl Shared {
    fn empty(&self) {
        // An error here is a callback's, and ours has none.
        let _ = locked(&self.ring).0.consume();
    }

    /// The thread: empties the ring while the one who records is away.
    fn relieve(&self) {
        let mut busy = locked(&self.busy);
        loop {
            let wait = match *busy {
                Busy::Over => return,
                Busy::No => None,
                Busy::Since(since) => Some(PATIENCE.saturating_sub(since.elapsed())),
            };
            busy = match wait {
                None => self
                    .changed
                    .wait(busy)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(left) if !left.is_zero() => {
                    let waited = self.changed.wait_timeout(busy, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                Some(_) => {
                    *busy = Busy::Since(Instant::now());
                    drop(busy);
                    if locked(&self.taken).bytes.len() < MOST {
                        self.empty();
                    }
                    locked(&self.busy)
                }
            };
        }
    }
}
