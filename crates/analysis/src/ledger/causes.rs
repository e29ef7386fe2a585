//! Sums by cause, thread by thread.
//!
//! A recording is sorted by thread, so one small map holds the thread that is passing by and the
//! rest lies in plain lists. Should threads be mixed after all, a thread's list has a cause several
//! times until the end, when they are put together.

use rustc_hash::FxHashMap;

use super::{Cause, Key};

/// How often and how long.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) ns: u64,
}

impl Sum {
    pub(super) fn add(&mut self, ns: u64) {
        self.count += 1;
        self.ns = self.ns.saturating_add(ns);
    }
}

/// The causes of all threads, under way.
pub(super) struct Causes {
    /// The thread that is passing by, and its causes.
    current: usize,
    map: FxHashMap<Key, Sum>,
    lists: Vec<Vec<Cause>>,
}

/// A map that one thread made larger than this is not kept for the next: emptying it takes time
/// by its capacity.
const LARGE: usize = 1024;

impl Causes {
    pub(super) fn new(threads: usize) -> Causes {
        Causes {
            current: 0,
            map: FxHashMap::default(),
            lists: vec![Vec::new(); threads],
        }
    }

    /// One span of the thread at `slot`.
    pub(super) fn add(&mut self, slot: usize, key: Key, ns: u64) {
        if slot != self.current {
            self.lay_down();
            self.current = slot;
        }
        self.map.entry(key).or_default().add(ns);
    }

    fn lay_down(&mut self) {
        if let Some(list) = self.lists.get_mut(self.current) {
            list.reserve(self.map.len());
            list.extend(self.map.drain().map(|(key, sum)| Cause {
                key,
                count: sum.count,
                ns: sum.ns,
                estimated: false,
            }));
        }
        if self.map.capacity() > LARGE {
            self.map = FxHashMap::default();
        }
    }

    /// The causes of each thread, each of them once, in no particular order.
    pub(super) fn finish(mut self) -> Vec<Vec<Cause>> {
        self.lay_down();
        for list in &mut self.lists {
            list.sort_unstable_by_key(|cause| cause.key);
            list.dedup_by(|later, kept| {
                let same = later.key == kept.key;
                if same {
                    kept.count = kept.count.saturating_add(later.count);
                    kept.ns = kept.ns.saturating_add(later.ns);
                }
                same
            });
        }
        self.lists
    }
}
