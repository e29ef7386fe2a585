//! Work that is done side by side, in threads of ours.

use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;

/// What a thread of ours came to; its panic is ours.
pub fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
