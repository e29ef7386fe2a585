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

/// A file's text, and what is wrong with it so far.
pub struct Complaints<'a> {
    text: &'a str,
    found: &'a mut Vec<Complaint>,
}

impl<'a> Complaints<'a> {
    pub fn about(text: &'a str, found: &'a mut Vec<Complaint>) -> Complaints<'a> {
        Complaints { text, found }
    }

    /// The table that the file is; of one that is no TOML, what can be read of it.
    pub fn table(&mut self) -> DeTable<'a> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            self.add(error.span().unwrap_or_default(), error.message());
        }
        table.into_inner()
    }

    /// That something is wrong here.
    pub fn add(&mut self, at: Range<usize>, text: impl Into<String>) {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        self.found.push(Complaint {
            line: before.matches('\n').count() + 1,
            text: text.into(),
        });
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
