//! Rules for the code of Go programs, by Go's own tables: which functions begin a stack, which change to another one, and
//! how large the frames of the others are.

use super::rule::{Rule, Saved};
use super::stack::SAVED;
use crate::address_space::{Elf, FilePart, Image};
use crate::go_table::{self, Code, GoTable};
use gimli::X86_64;

/// Read the table of an image that has one.
pub fn read(image: &Image, elf: &Elf) -> Option<GoTable> {
    let part = elf.go?;
    let module = elf.go_module.and_then(|part| piece(image, part, 0, 1024));
    let code = Code {
        module: module.as_deref(),
        text: elf.text.map(|text| (text.address, text.size)),
    };
    GoTable::read(&|from, size| piece(image, part, from, size), &code)
}

/// The rule of an address; none if it is in no function of Go. `is_signal_return` is asked of assembly.
pub fn rule(
    table: &GoTable,
    image: &Image,
    address: u64,
    is_signal_return: impl Fn() -> bool,
) -> Option<Rule> {
    let part = image.elf()?.go?;
    let piece = |from, size| piece(image, part, from, size);
    let function = table.function(&piece, address)?;
    let is = |flag: u8| function.flags & flag != 0;
    if is(go_table::ASSEMBLY) && is_signal_return() {
        return Some(Rule::Signal);
    }
    let special = is(go_table::TOP_FRAME) || is(go_table::WRITES_SP);
    let name = special.then(|| table.name(&piece, &function)).flatten();
    match name.as_deref() {
        // The goroutine is on a stack of its own.
        Some(b"runtime.systemstack" | b"runtime.morestack") => return Some(Rule::Goroutine),
        // The goroutine has been left, and the thread goes on with others.
        Some(b"runtime.mcall") => return Some(Rule::Root),
        // It was called by a signal.
        Some(b"runtime.sigtramp") => {}
        _ if is(go_table::TOP_FRAME) => return Some(Rule::Root),
        _ if is(go_table::WRITES_SP) => return Some(Rule::NoTable),
        _ => {}
    }
    let room = table.distance(&piece, &function)?;
    let mut saved = [Saved::Gone; SAVED.len()];
    for (saved, register) in saved.iter_mut().zip(SAVED) {
        if register == X86_64::RBP {
            // Whoever makes room puts it there first.
            *saved = if room > 0 {
                Saved::Word(-2)
            } else {
                Saved::Kept
            };
        }
    }
    Some(Rule::Distance {
        register: X86_64::RSP.0 as u8,
        distance: room.checked_add(8)?,
        saved,
    })
}

/// Some bytes of a part, fewer at its end.
fn piece(image: &Image, part: FilePart, from: u64, size: u64) -> Option<Vec<u8>> {
    let left = part.size.checked_sub(from)?;
    let piece = FilePart {
        offset: part.offset.checked_add(from)?,
        size: size.min(left),
        address: part.address,
    };
    image.read(piece).ok()
}
