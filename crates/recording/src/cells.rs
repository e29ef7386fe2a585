//! How one value of a table becomes Parquet and comes back. Every type that a column may have is
//! listed here, with its `Option`, and nowhere else.
//!
//! All integers are stored as INT64 without an annotation: unsigned Parquet types make DuckDB and
//! pandas fail or wrap when one column is subtracted from another, which is what queries over times
//! do all day. Dictionary and delta encoding make the width free.

use crate::fault::Fault;
use crate::files::TableFile;
use crate::ids::{FrameId, ModuleId, ObjectId, ProcessId, StackId, TagId, TaskId, ThreadId};
use crate::limits::Budget;
use crate::units::Nanos;
use bytes::Bytes;
use parquet::basic::Type as Physical;
use parquet::column::reader::{get_typed_column_reader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::reader::RowGroupReader;
use parquet::file::writer::SerializedRowGroupWriter;

/// The set of words that a column may hold.
#[derive(Debug, Clone, Copy)]
pub struct WordSet {
    pub name: &'static str,
    pub doc: &'static str,
    /// Each word with what it means; empty where the word says it.
    pub words: &'static [(&'static str, &'static str)],
}

/// What a column holds.
#[derive(Debug, Clone, Copy)]
pub enum CellKind {
    Thread,
    Process,
    Object,
    Module,
    Frame,
    Stack,
    Task,
    Tag,
    /// Nanoseconds since the start of the recording.
    Moment,
    /// Any other number.
    Number,
    Truth,
    Text,
    Word(WordSet),
}

impl CellKind {
    /// As people say it in FORMAT.md.
    pub fn name(self) -> &'static str {
        match self {
            CellKind::Thread => "thread id",
            CellKind::Process => "process id",
            CellKind::Object => "object id",
            CellKind::Module => "module id",
            CellKind::Frame => "frame id",
            CellKind::Stack => "stack id",
            CellKind::Task => "task id",
            CellKind::Tag => "tag id",
            CellKind::Moment => "moment",
            CellKind::Number => "integer",
            CellKind::Truth => "boolean",
            CellKind::Text => "text",
            CellKind::Word(_) => "word",
        }
    }

    /// How Parquet stores it.
    pub fn physical(self) -> Physical {
        match self {
            CellKind::Truth => Physical::BOOLEAN,
            CellKind::Text | CellKind::Word(_) => Physical::BYTE_ARRAY,
            _ => Physical::INT64,
        }
    }

    /// Whether a dictionary pays. Ids and words repeat. Moments and sums do not, but differ little
    /// from row to row, so that they are stored as differences.
    pub fn has_dictionary(self) -> bool {
        !matches!(self, CellKind::Moment | CellKind::Number | CellKind::Truth)
    }
}

/// A word of a closed set. Implemented by `words!` only.
pub trait Word: Copy + 'static {
    const SET: WordSet;
    fn word(self) -> &'static str;
    fn parse(word: &str) -> Option<Self>;
}

/// A value that is always there.
#[doc(hidden)]
pub trait Scalar: Sized {
    const KIND: CellKind;
    type Physical: DataType;
    /// What may be remembered from one value to the next within one batch.
    type Memory: Default;

    fn encode(&self) -> <Self::Physical as DataType>::T;
    fn decode(
        value: &<Self::Physical as DataType>::T,
        memory: &mut Self::Memory,
    ) -> Result<Self, Fault>;
    fn heap_bytes(&self) -> usize {
        0
    }
    /// What the decoded value will hold outside of itself.
    fn copied(_: &<Self::Physical as DataType>::T) -> usize {
        0
    }
}

/// A value that a column may have: a scalar, or an `Option` of one.
#[doc(hidden)]
pub trait Cell: Sized {
    const KIND: CellKind;
    const NULLABLE: bool;
    type Physical: DataType;

    fn encode(&self) -> Option<<Self::Physical as DataType>::T>;
    /// Appends one cell for each level (nullable) or value (not nullable).
    fn decode(
        values: &[<Self::Physical as DataType>::T],
        levels: &[i16],
        out: &mut Vec<Self>,
    ) -> Result<(), Fault>;
    fn heap_bytes(&self) -> usize;
    /// What the decoded values will hold outside of themselves.
    fn copied(values: &[<Self::Physical as DataType>::T]) -> u64;
    /// What stands for a column that an older version of the format does not have; `None` if it
    /// must be there.
    fn absent() -> Option<Self>;
}

impl<S: Scalar> Cell for S {
    const KIND: CellKind = S::KIND;
    const NULLABLE: bool = false;
    type Physical = S::Physical;

    fn encode(&self) -> Option<<S::Physical as DataType>::T> {
        Some(Scalar::encode(self))
    }

    fn decode(
        values: &[<S::Physical as DataType>::T],
        _levels: &[i16],
        out: &mut Vec<S>,
    ) -> Result<(), Fault> {
        let mut memory = S::Memory::default();
        out.reserve(values.len());
        for value in values {
            out.push(<S as Scalar>::decode(value, &mut memory)?);
        }
        Ok(())
    }

    fn heap_bytes(&self) -> usize {
        Scalar::heap_bytes(self)
    }

    fn copied(values: &[<S::Physical as DataType>::T]) -> u64 {
        values
            .iter()
            .map(|value| <S as Scalar>::copied(value) as u64)
            .sum()
    }

    fn absent() -> Option<S> {
        None
    }
}

impl<S: Scalar> Cell for Option<S> {
    const KIND: CellKind = S::KIND;
    const NULLABLE: bool = true;
    type Physical = S::Physical;

    fn encode(&self) -> Option<<S::Physical as DataType>::T> {
        self.as_ref().map(Scalar::encode)
    }

    fn decode(
        values: &[<S::Physical as DataType>::T],
        levels: &[i16],
        out: &mut Vec<Option<S>>,
    ) -> Result<(), Fault> {
        let mut memory = S::Memory::default();
        let mut values = values.iter();
        out.reserve(levels.len());
        for &level in levels {
            out.push(if level == 0 {
                None
            } else {
                let value = values
                    .next()
                    .ok_or_else(|| Fault("fewer values than levels".to_owned()))?;
                Some(<S as Scalar>::decode(value, &mut memory)?)
            });
        }
        Ok(())
    }

    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, Scalar::heap_bytes)
    }

    fn copied(values: &[<S::Physical as DataType>::T]) -> u64 {
        <S as Cell>::copied(values)
    }

    fn absent() -> Option<Option<S>> {
        Some(None)
    }
}

/// A scalar that is stored as a 64-bit integer; `$to` and `$from` say how.
macro_rules! integer_cell {
    ($type:ty, $kind:ident, $to:expr, $from:expr) => {
        impl Scalar for $type {
            const KIND: CellKind = CellKind::$kind;
            type Physical = Int64Type;
            type Memory = ();

            fn encode(&self) -> i64 {
                let to: fn($type) -> i64 = $to;
                to(*self)
            }

            fn decode(value: &i64, _: &mut ()) -> Result<$type, Fault> {
                let from: fn(i64) -> Result<$type, Fault> = $from;
                from(*value)
            }
        }
    };
}

fn narrow(value: i64) -> Result<u32, Fault> {
    u32::try_from(value).map_err(|_| Fault(format!("{value} does not fit in 32 bits")))
}

integer_cell!(ThreadId, Thread, |id| i64::from(id.0), |value| narrow(
    value
)
.map(ThreadId));
integer_cell!(ProcessId, Process, |id| i64::from(id.0), |value| narrow(
    value
)
.map(ProcessId));
integer_cell!(ObjectId, Object, |id| i64::from(id.0), |value| narrow(
    value
)
.map(ObjectId));
integer_cell!(ModuleId, Module, |id| i64::from(id.0), |value| narrow(
    value
)
.map(ModuleId));
integer_cell!(FrameId, Frame, |id| i64::from(id.0), |value| narrow(value)
    .map(FrameId));
integer_cell!(StackId, Stack, |id| i64::from(id.0), |value| narrow(value)
    .map(StackId));
integer_cell!(TaskId, Task, |id| i64::from(id.0), |value| narrow(value)
    .map(TaskId));
integer_cell!(TagId, Tag, |id| i64::from(id.0), |value| narrow(value)
    .map(TagId));
integer_cell!(Nanos, Moment, |moment| moment.0, |value| Ok(Nanos(value)));
integer_cell!(u32, Number, i64::from, narrow);
integer_cell!(i64, Number, |number| number, Ok);
// The bits are kept: a kernel address, above 2^63, reads as negative outside of this crate.
integer_cell!(
    u64,
    Number,
    |number| number as i64,
    |value| Ok(value as u64)
);

impl Scalar for bool {
    const KIND: CellKind = CellKind::Truth;
    type Physical = BoolType;
    type Memory = ();

    fn encode(&self) -> bool {
        *self
    }

    fn decode(value: &bool, _: &mut ()) -> Result<bool, Fault> {
        Ok(*value)
    }
}

/// Where empty text points to. An empty slice may point anywhere, and Rust's usually point to address
/// 1; but a `memcmp` made of masked AVX-512 loads takes 250 ns to find out that it need not read
/// an address that is not mapped. Empty texts are common enough for that to be most of the time.
static SOMEWHERE: &str = "somewhere";

impl Scalar for String {
    const KIND: CellKind = CellKind::Text;
    type Physical = ByteArrayType;
    type Memory = ();

    fn encode(&self) -> ByteArray {
        if self.is_empty() {
            return static_bytes(&SOMEWHERE[..0]);
        }
        ByteArray::from(self.as_str())
    }

    fn decode(value: &ByteArray, _: &mut ()) -> Result<String, Fault> {
        text(value).map(str::to_owned)
    }

    fn heap_bytes(&self) -> usize {
        self.len()
    }

    fn copied(value: &ByteArray) -> usize {
        value.len()
    }
}

fn text(value: &ByteArray) -> Result<&str, Fault> {
    std::str::from_utf8(value.data()).map_err(|_| Fault("text that is not UTF-8".to_owned()))
}

/// The words of a batch that were parsed already, by where their bytes are. Values of one dictionary
/// entry share their bytes, and all values of a batch are alive while it is decoded, so that the
/// same address and length is the same word.
#[doc(hidden)]
pub struct WordMemory<W> {
    slots: [Option<(usize, usize, W)>; 16],
}

impl<W: Copy> Default for WordMemory<W> {
    fn default() -> Self {
        WordMemory { slots: [None; 16] }
    }
}

impl<W: Word> WordMemory<W> {
    /// The word that these bytes spell.
    pub fn parse(&mut self, value: &ByteArray) -> Result<W, Fault> {
        let data = value.data();
        let (address, length) = (data.as_ptr() as usize, data.len());
        let slot = &mut self.slots[(address.wrapping_mul(0x9e37_79b1) >> 7) & 15];
        if let Some((a, l, word)) = *slot {
            if a == address && l == length {
                return Ok(word);
            }
        }
        let word = text(value)?;
        let parsed = W::parse(word).ok_or_else(|| {
            // It may be as long as a page.
            let word: String = word.chars().take(60).collect();
            Fault(format!("{word:?} is not a word of {}", W::SET.name))
        })?;
        *slot = Some((address, length, parsed));
        Ok(parsed)
    }
}

macro_rules! word_cell {
    ($name:ident) => {
        impl $crate::cells::Scalar for $name {
            const KIND: $crate::cells::CellKind =
                $crate::cells::CellKind::Word(<$name as $crate::cells::Word>::SET);
            type Physical = parquet::data_type::ByteArrayType;
            type Memory = $crate::cells::WordMemory<$name>;

            fn encode(&self) -> parquet::data_type::ByteArray {
                $crate::cells::static_bytes(self.as_str())
            }

            fn decode(
                value: &parquet::data_type::ByteArray,
                memory: &mut Self::Memory,
            ) -> Result<$name, $crate::fault::Fault> {
                memory.parse(value)
            }
        }
    };
}
pub(crate) use word_cell;

/// The bytes of a word, not copied.
pub(crate) fn static_bytes(word: &'static str) -> ByteArray {
    ByteArray::from(Bytes::from_static(word.as_bytes()))
}

/// Rows handed to Parquet at a time: enough to spread the cost of a call, few enough that
/// what is made of them stays in the processor's cache.
const CHUNK: usize = 2048;

/// Takes the columns of one row group in order.
#[doc(hidden)]
pub struct ColumnSink<'g> {
    pub(crate) group: SerializedRowGroupWriter<'g, TableFile>,
}

impl ColumnSink<'_> {
    /// Writes the next column.
    pub fn column<'r, T: Cell + 'r>(
        &mut self,
        mut cells: impl Iterator<Item = &'r T>,
    ) -> parquet::errors::Result<()> {
        let Some(mut column) = self.group.next_column()? else {
            return Err(parquet::errors::ParquetError::General(
                "more columns than in the schema".to_owned(),
            ));
        };
        let writer = column.typed::<T::Physical>();
        let mut values = Vec::with_capacity(CHUNK);
        let mut levels: Vec<i16> = Vec::with_capacity(if T::NULLABLE { CHUNK } else { 0 });
        loop {
            values.clear();
            levels.clear();
            let mut taken = 0;
            for cell in cells.by_ref().take(CHUNK) {
                taken += 1;
                let value = cell.encode();
                if T::NULLABLE {
                    levels.push(i16::from(value.is_some()));
                }
                values.extend(value);
            }
            if taken == 0 {
                break;
            }
            writer.write_batch(&values, T::NULLABLE.then_some(levels.as_slice()), None)?;
        }
        column.close()
    }
}

/// Decodes one column of one row group.
#[doc(hidden)]
pub struct ColumnDecoder<T: Cell> {
    name: &'static str,
    /// None: the column came with a later version of the format than the file's.
    reader: Option<ColumnReaderImpl<T::Physical>>,
    values: Vec<<T::Physical as DataType>::T>,
    levels: Vec<i16>,
    cells: Vec<T>,
}

impl<T: Cell> ColumnDecoder<T> {
    /// Opens column `index`, which must be the one that is expected there, in name and in type.
    pub fn open(
        group: &dyn RowGroupReader,
        index: usize,
        name: &'static str,
    ) -> Result<ColumnDecoder<T>, Fault> {
        let schema = group.metadata().schema_descr();
        if index >= schema.num_columns() || index >= group.num_columns() {
            // Whether the version excuses that was looked at when the file was opened.
            return match T::absent() {
                Some(_) => Ok(ColumnDecoder {
                    name,
                    reader: None,
                    values: Vec::new(),
                    levels: Vec::new(),
                    cells: Vec::new(),
                }),
                None => Err(Fault(format!("column {name} is missing"))),
            };
        }
        let found = schema.column(index);
        if found.path().parts() != [name] {
            let path = found.path().string();
            return Err(Fault(format!("expected column {name}, found {path}")));
        }
        if found.physical_type() != T::Physical::get_physical_type()
            || found.max_def_level() != i16::from(T::NULLABLE)
            || found.max_rep_level() != 0
        {
            return Err(Fault(format!("column {name} has the wrong type")));
        }
        Ok(ColumnDecoder {
            name,
            reader: Some(get_typed_column_reader(group.get_column_reader(index)?)),
            values: Vec::new(),
            levels: Vec::new(),
            cells: Vec::new(),
        })
    }

    /// Decodes exactly `rows` cells. Values of a dictionary share their bytes until they are copied, each as often as it
    /// is there: that is taken from the budget before.
    pub fn read(
        &mut self,
        rows: usize,
        budget: &mut Budget,
    ) -> Result<std::vec::Drain<'_, T>, Fault> {
        self.values.clear();
        self.levels.clear();
        self.cells.clear();
        let Some(reader) = &mut self.reader else {
            self.cells.extend((0..rows).filter_map(|_| T::absent()));
            return Ok(self.cells.drain(..));
        };
        let levels = T::NULLABLE.then_some(&mut self.levels);
        let (read, ..) = reader
            .read_records(rows, levels, None, &mut self.values)
            .map_err(|error| Fault(format!("column {}: {error}", self.name)))?;
        if read != rows {
            let name = self.name;
            return Err(Fault(format!(
                "column {name}: {read} values, expected {rows}"
            )));
        }
        budget
            .text(T::copied(&self.values))
            .and_then(|()| T::decode(&self.values, &self.levels, &mut self.cells))
            .map_err(|Fault(fault)| Fault(format!("column {}: {fault}", self.name)))?;
        if self.cells.len() != rows {
            return Err(Fault(format!(
                "column {}: levels and values disagree",
                self.name
            )));
        }
        Ok(self.cells.drain(..))
    }
}
