//! Names are told thousands of times and kept once.

use std::collections::HashSet;
use std::sync::Arc;

/// The most that the names of one module may take. Real ones take a few megabytes.
const MOST_TEXT: usize = 128 << 20;

#[derive(Default)]
pub(super) struct Texts {
    known: HashSet<Arc<str>>,
    bytes: usize,
}

impl Texts {
    /// The text, shared with who had the same one before; empty where there is no room for more.
    pub(super) fn keep(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let text: Arc<str> = if self.bytes.saturating_add(text.len()) > MOST_TEXT {
            Arc::from("")
        } else {
            Arc::from(text)
        };
        self.bytes += text.len();
        self.known.insert(text.clone());
        text
    }
}
