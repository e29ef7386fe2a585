//! Lines: a unit's line program is run once, and only the rows that a wanted address lies in are kept.

use super::{Clock, Fault, Slice, Task, UnitRef};
use crate::symbols::demangle::cut;
use crate::symbols::texts::Texts;
use gimli::AttributeValue;
use std::collections::HashMap;
use std::sync::Arc;

/// A line of a file, which the unit has a number for.
#[derive(Clone, Copy)]
pub(super) struct FileLine {
    pub(super) file: u64,
    pub(super) line: Option<u32>,
}

/// The line of each address.
pub(super) fn places(
    unit: &UnitRef,
    task: &Task,
    clock: &mut Clock,
) -> Result<Vec<Option<FileLine>>, Fault> {
    let mut found = vec![None; task.addresses.len()];
    let Some(program) = unit.line_program.clone() else {
        return Ok(found);
    };
    let mut rows = program.rows();
    // The row before this one, which reaches up to it, and the first wanted address that is not before it.
    let mut before: Option<(u64, FileLine)> = None;
    let mut next = 0;
    while let Some((_, row)) = rows.next_row()? {
        clock.step()?;
        let address = row.address();
        match before {
            Some((start, place)) if start <= address => {
                while let Some(wanted) = task.addresses.get(next).filter(|at| **at < address) {
                    // A sequence that begins below all code is of a function that was thrown away.
                    if *wanted >= start && found[next].is_none() {
                        found[next] = Some(place);
                    }
                    next += 1;
                }
            }
            _ if address < task.code_start => next = task.addresses.len(),
            _ => next = task.addresses.partition_point(|at| *at < address),
        }
        before = (!row.end_sequence()).then(|| {
            let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
            let file = row.file_index();
            (address, FileLine { file, line })
        });
    }
    Ok(found)
}

/// The paths of a unit's files, put together as they are asked for.
pub(super) struct Files<'a, 'u> {
    unit: UnitRef<'a, 'u>,
    known: HashMap<u64, Arc<str>>,
}

impl<'a, 'u> Files<'a, 'u> {
    pub(super) fn new(unit: &UnitRef<'a, 'u>) -> Files<'a, 'u> {
        Files {
            unit: *unit,
            known: HashMap::new(),
        }
    }

    pub(super) fn path(&mut self, file: u64, texts: &mut Texts) -> Arc<str> {
        if let Some(path) = self.known.get(&file) {
            return path.clone();
        }
        let path = texts.keep(&cut(&self.render(file).unwrap_or_default()));
        self.known.insert(file, path.clone());
        path
    }

    fn render(&self, file: u64) -> Option<String> {
        let header = self.unit.line_program.as_ref()?.header();
        let entry = header.file(file)?;
        let mut path = match &self.unit.comp_dir {
            Some(folder) => String::from_utf8_lossy(folder.slice()).into_owned(),
            None => String::new(),
        };
        if let Some(folder) = entry.directory(header) {
            // Folder 0 is the unit's own, which is there already.
            if entry.directory_index() != 0 || path.is_empty() {
                join(&mut path, &self.text(folder)?);
            }
        }
        join(&mut path, &self.text(entry.path_name())?);
        Some(path)
    }

    fn text(&self, value: AttributeValue<Slice<'a>>) -> Option<String> {
        let text = self.unit.attr_string(value).ok()?;
        // Longer ones are cut in the end anyway.
        let bytes = text.slice();
        let bytes = bytes.get(..8192).unwrap_or(bytes);
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Goes on from a folder, or starts anew at a path that begins at the root.
fn join(path: &mut String, more: &str) {
    if more.starts_with('/') {
        path.clear();
    } else if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(more.strip_prefix("./").unwrap_or(more));
}
