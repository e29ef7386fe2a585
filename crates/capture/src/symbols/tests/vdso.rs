//! The kernel's small library, whose names are in our own memory.

use super::*;
use crate::address_space::vdso;
use timesink_recording::words::{ModuleKind, SymbolSource};

fn own() -> &'static [u8] {
    vdso::own().expect("every kernel for this processor has one")
}

fn own_build_id() -> String {
    let elf = super::super::elf::Elf::from_bytes(own().to_vec()).expect("ELF");
    super::super::hex(&elf.build_id)
}

fn named(module: &Module, offsets: &[u64]) -> Resolved {
    Symbols::with_debug_root(None, Path::new("/nonexistent")).resolve(module, offsets)
}

/// Its functions have names, and of several for the same one that which no other library has.
#[test]
fn functions_of_the_kernels_library_are_named() {
    let folder = Folder::new();
    fs::write(folder.path("vdso.so"), own()).expect("a file");
    let listing = folder.run("nm -D --without-symbol-versions vdso.so");
    let line = listing.lines().find(|l| l.ends_with(" clock_gettime"));
    let address = line.and_then(|line| line.split(' ').next()).expect("it");
    let address = u64::from_str_radix(address, 16).expect("an address");
    let module = Module::recorded(ModuleKind::Vdso, vdso::NAME, &own_build_id()).expect("it");
    let resolved = named(&module, &[address, address + 20, 1 << 40]);
    let names: Vec<_> = resolved.frames.iter().map(|f| shown(f).join(";")).collect();
    assert_eq!(names, ["__vdso_clock_gettime", "__vdso_clock_gettime", ""]);
    assert_eq!(resolved.source, SymbolSource::Exports);
    assert!(resolved.fault.is_none(), "{:?}", resolved.fault);
}

/// What ran with another kernel, or in a 32-bit process (whose library has no build id in a recording), has no names
/// rather than those of this kernel's; nor has what a runtime made the names of a file that is called as it is.
#[test]
fn what_is_not_ours_stays_nameless() {
    let other = Module::recorded(ModuleKind::Vdso, vdso::NAME, &"ab".repeat(20)).expect("it");
    let resolved = named(&other, &[0x800]);
    assert!(resolved.frames[0].is_empty());
    assert!(matches!(
        resolved.fault,
        Some(super::super::Fault::Replaced)
    ));
    assert!(Module::recorded(ModuleKind::Vdso, vdso::NAME, "").is_none());
    assert!(Module::recorded(ModuleKind::Jit, "/bin/true", "").is_none());
}
