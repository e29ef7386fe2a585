//! `stacks`: who called whom, as a tree.

use crate::ids::{FrameId, StackId};
use crate::table::table;

table! {
    /// A stack: its innermost frame, and the stack of the caller. Follow `parent` to the outermost frame.
    /// A parent comes before its children.
    table stacks, row Stack, since 2 {
        /// The stack.
        stack: StackId,
        /// The caller's stack; null for the outermost frame.
        parent: Option<StackId>,
        /// The innermost frame.
        frame: FrameId,
        /// True if it reaches the start of the thread; otherwise its outer frames are missing.
        complete: bool,
    }
}
