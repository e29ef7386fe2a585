//! `code`: functions, and who called whom as a tree; `flame`: how long each node of it was in which state.

use super::{model, TileTime};

model! {
    /// All code that stacks are of. The same for every tile of `flame`.
    pub struct Code {
        pub modules: Vec<String>,
        pub functions: Functions,
        pub nodes: Nodes,
        /// Why time has no stack, in words; `rests` of a flame refer to them.
        pub missing: Vec<String>,
    }

    #[derive(Default)]
    pub struct Functions {
        /// Empty for code without a name in its module.
        pub name: Vec<String>,
        /// As an index into `modules`, counted from 1; 0 if not known.
        pub module: Vec<u32>,
        /// The file of its first frame, as an index into `files`, counted from 1.
        pub file: Vec<u32>,
        pub kind: Vec<FunctionKind>,
        pub files: Vec<String>,
    }

    /// Whose code it is.
    #[derive(Copy, Eq)]
    #[serde(rename_all = "snake_case")]
    pub enum FunctionKind {
        /// The program's.
        Own,
        /// A library's that others made.
        Library,
        /// What a language brings along, libc, an interpreter.
        Runtime,
        Kernel,
    }

    /// Stacks as a tree: a node is a frame with all that called it. A parent stands before its children.
    #[derive(Default)]
    pub struct Nodes {
        /// The caller, counted from 1; 0 for the outermost frame.
        pub parent: Vec<u32>,
        pub function: Vec<u32>,
        /// 0 if not known.
        pub line: Vec<u32>,
        /// 1 where the outer frames are missing.
        pub cut: Vec<u32>,
    }

    /// Time by stack, state and thread in a tile.
    pub struct FlameTile {
        pub time: TileTime,
        /// Waits at least as long as a bucket, one by one.
        pub long: LongWeights,
        /// All else, by bucket.
        pub short: ShortWeights,
        /// Time without a stack, of the whole recording: at level 0 only. With it, the weights of a thread are those of the ledger.
        pub rests: RestWeights,
        pub is_complete: bool,
    }

    #[derive(Default)]
    pub struct LongWeights {
        /// As an index into `nodes`, counted from 0.
        pub node: Vec<u32>,
        pub thread: Vec<u32>,
        pub state: Vec<u32>,
        pub from_ns: Vec<i64>,
        pub ns: Vec<u64>,
    }

    #[derive(Default)]
    pub struct ShortWeights {
        pub node: Vec<u32>,
        pub thread: Vec<u32>,
        pub state: Vec<u32>,
        pub bucket: Vec<u32>,
        pub ns: Vec<u64>,
        pub count: Vec<u32>,
    }

    #[derive(Default)]
    pub struct RestWeights {
        pub thread: Vec<u32>,
        /// As an index into `missing` of `code`.
        pub missing: Vec<u32>,
        pub state: Vec<u32>,
        pub ns: Vec<u64>,
    }
}
