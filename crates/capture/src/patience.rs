//! How long names of functions are looked for: one budget for all of it, whatever it is that they are read from, and
//! whether the user wants it to end.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Names that take longer than that are for `timesink symbolize`.
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Patience {
    /// `None`: it takes as long as it takes.
    left: Cell<Option<Duration>>,
    asked: Arc<AtomicBool>,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience::new(Some(LONGEST))
    }
}

impl Patience {
    fn new(left: Option<Duration>) -> Patience {
        Patience {
            left: Cell::new(left),
            asked: Arc::default(),
        }
    }

    /// For who asks for nothing but names.
    pub fn without_limit() -> Patience {
        Patience::new(None)
    }

    /// What is set when the user wants it to end.
    pub(crate) fn asked(&self) -> Arc<AtomicBool> {
        self.asked.clone()
    }

    /// Why no more names are looked for, if so.
    pub(crate) fn ended(&self) -> Option<&'static str> {
        if self.asked.load(Ordering::Relaxed) {
            return Some("a signal ended the search for names");
        }
        let late = self.left.get().is_some_and(|left| left.is_zero());
        late.then_some("finding names took more than 60 s")
    }

    /// So much of it was used.
    pub(crate) fn spend(&self, time: Duration) {
        let left = self.left.get();
        self.left.set(left.map(|left| left.saturating_sub(time)));
    }
}
