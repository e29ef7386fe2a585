//! What decodes to far more than it is: tables, pages, spools. `report` ends within a gigabyte and two seconds.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Type, ZstdLevel};
use parquet::column::reader::{get_typed_column_reader, ColumnReader};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use timesink_live::{output, timesink, wait_for, Folder};

use super::{confined, forge, recorded};

/// How a table is made of its first row.
struct Bomb<'a> {
    table: &'a str,
    rows: usize,
    /// Rows in a group.
    group: usize,
    /// This column holds this text.
    text: Option<(&'a str, String)>,
    /// This column counts.
    counts: Option<&'a str>,
}

impl Bomb<'_> {
    fn put(&self, recording: &Path) -> u64 {
        let bytes = self.bytes(recording);
        forge(recording, self.table, &bytes, self.rows as u64);
        bytes.len() as u64
    }

    fn bytes(&self, recording: &Path) -> Vec<u8> {
        let honest = fs::read(recording.join(format!("{}.parquet", self.table))).expect("a table");
        let honest = SerializedFileReader::new(bytes::Bytes::from(honest)).expect("Parquet");
        let first = honest.get_row_group(0).expect("a row");
        let schema = first.metadata().schema_descr().root_schema_ptr();
        let level = ZstdLevel::try_new(3).expect("a level");
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .set_dictionary_page_size_limit(1 << 30)
            .set_data_page_row_count_limit(usize::MAX)
            .set_column_encoding("x".into(), Encoding::PLAIN)
            .build();
        let mut writer =
            SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("a writer");
        let mut left = self.rows;
        while left > 0 {
            let rows = left.min(self.group);
            let from = (self.rows - left) as i64;
            let mut group = writer.next_row_group().expect("a group");
            for index in 0..first.num_columns() {
                let column = first.metadata().column(index).column_descr();
                let (name, physical) = (column.name().to_owned(), column.physical_type());
                let reader = first.get_column_reader(index).expect("a column");
                let mut to = group.next_column().expect("a column").expect("one more");
                let mut text = None;
                if let Some((_, value)) = self.text.as_ref().filter(|(of, _)| *of == name) {
                    text = Some(ByteArray::from(value.clone().into_bytes()));
                }
                let counts = self.counts == Some(name.as_str());
                match physical {
                    Type::BOOLEAN => repeat::<BoolType>(reader, &mut to, rows, |_, value| value),
                    Type::INT64 => repeat::<Int64Type>(reader, &mut to, rows, |at, value| {
                        if counts {
                            from + at as i64
                        } else {
                            value
                        }
                    }),
                    _ => repeat::<ByteArrayType>(reader, &mut to, rows, |_, value| {
                        text.clone().unwrap_or(value)
                    }),
                }
                to.close().expect("the column");
            }
            group.close().expect("the group");
            left -= rows;
        }
        writer.into_inner().expect("the file")
    }
}

/// A column of so many times its first value.
fn repeat<T: DataType>(
    from: ColumnReader,
    to: &mut SerializedColumnWriter<'_>,
    rows: usize,
    value: impl Fn(usize, T::T) -> T::T,
) {
    let mut from = get_typed_column_reader::<T>(from);
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    // Of a column that is always there the levels are left alone.
    from.read_records(1, Some(&mut levels), None, &mut values)
        .expect("a value");
    let to = to.typed::<T>();
    for at in (0..rows).step_by(4096) {
        let count = (rows - at).min(4096);
        let level = levels.first().map(|level| vec![*level; count]);
        let many: Vec<T::T> = match values.first() {
            Some(first) => (0..count)
                .map(|more| value(at + more, first.clone()))
                .collect(),
            None => Vec::new(),
        };
        to.write_batch(&many, level.as_deref(), None)
            .expect("written");
    }
}

/// Nothing is believed, and it is said what is too much, and of which file.
#[track_caller]
fn is_refused(bomb: &Bomb<'_>, why: &str) {
    let folder = Folder::new("attack-bomb");
    let recording = recorded(&folder);
    let length = bomb.put(&recording);
    for words in [
        &["report"][..],
        &["report", "--json"],
        &["report", "--top"],
        &["why"],
    ] {
        let ran = confined(words, &recording).exits(1);
        assert!(
            ran.err.contains(&format!("{}.parquet", bomb.table)) && ran.err.contains(why),
            "{length} bytes, {words:?}: {}",
            ran.err
        );
    }
}

/// 2 kB of frames, whose functions have names of a megabyte each that the dictionary holds once.
#[test]
fn a_text_that_a_dictionary_repeats_is_not_copied_for_each_row() {
    is_refused(
        &Bomb {
            table: "frames",
            rows: 4000,
            group: 4000,
            text: Some(("function", "A".repeat(1 << 20))),
            counts: Some("frame"),
        },
        "a row group has more than",
    );
}

/// 16 kB of threads with four million rows.
#[test]
fn millions_of_threads_in_a_few_kilobytes_are_refused() {
    is_refused(
        &Bomb {
            table: "threads",
            rows: 4_000_000,
            group: 128 << 10,
            text: None,
            counts: None,
        },
        "claims 4000000 rows; a table of",
    );
}

/// Fewer rows than the limit, but all of the same thread.
#[test]
fn a_thread_that_is_there_twice_is_refused() {
    is_refused(
        &Bomb {
            table: "threads",
            rows: 2000,
            group: 2000,
            text: None,
            counts: None,
        },
        "occurs twice",
    );
}

/// A name of 200 MB, once.
#[test]
fn a_page_of_200_megabytes_is_refused() {
    is_refused(
        &Bomb {
            table: "frames",
            rows: 1,
            group: 1,
            text: Some(("function", "A".repeat(200 << 20))),
            counts: None,
        },
        "a page claims",
    );
}

/// What all limits let pass, at once and of every table: `report` takes what it takes, within the gigabyte.
#[test]
fn tables_just_below_their_limits_take_no_more_than_that() {
    let folder = Folder::new("attack-limits");
    let recording = recorded(&folder);
    for (table, counts) in [
        ("threads", Some("thread")),
        ("frames", Some("frame")),
        ("stacks", Some("stack")),
        ("samples", Some("t")),
        ("spans", None),
        ("objects", Some("object")),
        ("lookups", None),
        ("images", None),
        ("calls", None),
    ] {
        let bomb = Bomb {
            table,
            rows: 60_000,
            group: 60_000,
            text: None,
            counts,
        };
        bomb.put(&recording);
    }
    let ran = confined(&["report"], &recording);
    assert!([0, 1].contains(&ran.code()), "{}: {}", ran.code(), ran.err);
}

/// The frames of a spool, unpacked.
fn frames(spool: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &spool[8..];
    let mut all = Vec::new();
    while rest.len() > 12 {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().expect("four"));
        let (raw, packed) = (word(0) as usize, word(4) as usize);
        let Some(frame) = rest.get(12..12 + packed) else {
            break;
        };
        all.push(zstd::bulk::decompress(frame, raw).expect("a frame"));
        rest = &rest[12 + packed..];
    }
    all
}

fn packed(raw: &[u8]) -> Vec<u8> {
    let packed = zstd::bulk::compress(raw, 19).expect("packed");
    let mut frame = Vec::new();
    for word in [
        raw.len() as u32,
        packed.len() as u32,
        crc32fast::hash(&packed),
    ] {
        frame.extend(word.to_le_bytes());
    }
    frame.extend(packed);
    frame
}

/// The spool of a timesink that was killed.
fn left_by_the_killed(folder: &Folder) -> Vec<u8> {
    let path = folder.join("killed.timesink");
    let mut command = Command::new(timesink());
    command.args(["run", "-q", "-o"]).arg(&path);
    command
        .args(["--", "bash", "-c"])
        .arg("for i in 1 2 3 4 5; do /bin/true; stat /; done; sleep 60");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let spool = path.join("spool.bin");
    wait_for("something is written", || {
        fs::metadata(&spool).is_ok_and(|about| about.len() > 10_000)
    });
    std::thread::sleep(std::time::Duration::from_millis(600));
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    fs::read(&spool).expect("the spool")
}

/// Each kind of event a million times over: a spool of 20 kB or so that unpacks to 160 MB, and to many times that in rows.
#[test]
fn a_spool_of_one_event_repeated_is_cut_where_it_unpacks_to_too_much() {
    let folder = Folder::new("attack-spool");
    let spool = left_by_the_killed(&folder);
    let mut kinds: std::collections::BTreeMap<u8, Vec<u8>> = Default::default();
    for frame in frames(&spool) {
        let mut rest = frame.as_slice();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let (entry, after) = after.split_at(u32::from_le_bytes(*length) as usize);
            kinds
                .entry(entry[0])
                .or_insert_with(|| [&length[..], entry].concat());
            rest = after;
        }
    }
    assert!(kinds.len() > 5, "{:?}", kinds.keys());
    for (kind, entry) in kinds {
        let bomb = folder.join("bomb.timesink");
        fs::create_dir(&bomb).expect("a folder");
        let frame = packed(&entry.repeat((4 << 20) / entry.len()));
        let bytes = [spool.clone(), frame.repeat(40)].concat();
        fs::write(bomb.join("spool.bin"), &bytes).expect("a spool");
        // What is mended of it may itself be more than is believed of a recording.
        let ran = confined(&["report"], &bomb);
        let told = ran.text() + &ran.err;
        assert!(
            [0, 1].contains(&ran.code()),
            "kind {kind}: {} {told}",
            ran.code()
        );
        assert!(
            told.contains(" at most") || told.contains("the limit for a table"),
            "kind {kind}, {} bytes: {told}",
            bytes.len()
        );
        fs::remove_dir_all(&bomb).expect("it goes");
    }
}

/// A spool says a hundred thousand times that the same thread starts, and packs no better than honest ones.
#[test]
fn a_thread_that_starts_twice_in_a_spool_is_one() {
    let folder = Folder::new("attack-starts");
    let spool = left_by_the_killed(&folder);
    let all = frames(&spool);
    let mended = folder.join("mended.timesink");
    fs::create_dir(&mended).expect("a folder");
    // All that it says is said twice.
    let twice: Vec<u8> = all
        .iter()
        .chain(&all)
        .flat_map(|frame| packed(frame))
        .collect();
    fs::write(mended.join("spool.bin"), [&spool[..8], &twice].concat()).expect("a spool");
    let threads = |path: &Path| {
        let mut report = Command::new(timesink());
        let json = output(report.args(["report", "--json"]).arg(path))
            .exits(0)
            .text();
        let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        report["threads"].as_array().expect("threads").len()
    };
    let once = threads(&folder.join("killed.timesink"));
    assert_eq!(threads(&mended), once);
}
