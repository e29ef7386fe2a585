//! `modules`: where code came from.

use crate::ids::ModuleId;
use crate::table::table;
use crate::words::{ModuleKind, SymbolSource};

table! {
    /// An executable, a library or another origin of code that some frame is in.
    table modules, row Module, since 2 {
        /// The module.
        module: ModuleId,
        /// What it is.
        kind: ModuleKind,
        /// Its path as the program saw it; for code without a file what it is called.
        path: String,
        /// Its build id in hexadecimal; empty where it has none.
        build_id: String,
        /// Where the names of its functions are from.
        symbols: SymbolSource,
    }
}
