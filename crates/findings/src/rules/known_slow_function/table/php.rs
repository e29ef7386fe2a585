//! What PHP has itself.

use super::Gain::Nothing;
use super::{From, Measured, Slow};

pub static TABLE: Measured = Measured {
    on: "2026-11-30",
    slow: &[
        // Measured: 18,000 rows, each merged into an array of those before it, 0.68 s, and 0.02 s appended to it.
        Slow {
            what: "merging arrays of PHP (array_merge)",
            from: From::Php,
            functions: &["array_merge"],
            instead: "append to the array ($all[] = $row, or array_push), or collect the parts and merge them once",
            gain: Nothing,
        },
        Slow {
            what: "searching arrays of PHP (in_array, array_search)",
            from: From::Php,
            functions: &["in_array", "array_search"],
            instead: "keep what is searched for as keys of an array, and use isset",
            gain: Nothing,
        },
    ],
};
