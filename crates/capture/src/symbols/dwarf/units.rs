//! The units of the debug information, opened one at a time. What opening one costs in memory is
//! looked at first, because a few bytes may stand for a large table.

use super::{Clock, Dwarf, Fault, Slice, Unit};
use crate::symbols::elf::Record;
use gimli::{Abbreviations, AttributeValue, DebugInfoOffset, Reader, Section, UnitHeader};
use std::cell::RefCell;
use std::sync::Arc;

/// More units than that are not looked at; browsers have some ten thousands.
const MOST_UNITS: usize = 1 << 20;
/// The longest table of a unit's kinds of entries, and of its files.
const LONGEST_TABLE: usize = 4 << 20;

/// Where each unit begins.
pub(super) struct Units {
    starts: Vec<usize>,
    /// The table of kinds that was used last: units next to each other may share one.
    last: RefCell<Option<(usize, Arc<Abbreviations>)>>,
}

impl Units {
    pub(super) fn read(dwarf: &Dwarf, clock: &mut Clock) -> Result<Units, Fault> {
        let mut starts = Vec::new();
        let mut headers = dwarf.units();
        // What comes behind a damaged header cannot be found, what was before it is as good as ever.
        while let Ok(Some(header)) = headers.next() {
            clock.step()?;
            if let Some(offset) = header.debug_info_offset() {
                starts.push(offset.0);
            }
            if starts.len() == MOST_UNITS {
                break;
            }
        }
        Ok(Units {
            starts,
            last: RefCell::new(None),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Which unit holds an offset into `.debug_info`, if any does.
    pub(super) fn holding(&self, offset: usize) -> Option<usize> {
        self.starts
            .partition_point(|start| *start <= offset)
            .checked_sub(1)
    }

    pub(super) fn open<'a>(&self, dwarf: &Dwarf<'a>, index: usize) -> Option<Unit<'a>> {
        let start = *self.starts.get(index)?;
        let header = dwarf.unit_header(DebugInfoOffset(start)).ok()?;
        let kinds = self.kinds(dwarf, &header)?;
        if !lines_are_bounded(dwarf, &header, &kinds) {
            return None;
        }
        gimli::Unit::new_with_abbreviations(dwarf, header, kinds).ok()
    }

    fn kinds<'a>(
        &self,
        dwarf: &Dwarf<'a>,
        header: &UnitHeader<Slice<'a>>,
    ) -> Option<Arc<Abbreviations>> {
        let offset = header.debug_abbrev_offset();
        if let Some((last, kinds)) = self.last.borrow().as_ref() {
            if *last == offset.0 {
                return Some(kinds.clone());
            }
        }
        let table = dwarf.debug_abbrev.reader().slice().get(offset.0..)?;
        if !is_bounded(Slice::new(table, gimli::LittleEndian)) {
            return None;
        }
        let kinds = dwarf.abbreviations(header).ok()?;
        *self.last.borrow_mut() = Some((offset.0, kinds.clone()));
        Some(kinds)
    }
}

/// Whether a table of kinds of entries ends before it is too long.
fn is_bounded(mut table: Slice) -> bool {
    let whole = table.len();
    while whole - table.len() <= LONGEST_TABLE {
        // A table that is cut short is for the parser to refuse: it goes no further than this.
        match skip_kind(&mut table) {
            Ok(true) => {}
            Ok(false) | Err(_) => return true,
        }
    }
    false
}

/// Goes over one kind of entry: a code, a tag, whether there are children, and pairs of name and form up
/// to one of zeros. False at the end of the table.
fn skip_kind(table: &mut Slice) -> gimli::Result<bool> {
    if table.read_uleb128()? == 0 {
        return Ok(false);
    }
    table.read_uleb128()?;
    table.read_u8()?;
    let whole = table.len();
    while whole - table.len() <= LONGEST_TABLE {
        let (name, form) = (table.read_uleb128()?, table.read_uleb128()?);
        if form == u64::from(gimli::DW_FORM_implicit_const.0) {
            table.read_sleb128()?;
        }
        if name == 0 && form == 0 {
            break;
        }
    }
    Ok(true)
}

/// Whether the table of files that opening this unit reads is of a sensible length.
fn lines_are_bounded<'a>(
    dwarf: &Dwarf<'a>,
    header: &UnitHeader<Slice<'a>>,
    kinds: &Abbreviations,
) -> bool {
    let root = header.entries_raw(kinds, None).and_then(|mut entries| {
        let mut root = gimli::DebuggingInformationEntry::null();
        entries.read_entry(&mut root)?;
        Ok(root)
    });
    let Ok(root) = root else { return false };
    let Some(AttributeValue::DebugLineRef(at)) = root.attr_value(gimli::DW_AT_stmt_list) else {
        return true;
    };
    let bytes = dwarf.debug_line.reader().slice();
    let head = Record(bytes.get(at.0..).unwrap_or_default());
    // Length, version, from version 5 on two more bytes, and then how long the tables are.
    let (wide, length) = match head.u32(0) {
        Some(u32::MAX) => (true, 12),
        Some(_) => (false, 4),
        None => return false,
    };
    let newer = head.u16(length).is_some_and(|version| version >= 5);
    let at = length + 2 + if newer { 2 } else { 0 };
    let tables = head.word(wide, at, at);
    tables.is_some_and(|tables| tables <= LONGEST_TABLE as u64)
}
