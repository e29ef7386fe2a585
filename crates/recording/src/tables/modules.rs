//! `modules`: where code came from.

use crate::ids::ModuleId;
use crate::table::table;
use crate::words::{ModuleKind, SymbolSource};

table! {
    /// An executable, a library or another source of code that a frame refers to.
    table modules, row Module, since 2 {
        /// The module.
        module: ModuleId,
        /// What it is.
        kind: ModuleKind,
        /// Its path as the program saw it; for code without a file, a name for it.
        path: String,
        /// Its build id in hexadecimal; empty where it has none.
        build_id: String,
        /// The source of its function names.
        symbols: SymbolSource,
    }
}
