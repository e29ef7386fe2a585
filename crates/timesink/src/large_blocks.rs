//! Where large blocks of memory lie.
//!
//! What a report keeps of spans grows with them: some hundred bytes each, of a hundred million more than many machines have.
//! So where a recording is large, an unnamed file is opened, and what goes beyond [`IN_MEMORY`] lies there in place of memory that
//! the kernel could not take back: it writes such pages out and drops them as it needs to. Whoever uses a block does not see
//! where it is. Small blocks always are in memory.
//!
//! It does not judge how blocks are used: who goes through one again and again, here and there, will wait for the disk.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::os::fd::{IntoRawFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, ptr};

/// The allocator of this program.
pub struct LargeBlocks;

#[global_allocator]
static ALLOCATOR: LargeBlocks = LargeBlocks;

/// Blocks of this size or larger may lie in the file. Each is a mapping of its own, and a process may have 65,530 of them.
const LARGE: usize = 1 << 20;
/// So many at most: the list of them is a small block.
const MOST: usize = 32 << 10;
/// Of large blocks so much stays in memory before any goes to the file.
const IN_MEMORY: usize = 256 << 20;
/// When the process has more than this in memory, pages of the file are given back. They stay in the kernel's cache as long
/// as there is room for them there, and come back in microseconds.
const RESIDENT: usize = 640 << 20;
/// How often that is looked at: a processor that does nothing but touch new pages takes some 15 MB in this time.
const LOOK: Duration = Duration::from_millis(10);

/// The open file; -1 where there is none.
static FILE: AtomicI32 = AtomicI32::new(-1);
/// What large blocks take in memory.
static IN_USE: AtomicUsize = AtomicUsize::new(0);
static BLOCKS: Mutex<Blocks> = Mutex::new(Blocks {
    end: 0,
    placed: Vec::new(),
});

/// A block that lies in the file.
struct Placed {
    address: usize,
    length: usize,
    offset: usize,
}

struct Blocks {
    /// Where the next block begins in the file. A place is used once; what is freed there is a hole.
    end: usize,
    placed: Vec<Placed>,
}

/// From here on, large blocks may lie in this file, which nobody else knows.
pub fn begin(file: File) -> io::Result<()> {
    std::thread::Builder::new().spawn(give_back)?;
    FILE.store(file.into_raw_fd(), Ordering::Release);
    Ok(())
}

/// A thread that goes on as long as the process does.
fn give_back() {
    loop {
        std::thread::sleep(LOOK);
        if resident() > RESIDENT {
            drop_pages();
        }
    }
}

/// Gives back what of the file is in memory.
fn drop_pages() {
    for block in &blocks().placed {
        let address = block.address as *mut _;
        // SAFETY: it is mapped, because it is in the list. The mapping is shared, so that its pages keep what they hold.
        unsafe { libc::madvise(address, block.length, libc::MADV_DONTNEED) };
    }
}

/// How much of the process is in memory; 0 if that cannot be told.
fn resident() -> usize {
    let told = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = told.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0usize).saturating_mul(PAGE)
}

const PAGE: usize = 4096;

fn blocks() -> MutexGuard<'static, Blocks> {
    // What is in the list is so whatever became of who was at it.
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Blocks {
    /// A block of zeros in the file; `None` if that has no room.
    fn place(&mut self, file: RawFd, size: usize) -> Option<*mut u8> {
        let length = size.checked_next_multiple_of(PAGE)?;
        let offset = libc::off_t::try_from(self.end).ok()?;
        let bytes = libc::off_t::try_from(length).ok()?;
        if self.placed.len() >= MOST {
            return None;
        }
        // Without a place on the disk, whoever writes to the block would be killed.
        // SAFETY: plain numbers.
        if unsafe { libc::fallocate(file, 0, offset, bytes) } != 0 {
            return None;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, of a stretch of the file that no other block has.
        let address = unsafe {
            libc::mmap(
                ptr::null_mut(),
                length,
                protection,
                libc::MAP_SHARED,
                file,
                offset,
            )
        };
        if address == libc::MAP_FAILED {
            free(file, self.end, length);
            return None;
        }
        self.placed.push(Placed {
            address: address as usize,
            length,
            offset: self.end,
        });
        self.end += length;
        Some(address.cast())
    }

    /// Frees a block if it lies in the file.
    fn remove(&mut self, file: RawFd, address: usize) -> bool {
        let found = self
            .placed
            .iter()
            .position(|block| block.address == address);
        let Some(at) = found else {
            return false;
        };
        let block = self.placed.swap_remove(at);
        // SAFETY: it is mapped, because it was in the list, and who frees it does not use it any more.
        unsafe { libc::munmap(block.address as *mut _, block.length) };
        free(file, block.offset, block.length);
        true
    }
}

/// Makes a hole. Where the file system cannot do that the room is gone until the process ends.
fn free(file: RawFd, offset: usize, length: usize) {
    let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: plain numbers.
    unsafe { libc::fallocate(file, hole, offset as libc::off_t, length as libc::off_t) };
}

/// A large block, if one is asked for that is to lie in the file; its bytes are zero.
fn in_file(layout: Layout) -> Option<*mut u8> {
    let file = FILE.load(Ordering::Acquire);
    let is_meant = file >= 0
        && layout.align() <= PAGE
        && IN_USE.load(Ordering::Relaxed).saturating_add(layout.size()) > IN_MEMORY;
    is_meant
        .then(|| blocks().place(file, layout.size()))
        .flatten()
}

// SAFETY: each block is either the system's, which keeps its promises, or a mapping of its own, which is in the list of blocks as long as
// it is one: aligned to a page, at least as long as was asked for, and given back to where it came from. Nothing here unwinds, and
// the list of blocks is never so long that it would be one of them.
unsafe impl GlobalAlloc for LargeBlocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() < LARGE {
            return System.alloc(layout);
        }
        in_file(layout).unwrap_or_else(|| counted(System.alloc(layout), layout))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() < LARGE {
            return System.alloc_zeroed(layout);
        }
        in_file(layout).unwrap_or_else(|| counted(System.alloc_zeroed(layout), layout))
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() >= LARGE {
            let file = FILE.load(Ordering::Acquire);
            if file >= 0 && blocks().remove(file, block as usize) {
                return;
            }
            IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        System.dealloc(block, layout);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size().max(size) < LARGE {
            return System.realloc(block, layout, size);
        }
        if FILE.load(Ordering::Acquire) < 0 {
            // All are in memory: the system may be able to move them without copying.
            let moved = System.realloc(block, layout, size);
            if !moved.is_null() {
                recount(layout.size(), size);
            }
            return moved;
        }
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
            return ptr::null_mut();
        };
        let moved = self.alloc(wanted);
        if !moved.is_null() {
            ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
            self.dealloc(block, layout);
        }
        moved
    }
}

/// Notes what the system gave.
fn counted(block: *mut u8, layout: Layout) -> *mut u8 {
    if !block.is_null() {
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
    }
    block
}

/// Notes that a block has another size.
fn recount(before: usize, after: usize) {
    if before >= LARGE {
        IN_USE.fetch_sub(before, Ordering::Relaxed);
    }
    if after >= LARGE {
        IN_USE.fetch_add(after, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_recording::files::NewFile;

    fn is_in_file<T>(block: &[T]) -> bool {
        let address = block.as_ptr() as usize;
        let blocks = blocks();
        blocks.placed.iter().any(|placed| placed.address == address)
    }

    /// What does not fit into memory lies in the file, holds what was written to it also after its pages were given back,
    /// grows and shrinks, and begins with zeros where zeros were asked for.
    #[test]
    fn large_blocks_lie_in_the_file() {
        let name = format!("timesink-large-{}", std::process::id());
        let made = NewFile::at(&std::env::temp_dir().join(name)).expect("a file");
        begin(made.file().try_clone().expect("the same file")).expect("a thread");
        let all_of_memory = vec![0u8; IN_MEMORY];
        let mut numbers: Vec<u64> = Vec::new();
        for number in 0..1_000_000 {
            numbers.push(number);
        }
        assert!(is_in_file(&numbers) && !is_in_file(&all_of_memory));
        drop_pages();
        assert!(numbers.iter().copied().eq(0..1_000_000));
        numbers.truncate(10);
        numbers.shrink_to_fit();
        assert!(!is_in_file(&numbers) && numbers.iter().copied().eq(0..10));
        drop(vec![1u8; 8 * LARGE]);
        let zeros = vec![0u64; LARGE];
        assert!(is_in_file(&zeros) && zeros.iter().all(|&number| number == 0));
    }
}
