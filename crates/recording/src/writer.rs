//! Writing a recording: rows go to their tables in any order, the manifest comes last.

use crate::about::{file_name, About, TableEntry, FORMAT_VERSION, MANIFEST, MANIFEST_ON_THE_WAY};
use crate::cells::ColumnSink;
use crate::error::{Error, ErrorKind, Result};
use crate::files::{Folder, TableFile};
use crate::limits::{GROUP_BYTES, GROUP_ROWS, ROW_BYTES};
use crate::store::Recording;
use crate::table::{Column, TableRow};
use crate::tables;
use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A table with fewer rows is not compressed. Each column would need a compressor and each reader of it another, which cost
/// far more than so few rows weigh: of a program that ran for a moment, they took longer than all else that is written.
const COMPRESSED_ROWS: usize = 200;

/// The Parquet schema of a table.
fn schema(name: &str, columns: &[Column]) -> parquet::errors::Result<TypePtr> {
    let mut fields = Vec::with_capacity(columns.len());
    for column in columns {
        let repetition = if column.nullable {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        let physical = column.kind.physical();
        let mut field =
            Type::primitive_type_builder(column.name, physical).with_repetition(repetition);
        if physical == parquet::basic::Type::BYTE_ARRAY {
            field = field
                .with_logical_type(Some(LogicalType::String))
                .with_converted_type(ConvertedType::UTF8);
        }
        fields.push(Arc::new(field.build()?));
    }
    Ok(Arc::new(
        Type::group_type_builder(name).with_fields(fields).build()?,
    ))
}

/// How the columns of a table are encoded whose first group has so many rows. Chunk statistics let a query skip row groups;
/// page indexes would cost more than small tables weigh.
fn properties(columns: &[Column], rows: usize) -> parquet::errors::Result<WriterProperties> {
    let compression = match rows {
        ..COMPRESSED_ROWS => Compression::UNCOMPRESSED,
        _ => Compression::ZSTD(ZstdLevel::try_new(1)?),
    };
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("timesink ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(compression)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for column in columns {
        let path = ColumnPath::from(column.name);
        let dictionary = column.kind.has_dictionary();
        properties = properties.set_column_dictionary_enabled(path.clone(), dictionary);
        if !dictionary && column.kind.physical() == parquet::basic::Type::INT64 {
            properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok(properties.build())
}

/// Where a table goes. How it is encoded is known once it has its first group of rows: until then it is an empty file.
struct TableOut {
    empty: Option<TableFile>,
    writer: Option<SerializedFileWriter<TableFile>>,
}

impl TableOut {
    /// The writer of a table whose first group has so many rows.
    fn begun<R: TableRow>(
        &mut self,
        rows: usize,
    ) -> parquet::errors::Result<&mut SerializedFileWriter<TableFile>> {
        if let Some(file) = self.empty.take() {
            let properties = Arc::new(properties(R::COLUMNS, rows)?);
            let schema = schema(R::NAME, R::COLUMNS)?;
            self.writer = Some(SerializedFileWriter::new(file, schema, properties)?);
        }
        let failed = || ParquetError::General("the table could not be begun".to_owned());
        self.writer.as_mut().ok_or_else(failed)
    }

    /// Writes the footer.
    fn finish<R: TableRow>(mut self) -> parquet::errors::Result<TableFile> {
        self.begun::<R>(0)?;
        let failed = || ParquetError::General("the table could not be begun".to_owned());
        self.writer.ok_or_else(failed)?.into_inner()
    }
}

/// Writes one table. Rows are kept until a row group is full; nothing is allocated before the first.
pub struct TableWriter<R: TableRow> {
    file: TableOut,
    name: String,
    rows: Vec<R>,
    heap_bytes: usize,
    written: u64,
}

impl<R: TableRow> TableWriter<R> {
    fn create(directory: &Folder) -> Result<TableWriter<R>> {
        let file_name = file_name(R::NAME);
        let file = TableFile::new(directory.create_file(&file_name)?);
        let name = directory.path_of(&file_name).display().to_string();
        Ok(TableWriter {
            file: TableOut {
                empty: Some(file),
                writer: None,
            },
            name,
            rows: Vec::new(),
            heap_bytes: 0,
            written: 0,
        })
    }

    /// Appends a row.
    pub fn push(&mut self, row: R) -> Result<()> {
        let row_bytes = row.heap_bytes();
        if row_bytes > ROW_BYTES {
            let fault = format!("a row of {row_bytes} bytes is too large to record");
            return Err(Error::new(ErrorKind::TooLong, &self.name, fault));
        }
        self.heap_bytes += row_bytes;
        self.rows.push(row);
        let bytes = self.heap_bytes + self.rows.len() * size_of::<R>();
        if self.rows.len() >= GROUP_ROWS || bytes >= GROUP_BYTES {
            self.write_group()?;
        }
        Ok(())
    }

    /// Rows pushed so far.
    pub fn rows(&self) -> u64 {
        self.written + self.rows.len() as u64
    }

    fn write_group(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut write = || {
            let file = self.file.begun::<R>(self.rows.len())?;
            let group = file.next_row_group()?;
            let mut sink = ColumnSink { group };
            R::encode(&self.rows, &mut sink)?;
            sink.group.close()
        };
        write().map_err(|error| fault(&self.name, error))?;
        self.written += self.rows.len() as u64;
        self.rows.clear();
        self.heap_bytes = 0;
        Ok(())
    }

    /// Writes what is left. The file is not synced: after a power cut the checksum in the manifest
    /// tells, and a sync for each of seventeen files would be felt by whoever records a short run.
    fn finish(mut self) -> Result<TableEntry> {
        self.write_group()?;
        let file = self
            .file
            .finish::<R>()
            .map_err(|error| fault(&self.name, error))?;
        let (bytes, crc32) = file.sums();
        Ok(TableEntry {
            name: R::NAME.to_owned(),
            rows: self.written,
            bytes,
            crc32,
        })
    }
}

/// What Parquet says went wrong while writing; what the system said is somewhere inside.
fn fault(file: &str, error: ParquetError) -> Error {
    if let ParquetError::External(inner) = &error {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            return Error::io(file, io);
        }
    }
    Error::new(ErrorKind::Io, file, error.to_string())
}

/// A table writer of whatever row type.
trait AnyTable: Send {
    fn as_any(&mut self) -> &mut dyn Any;
    fn finish(self: Box<Self>) -> Result<TableEntry>;
}

impl<R: TableRow> AnyTable for TableWriter<R> {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn finish(self: Box<Self>) -> Result<TableEntry> {
        TableWriter::finish(*self)
    }
}

/// Writes a recording into a folder. Dropped without `finish`, it leaves an unfinished one.
pub struct RecordingWriter {
    directory: Folder,
    tables: BTreeMap<&'static str, Box<dyn AnyTable>>,
}

impl RecordingWriter {
    /// Starts a recording in a folder that is new, empty, or holds an unfinished recording: its
    /// tables are worth nothing without a manifest and are replaced, its spool (any file whose name
    /// begins with `spool`) is left alone.
    pub fn create(folder: &Path) -> Result<RecordingWriter> {
        match Folder::make(folder) {
            Err(error) if error.kind() == ErrorKind::Exists => {
                RecordingWriter::within(Folder::open(folder)?)
            }
            made => RecordingWriter::within(made?),
        }
    }

    /// The same in a folder that is open.
    pub fn within(directory: Folder) -> Result<RecordingWriter> {
        let folder = directory.path();
        let names = directory.names()?;
        let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
        if names.iter().any(|name| name == MANIFEST) {
            let fault = "a recording exists here already";
            return Err(Error::new(ErrorKind::Exists, folder, fault));
        }
        let ours = |name: &Cow<str>| {
            *name == MANIFEST_ON_THE_WAY
                || tables::ALL
                    .iter()
                    .any(|table| file_name(table.name) == *name)
        };
        let (left, others): (Vec<_>, Vec<_>) = names.into_iter().partition(ours);
        if let Some(other) = others.iter().find(|name| !name.starts_with("spool")) {
            let fault = format!("the folder contains {other}, which is not part of a recording");
            return Err(Error::new(ErrorKind::Exists, folder, fault));
        }
        for name in left {
            directory.remove(&*name)?;
        }
        let tables = BTreeMap::new();
        Ok(RecordingWriter { directory, tables })
    }

    /// The writer of one table, made when it is first asked for.
    pub fn table<R: TableRow>(&mut self) -> Result<&mut TableWriter<R>> {
        if !self.tables.contains_key(R::NAME) {
            let writer = TableWriter::<R>::create(&self.directory)?;
            self.tables.insert(R::NAME, Box::new(writer));
        }
        self.tables
            .get_mut(R::NAME)
            .and_then(|table| table.as_any().downcast_mut())
            .ok_or_else(|| Error::new(ErrorKind::Io, R::NAME, "two row types have this name"))
    }

    /// Appends a row to its table.
    pub fn push<R: TableRow>(&mut self, row: R) -> Result<()> {
        self.table::<R>()?.push(row)
    }

    /// Copies the tables of another recording, but for those of these names.
    pub fn copy(&mut self, from: &Recording, but: &[&str]) -> Result<()> {
        macro_rules! copy {
            ($row:ident) => {
                if !but.contains(&tables::$row::NAME) {
                    let table = self.table::<tables::$row>()?;
                    let mut copied = Ok(());
                    from.scan::<tables::$row>(|rows| {
                        for row in rows {
                            copied = copied.clone().and_then(|()| table.push(row.clone()));
                        }
                    })?;
                    copied?;
                }
            };
        }
        tables::for_each_table!(copy);
        Ok(())
    }

    /// Finishes all tables, those that were never written too, and then writes the manifest. The
    /// format's version and the tables in `about` are set here; what was written is returned.
    pub fn finish(mut self, mut about: About) -> Result<About> {
        macro_rules! make {
            ($row:ident) => {
                self.table::<tables::$row>()?;
            };
        }
        tables::for_each_table!(make);
        about.format_version = FORMAT_VERSION;
        about.tables = Vec::new();
        for (_, table) in self.tables {
            about.tables.push(table.finish()?);
        }
        let path = self.directory.path_of(MANIFEST);
        let json = about
            .to_json()
            .map_err(|error| Error::new(ErrorKind::Io, &path, error.to_string()))?;
        // Neither is the manifest synced: two waits for the disk, for a file that says nothing without the tables.
        self.directory
            .replace(MANIFEST, MANIFEST_ON_THE_WAY, &json)?;
        Ok(about)
    }
}
