//! Our own numbers for threads, processes, objects and code. The kernel reuses its ids within one run,
//! these are not reused, and a thread's number cannot be passed where a process's is wanted.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[doc = $doc:literal])+ $name:ident) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl $name {
            /// The number as an index, for tables that are dense in it.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A thread, as numbered in `threads`.
    ThreadId
}
id! {
    /// A process, as numbered in `processes`.
    ProcessId
}
id! {
    /// A file, socket, lock or other thing, as numbered in `objects`.
    ObjectId
}
id! {
    /// An executable, library or other origin of code, as numbered in `modules`.
    ModuleId
}
id! {
    /// A place in code, as numbered in `frames`.
    FrameId
}
id! {
    /// A stack, as numbered in `stacks`.
    StackId
}
id! {
    /// A task (a goroutine), as numbered in `tasks`.
    TaskId
}
id! {
    /// A tag, as numbered in `tags`.
    TagId
}
