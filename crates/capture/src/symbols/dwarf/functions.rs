//! Functions and the calls that were inlined into them: which of a unit's entries reach over an address.

use super::{inside, Clock, Fault, Slice, Task, UnitRef};
use crate::symbols::dwarf::lines::FileLine;
use gimli::{Abbreviation, AttributeValue, EntriesRaw, UnitOffset};

/// Calls inlined deeper than that are left out, the innermost ones first.
const DEEPEST: usize = 64;
/// How deep functions and inlined calls are nested before what is below is not looked at.
const DEEPEST_NESTING: usize = 512;

/// A function, or a call that was inlined.
pub(super) struct Call {
    /// The entry that leads to its name.
    pub(super) entry: UnitOffset,
    /// The place of the call.
    pub(super) from: Option<FileLine>,
}

/// An entry whose children are being gone through.
struct Open {
    depth: isize,
    entry: UnitOffset,
    /// It reaches over something that is wanted.
    covers: bool,
}

/// For each address the function that it is in and then the calls inlined around it, outermost first.
pub(super) fn chains(
    unit: &UnitRef,
    task: &Task,
    clock: &mut Clock,
) -> Result<Vec<Vec<Call>>, Fault> {
    let mut chains: Vec<Vec<Call>> = Vec::new();
    chains.resize_with(task.addresses.len(), Vec::new);
    match walk(unit, task, clock, &mut chains) {
        // What was found before the damage is as good as ever.
        Ok(()) | Err(Fault::Damaged(_)) => Ok(chains),
        Err(fault) => Err(fault),
    }
}

fn walk(
    unit: &UnitRef,
    task: &Task,
    clock: &mut Clock,
    chains: &mut [Vec<Call>],
) -> Result<(), Fault> {
    let mut entries = unit.entries_raw(None)?;
    let mut open: Vec<Open> = Vec::new();
    let mut found: Vec<usize> = Vec::new();
    while !entries.is_empty() {
        clock.step()?;
        let (entry, depth) = (entries.next_offset(), entries.next_depth());
        let Some(kind) = entries.read_abbreviation()? else {
            continue;
        };
        // Any entry, a block of statements too, ends what is beside it.
        while open.last().is_some_and(|last| last.depth >= depth) {
            open.pop();
        }
        let inlined = kind.tag() == gimli::DW_TAG_inlined_subroutine;
        let function = kind.tag() == gimli::DW_TAG_subprogram;
        if !inlined && !function {
            entries.skip_attributes(kind.attributes())?;
            continue;
        }
        // A call that was inlined lies within the function that it was inlined into.
        let within = open.last().is_some_and(|last| last.covers);
        if open.len() >= DEEPEST_NESTING || inlined && !within {
            entries.skip_attributes(kind.attributes())?;
            continue;
        }
        found.clear();
        let from = read(unit, &mut entries, kind, task, clock, &mut found)?;
        if found.len() > 1024 {
            clock.look()?;
        }
        for at in &found {
            let parent = open.last().filter(|_| inlined).map(|last| last.entry);
            add(&mut chains[*at], parent, Call { entry, from });
        }
        if kind.has_children() {
            open.push(Open {
                depth,
                entry,
                covers: !found.is_empty(),
            });
        }
    }
    Ok(())
}

/// Adds to what is known of an address. The first function that reaches over it is the one: others are
/// the same code under another name.
fn add(chain: &mut Vec<Call>, parent: Option<UnitOffset>, call: Call) {
    let last = chain.last().map(|last| last.entry);
    if last == parent && chain.len() < DEEPEST {
        chain.push(call);
    }
}

/// Reads what an entry reaches over, as places among the wanted addresses, and where it is called from.
fn read<'a>(
    unit: &UnitRef<'a, '_>,
    entries: &mut EntriesRaw<Slice<'a>>,
    kind: &Abbreviation,
    task: &Task,
    clock: &mut Clock,
    found: &mut Vec<usize>,
) -> Result<Option<FileLine>, Fault> {
    let (mut low, mut high, mut size, mut list) = (None, None, None, None);
    let (mut file, mut line) = (None, None);
    for spec in kind.attributes() {
        let attribute = entries.read_attribute(*spec)?;
        let value = attribute.value();
        match attribute.name() {
            gimli::DW_AT_low_pc => low = unit.attr_address(value)?,
            gimli::DW_AT_high_pc => match unit.attr_address(value)? {
                Some(address) => high = Some(address),
                None => size = attribute.udata_value(),
            },
            gimli::DW_AT_ranges => list = unit.attr_ranges_offset(value)?,
            gimli::DW_AT_call_file => {
                file = match value {
                    AttributeValue::FileIndex(file) => Some(file),
                    other => other.udata_value(),
                }
            }
            gimli::DW_AT_call_line => line = attribute.udata_value(),
            _ => {}
        }
    }
    if let Some(list) = list {
        let mut ranges = unit.ranges(list)?;
        while let Some(range) = ranges.next()? {
            clock.step()?;
            found.extend(inside(task, range));
            // Ranges that overlap without end are no ranges.
            if found.len() > 2 * task.addresses.len() {
                break;
            }
        }
    } else if let Some(begin) = low {
        let end = high.or_else(|| begin.checked_add(size?));
        found.extend(inside(
            task,
            gimli::Range {
                begin,
                end: end.unwrap_or(begin),
            },
        ));
    }
    let line = line.and_then(|line| u32::try_from(line).ok());
    Ok(file.map(|file| FileLine {
        file,
        line: line.filter(|line| *line > 0),
    }))
}
