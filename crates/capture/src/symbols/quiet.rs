//! Running parsers that others wrote on bytes that others wrote: a panic in one is a fault of the
//! file. (A stack that overflows cannot be caught; recursion is bounded elsewhere.)

use super::fault::{damaged, Fault};
use timesink_recording::caught;

/// Runs a parser. What it was given by reference must not be looked at again after a fault, unless
/// half a change to it does no harm.
pub(super) fn quietly<T>(parse: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    caught(parse).unwrap_or_else(|_| Err(damaged("a parser gave up on it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parser that panics is a fault of what it parses.
    #[test]
    fn a_panic_becomes_a_fault() {
        let result = quietly::<()>(|| panic!("index out of bounds"));
        assert!(matches!(result, Err(Fault::Damaged(_))));
    }
}
