//! The entries of a file in TOML, each with its line, so that what is wrong can be told where it stands.

use std::ops::Range;

use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// What is wrong, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    pub line: usize,
    pub text: String,
}

/// Who wrote the file has more than enough to mend; the rest is told as one more complaint.
pub const MOST: usize = 20;

/// A name in a complaint may be as long as the file.
const LONGEST: usize = 300;

/// A file's text, and what is wrong with it so far.
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

    /// The table that the file is; of one that is no TOML, what can be read of it.
    pub fn table(&mut self) -> DeTable<'a> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors.iter().take(MOST + 1) {
            self.add(error.span().unwrap_or_default(), error.message());
        }
        table.into_inner()
    }

    /// That something is wrong here.
    pub fn add(&mut self, at: Range<usize>, text: impl Into<String>) {
        self.add_with(at, || text.into());
    }

    /// The same, where it takes long to say what.
    pub fn add_with(&mut self, at: Range<usize>, text: impl FnOnce() -> String) {
        let line = self.lines.partition_point(|&start| start <= at.start) + 1;
        match self.found.len() {
            told if told < MOST => {
                let text = text().chars().take(LONGEST).collect();
                self.found.push(Complaint { line, text });
            }
            MOST => {
                let text = format!("and more, which is not told: only the first {MOST} faults are");
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
