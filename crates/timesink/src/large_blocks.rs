//! Where large blocks of memory lie.
//!
//! What a report keeps of spans grows with them: some hundred bytes each, of a hundred million more than many machines have.
//! So where a recording is large, an unnamed file is opened, and what goes beyond [`IN_MEMORY`] lies there in place of memory that
//! the kernel could not take back: it writes such pages out and drops them as it needs to. Whoever uses a block does not see
//! where it is. Small blocks always are in memory.
//!
//! A page of the file costs much when it is touched for the first time: the kernel fills it with zeros, finds its place on the
//! disk, and writes it. So the place of a block that is freed goes to the next one that fits, and a block that grows stays where
//! it is if there is room behind it.
//!
//! It does not judge how blocks are used: who goes through one again and again, here and there, will wait for the disk.

mod places;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::os::fd::{IntoRawFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, ptr};

use places::{Place, Places};

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
/// When the process has more than this in memory, pages of the file are given back, if it has more than [`FEW`] of them. They
/// stay in the kernel's cache as long as there is room for them there, and come back in microseconds.
const RESIDENT: usize = 512 << 20;
const FEW: usize = 128 << 20;
/// How often that is looked at: a processor that goes through pages that are in the cache takes 5 to 10 MB in this time.
const LOOK: Duration = Duration::from_millis(1);
/// The same as long as there are few pages.
const LOOK_SELDOM: Duration = Duration::from_millis(5);

/// The open file; -1 where there is none.
static FILE: AtomicI32 = AtomicI32::new(-1);
/// What large blocks take in memory.
static IN_USE: AtomicUsize = AtomicUsize::new(0);
/// Which parts of the file are free.
static PLACES: Mutex<Places> = Mutex::new(Places::new());
/// The blocks that lie in the file. It is never held while the kernel is asked for something that may take long, so that pages
/// can be given back meanwhile; where both are held, the places come first.
static PLACED: Mutex<Vec<Placed>> = Mutex::new(Vec::new());

/// A block that lies in the file.
#[derive(Clone, Copy)]
struct Placed {
    address: usize,
    place: Place,
}

/// From here on, large blocks may lie in this file, which nobody else knows.
pub fn begin(file: File) -> io::Result<()> {
    std::thread::Builder::new().spawn(give_back)?;
    FILE.store(file.into_raw_fd(), Ordering::Release);
    Ok(())
}

/// A thread that goes on as long as the process does.
fn give_back() {
    let mut pause = LOOK_SELDOM;
    loop {
        std::thread::sleep(pause);
        let (resident, of_files) = resident();
        pause = if of_files > FEW { LOOK } else { LOOK_SELDOM };
        if resident > RESIDENT && of_files > FEW {
            drop_pages();
        }
    }
}

/// Gives back what of the file is in memory.
fn drop_pages() {
    for block in &*locked(&PLACED) {
        let address = block.address as *mut _;
        // SAFETY: it is mapped, because it is in the list. The mapping is shared, so that its pages keep what they hold.
        unsafe { libc::madvise(address, block.place.length, libc::MADV_DONTNEED) };
    }
}

/// How much of the process is in memory, and how much of that are pages of files; 0 if that cannot be told.
fn resident() -> (usize, usize) {
    let told = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let mut pages = told.split(' ').skip(1).map(|pages| pages.parse().ok());
    let mut bytes = || {
        pages
            .next()
            .flatten()
            .unwrap_or(0usize)
            .saturating_mul(PAGE)
    };
    (bytes(), bytes())
}

const PAGE: usize = 4096;

/// What they hold is so whatever became of who was at it.
fn locked<T>(what: &'static Mutex<T>) -> MutexGuard<'static, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long the place of a block of this size is.
fn length_of(size: usize) -> Option<usize> {
    size.checked_next_multiple_of(PAGE)
}

/// Sees to it that the file has a place on the disk for this part of it. Without one, whoever writes there would be killed.
fn reserve(file: RawFd, offset: usize, length: usize) -> bool {
    let (Ok(offset), Ok(length)) = (offset.try_into(), length.try_into()) else {
        return false;
    };
    // SAFETY: plain numbers.
    length == 0 || unsafe { libc::fallocate(file, 0, offset, length) } == 0
}

/// A new block in the file, and whether its bytes are known to be zero; `None` if there is no room.
fn place(file: RawFd, size: usize) -> Option<(*mut u8, bool)> {
    let length = length_of(size)?;
    if locked(&PLACED).len() >= MOST {
        return None;
    }
    let (place, is_new) = {
        let mut places = locked(&PLACES);
        let end = places.end();
        let place = places.take(length)?;
        if !reserve(file, end, places.end() - end) {
            places.give_end_back(place, end);
            return None;
        }
        (place, place.offset >= end)
    };
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let offset = libc::off_t::try_from(place.offset).ok()?;
    // SAFETY: a new mapping, of a part of the file that no other block has.
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
        locked(&PLACES).give(place);
        return None;
    }
    let address = address as usize;
    locked(&PLACED).push(Placed { address, place });
    Some((address as *mut u8, is_new))
}

/// Takes a block out of the list, if it lies in the file: nobody gives its pages back from then on.
fn take_out(address: usize) -> Option<Placed> {
    let mut placed = locked(&PLACED);
    let at = placed.iter().position(|block| block.address == address)?;
    Some(placed.swap_remove(at))
}

/// Frees a block that was taken out of the list.
fn free(block: Placed) {
    // SAFETY: it was in the list, so it is mapped, and who frees it does not use it any more.
    unsafe { libc::munmap(block.address as *mut _, block.place.length) };
    locked(&PLACES).give(block.place);
}

/// Makes a block in the file longer or shorter where it lies; `None` if it does not lie there or cannot grow there.
fn resize(file: RawFd, address: usize, size: usize) -> Option<*mut u8> {
    let length = length_of(size)?;
    let block = take_out(address)?;
    let resized = resized(file, block, length);
    locked(&PLACED).push(resized.unwrap_or(block));
    resized.map(|block| block.address as *mut u8)
}

fn resized(file: RawFd, block: Placed, length: usize) -> Option<Placed> {
    let Place {
        offset,
        length: before,
    } = block.place;
    if length > before {
        let mut places = locked(&PLACES);
        let end = places.end();
        let more = places.take_at(offset + before, length - before)?;
        if !reserve(file, end, places.end() - end) {
            places.give_end_back(more, end);
            return None;
        }
    }
    let address = block.address as *mut _;
    // SAFETY: it was in the list, so all of it is mapped, and the part of the file behind it is its own by now. Who asked for
    // this uses the new address only.
    let moved = unsafe { libc::mremap(address, before, length, libc::MREMAP_MAYMOVE) };
    let is_moved = moved != libc::MAP_FAILED;
    // What it has no use for: the new part if it could not be mapped, the old one if it is shorter now.
    let (kept, most) = match is_moved {
        true => (length, before),
        false => (before, length),
    };
    if most > kept {
        locked(&PLACES).give(Place {
            offset: offset + kept,
            length: most - kept,
        });
    }
    is_moved.then_some(Placed {
        address: moved as usize,
        place: Place { offset, length },
    })
}

/// A large block, if one is asked for that is to lie in the file, and whether its bytes are zero.
fn in_file(layout: Layout) -> Option<(*mut u8, bool)> {
    let file = FILE.load(Ordering::Acquire);
    let is_meant = file >= 0
        && layout.align() <= PAGE
        && IN_USE.load(Ordering::Relaxed).saturating_add(layout.size()) > IN_MEMORY;
    is_meant.then(|| place(file, layout.size())).flatten()
}

/// A large block that is in memory gets another size there; `None` if it does not lie there or is to go to the file.
unsafe fn resize_in_memory(block: *mut u8, layout: Layout, size: usize) -> Option<*mut u8> {
    let before = if layout.size() >= LARGE {
        layout.size()
    } else {
        0
    };
    let others = IN_USE.load(Ordering::Relaxed).saturating_sub(before);
    let is_file_open = FILE.load(Ordering::Acquire) >= 0;
    let is_to_go = is_file_open && size >= LARGE && others.saturating_add(size) > IN_MEMORY;
    if is_to_go || before > 0 && is_file_open && is_placed(block as usize) {
        return None;
    }
    // The system may be able to move it without copying.
    let moved = System.realloc(block, layout, size);
    if !moved.is_null() {
        recount(layout.size(), size);
    }
    Some(moved)
}

fn is_placed(address: usize) -> bool {
    let placed = locked(&PLACED);
    placed.iter().any(|block| block.address == address)
}

// SAFETY: each block is either the system's, which keeps its promises, or a mapping of its own, which is in the list of blocks as long as
// it is one: aligned to a page, at least as long as was asked for, and given back to where it came from. Nothing here unwinds, and
// the lists of blocks and places are never so long that they would be such blocks.
unsafe impl GlobalAlloc for LargeBlocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() < LARGE {
            return System.alloc(layout);
        }
        match in_file(layout) {
            Some((block, _)) => block,
            None => counted(System.alloc(layout), layout),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() < LARGE {
            return System.alloc_zeroed(layout);
        }
        match in_file(layout) {
            Some((block, true)) => block,
            Some((block, false)) => {
                ptr::write_bytes(block, 0, layout.size());
                block
            }
            None => counted(System.alloc_zeroed(layout), layout),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() >= LARGE {
            if FILE.load(Ordering::Acquire) >= 0 {
                if let Some(placed) = take_out(block as usize) {
                    return free(placed);
                }
            }
            IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        System.dealloc(block, layout);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size().max(size) < LARGE {
            return System.realloc(block, layout, size);
        }
        if let Some(moved) = resize_in_memory(block, layout, size) {
            return moved;
        }
        let file = FILE.load(Ordering::Acquire);
        // One that has become small is to be found by its size.
        if layout.size().min(size) >= LARGE {
            if let Some(moved) = resize(file, block as usize, size) {
                return moved;
            }
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

    fn place_of<T>(block: &[T]) -> Option<Place> {
        let address = block.as_ptr() as usize;
        let placed = locked(&PLACED);
        let found = placed.iter().find(|block| block.address == address);
        found.map(|block| block.place)
    }

    fn is_in_file<T>(block: &[T]) -> bool {
        place_of(block).is_some()
    }

    /// What does not fit into memory lies in the file, holds what was written to it also after its pages were given back,
    /// grows, shrinks and moves, and begins with zeros where zeros were asked for, also in a place that was used before.
    #[test]
    fn large_blocks_lie_in_the_file() {
        let name = format!("timesink-large-{}", std::process::id());
        let made = NewFile::at(&std::env::temp_dir().join(name)).expect("a file");
        // Before there is a file, so that it is in memory whatever other tests have there.
        let all_of_memory = vec![0u8; IN_MEMORY];
        begin(made.file().try_clone().expect("the same file")).expect("a thread");
        let mut numbers: Vec<u64> = Vec::new();
        for number in 0..1_000_000 {
            numbers.push(number);
        }
        assert!(is_in_file(&numbers) && !is_in_file(&all_of_memory));
        drop_pages();
        assert!(numbers.iter().copied().eq(0..1_000_000));
        // Other tests may have blocks in the file as well, so that where exactly a block lies is left to `places`.
        let before = place_of(&numbers).expect("a place");
        numbers.reserve_exact(7_000_000);
        assert!(place_of(&numbers).is_some_and(|grown| grown.length > before.length));
        numbers.truncate(500_000);
        numbers.shrink_to_fit();
        assert!(place_of(&numbers).is_some_and(|shrunk| shrunk.length < before.length));
        assert!(numbers.iter().copied().eq(0..500_000));
        // Something behind it, so that it has to move.
        let ones = vec![1u8; 2 * LARGE];
        numbers.extend(500_000..1_000_000);
        assert!(numbers.iter().copied().eq(0..1_000_000));
        assert!(is_in_file(&ones) && ones.iter().all(|&number| number == 1));
        drop(ones);
        let zeros = vec![0u8; 2 * LARGE];
        assert!(is_in_file(&zeros) && zeros.iter().all(|&number| number == 0));
        numbers.truncate(10);
        numbers.shrink_to_fit();
        assert!(!is_in_file(&numbers) && numbers.iter().copied().eq(0..10));
    }
}
