//! The kernel's small library, which it maps into every process: `clock_gettime` and others without a system call.
//!
//! All 64-bit processes of one kernel have the same image, so ours is as good as theirs. A 32-bit process has another one,
//! which is nowhere in our memory: of that nothing is known.

use super::{maps, Mapped};

/// What the kernel calls the mapping.
pub const NAME: &str = "[vdso]";

/// The bytes of the image; none where this kernel has none.
pub fn own() -> Option<&'static [u8]> {
    let maps = std::fs::read("/proc/self/maps").ok()?;
    let maps = maps::parse(std::process::id(), &maps);
    let own = maps.iter().find(|m| m.path.as_os_str() == NAME)?;
    let length = usize::try_from(own.length).ok()?;
    // SAFETY: the kernel made this mapping, whole and readable, and nobody in here unmaps or writes to it.
    Some(unsafe { std::slice::from_raw_parts(own.start as *const u8, length) })
}

/// Whether a mapping of that name has the image that we have. All that a 32-bit process has lies in the first 4 GiB,
/// where the kernel puts nothing of a 64-bit one.
pub fn is_as_ours(mapped: &Mapped) -> bool {
    mapped.start > u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_space::Elf;

    /// What is found is the library itself: it has code, unwind tables and a build id.
    #[test]
    fn own_library() {
        let elf = Elf::parse(own().expect("every kernel for this processor has one")).expect("ELF");
        assert!(elf.loads.iter().any(|load| load.executable));
        assert!(elf.frames.is_some() && elf.build_id.is_some());
    }
}
