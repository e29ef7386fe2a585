//! Running parsers that others wrote on bytes that others wrote: a panic in one is a fault of the
//! file, and is not printed. (A stack that overflows cannot be caught; recursion is bounded elsewhere.)

use super::fault::Fault;
use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is about to be caught below.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a parser. What it was given by reference must not be looked at again after a fault, unless
/// half a change to it does no harm.
pub(super) fn quietly<T>(parse: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                usual(panic);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(parse));
    QUIET.set(before);
    result.unwrap_or_else(|_| Err(Fault::Damaged("a parser gave up on it".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parser that panics inside of another that is watched is a fault, and the outer one goes on.
    #[test]
    fn a_panic_becomes_a_fault() {
        let result = quietly(|| {
            let inner = quietly::<()>(|| panic!("index out of bounds"));
            assert!(matches!(inner, Err(Fault::Damaged(_))));
            assert!(QUIET.get(), "the outer one is still watched");
            Ok(3)
        });
        assert!(matches!(result, Ok(3)));
        assert!(!QUIET.get());
    }
}
