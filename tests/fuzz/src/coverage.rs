//! Which branches an input reached, by the counters of a build that has them (`make fuzz`): those of this process, and those of the
//! binary where a format asks it. `coverage.c` puts them into files that are mapped here. A build without counters tells nothing.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

/// What tells a program where its counters are to go.
pub const VARIABLE: &str = "TIMESINK_COVERAGE";
/// In the folder that a child works in: its own counters, and those of the binary that it asks.
pub const OWN: &str = "coverage-own";
pub const ASKED: &str = "coverage-asked";

/// The counters of a program, mapped from a file.
struct Counters {
    bytes: *mut u8,
    /// Behind these many counters are as many bytes, 1 where a function begins.
    length: usize,
}

// SAFETY: the mapping stays for the life of the process, and its bytes are read and written one by one as numbers without meaning to
// each other.
unsafe impl Send for Counters {}
// SAFETY: as above.
unsafe impl Sync for Counters {}

impl Counters {
    /// `None`: there is no such file, or no program has put its counters into it.
    fn open(path: &Path) -> Option<Counters> {
        let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
        let size = usize::try_from(file.metadata().ok()?.len()).ok()?;
        if size == 0 {
            return None;
        }
        // SAFETY: the kernel chooses where; it is never unmapped.
        let bytes = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        (bytes != libc::MAP_FAILED).then(|| Counters {
            bytes: bytes.cast(),
            length: size / 2,
        })
    }

    fn clear(&self) {
        // SAFETY: the mapping has these bytes.
        unsafe { ptr::write_bytes(self.bytes, 0, self.length) };
    }

    /// Eight counters at a time, because nearly all are zero.
    fn word(&self, at: usize) -> u64 {
        // SAFETY: whole pages are mapped, so there are eight bytes from a multiple of eight below the length.
        unsafe { ptr::read_volatile(self.bytes.add(at).cast()) }
    }

    fn is_beginning(&self, at: usize) -> bool {
        // SAFETY: as many bytes are mapped behind the counters.
        unsafe { *self.bytes.add(self.length + at) == 1 }
    }
}

/// Those of this process.
fn own() -> Option<&'static Counters> {
    static COUNTERS: OnceLock<Option<Counters>> = OnceLock::new();
    COUNTERS
        .get_or_init(|| Counters::open(Path::new(OWN)))
        .as_ref()
}

/// An input is made and its reading begins: what made it is not counted.
pub fn reading_begins() {
    own().inspect(|counters| counters.clear());
}

/// How often something happened, roughly: one of eight bits.
fn rough(count: u8) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..8 => 8,
        8..16 => 16,
        16..32 => 32,
        32..128 => 64,
        128.. => 128,
    }
}

/// The counters of a program, and what any input brought them to.
struct Program {
    counters: Option<&'static Counters>,
    /// Per counter the bits of `rough`.
    seen: Vec<u8>,
}

impl Program {
    fn of(counters: Option<&'static Counters>) -> Program {
        Program {
            seen: vec![0; counters.map_or(0, |counters| counters.length)],
            counters,
        }
    }

    /// Adds what has been counted, and begins anew. True if something of it was not seen before.
    fn add(&mut self) -> bool {
        let Some(counters) = self.counters else {
            return false;
        };
        let mut is_new = false;
        for at in (0..self.seen.len()).step_by(8) {
            let word = counters.word(at);
            if word == 0 {
                continue;
            }
            for (seen, count) in self.seen[at..].iter_mut().zip(word.to_le_bytes()) {
                let bit = rough(count);
                is_new |= bit & !*seen != 0;
                *seen |= bit;
            }
        }
        counters.clear();
        is_new
    }

    fn reached(&self) -> Reached {
        let mut reached = Reached {
            all: self.seen.len(),
            ..Reached::default()
        };
        let Some(counters) = self.counters else {
            return reached;
        };
        let mut begin = 0;
        for end in 1..=self.seen.len() {
            if end < self.seen.len() && !counters.is_beginning(end) {
                continue;
            }
            let hit = self.seen[begin..end].iter().filter(|bits| **bits != 0);
            let hit = hit.count();
            reached.hit += hit;
            reached.functions += usize::from(hit > 0);
            reached.within += if hit > 0 { end - begin } else { 0 };
            begin = end;
        }
        reached
    }
}

/// How far the inputs of a format came.
#[derive(Debug, Default, Clone, Copy)]
pub struct Reached {
    /// Branches that were taken.
    pub hit: usize,
    /// Functions that were entered, and all branches in these.
    pub functions: usize,
    pub within: usize,
    /// All branches of the program.
    pub all: usize,
}

impl std::fmt::Display for Reached {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Reached {
            hit,
            functions,
            within,
            all,
        } = self;
        let share = 100.0 * *hit as f64 / (*within).max(1) as f64;
        write!(
            f,
            "{hit} of {within} branches ({share:.0} %) of {functions} functions ({all} branches in all)"
        )
    }
}

/// What the inputs of a format reached until now.
pub struct Coverage {
    own: Program,
    asked: Program,
}

impl Coverage {
    /// `None` in a build without counters.
    pub fn begin() -> Option<Coverage> {
        own().map(|counters| Coverage {
            own: Program::of(Some(counters)),
            asked: Program::of(None),
        })
    }

    /// Adds what this input reached. True if no input before it did.
    pub fn add(&mut self) -> bool {
        if self.asked.counters.is_none() {
            let counters = Counters::open(Path::new(ASKED));
            self.asked = Program::of(counters.map(|counters| &*Box::leak(Box::new(counters))));
        }
        let (own, asked) = (self.own.add(), self.asked.add());
        own || asked
    }

    /// Of this process, and of the binary, if something was read there.
    pub fn reached(&self) -> Vec<Reached> {
        let reached = [&self.own, &self.asked].map(Program::reached);
        reached.into_iter().filter(|one| one.hit > 100).collect()
    }
}
