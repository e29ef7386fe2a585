//! `frames`: the places in code that stacks are made of.

use crate::ids::{FrameId, ModuleId};
use crate::table::table;
use crate::words::Language;

table! {
    /// A place in code. A call that the compiler inlined is a frame of its own, with the same
    /// module and offset as the function it was inlined into.
    table frames, row Frame, since 2 {
        /// The frame.
        frame: FrameId,
        /// Where the code is from; null if that is not known.
        module: Option<ModuleId>,
        /// The address in the module, as its symbol table counts; a plain address outside of
        /// modules and in the kernel.
        offset: u64,
        /// A caller: the offset is of the instruction to return to, and the call is the one before it.
        returns: bool,
        /// The function, demangled; empty if it has no name.
        function: String,
        /// The source file; empty if not known.
        file: String,
        /// The line in it; of code that a runtime made, where the function begins.
        line: Option<u32>,
        /// Inlined into the frame that calls it.
        inlined: bool,
        /// What it is written in, as far as that shows.
        language: Language,
    }
}
