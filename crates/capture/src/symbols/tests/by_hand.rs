//! Debug information put together by hand, for what no compiler can be relied on to write.

use super::super::dwarf::{answer, Answer, Sections, Task};
use super::super::texts::Texts;
use super::shown;
use gimli::{DwarfSections, SectionId};

const UNIT: u8 = 1;
const FUNCTION: u8 = 2;
const INLINED: u8 = 3;
const BLOCK: u8 = 4;
/// A function whose name stands elsewhere.
const REFERENCE: u8 = 5;

/// Where code begins.
const CODE: u64 = 0x1000;

/// One unit. Each entry has children, up to `end`.
struct Unit(Vec<u8>);

impl Unit {
    fn new() -> Unit {
        // Length (set at the end), version 4, table of kinds at 0, addresses of 8 bytes.
        let mut unit = Unit(vec![0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8]);
        unit.entry(UNIT, CODE, 0x100, "unit");
        unit
    }

    /// Where the next entry is, counted from the beginning of the unit.
    fn here(&self) -> u32 {
        self.0.len() as u32
    }

    fn entry(&mut self, kind: u8, low: u64, size: u32, name: &str) -> &mut Unit {
        self.0.push(kind);
        self.0.extend(low.to_le_bytes());
        self.0.extend(size.to_le_bytes());
        self.0.extend(name.as_bytes());
        self.0.push(0);
        self
    }

    fn reference(&mut self, low: u64, size: u32, to: u32) -> &mut Unit {
        self.0.push(REFERENCE);
        self.0.extend(low.to_le_bytes());
        self.0.extend(size.to_le_bytes());
        self.0.extend(to.to_le_bytes());
        self
    }

    fn end(&mut self) -> &mut Unit {
        self.0.push(0);
        self
    }

    fn ask(&self, addresses: &[u64]) -> Vec<Vec<String>> {
        let mut info = self.0.clone();
        let length = info.len() as u32 - 4;
        info[..4].copy_from_slice(&length.to_le_bytes());
        // All kinds have low_pc (address), high_pc (4 bytes of length), and name (text) or abstract_origin.
        let mut kinds = Vec::new();
        for (code, tag) in [
            (UNIT, 0x11u8),
            (FUNCTION, 0x2e),
            (INLINED, 0x1d),
            (BLOCK, 0x0b),
            (REFERENCE, 0x2e),
        ] {
            let last = if code == REFERENCE {
                [0x31, 0x13]
            } else {
                [0x03, 0x08]
            };
            kinds.extend([code, tag, 1, 0x11, 0x01, 0x12, 0x06, last[0], last[1], 0, 0]);
        }
        kinds.push(0);
        let sections = DwarfSections::load(|id| {
            Ok::<_, ()>(match id {
                SectionId::DebugInfo => info.clone(),
                SectionId::DebugAbbrev => kinds.clone(),
                _ => Vec::new(),
            })
        });
        let sections = Sections::from(sections.expect("nothing is read"));
        let task = Task {
            addresses,
            code_start: CODE,
        };
        let mut answers = Vec::new();
        answers.resize_with(addresses.len(), Answer::default);
        let mut texts = Texts::default();
        answer(&sections, None, &task, &mut texts, &mut answers).expect("it is well-formed");
        answers.iter().map(|answer| shown(&answer.frames)).collect()
    }
}

/// A call that was inlined within a block is found, also if the block comes after another such call.
#[test]
fn calls_beside_each_other_are_told_apart() {
    let mut unit = Unit::new();
    unit.entry(FUNCTION, 0x1000, 0x40, "outer");
    unit.entry(INLINED, 0x1000, 0x10, "first").end();
    unit.entry(BLOCK, 0x1010, 0x30, "");
    unit.entry(INLINED, 0x1010, 0x10, "second");
    unit.entry(BLOCK, 0x1010, 0x8, "");
    unit.entry(INLINED, 0x1010, 0x8, "third").end();
    unit.end().end().end().end();
    unit.entry(FUNCTION, 0x1040, 0x10, "next").end().end();
    assert_eq!(
        unit.ask(&[0x1004, 0x1012, 0x101c, 0x1030, 0x1044]),
        [
            vec!["+first", "outer"],
            vec!["+third", "+second", "outer"],
            vec!["+second", "outer"],
            vec!["outer"],
            vec!["next"],
        ]
    );
}

/// What the linker threw away lies at 0, and is not taken for the code that is there; of two functions
/// for the same code the first one is the one.
#[test]
fn functions_that_were_thrown_away_are_left_out() {
    let mut unit = Unit::new();
    unit.entry(FUNCTION, 0, 0x10000, "gone").end();
    unit.entry(FUNCTION, 0x1000, 0x10, "here").end();
    unit.entry(FUNCTION, 0x1000, 0x10, "again");
    unit.entry(INLINED, 0x1000, 0x10, "within again")
        .end()
        .end()
        .end();
    assert_eq!(unit.ask(&[0x1008]), [["here"]]);
}

/// References are followed to a name, and not without end.
#[test]
fn references_end() {
    let mut unit = Unit::new();
    let named = unit.here();
    unit.entry(FUNCTION, 0, 0, "named").end();
    let first = unit.here();
    unit.reference(0x1000, 0x10, named).end();
    let itself = unit.here();
    unit.reference(0x1010, 0x10, itself).end();
    unit.reference(0x1020, 0x10, first).end();
    unit.reference(0x1030, 0x10, u32::MAX).end().end();
    assert_eq!(
        unit.ask(&[0x1000, 0x1010, 0x1020, 0x1030]),
        [["named"], [""], ["named"], [""]]
    );
}

/// Calls inlined into each other so deep that going down by recursion would end the process are cut.
#[test]
fn deep_nesting_is_cut() {
    const DEPTH: usize = 300_000;
    let mut unit = Unit::new();
    unit.entry(FUNCTION, 0x1000, 0x10, "outer");
    for _ in 0..DEPTH {
        unit.entry(INLINED, 0x1000, 0x10, "");
    }
    for _ in 0..DEPTH + 2 {
        unit.end();
    }
    let frames = &unit.ask(&[0x1008])[0];
    assert_eq!(frames.len(), 64);
    assert_eq!(frames[63], "outer");
}
