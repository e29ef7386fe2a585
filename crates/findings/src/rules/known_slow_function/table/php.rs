//! What PHP has itself.

use super::Gain::Nothing;
use super::{From, Measured, Slow};

pub static TABLE: Measured = Measured {
    on: "2026-11-30",
    slow: &[Slow {
        what: "searching arrays of PHP (in_array, array_search)",
        from: From::Php,
        functions: &["in_array", "array_search"],
        instead: "keep what is searched for as keys of an array, and use isset",
        gain: Nothing,
    }],
};
