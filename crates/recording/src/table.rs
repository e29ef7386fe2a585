//! `table!` turns the declaration of a table into its row type, its column documentation, its
//! encoder and its decoder; `words!` turns a closed set of words into an enum. Both keep the doc
//! comments as text, because FORMAT.md is made from them: a table is described in one place.

use crate::cells::{CellKind, ColumnSink};
use crate::fault::Fault;
use crate::limits::Budget;
use parquet::file::reader::RowGroupReader;

/// What is known of a column without looking at any data.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    pub kind: CellKind,
    pub nullable: bool,
    pub doc: &'static str,
}

/// A row of one of the tables. Implemented by `table!` only.
pub trait TableRow: Sized + Clone + PartialEq + std::fmt::Debug + Send + 'static {
    /// The table's name; its file is `NAME.parquet`.
    const NAME: &'static str;
    const DOC: &'static str;
    const COLUMNS: &'static [Column];
    /// The version of the format that it came with.
    const SINCE: u32;
    /// The decoders of all columns over one row group.
    type Decoder: RowDecoder<Self>;

    /// Bytes this row holds outside of itself, so that a writer can bound what it buffers.
    #[doc(hidden)]
    fn heap_bytes(&self) -> usize;

    /// Hands the rows to the sink, column after column.
    #[doc(hidden)]
    fn encode(rows: &[Self], sink: &mut ColumnSink<'_>) -> parquet::errors::Result<()>;
}

/// Decodes the rows of one row group, a batch at a time.
#[doc(hidden)]
pub trait RowDecoder<R>: Sized {
    fn open(group: &dyn RowGroupReader) -> Result<Self, Fault>;
    /// Appends exactly `rows` rows or fails.
    fn read(&mut self, rows: usize, out: &mut Vec<R>, budget: &mut Budget) -> Result<(), Fault>;
}

/// The version that a table's declaration names; the first if it names none.
#[doc(hidden)]
pub const fn since(named: &[u32]) -> u32 {
    match named {
        [version, ..] => *version,
        [] => 1,
    }
}

/// Joins the lines of a doc comment into text, without the space that starts each.
#[doc(hidden)]
pub fn join_doc(lines: &str) -> String {
    let lines: Vec<&str> = lines.lines().map(str::trim).collect();
    lines.join(" ").trim().to_owned()
}

/// Declares a table. See `tables/spans.rs` for what a declaration looks like.
macro_rules! table {
    (
        $(#[doc = $doc:literal])+
        table $table:ident, row $row:ident $(, since $since:literal)? {
            $( $(#[doc = $column_doc:literal])+ $column:ident : $kind:ty, )+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct $row {
            $( $(#[doc = $column_doc])+ pub $column: $kind, )+
        }

        const _: () = {
            use $crate::cells::{Cell, ColumnDecoder, ColumnSink};
            use $crate::fault::Fault;

            /// One decoder for each column.
            pub struct Decoder {
                $( $column: ColumnDecoder<$kind>, )+
            }

            impl $crate::table::RowDecoder<$row> for Decoder {
                fn open(
                    group: &dyn parquet::file::reader::RowGroupReader,
                ) -> Result<Decoder, Fault> {
                    let mut columns = 0..;
                    let mut next = || columns.next().unwrap_or(usize::MAX);
                    Ok(Decoder {
                        $( $column: ColumnDecoder::open(group, next(), stringify!($column))?, )+
                    })
                }

                fn read(
                    &mut self,
                    rows: usize,
                    out: &mut Vec<$row>,
                    budget: &mut $crate::limits::Budget,
                ) -> Result<(), Fault> {
                    $( let mut $column = self.$column.read(rows, budget)?; )+
                    out.reserve(rows);
                    while let ( $( Some($column), )+ ) = ( $( $column.next(), )+ ) {
                        out.push($row { $( $column, )+ });
                    }
                    Ok(())
                }
            }

            impl $crate::table::TableRow for $row {
                const NAME: &'static str = stringify!($table);
                const DOC: &'static str = concat!($($doc, "\n"),+);
                const COLUMNS: &'static [$crate::table::Column] = &[
                    $( $crate::table::Column {
                        name: stringify!($column),
                        kind: <$kind as Cell>::KIND,
                        nullable: <$kind as Cell>::NULLABLE,
                        doc: concat!($($column_doc, "\n"),+),
                    }, )+
                ];
                const SINCE: u32 = $crate::table::since(&[$($since)?]);
                type Decoder = Decoder;

                fn heap_bytes(&self) -> usize {
                    0 $( + Cell::heap_bytes(&self.$column) )+
                }

                fn encode(
                    rows: &[Self],
                    sink: &mut ColumnSink<'_>,
                ) -> parquet::errors::Result<()> {
                    $( sink.column(rows.iter().map(|row| &row.$column))?; )+
                    Ok(())
                }
            }
        };
    };
}

/// Declares a closed set of words. See `words.rs`.
macro_rules! words {
    (
        $(#[doc = $doc:literal])+
        $name:ident {
            $( $(#[doc = $word_doc:literal])* $variant:ident = $word:literal, )+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $( $(#[doc = $word_doc])* $variant, )+
        }

        impl $name {
            /// Every word, in the order of declaration.
            pub const ALL: &'static [$name] = &[ $( $name::$variant, )+ ];
            /// Every word with what it means.
            pub const DOCS: &'static [(&'static str, &'static str)] =
                &[ $( ($word, concat!($($word_doc, "\n"),*)), )+ ];

            /// The word as it stands in a recording.
            pub const fn as_str(self) -> &'static str {
                match self { $( $name::$variant => $word, )+ }
            }

            /// The meaning of a word; `None` if it is none of these.
            #[allow(clippy::should_implement_trait)]
            pub fn from_str(word: &str) -> Option<$name> {
                match word { $( $word => Some($name::$variant), )+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl $crate::cells::Word for $name {
            const SET: $crate::cells::WordSet = $crate::cells::WordSet {
                name: stringify!($name),
                doc: concat!($($doc, "\n"),+),
                words: $name::DOCS,
            };
            fn word(self) -> &'static str {
                self.as_str()
            }
            fn parse(word: &str) -> Option<$name> {
                $name::from_str(word)
            }
        }
        $crate::cells::word_cell!($name);
    };
}

pub(crate) use {table, words};
