//! Stacks by their registers, for those that come again without a copy. Kept by thread, because a thread that
//! executes another program forgets its own, and others must not be looked through for that.

use std::collections::HashMap;

/// With more of them, of all threads, all are forgotten.
const MOST: usize = 1 << 16;

/// Which stack of a thread: with which registers, and a mark of what else tells it from others: frames of Python or
/// Java, the stack of a goroutine.
pub type Key = (u64, u64, u64, u64);

/// The node that a stack ends in, and whether it is whole.
pub type Found = (u32, bool);

#[derive(Default)]
pub struct Remembered {
    by_thread: HashMap<u32, HashMap<Key, Found>>,
    number: usize,
}

impl Remembered {
    pub fn get(&self, thread: u32, key: Key) -> Option<Found> {
        self.by_thread.get(&thread)?.get(&key).copied()
    }

    pub fn insert(&mut self, thread: u32, key: Key, found: Found) {
        if self.number >= MOST {
            self.by_thread.clear();
            self.number = 0;
        }
        let own = self.by_thread.entry(thread).or_default();
        self.number += usize::from(own.insert(key, found).is_none());
    }

    /// All stacks of one thread.
    pub fn forget(&mut self, thread: u32) {
        let own = self.by_thread.remove(&thread);
        self.number -= own.map_or(0, |own| own.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that executes another program has no stacks any more; others keep theirs.
    #[test]
    fn a_thread_forgets_its_own() {
        let mut remembered = Remembered::default();
        let key = (1, 2, 3, 4);
        remembered.insert(7, key, (70, true));
        remembered.insert(8, key, (80, false));
        remembered.insert(7, key, (71, true));
        assert_eq!(remembered.number, 2);
        assert_eq!(remembered.get(7, key), Some((71, true)));
        remembered.forget(7);
        remembered.forget(9);
        assert_eq!(remembered.get(7, key), None);
        assert_eq!(remembered.get(8, key), Some((80, false)));
        assert_eq!(remembered.number, 1);
    }

    /// However many stacks come, a bounded number is kept, the latest among them.
    #[test]
    fn no_more_than_there_is_room_for() {
        let mut remembered = Remembered::default();
        for at in 0..3 * MOST as u64 / 2 {
            remembered.insert(at as u32 % 5, (at, 0, 0, 0), (1, true));
            let kept: usize = remembered.number;
            assert!(kept <= MOST);
        }
        let kept: usize = remembered.by_thread.values().map(HashMap::len).sum();
        assert_eq!(kept, remembered.number);
        let last = 3 * MOST as u64 / 2 - 1;
        assert!(remembered.get(last as u32 % 5, (last, 0, 0, 0)).is_some());
    }
}
