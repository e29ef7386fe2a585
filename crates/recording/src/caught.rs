//! Running decoders that others wrote on bytes that others wrote: a panic in one is a fault of the bytes, and is not
//! printed. (A stack that overflows cannot be caught.)

use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is about to be caught below, and is to be kept quiet.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder; if it panics, the panic's text. What it was given by reference must not be looked at again after
/// that, unless half a change to it does no harm.
pub fn caught<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
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
    let result = catch_unwind(AssertUnwindSafe(decode));
    QUIET.set(before);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("no reason given").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic is told by its text, inside of another call that is watched, which goes on and is still watched.
    #[test]
    fn a_panic_becomes_a_text() {
        let result = caught(|| {
            let inner = caught::<()>(|| panic!("index {} out of bounds", 7));
            assert_eq!(inner, Err("index 7 out of bounds".to_owned()));
            assert!(QUIET.get(), "the outer one is still watched");
            3
        });
        assert_eq!(result, Ok(3));
        assert!(!QUIET.get());
    }
}
