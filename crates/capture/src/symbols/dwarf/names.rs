//! Names of functions: from an entry along its references, through other units and the part that
//! several programs share, to where the name stands.

use super::units::Units;
use super::{Dwarf, Fault, Slice, Unit, UnitRef};
use crate::symbols::demangle::{demangled, is_mangled};
use crate::symbols::texts::Texts;
use gimli::{AttributeValue, DebugInfoOffset, UnitOffset};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// References are followed so far. Real ones need three.
const FARTHEST: usize = 16;
/// Other units that are held open for the references into them.
const MOST_OPEN: usize = 32;

#[derive(Clone)]
pub(super) struct Name {
    pub(super) text: Arc<str>,
    /// Without what it is part of.
    pub(super) plain: bool,
}

/// One file's debug information, and the units of it that references led into.
struct DebugFile<'a, 'd> {
    dwarf: &'d Dwarf<'a>,
    units: &'d Units,
    open: HashMap<usize, Rc<Unit<'a>>>,
}

/// Where an entry is: in the shared part or not, and its offset in `.debug_info`.
type EntryAt = (bool, usize);

pub(super) struct Names<'a, 'd> {
    main: DebugFile<'a, 'd>,
    shared: Option<DebugFile<'a, 'd>>,
    known: HashMap<EntryAt, Name>,
}

/// What an entry says of its name.
struct Said<'a> {
    linkage: Option<Slice<'a>>,
    plain: Option<Slice<'a>>,
    next: Option<EntryAt>,
}

impl<'a, 'd> Names<'a, 'd> {
    pub(super) fn new(
        main: (&'d Dwarf<'a>, &'d Units),
        shared: Option<(&'d Dwarf<'a>, &'d Units)>,
    ) -> Names<'a, 'd> {
        let part = |(dwarf, units)| DebugFile {
            dwarf,
            units,
            open: HashMap::new(),
        };
        Names {
            main: part(main),
            shared: shared.map(part),
            known: HashMap::new(),
        }
    }

    /// The name of an entry of `unit`; empty if it has none.
    pub(super) fn name(
        &mut self,
        unit: &UnitRef<'a, '_>,
        entry: UnitOffset,
        texts: &mut Texts,
    ) -> Result<Name, Fault> {
        let Some(start) = entry.to_debug_info_offset(&unit.header) else {
            return Ok(nameless());
        };
        let place = (false, start.0);
        if let Some(name) = self.known.get(&place) {
            return Ok(name.clone());
        }
        let mut plain = None;
        let mut linkage = None;
        let mut other = None;
        let mut said = said(unit, entry, false);
        for _ in 0..FARTHEST {
            let Some(here) = said else { break };
            plain = plain.or(here.plain);
            other = other.or(here.linkage);
            // In C and others such a name differs only where the linker is told some trick.
            linkage = here.linkage.filter(|name| is_mangled(name.slice()));
            let (None, Some(next)) = (linkage, here.next) else {
                break;
            };
            said = self.follow(next);
        }
        let name = match linkage.or(plain).or(other) {
            Some(text) => Name {
                text: texts.keep(&demangled(text.slice())),
                plain: linkage.is_none(),
            },
            None => nameless(),
        };
        self.known.insert(place, name.clone());
        Ok(name)
    }

    fn follow(&mut self, (shared, offset): EntryAt) -> Option<Said<'a>> {
        let part = match shared {
            true => self.shared.as_mut()?,
            false => &mut self.main,
        };
        let (dwarf, unit) = (part.dwarf, part.holding(offset)?);
        let entry = DebugInfoOffset(offset).to_unit_offset(&unit.header)?;
        said(&unit.unit_ref(dwarf), entry, shared)
    }
}

impl<'a> DebugFile<'a, '_> {
    fn holding(&mut self, offset: usize) -> Option<Rc<Unit<'a>>> {
        let index = self.units.holding(offset)?;
        if let Some(unit) = self.open.get(&index) {
            return Some(unit.clone());
        }
        let unit = Rc::new(self.units.open(self.dwarf, index)?);
        if self.open.len() >= MOST_OPEN {
            self.open.clear();
        }
        self.open.insert(index, unit.clone());
        Some(unit)
    }
}

fn nameless() -> Name {
    Name {
        text: Arc::from(""),
        plain: true,
    }
}

fn said<'a>(unit: &UnitRef<'a, '_>, entry: UnitOffset, shared: bool) -> Option<Said<'a>> {
    let mut entries = unit.entries_raw(Some(entry)).ok()?;
    let kind = entries.read_abbreviation().ok()??;
    let mut said = Said {
        linkage: None,
        plain: None,
        next: None,
    };
    for spec in kind.attributes() {
        let attribute = entries.read_attribute(*spec).ok()?;
        let value = attribute.value();
        match attribute.name() {
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                said.linkage = unit.attr_string(value).ok();
            }
            gimli::DW_AT_name => said.plain = unit.attr_string(value).ok(),
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                said.next = match value {
                    AttributeValue::UnitRef(offset) => {
                        let offset = offset.to_debug_info_offset(&unit.header);
                        offset.map(|offset| (shared, offset.0))
                    }
                    AttributeValue::DebugInfoRef(offset) => Some((shared, offset.0)),
                    AttributeValue::DebugInfoRefSup(offset) => Some((true, offset.0)),
                    _ => None,
                };
            }
            _ => {}
        }
    }
    Some(said)
}
