//! V8, as Node.js has it: what the functions of JavaScript are called that it interprets and compiles. Its files say
//! where it keeps what, for tools that look at the dead (constants called `v8dbg_...`), so that hardly any version has to
//! be known here.
//!
//! `layout` has these constants, `objects` reads what is the same of all objects, and strings; `functions` goes
//! from a function to its name and its place, `lines` from there to the line; `calls` finds where a function calls another one. Does no input or output itself: how the memory of a
//! process is read is the caller's business, and nothing in it is trusted. The collector moves objects while they are
//! read, so that each has to be of the kind that is expected; no name is better than a wrong one.

mod calls;
mod functions;
mod layout;
mod lines;
mod objects;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::Path;

use crate::address_space::{Image, ImageKind};
use crate::symbols;

pub use functions::{Function, Scripts, Shared};
pub use layout::Layout;
pub use objects::is_object;

/// The code that interpreted functions run in, whichever they are.
const INTERPRETER: &str = "Builtins_InterpreterEntryTrampoline";
/// It is some hundred bytes long.
const LARGEST_INTERPRETER: u64 = 1 << 16;

/// Whether a file may have V8 in it, by its name: others are not opened.
pub fn may_be(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| matches!(name, "node" | "nodejs") || name.starts_with("libnode.so"))
}

/// What a file with V8 says of it.
#[derive(Debug)]
pub struct Description {
    pub layout: Layout,
    /// As the file counts.
    pub interpreter: Range<u64>,
}

impl Description {
    fn of(places: &[symbols::FoundSymbol]) -> Option<Description> {
        let layout = Layout::of(places)?;
        let code = places.iter().find(|place| place.name == INTERPRETER)?;
        // Older versions do not say how long it is, but where the next function begins.
        let next = places.iter().map(|place| place.start);
        let next = next.filter(|start| *start > code.start).min();
        let length = match code.size {
            0 => next?.checked_sub(code.start)?,
            size => size,
        };
        let end = code.start.checked_add(length)?;
        (length <= LARGEST_INTERPRETER).then_some(Description {
            layout,
            interpreter: code.start..end,
        })
    }
}

/// V8 in this file; `None` if there is none, or one that is laid out in another way.
pub fn recognise(image: &Image) -> Option<Description> {
    if image.kind() != ImageKind::File || !may_be(image.path()) {
        return None;
    }
    let wanted = |name: &str| name.starts_with("Builtins_Interpreter") || layout::is_wanted(name);
    Description::of(&symbols::places(image.open().ok()?, wanted).ok()?)
}
