//! Where in the kernel threads sleep in calls that have one place for it. That is told with a thread's first wait in such a call; of those
//! that follow it is known.

use rustc_hash::FxHashMap;

use crate::probes::{events, CopiedStack};

/// With more threads, all are forgotten, and of each some waits have no frames in the kernel until they are told again.
const MOST: usize = 1 << 16;

/// Addresses in the kernel, innermost first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KernelFrames {
    pub count: u8,
    pub frame: [u64; events::TS_FRAMES as usize],
}

#[derive(Default)]
pub struct KnownPlaces {
    by_thread: FxHashMap<u32, KernelFrames>,
}

impl KnownPlaces {
    /// The frames in the kernel of a stack: its own, or those that were last told of its thread's waits in such a call.
    pub fn frames_of(&mut self, stack: &CopiedStack<'_>) -> KernelFrames {
        let own = KernelFrames {
            count: stack.frames,
            frame: stack.frame,
        };
        if u32::from(stack.user) & events::TS_ONE_PLACE == 0 {
            return own;
        }
        let thread = stack.head.thread;
        if own.count == 0 {
            return self.by_thread.get(&thread).copied().unwrap_or_default();
        }
        if self.by_thread.len() >= MOST {
            self.by_thread.clear();
        }
        self.by_thread.insert(thread, own);
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::stack;
    use zerocopy::IntoBytes;

    fn frames_of(places: &mut KnownPlaces, thread: u32, user: u32, frames: &[u64]) -> Vec<u64> {
        let mut told = vec![0u8; size_of::<events::ts_stack>()];
        let mut put = |at: usize, bytes: &[u8]| told[at..at + bytes.len()].copy_from_slice(bytes);
        let head = events::ts_head {
            kind: events::TS_STACK as u8,
            thread,
            ..Default::default()
        };
        put(0, head.as_bytes());
        put(std::mem::offset_of!(events::ts_stack, user), &[user as u8]);
        put(
            std::mem::offset_of!(events::ts_stack, frames),
            &[frames.len() as u8],
        );
        put(
            std::mem::offset_of!(events::ts_stack, frame),
            frames.as_bytes(),
        );
        let stack = stack(&told).expect("it is whole");
        let found = places.frames_of(&stack);
        found.frame[..usize::from(found.count)].to_vec()
    }

    /// What a thread's first wait has told holds for its next ones, and for nobody else's.
    #[test]
    fn told_once_for_each_thread() {
        let mut places = KnownPlaces::default();
        let place = events::TS_ONE_PLACE;
        assert_eq!(frames_of(&mut places, 7, place, &[]), [0; 0]);
        assert_eq!(frames_of(&mut places, 7, place, &[1, 2]), [1, 2]);
        assert_eq!(frames_of(&mut places, 7, place, &[]), [1, 2]);
        assert_eq!(frames_of(&mut places, 8, place, &[]), [0; 0]);
        assert_eq!(frames_of(&mut places, 7, place, &[3]), [3]);
        assert_eq!(frames_of(&mut places, 7, place, &[]), [3]);
    }

    /// Other waits have their own frames, or none.
    #[test]
    fn other_waits_are_left_alone() {
        let mut places = KnownPlaces::default();
        assert_eq!(
            frames_of(&mut places, 7, events::TS_ONE_PLACE, &[1, 2]),
            [1, 2]
        );
        assert_eq!(frames_of(&mut places, 7, 0, &[5]), [5]);
        assert_eq!(frames_of(&mut places, 7, 0, &[]), [0; 0]);
        assert_eq!(frames_of(&mut places, 7, events::TS_ONE_PLACE, &[]), [1, 2]);
    }
}
