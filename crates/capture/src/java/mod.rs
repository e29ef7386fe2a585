//! HotSpot, the Java virtual machine: what the methods are called that it interprets and compiles. A virtual
//! machine tells its own tools where it keeps what (`gHotSpotVMStructs`), so no version has to be known here.
//!
//! `layout` reads that; `heaps` goes from compiled code to its method, `inlined` to all that are at work there; `methods` goes from a method to
//! its name, `lines` to a line of its source. Does no input or output itself: how the memory of a process is read is the caller's business, and
//! nothing in it is trusted.

mod heaps;
mod inlined;
mod layout;
mod lines;
mod methods;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::address_space::{Image, ImageKind};
use crate::symbols;

pub use heaps::{Heaps, Origin, Piece};
pub use layout::Layout;
pub use lines::{line, position};
pub use methods::{Method, Stamp};

/// Where a frame of the interpreter keeps its method, in words from its frame pointer; the same since Java 9.
pub const METHOD_IN_FRAME: u64 = 3;
/// And, in a frame that has called something, the address of the bytecode that does.
pub const BYTECODE_IN_FRAME: u64 = 8;

/// The memory of a process.
pub trait Memory {
    /// Reads what lies at an address, as far as there is any: how many bytes.
    fn read(&self, address: u64, bytes: &mut [u8]) -> usize;

    fn array<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        (self.read(address, &mut bytes) == N).then_some(bytes)
    }

    fn word(&self, address: u64) -> Option<u64> {
        self.array(address).map(u64::from_le_bytes)
    }

    fn half(&self, address: u64) -> Option<u32> {
        self.array(address).map(u32::from_le_bytes)
    }

    fn short(&self, address: u64) -> Option<u16> {
        self.array(address).map(u16::from_le_bytes)
    }
}

/// Whether a file may be a virtual machine, by its name: others are not opened.
pub fn may_be(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "libjvm.so")
}

/// Where a virtual machine's file has what it says of itself: names and addresses, as the file counts.
pub struct Description(Vec<symbols::FoundSymbol>);

impl Description {
    fn of(&self, name: &str) -> Option<u64> {
        let found = self.0.iter().find(|place| place.name == name);
        found.map(|place| place.start)
    }
}

/// The virtual machine in this file; `None` if there is none.
pub fn recognise(image: &Image) -> Option<Description> {
    if image.kind() != ImageKind::File || !may_be(image.path()) {
        return None;
    }
    let wanted = |name: &str| name.starts_with("gHotSpotVM");
    let places = symbols::places(image.open().ok()?, wanted).ok()?;
    (!places.is_empty()).then_some(Description(places))
}
