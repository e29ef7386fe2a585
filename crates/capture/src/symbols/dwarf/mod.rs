//! Debug information: addresses -> functions, files, lines and inlined calls (DWARF 2 to 5, without
//! the kind that is split into `.dwo` files).
//!
//! All wanted addresses are known beforehand. So units are gone through once, what an address needs
//! is picked out as it goes by, and nothing of a unit is kept: memory is that of the sections, whatever
//! they hold. All loops ask a clock whether they may go on, and none of them recurses.

mod closures;
mod functions;
mod lines;
mod names;
mod units;

use super::elf::Elf;
use super::fault::Fault;
use super::texts::Texts;
use super::Named;
use gimli::{DwarfSections, EndianSlice, LittleEndian, SectionId};
use names::Names;
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::Units;

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Dwarf<'a> = gimli::Dwarf<Slice<'a>>;
type Unit<'a> = gimli::Unit<Slice<'a>>;
type UnitRef<'a, 'u> = gimli::UnitRef<'u, Slice<'a>>;

/// The longest that one module may take. Real ones of a gigabyte take some seconds.
const LONGEST: Duration = Duration::from_secs(20);

/// Says when it has taken too long.
pub(super) struct Clock {
    end: Instant,
    steps: u32,
}

impl Clock {
    pub(super) fn start() -> Clock {
        Clock {
            end: Instant::now() + LONGEST,
            steps: 0,
        }
    }

    /// One small step of work.
    fn step(&mut self) -> Result<(), Fault> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(8192) {
            return self.look();
        }
        Ok(())
    }

    /// One large piece of work.
    pub(super) fn look(&self) -> Result<(), Fault> {
        if Instant::now() > self.end {
            return Err(Fault::Time);
        }
        Ok(())
    }
}

/// What the debug information says of one address.
#[derive(Default)]
pub(super) struct Answer {
    /// The innermost inlined call first, the function that has them all last. Empty if it is not known.
    pub(super) frames: Vec<Named>,
    /// The last frame's name is a plain one, which may lack what it is part of (a class, a module).
    pub(super) plain: bool,
}

/// The sections that are needed, as bytes.
pub(super) struct Sections(DwarfSections<Vec<u8>>);

impl Sections {
    /// Reads them; `None` if there are none.
    pub(super) fn read(elf: &Elf) -> Result<Option<Sections>, Fault> {
        let mut any = false;
        let sections = DwarfSections::load(|id| {
            let needed = matches!(
                id,
                SectionId::DebugAbbrev
                    | SectionId::DebugAddr
                    | SectionId::DebugInfo
                    | SectionId::DebugLine
                    | SectionId::DebugLineStr
                    | SectionId::DebugStr
                    | SectionId::DebugStrOffsets
                    | SectionId::DebugRanges
                    | SectionId::DebugRngLists
            );
            if !needed {
                return Ok(Vec::new());
            }
            let name = id.name().as_bytes();
            let packed = [b".z", name.get(1..).unwrap_or_default()].concat();
            let bytes = match elf.named(name).or_else(|| elf.named(&packed)) {
                Some(section) => elf.data(section)?,
                None => Vec::new(),
            };
            any |= id == SectionId::DebugInfo && !bytes.is_empty();
            Ok::<_, Fault>(bytes)
        })?;
        Ok(any.then(|| sections.into()))
    }
}

impl From<DwarfSections<Vec<u8>>> for Sections {
    fn from(sections: DwarfSections<Vec<u8>>) -> Sections {
        Sections(sections)
    }
}

/// What to look for, and where code begins in this module.
pub(super) struct Task<'t> {
    /// Sorted, each once.
    pub(super) addresses: &'t [u64],
    pub(super) code_start: u64,
}

/// Goes through the debug information once, and answers as far as it gets: on a fault, which is told,
/// with what was found before it.
pub(super) fn answer(
    sections: &Sections,
    shared: Option<&Sections>,
    task: &Task,
    texts: &mut Texts,
    answers: &mut [Answer],
) -> Result<(), Fault> {
    let mut clock = Clock::start();
    let dwarf = sections
        .0
        .borrow_with_sup(shared.map(|shared| &shared.0), |bytes| {
            Slice::new(bytes, LittleEndian)
        });
    let units = Units::read(&dwarf, &mut clock)?;
    let sup = dwarf.sup();
    let sup_units = match sup {
        Some(sup) => Some((sup, Units::read(sup, &mut clock)?)),
        None => None,
    };
    let mut names = Names::new((&dwarf, &units), sup_units.as_ref().map(|(d, u)| (*d, u)));
    let mut without_ranges = Vec::new();
    for index in 0..units.len() {
        clock.look()?;
        let Some(unit) = units.open(&dwarf, index) else {
            continue;
        };
        let unit = unit.unit_ref(&dwarf);
        let found = covered(&unit, task, &mut clock);
        match found {
            Ok(Covered::Some(wanted)) => {
                one_unit(&unit, task, wanted, &mut names, texts, &mut clock, answers)?;
            }
            Ok(Covered::Unknown) if without_ranges.len() < 4096 => without_ranges.push(index),
            Err(Fault::Time) => return Err(Fault::Time),
            _ => {}
        }
    }
    // Units that do not say what they cover are asked for what is left.
    for index in without_ranges {
        let left = (0..answers.len()).filter(|at| answers[*at].frames.is_empty());
        let left: Vec<usize> = left.collect();
        let Some(unit) = units.open(&dwarf, index).filter(|_| !left.is_empty()) else {
            continue;
        };
        let unit = unit.unit_ref(&dwarf);
        one_unit(&unit, task, left, &mut names, texts, &mut clock, answers)?;
    }
    Ok(())
}

enum Covered {
    /// The addresses that it covers, by their place among all wanted ones, sorted.
    Some(Vec<usize>),
    None,
    Unknown,
}

/// Which of the wanted addresses a unit covers.
fn covered(unit: &UnitRef, task: &Task, clock: &mut Clock) -> Result<Covered, Fault> {
    let mut ranges = unit.unit_ranges()?;
    let mut found = Vec::new();
    let mut any = false;
    while let Some(range) = ranges.next()? {
        clock.step()?;
        any = true;
        found.extend(inside(task, range));
        // Ranges that overlap without end are no ranges.
        if found.len() > 2 * task.addresses.len() {
            break;
        }
    }
    if !any {
        return Ok(match unit.line_program {
            Some(_) => Covered::Unknown,
            None => Covered::None,
        });
    }
    if found.is_empty() {
        return Ok(Covered::None);
    }
    found.sort_unstable();
    found.dedup();
    Ok(Covered::Some(found))
}

/// The places of the wanted addresses in a range. Ranges below all code belonged to functions that
/// the linker threw away.
fn inside(task: &Task, range: gimli::Range) -> std::ops::Range<usize> {
    if range.begin >= range.end || range.begin < task.code_start {
        return 0..0;
    }
    let from = task.addresses.partition_point(|at| *at < range.begin);
    let to = task.addresses.partition_point(|at| *at < range.end);
    from..to
}

/// Answers for those of the wanted addresses that one unit covers.
fn one_unit<'a>(
    unit: &UnitRef<'a, '_>,
    task: &Task,
    mut wanted: Vec<usize>,
    names: &mut Names<'a, '_>,
    texts: &mut Texts,
    clock: &mut Clock,
    answers: &mut [Answer],
) -> Result<(), Fault> {
    wanted.retain(|at| answers[*at].frames.is_empty());
    if wanted.is_empty() {
        return Ok(());
    }
    let addresses: Vec<u64> = wanted.iter().map(|at| task.addresses[*at]).collect();
    let task = Task {
        addresses: &addresses,
        code_start: task.code_start,
    };
    let places = tolerate(lines::places(unit, &task, clock), vec![None; wanted.len()])?;
    let chains = functions::chains(unit, &task, clock)?;
    let mut files = lines::Files::new(unit);
    for ((at, place), chain) in wanted.into_iter().zip(places).zip(chains) {
        clock.look()?;
        answers[at] = frames(unit, place, &chain, names, &mut files, texts)?;
    }
    Ok(())
}

/// What one part of a unit says, or nothing if that part is damaged. Time that is over is over.
fn tolerate<T>(result: Result<T, Fault>, nothing: T) -> Result<T, Fault> {
    match result {
        Err(Fault::Damaged(_)) => Ok(nothing),
        other => other,
    }
}

/// One address: where it is, the calls that were inlined around it, and the function of them all.
fn frames<'a>(
    unit: &UnitRef<'a, '_>,
    place: Option<lines::FileLine>,
    chain: &[functions::Call],
    names: &mut Names<'a, '_>,
    files: &mut lines::Files,
    texts: &mut Texts,
) -> Result<Answer, Fault> {
    let mut answer = Answer::default();
    let mut place = place;
    for (depth, call) in chain.iter().enumerate().rev() {
        let name = names.name(unit, call.entry, texts)?;
        answer.plain = name.plain;
        answer
            .frames
            .push(named(name.text, place, files, texts, depth > 0));
        place = call.from;
    }
    if answer.frames.is_empty() && place.is_some() {
        // Code with lines, and no function around it: assembler.
        answer.plain = true;
        answer
            .frames
            .push(named(Arc::from(""), place, files, texts, false));
    }
    closures::complete(&mut answer.frames, texts);
    Ok(answer)
}

fn named(
    function: Arc<str>,
    place: Option<lines::FileLine>,
    files: &mut lines::Files,
    texts: &mut Texts,
    inlined: bool,
) -> Named {
    let (file, line) = match place {
        Some(place) => (files.path(place.file, texts), place.line),
        None => (Arc::from(""), None),
    };
    Named {
        function,
        file,
        line,
        inlined,
    }
}
