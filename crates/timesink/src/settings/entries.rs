//! The entries of a TOML file, each with its line, so that errors can be reported with their place.

use std::ops::Range;

use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// An error, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    pub line: usize,
    pub text: String,
}

/// At most so many errors are reported; for the rest there is one more line.
pub const MOST: usize = 20;

/// Names in error messages are cut: one may be as long as the file.
const LONGEST: usize = 300;

/// A file's text, and the errors found in it so far.
pub struct Complaints<'a> {
    text: &'a str,
    /// Where each line begins, from the second on.
    lines: Vec<usize>,
    found: &'a mut Vec<Complaint>,
}

impl<'a> Complaints<'a> {
    pub fn about(text: &'a str, found: &'a mut Vec<Complaint>) -> Complaints<'a> {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = ends.map(|(at, _)| at + 1).collect();
        Complaints { text, lines, found }
    }

    /// The top-level table. If the file is not valid TOML, as much of it as can be read.
    pub fn table(&mut self) -> DeTable<'a> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors.iter().take(MOST + 1) {
            self.add(error.span().unwrap_or_default(), error.message());
        }
        table.into_inner()
    }

    /// Reports an error at this place.
    pub fn add(&mut self, at: Range<usize>, text: impl Into<String>) {
        self.add_with(at, || text.into());
    }

    /// The same, for messages that are expensive to make.
    pub fn add_with(&mut self, at: Range<usize>, text: impl FnOnce() -> String) {
        let line = self.lines.partition_point(|&start| start <= at.start) + 1;
        match self.found.len() {
            told if told < MOST => {
                let text = text().chars().take(LONGEST).collect();
                self.found.push(Complaint { line, text });
            }
            MOST => {
                let text = format!("further errors are not shown: only the first {MOST} are");
                self.found.push(Complaint { line, text });
            }
            _ => {}
        }
    }

    /// The value, if it is a table.
    pub fn table_of<'v, 'i>(
        &mut self,
        value: &'v Spanned<DeValue<'i>>,
        wanted: &str,
    ) -> Option<&'v DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.add(value.span(), wanted);
        }
        table
    }
}
