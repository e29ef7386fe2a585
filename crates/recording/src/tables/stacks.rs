//! `stacks`: who called whom, as a tree.

use crate::ids::{FrameId, StackId};
use crate::table::table;

table! {
    /// A stack: its innermost frame, and the stack of the caller. Follow `parent` to the outermost frame.
    /// A parent stands before its children.
    table stacks, row Stack, since 2 {
        /// The stack.
        stack: StackId,
        /// The caller's; null: this is the outermost frame.
        parent: Option<StackId>,
        /// The innermost frame.
        frame: FrameId,
        /// It reaches the place where the thread began. Otherwise its outer frames are missing.
        complete: bool,
    }
}
