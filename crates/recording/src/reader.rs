//! Decoding one table from bytes whose checksum is right. A right checksum does not make them
//! harmless: whoever made the file made the checksum too. So all counts are held against each other
//! before anything is allocated by them, what
//! is unpacked is held against what the bytes can stand for (`limits.rs`), and a decoder that panics is a fault of the file.

use crate::about::FORMAT_VERSION;
use crate::caught::caught;
use crate::fault::Fault;
use crate::limits::Budget;
use crate::page_limits;
use crate::table::{RowDecoder, TableRow};
use bytes::Bytes;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;

/// Rows decoded at a time: what they and their columns take stays in the processor's cache.
const BATCH: usize = 4096;

/// Decodes all rows of a table, which must be `rows` in number, and shows them a batch at a time, with the bytes that all
/// rows so far unpacked to.
pub(crate) fn scan<R: TableRow>(
    bytes: Bytes,
    rows: u64,
    version: u32,
    mut visit: impl FnMut(&mut Vec<R>, u64) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut budget = Budget::of(R::NAME, bytes.len() as u64);
    budget.rows(rows)?;
    let file = quietly(|| open::<R>(bytes, rows, version, &budget))?;
    let mut batch: Vec<R> = Vec::new();
    for index in 0..file.num_row_groups() {
        let mut left = file.metadata().row_group(index).num_rows();
        budget.group(u64::try_from(left).unwrap_or(0), size_of::<R>())?;
        let mut decoder = quietly(|| {
            let group = file.get_row_group(index)?;
            R::Decoder::open(&*group)
        })?;
        while left > 0 {
            let take = usize::try_from(left).unwrap_or(BATCH).min(BATCH);
            quietly(|| decoder.read(take, &mut batch, &mut budget))?;
            visit(&mut batch, budget.unpacked())?;
            batch.clear();
            left -= take as i64;
        }
    }
    Ok(())
}

/// Opens the file and holds its counts against the manifest's.
fn open<R: TableRow>(
    bytes: Bytes,
    rows: u64,
    version: u32,
    budget: &Budget,
) -> Result<SerializedFileReader<Bytes>, Fault> {
    let file = SerializedFileReader::new(bytes.clone())?;
    let mut sum = 0u64;
    for group in file.metadata().row_groups() {
        let group_rows = u64::try_from(group.num_rows())
            .map_err(|_| Fault("a row group has a negative number of rows".to_owned()))?;
        let (found, wanted) = (group.num_columns(), R::COLUMNS.len());
        // A later version of the format appends columns; what they held then is not known.
        if found > wanted || found < wanted && version >= FORMAT_VERSION {
            return Err(Fault(format!("{found} columns, expected {wanted}")));
        }
        sum = sum.saturating_add(group_rows);
    }
    if sum != rows {
        return Err(Fault(format!("{sum} rows, but the manifest says {rows}")));
    }
    page_limits::check(&bytes, file.metadata(), budget)?;
    Ok(file)
}

/// Runs a decoder. A panic in it becomes a fault.
fn quietly<T>(decode: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    // What was half decoded is dropped with the fault, so nothing broken is seen afterwards.
    caught(decode).unwrap_or_else(|text| Err(Fault(format!("invalid Parquet data ({text})"))))
}
