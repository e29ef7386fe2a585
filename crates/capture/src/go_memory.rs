//! The goroutines of a process of Go as they stand in its memory: the runtime keeps a list of all, running or not. The probes see those that
//! a thread is at work for; one that waits, and was never seen at work, is known from here alone.
//!
//! The process runs on while it is read, and nothing that it says is trusted: a goroutine is one only if it stands as one before and
//! after its stack was read, and no more is read at a time than is set here. Pure.

use std::collections::{HashMap, HashSet};

use crate::probes::events::ts_go;

/// Memory of a process that is read at many places at once.
pub trait Scattered {
    /// So many bytes from each of these addresses on, one after the other; zeros where there is no memory. None: the process is gone.
    fn read(&self, addresses: &[u64], length: usize) -> Option<Vec<u8>>;
}

/// As events.h has it: of the functions of one that is left.
const MOST_PLACES: usize = 64;
/// As far as a goroutine is read to know how it stands, and to know all of it: in every version the words lie before that.
const STANDING: usize = 21 * 8;
const GOROUTINE: usize = 46 * 8;
/// Where it tells the bounds of its stack, and where it was left.
const STACK: usize = 0;
const LEFT_SP: usize = 56;
const LEFT_IP: usize = 64;
/// So much of the stack of one is read: parked ones seldom have more.
const STACK_READ: usize = 4096;
const LARGEST_STACK: u64 = 1 << 30;
/// So many are looked at in one go; the next ones in the next.
const MOST_AT_ONCE: u64 = 2048;
/// Of so many slices it is looked whether they are the list. Measured 2026-11-27: 154 in the 0.2 MB of a small program.
const MOST_SLICES: usize = 16384;
/// Those that are behind so many others in the list are not looked at.
pub const MOST: u64 = 1 << 16;
/// Stacks are read so many at a time.
const STACKS_AT_ONCE: usize = 128;

/// How Go numbers the states of its goroutines, and a bit that is set while a stack is looked through.
const READY: u32 = 1;
const RUNNING: u32 = 2;
const WAITING: u32 = 4;
const DEAD: u32 = 6;
const SCANNED: u32 = 0x1000;

fn word(bytes: &[u8], at: usize) -> u64 {
    let part = bytes.get(at..at.saturating_add(8));
    part.and_then(|part| part.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks_exact(8)
        .map(|word| self::word(word, 0))
        .collect()
}

/// One that was found other than it was when it was looked at before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    pub number: u64,
    /// The number of the one that started it; 0: not known.
    pub parent: u64,
    pub started_at: u64,
    pub entry: u64,
    pub state: u32,
    /// When it was looked at before, or its place in the list was; 0: never.
    pub before: u64,
    /// Where it stood, innermost first.
    pub places: Vec<u64>,
    /// There are no more callers.
    pub whole: bool,
}

/// What is remembered of one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Standing {
    number: u64,
    state: u32,
    sp: u64,
    ip: u64,
}

impl Standing {
    /// Whether no thread is at work for it.
    fn is_left(&self) -> bool {
        self.state == WAITING || self.state == READY
    }

    /// Of one that was told of before.
    fn sight(&self) -> Sight {
        Sight {
            number: self.number,
            state: self.state,
            ..Sight::default()
        }
    }
}

/// A goroutine as it was read.
struct Goroutine<'b>(&'b [u8]);

impl Goroutine<'_> {
    fn standing(&self, layout: &ts_go) -> Standing {
        let number = layout.number as usize;
        let is_one = self.has_stack();
        Standing {
            number: if is_one { word(self.0, number) } else { 0 },
            state: word(self.0, number.saturating_sub(8)) as u32 & !SCANNED,
            sp: word(self.0, LEFT_SP),
            ip: word(self.0, LEFT_IP),
        }
    }

    fn stack(&self) -> (u64, u64) {
        (word(self.0, STACK), word(self.0, STACK + 8))
    }

    /// How much of its stack lies before where it was left.
    fn stack_used(&self) -> usize {
        let used = self.stack().1.saturating_sub(word(self.0, LEFT_SP));
        used.min(STACK_READ as u64) as usize
    }

    /// One that has ended may have none.
    fn has_stack(&self) -> bool {
        let (low, high) = self.stack();
        low == 0 && high == 0 || low < high && high - low <= LARGEST_STACK && high % 8 == 0
    }

    fn sight(&self, layout: &ts_go, standing: Standing) -> Sight {
        let at = |offset: u32| match offset {
            0 => 0,
            _ => word(self.0, offset as usize),
        };
        Sight {
            number: standing.number,
            parent: at(layout.parent),
            started_at: at(layout.started_at),
            entry: at(layout.entry),
            state: standing.state,
            ..Sight::default()
        }
    }

    /// Its functions, by their frame pointers, in what was read of its stack from where it was left on. Whether these are all.
    fn places(&self, layout: &ts_go, stack: &[u8]) -> (Vec<u64>, bool) {
        let (low, high) = self.stack();
        let (sp, ip) = (word(self.0, LEFT_SP), word(self.0, LEFT_IP));
        let mut places = vec![ip];
        if sp < low || sp >= high {
            return (Vec::new(), false);
        }
        let length = (high - sp).min(stack.len() as u64);
        let mut frame = word(self.0, layout.left_bp as usize);
        while places.len() < MOST_PLACES {
            let at = frame.wrapping_sub(sp);
            if frame < sp || !frame.is_multiple_of(8) || at.saturating_add(16) > length {
                return (places, false);
            }
            let caller = word(stack, at as usize);
            places.push(word(stack, at as usize + 8));
            if caller <= frame {
                return (places, caller == 0);
            }
            frame = caller;
        }
        (places, false)
    }
}

/// Those of one process.
pub struct Goroutines {
    layout: ts_go,
    /// Where the runtime has its list of all.
    list: u64,
    known: HashMap<u64, Standing>,
    /// When those from a place in the list on were looked at last.
    looked: HashMap<u64, u64>,
    /// The numbers of those that threads were at work for since they were looked at.
    worked: HashSet<u64>,
    /// The place in the list of the next one to be looked at.
    next: u64,
    /// There are more than are looked at.
    pub too_many: bool,
}

/// Where the list of all is, in the part of the program's memory that it began with zeros in: it is the slice of which the first one
/// is the goroutine that the program began with, which has the number 1 for as long as it runs.
pub fn find_list(
    zeroed: (u64, u64),
    layout: &ts_go,
    memory: &impl Scattered,
) -> Option<Option<u64>> {
    let (start, length) = zeroed;
    let bytes = memory.read(&[start], length as usize)?;
    let words = words(&bytes);
    let slices = words.windows(3).enumerate().filter(|(_, slice)| {
        let [list, count, room] = **slice else {
            return false;
        };
        list % 8 == 0 && list >= 4096 && count >= 1 && count <= room && room < 1 << 32
    });
    let slices: Vec<(usize, &[u64])> = slices.take(MOST_SLICES).collect();
    let lists: Vec<u64> = slices.iter().map(|(_, slice)| slice[0]).collect();
    let first = self::words(&memory.read(&lists, 8)?);
    let bytes = memory.read(&first, GOROUTINE)?;
    let found = slices.iter().zip(bytes.chunks_exact(GOROUTINE));
    let found = found.filter(|(_, bytes)| {
        let one = Goroutine(bytes);
        one.has_stack() && one.stack().1 > 0 && one.standing(layout).number == 1
    });
    let longest = found.max_by_key(|((_, slice), _)| slice[1]);
    Some(longest.map(|((index, _), _)| start.wrapping_add(8 * *index as u64)))
}

impl Goroutines {
    pub fn new(layout: ts_go, list: u64) -> Goroutines {
        Goroutines {
            layout,
            list,
            known: HashMap::new(),
            looked: HashMap::new(),
            worked: HashSet::new(),
            next: 0,
            too_many: false,
        }
    }

    /// A thread was at work for this one: where it stands by now is told, also if that is where it stood before.
    pub fn worked(&mut self, number: u64) {
        // Those that are not in the list any more are never asked for.
        if self.worked.len() as u64 >= MOST {
            self.worked.clear();
        }
        self.worked.insert(number);
    }

    /// Looks at some of them, `now`. None: the process is gone, or is another program by now.
    pub fn look(&mut self, now: u64, memory: &impl Scattered) -> Option<Vec<Sight>> {
        let slice = words(&memory.read(&[self.list], 24)?);
        let [list, count, room] = *slice.as_slice() else {
            return None;
        };
        if count > room || list % 8 != 0 || list == 0 {
            return None;
        }
        self.too_many |= count > MOST;
        let count = count.min(MOST);
        let from = if self.next < count { self.next } else { 0 };
        let until = count.min(from + MOST_AT_ONCE);
        self.next = until;
        let length = 8 * until.saturating_sub(from) as usize;
        let all = words(&memory.read(&[list.wrapping_add(8 * from)], length)?);
        let bytes = memory.read(&all, STANDING)?;
        let before = self.looked.insert(from, now).unwrap_or(0);
        let mut sights = Vec::new();
        let mut left: Vec<(u64, &[u8])> = Vec::new();
        for (&address, bytes) in all.iter().zip(bytes.chunks_exact(STANDING)) {
            let stands = Goroutine(bytes).standing(&self.layout);
            let known = self.known.get(&address).copied().unwrap_or_default();
            let worked = stands.is_left() && self.worked.remove(&stands.number);
            if stands == known && !worked || stands.number == 0 {
                continue;
            }
            if stands.is_left() {
                left.push((address, bytes));
                continue;
            }
            self.known.insert(address, stands);
            // What it does now threads tell; that it no longer waits is not told by anybody else.
            if known.is_left() {
                let same = known.number == stands.number && stands.state != DEAD;
                let state = if same { RUNNING } else { DEAD };
                sights.push(Standing { state, ..known }.sight());
            }
        }
        for left in left.chunks(STACKS_AT_ONCE) {
            sights.extend(self.look_at_stacks(left, memory)?);
        }
        for sight in &mut sights {
            sight.before = before;
        }
        Some(sights)
    }

    /// Where these stand. What has moved since is looked at another time.
    fn look_at_stacks(
        &mut self,
        left: &[(u64, &[u8])],
        memory: &impl Scattered,
    ) -> Option<Vec<Sight>> {
        let from = left.iter().map(|(_, bytes)| word(bytes, LEFT_SP));
        let used = left.iter().map(|(_, bytes)| Goroutine(bytes).stack_used());
        let length = used.max().unwrap_or(0).clamp(16, STACK_READ) / 8 * 8;
        let stacks = memory.read(&from.collect::<Vec<u64>>(), length)?;
        let addresses: Vec<u64> = left.iter().map(|(address, _)| *address).collect();
        let again = memory.read(&addresses, GOROUTINE)?;
        let mut sights = Vec::new();
        let all = stacks
            .chunks_exact(length)
            .zip(again.chunks_exact(GOROUTINE));
        for ((address, bytes), (stack, again)) in left.iter().zip(all) {
            let (one, again) = (Goroutine(bytes), Goroutine(again));
            let now = one.standing(&self.layout);
            if now != again.standing(&self.layout) || one.stack() != again.stack() {
                continue;
            }
            let known = self.known.insert(*address, now).unwrap_or_default();
            if known.is_left() && known.number != now.number {
                let state = DEAD;
                sights.push(Standing { state, ..known }.sight());
            }
            let (places, whole) = again.places(&self.layout, stack);
            sights.push(Sight {
                places,
                whole,
                ..again.sight(&self.layout, now)
            });
        }
        Some(sights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go_layout;
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    const LIST: u64 = 0x50_0010;
    const ALL: u64 = 0xc0_0000_0000;

    /// Words at addresses.
    #[derive(Default)]
    struct Drawn(RefCell<BTreeMap<u64, u64>>);

    impl Drawn {
        fn set(&self, at: u64, words: &[u64]) {
            let pairs = words.iter().enumerate();
            let pairs = pairs.map(|(index, word)| (at + 8 * index as u64, *word));
            self.0.borrow_mut().extend(pairs);
        }

        /// A goroutine with its list: where it was left in `main.wait`, called by `main.work`.
        fn goroutine(&self, index: u64, number: u64, state: u64) -> u64 {
            let layout = layout();
            let at = 0xc0_0010_0000 + index * 0x1000;
            let stack = 0xc0_1000_0000 + index * 0x1000;
            self.set(ALL + 8 * index, &[at]);
            self.set(at, &[stack, stack + 0x800]);
            let sp = stack + 0x700;
            self.set(at + LEFT_SP as u64, &[sp, 0x40_1000]);
            self.set(at + u64::from(layout.left_bp), &[sp + 0x20]);
            self.set(at + u64::from(layout.number) - 8, &[state, number]);
            self.set(at + u64::from(layout.entry), &[0x40_3000]);
            self.set(at + u64::from(layout.started_at), &[0x40_4000]);
            self.set(sp + 0x20, &[sp + 0x60, 0x40_2000, 0, 0, 0, 0, 0, 0]);
            self.set(sp + 0x60, &[0, 0x40_3010]);
            at
        }
    }

    impl Scattered for Drawn {
        fn read(&self, addresses: &[u64], length: usize) -> Option<Vec<u8>> {
            let memory = self.0.borrow();
            let word = |at: u64| memory.get(&at).copied().unwrap_or(0).to_le_bytes();
            let words = (0..length as u64 / 8).map(|word| 8 * word);
            let words: Vec<u64> = words.collect();
            let all = addresses
                .iter()
                .flat_map(|at| words.iter().map(move |word| at + word));
            Some(all.flat_map(word).collect())
        }
    }

    fn layout() -> ts_go {
        let mut build = b"\xff Go buildinf:\x08\x02".to_vec();
        build.resize(32, 0);
        build.extend(b"\x08go1.26.1");
        go_layout::layout_by(&build).expect("a known version")
    }

    fn drawn(count: u64) -> Drawn {
        let drawn = Drawn::default();
        // Two slices of other things before it, one of them of a goroutine that is not the first.
        drawn.set(0x50_0000, &[0xc0_0200_0000, 3]);
        drawn.set(LIST, &[ALL, count, 64]);
        drawn.set(0x50_0040, &[ALL + 8, 1, 1]);
        for index in 0..count {
            drawn.goroutine(index, index + 1, 4);
        }
        drawn
    }

    fn told(sights: &[Sight]) -> Vec<(u64, u32, usize)> {
        let all = sights.iter();
        all.map(|sight| (sight.number, sight.state, sight.places.len()))
            .collect()
    }

    #[test]
    fn the_list_begins_with_the_first_goroutine() {
        let memory = drawn(2);
        let found = find_list((0x50_0000, 0x100), &layout(), &memory);
        assert_eq!(found, Some(Some(LIST)));
        let none = find_list((0x60_0000, 0x100), &layout(), &memory);
        assert_eq!(none, Some(None));
    }

    #[test]
    fn what_waits_is_told_once() {
        let memory = drawn(2);
        let mut all = Goroutines::new(layout(), LIST);
        let sights = all.look(100, &memory).expect("there");
        assert_eq!(told(&sights), [(1, 4, 3), (2, 4, 3)]);
        assert_eq!(sights[0].places, [0x40_1000, 0x40_2000, 0x40_3010]);
        assert!(sights[0].whole && sights[0].entry == 0x40_3000);
        assert_eq!(all.look(120, &memory), Some(Vec::new()));
        // One runs and one has ended; a third one waits in its place.
        memory.goroutine(0, 1, 2);
        memory.goroutine(1, 7, 4 | 0x1000);
        let sights = all.look(130, &memory).expect("there");
        assert_eq!(told(&sights), [(1, 2, 0), (2, 6, 0), (7, 4, 3)]);
        assert!(sights.iter().all(|sight| sight.before == 120));
        memory.goroutine(0, 1, 4);
        memory.goroutine(1, 7, 6);
        let sights = all.look(100, &memory).expect("there");
        assert_eq!(told(&sights), [(7, 6, 0), (1, 4, 3)]);
    }

    #[test]
    fn what_worked_and_waits_again_is_told_again() {
        let memory = drawn(2);
        let mut all = Goroutines::new(layout(), LIST);
        assert_eq!(all.look(100, &memory).map(|sights| sights.len()), Some(2));
        all.worked(2);
        let sights = all.look(120, &memory).expect("there");
        assert_eq!(told(&sights), [(2, 4, 3)]);
        assert_eq!(all.look(140, &memory), Some(Vec::new()));
    }

    /// What runs when it is first seen is not told: threads tell that.
    #[test]
    fn what_runs_is_not_told() {
        let memory = drawn(1);
        memory.goroutine(0, 1, 3);
        let mut all = Goroutines::new(layout(), LIST);
        assert_eq!(all.look(100, &memory), Some(Vec::new()));
    }

    /// Long lists are looked at in parts, and of endless ones no more than that.
    #[test]
    fn lists_have_a_limit() {
        let memory = drawn(1);
        memory.set(LIST, &[ALL, 1 << 20, 1 << 20]);
        let mut all = Goroutines::new(layout(), LIST);
        assert!(all.look(100, &memory).is_some() && all.too_many);
        for _ in 0..MOST / MOST_AT_ONCE {
            assert!(all.next <= MOST && all.look(100, &memory).is_some());
        }
        memory.set(LIST, &[ALL, 9, 3]);
        assert_eq!(all.look(100, &memory), None, "no slice");
    }

    /// Memory full of what looks like slices is not followed without end.
    #[test]
    fn not_all_that_looks_like_a_list_is_followed() {
        struct Counted(RefCell<usize>);
        impl Scattered for Counted {
            fn read(&self, addresses: &[u64], length: usize) -> Option<Vec<u8>> {
                *self.0.borrow_mut() += addresses.len();
                let words =
                    (0..length / 8).flat_map(|word| [8192_u64, 1, 1][word % 3].to_le_bytes());
                Some(addresses.iter().flat_map(|_| words.clone()).collect())
            }
        }
        let memory = Counted(RefCell::default());
        let found = find_list((0x50_0000, 4 << 20), &layout(), &memory);
        assert_eq!(found, Some(None));
        assert!(*memory.0.borrow() <= 1 + 2 * MOST_SLICES);
    }

    /// Frame pointers that lead back, beside, or out of the stack end the walk.
    #[test]
    fn frames_that_lead_nowhere() {
        let memory = drawn(1);
        let sp = 0xc0_1000_0700;
        for (caller, count) in [(sp, 2), (sp + 0x20, 2), (sp + 0x61, 2), (u64::MAX - 7, 2)] {
            memory.set(sp + 0x20, &[caller]);
            let mut all = Goroutines::new(layout(), LIST);
            let sights = all.look(100, &memory).expect("there");
            assert_eq!(sights[0].places.len(), count, "{caller:x}");
            assert!(!sights[0].whole);
        }
    }
}
