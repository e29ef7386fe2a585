//! Copying memory, and what the first touch of a page costs. Memory is had for a round and given back, so that it is
//! other memory each time, and that a process that starts others is not larger for it.

use std::hint::black_box;
use std::io;
use std::ptr::NonNull;

use timesink_recording::floors::{Floors, ForBytes};

use super::pinned::{processors, Pinned};
use super::{Kind, Lengths};

/// In the nearest cache, in one behind it, and in memory.
const SIZES: [usize; 3] = [16 << 10, 1 << 20, 64 << 20];
/// Bytes copied in one go, and goes of each size in a round.
const AT_ONCE: usize = 16 << 20;
const GOES: usize = 2;
/// New memory that is touched in a round.
const TOUCHED: usize = 8 << 20;
/// Of what is free so much may be used.
const PART: u64 = 4;

/// Memory of our own, in small pages and zeroed, as a program first gets it.
pub(super) struct Area {
    start: NonNull<u8>,
    bytes: usize,
}

impl Area {
    pub(super) fn new(bytes: usize) -> io::Result<Area> {
        let (rights, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: new memory at a place of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Large pages are there at one time and not at another. A kernel without them refuses, and needs not be told.
        // SAFETY: the memory that was just had.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Area { start, bytes })
    }

    /// Touches each page; how many there are.
    pub(super) fn touch(&self) -> usize {
        let pages = (0..self.bytes).step_by(page());
        let many = pages.len();
        for at in pages {
            // SAFETY: a byte within the memory that is ours.
            unsafe { self.start.as_ptr().add(at).write_volatile(1) };
        }
        many
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: exactly what was had; nobody uses it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

fn page() -> usize {
    // SAFETY: a plain question.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096).max(512)
}

/// How much memory may be used for measuring: a part of what is free here, and of what this control group may still have.
pub(super) fn may_use() -> u64 {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let free = available(&text("/proc/meminfo"));
    let groups = text("/proc/self/cgroup");
    let mut group = unified(&groups);
    let mut least = free;
    // A group is limited by those above it as well.
    while let Some(path) = group {
        let figure = |name: &str| {
            let text = text(&format!("/sys/fs/cgroup{path}/{name}"));
            text.trim().parse::<u64>().ok()
        };
        if let (Some(most), Some(now)) = (figure("memory.max"), figure("memory.current")) {
            least = least.min(most.saturating_sub(now));
        }
        group = path.rsplit_once('/').map(|(above, _)| above);
    }
    least / PART
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn available(meminfo: &str) -> u64 {
    let line = meminfo
        .lines()
        .find_map(|l| l.strip_prefix("MemAvailable:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: u64 = number.and_then(|n| n.parse().ok()).unwrap_or(0);
    kilobytes.saturating_mul(1024)
}

/// `0::/user.slice/x` of `/proc/self/cgroup`.
fn unified(groups: &str) -> Option<&str> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(path.trim_end_matches('/'))
}

pub(super) struct Memory {
    copies: Vec<(usize, Lengths)>,
    zeroing: Lengths,
}

impl Memory {
    pub(super) fn new(left_out: &mut Vec<String>) -> Memory {
        let most = may_use();
        let (small, large): (Vec<usize>, Vec<usize>) =
            SIZES.iter().partition(|&&size| 2 * size as u64 <= most);
        for size in large {
            let size = size >> 20;
            left_out.push(format!(
                "copying {size} MiB of memory: not enough free memory"
            ));
        }
        Memory {
            copies: small.into_iter().map(|s| (s, Lengths::default())).collect(),
            zeroing: Lengths::default(),
        }
    }
}

impl Kind for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn round(&mut self) -> io::Result<()> {
        let _here = Pinned::to(processors().0);
        for (size, lengths) in &mut self.copies {
            let (from, to) = (Area::new(*size)?, Area::new(*size)?);
            from.touch();
            to.touch();
            let many = (AT_ONCE / *size).max(1);
            for _ in 0..GOES {
                lengths.time(many, || {
                    for _ in 0..many {
                        // SAFETY: two areas of that size, which do not overlap.
                        unsafe {
                            let (from, to) = (black_box(&from).start, black_box(&to).start);
                            std::ptr::copy_nonoverlapping(from.as_ptr(), to.as_ptr(), *size);
                        }
                    }
                });
            }
        }
        let new = Area::new(TOUCHED)?;
        let many = TOUCHED / page();
        self.zeroing.time(many, || {
            black_box(new.touch());
        });
        Ok(())
    }

    fn tell(&mut self, floors: &mut Floors) {
        let copies = self.copies.iter().filter_map(|(size, lengths)| {
            Some(ForBytes {
                bytes: *size as u64,
                takes: lengths.figure()?,
            })
        });
        floors.copies = copies.collect();
        let takes = self.zeroing.figure();
        let bytes = page() as u64;
        floors.zeroing = takes.map(|takes| ForBytes { bytes, takes });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is free is read as the kernel writes it, and nothing is free where it says nothing.
    #[test]
    fn free_memory_is_read() {
        let text = "MemTotal:       24683760 kB\nMemAvailable:   23520532 kB\n";
        assert_eq!(available(text), 23_520_532 * 1024);
        assert_eq!(available("MemAvailable: much"), 0);
        assert_eq!(available(""), 0);
        let groups = "1:name=systemd:/x\n0::/user.slice/session-1.scope\n";
        assert_eq!(unified(groups), Some("/user.slice/session-1.scope"));
        assert_eq!(unified("0::/\n"), Some(""));
        assert_eq!(unified("1:cpu:/x\n"), None);
    }
}
