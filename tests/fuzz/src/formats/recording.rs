//! Recordings, in folders and packed: tables changed by bytes and by values, with a manifest that vouches for them, and
//! the manifest itself.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Type;
use parquet::column::reader::{get_typed_column_reader, ColumnReader};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use serde_json::Value;
use timesink_analysis::facts::Facts;
use timesink_analysis::outlook::{Outlook, Patience};
use timesink_analysis::replay::CallsOfWaits;
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::timeline::Timeline;
use timesink_analysis::waits::Waited;
use timesink_recording::{caught, Recording};

use super::ask;
use crate::corpus;
use crate::coverage::reading_begins;
use crate::draws::{Random, Rounds};
use crate::mutate::{self, EDGES, TEXTS};

/// A folder, all of whose files may be changed.
pub fn folder(random: &mut Random) {
    let to = Path::new("input.timesink");
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).expect("a folder");
    let from = corpus::path("real.timesink");
    let mut tables = Vec::new();
    for entry in fs::read_dir(from).expect("the corpus") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        fs::copy(&path, to.join(&name)).expect("copied");
        tables.extend(name.strip_suffix(".parquet").map(str::to_owned));
    }
    tables.sort();
    let manifest = to.join("recording.json");
    let text = fs::read(&manifest).expect("a manifest");
    let mut about: Value = serde_json::from_slice(&text).expect("JSON");
    let mut rounds = Rounds::about(random, &[2]);
    while rounds.one_more(random) {
        let table = random.one(&tables).clone();
        change(to, &table, &mut about, random);
    }
    if random.once_in(4) {
        any_value(&mut about, random);
    }
    let mut text = about.to_string().into_bytes();
    if random.once_in(20) {
        mutate::bytes(&mut text, random);
    }
    fs::write(&manifest, text).expect("written");
    read(to, random);
}

/// One file with all of it.
pub fn packed(random: &mut Random) {
    let mut file = corpus::bytes("packed");
    mutate::bytes(&mut file, random);
    let to = Path::new("input.tar");
    fs::write(to, file).expect("written");
    read(to, random);
}

/// Changes a table and what the manifest says of it.
fn change(folder: &Path, table: &str, about: &mut Value, random: &mut Random) {
    let path = folder.join(format!("{table}.parquet"));
    let mut bytes = fs::read(&path).expect("a table");
    let mut rows = None;
    if random.once_in(2) {
        mutate::bytes(&mut bytes, random);
    } else if let Ok(Some((changed, count))) = caught(|| values(&bytes, random)) {
        // A table that was changed before may make Parquet's reader panic; ours has to bear that, not we.
        (bytes, rows) = (changed, Some(count));
    }
    fs::write(&path, &bytes).expect("written");
    let entries = about["tables"].as_array_mut();
    let mut entries = entries.into_iter().flatten();
    if let Some(entry) = entries.find(|entry| entry["name"] == table) {
        entry["bytes"] = bytes.len().into();
        entry["crc32"] = crc32fast::hash(&bytes).into();
        if let Some(rows) = rows {
            entry["rows"] = rows.into();
        }
    }
}

/// The table with some values as others, perhaps with all rows many times; how many rows it has. `None`: it has none.
fn values(table: &[u8], random: &mut Random) -> Option<(Vec<u8>, usize)> {
    let from = SerializedFileReader::new(bytes::Bytes::copy_from_slice(table)).ok()?;
    if from.num_row_groups() == 0 {
        return None;
    }
    let rows = from.get_row_group(0).ok()?;
    let count = usize::try_from(rows.metadata().num_rows()).ok()?;
    let times = if random.once_in(8) { 20 } else { 1 };
    let chosen = random.below(rows.num_columns());
    let schema = rows.metadata().schema_descr().root_schema_ptr();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut to = SerializedFileWriter::new(Vec::new(), schema, properties).ok()?;
    let mut group = to.next_row_group().ok()?;
    for index in 0..rows.num_columns() {
        let reader = rows.get_column_reader(index).ok()?;
        let mut column = group.next_column().ok()??;
        let much = (count, times);
        // Of the other columns nothing is drawn.
        let mut random = (index == chosen).then_some(&mut *random);
        match rows.metadata().column(index).column_type() {
            Type::BOOLEAN => copy::<BoolType>(reader, &mut column, much, |value| {
                if let Some(random) = random.as_mut() {
                    *value = random.once_in(2)
                }
            }),
            Type::INT64 => copy::<Int64Type>(reader, &mut column, much, |value| {
                if let Some(random) = random.as_mut() {
                    let edge = *random.one(&EDGES);
                    *value = *random.one(&[edge, *value, value.wrapping_add(1)]);
                }
            }),
            _ => copy::<ByteArrayType>(reader, &mut column, much, |value| {
                if let Some(random) = random.as_mut() {
                    if random.once_in(2) {
                        *value = ByteArray::from(random.one(&TEXTS).as_bytes().to_vec());
                    }
                }
            }),
        }?;
        column.close().ok()?;
    }
    group.close().ok()?;
    Some((to.into_inner().ok()?, count * times))
}

fn copy<T: DataType>(
    from: ColumnReader,
    to: &mut SerializedColumnWriter<'_>,
    (rows, times): (usize, usize),
    mut change: impl FnMut(&mut T::T),
) -> Option<()> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut from = get_typed_column_reader::<T>(from);
    from.read_records(rows, Some(&mut levels), None, &mut values)
        .ok()?;
    values.iter_mut().for_each(&mut change);
    for _ in 0..times {
        let levels = (!levels.is_empty()).then_some(levels.as_slice());
        to.typed::<T>().write_batch(&values, levels, None).ok()?;
    }
    Some(())
}

/// Puts something else in some place of a value.
fn any_value(value: &mut Value, random: &mut Random) {
    match value {
        Value::Object(fields) if !fields.is_empty() && !random.once_in(20) => {
            let at = random.below(fields.len());
            fields
                .values_mut()
                .nth(at)
                .into_iter()
                .for_each(|inner| any_value(inner, random));
        }
        Value::Array(list) if !list.is_empty() && !random.once_in(4) => {
            let at = random.below(list.len());
            any_value(&mut list[at], random);
        }
        value => {
            *value = match random.below(5) {
                0 => Value::Null,
                1 => (*random.one(&TEXTS)).into(),
                2 => u64::MAX.into(),
                3 => Value::Array(vec![1e300.into(); 3]),
                _ => (*random.one(&EDGES)).into(),
            }
        }
    }
}

/// All that a report is made from; now and then a command as a whole.
fn read(path: &Path, random: &mut Random) {
    const COMMANDS: [&[&str]; 9] = [
        &["report"],
        &["report", "--json"],
        &["report", "--top", "--tree", "--line", "main"],
        &["why"],
        &["whatif"],
        &["whatif", "--cut", "cpu", "--cpus", "4"],
        &["export", "--to", "folded"],
        &["export", "--to", "firefox"],
        &["export", "--to", "speedscope"],
    ];
    if random.once_in(20) {
        let path = path.to_string_lossy();
        return ask(&[*random.one(&COMMANDS), &[&*path]].concat());
    }
    reading_begins();
    let analysed = Recording::open(path).and_then(|recording| {
        let facts = Facts::of(&recording)?;
        let stacks = Stacks::of(&recording, &facts, &Filter::default())?;
        let timeline = Timeline::of(&recording)?;
        Waited::of(&recording, &timeline)?;
        let calls = CallsOfWaits::of(&recording, &timeline)?;
        Outlook::of(
            &recording,
            &timeline,
            &facts,
            &stacks,
            &calls,
            Patience::SHORT,
        )?;
        Ok(())
    });
    if let Err(error) = analysed {
        assert!(!error.to_string().is_empty());
    }
}
