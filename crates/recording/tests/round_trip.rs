//! What is written is what is read.

mod common;

use common::{each_row_type, Any, Place};
use fastrand::Rng;
use std::path::Path;
use timesink_recording::tables::*;
use timesink_recording::{
    pack, tables, About, Costs, ErrorKind, Mode, Nanos, Recording, RecordingWriter, TableRow,
};

fn same_rows(path: &Path, rows: usize, seed: u64) {
    let recording = Recording::open(path).expect("it opens");
    let mut random = Rng::with_seed(seed);
    macro_rules! check {
        ($row:ident) => {
            let wanted: Vec<$row> = (0..rows).map(|_| Any::any(&mut random)).collect();
            let read = recording.rows::<$row>().expect("it reads");
            assert!(read == wanted, "{} differs", $row::NAME);
            assert_eq!(recording.row_count::<$row>(), Ok(rows as u64));
        };
    }
    each_row_type!(check);
}

/// Rows with values at the edges of their types come back from every table, folder or packed.
#[test]
fn every_table_comes_back() {
    for (rows, seed) in [(0, 1), (1, 2), (2, 3), (700, 4), (9000, 5)] {
        let place = Place::new();
        common::write_any(&place.path("folder"), rows, seed);
        same_rows(&place.path("folder"), rows, seed);
        pack(place.path("folder"), place.path("packed")).expect("it packs");
        same_rows(&place.path("packed"), rows, seed);
    }
}

/// A table longer than a row group comes back, in its order; a row too long for it is refused.
#[test]
fn several_row_groups_come_back() {
    let place = Place::new();
    let mut writer = RecordingWriter::create(&place.path("folder")).expect("a new recording");
    let mut random = Rng::with_seed(6);
    // What packs far better than any recording would not be believed.
    let mut letters = |count: usize| -> String {
        let letter = |_| random.lowercase();
        (0..count).map(letter).collect()
    };
    for tid in 0..300_000 {
        let name = letters(if tid == 200_000 { 20 << 20 } else { 8 });
        writer
            .push(Outsider {
                tid,
                name,
                pid: None,
            })
            .expect("a row is written");
    }
    assert_eq!(
        writer.table::<Outsider>().expect("the writer").rows(),
        300_000
    );
    writer.finish(About::default()).expect("it finishes");
    let recording = Recording::open(place.path("folder")).expect("it opens");
    let mut next = 0;
    recording
        .scan::<Outsider>(|rows| {
            for row in rows {
                assert_eq!(row.tid, next);
                next += 1;
            }
        })
        .expect("it reads");
    assert_eq!(next, 300_000);
}

/// Rows that are all the same weigh next to nothing: more of them than anything honest has are not believed, and it is said
/// how many would be.
#[test]
fn constant_rows_are_believed_up_to_a_limit() {
    let written = |rows: usize| {
        let place = Place::new();
        let mut writer = RecordingWriter::create(&place.path("folder")).expect("a new recording");
        let window = CallWindow {
            t0: Nanos::ZERO,
            t1: Nanos::ZERO,
        };
        for _ in 0..rows {
            writer.push(window.clone()).expect("a row is written");
        }
        writer.finish(About::default()).expect("it finishes");
        Recording::open(place.path("folder")).and_then(|open| open.rows::<CallWindow>())
    };
    assert_eq!(written(60_000).map(|rows| rows.len()), Ok(60_000));
    let refused = written(500_000).expect_err("a bomb");
    assert_eq!(refused.kind(), ErrorKind::Damaged);
    let told = refused.to_string();
    assert!(
        told.contains("500000 rows") && told.contains("at most"),
        "{told}"
    );
}

/// All of the manifest comes back, and a figure that could not be measured becomes 0.
#[test]
fn the_manifest_comes_back() {
    let place = Place::new();
    let about = About {
        mode: Mode::Attach,
        command: vec!["sh".to_owned(), "-c".to_owned(), "echo \"ü\"".to_owned()],
        directory: "/tmp".to_owned(),
        started_unix_ns: u64::MAX,
        wall_ns: 5,
        exit_code: Some(-1),
        exit_signal: Some(9),
        threshold_ns: 50_000,
        budget_pct: Some(0.1),
        exact: true,
        host: [("memory".to_owned(), "24 GB".to_owned())].into(),
        cost: Costs {
            call_ns: 359.5,
            switch_ns: f64::NAN,
            calls: 7,
            recorder_cpu_ns: Some(3),
            ..Costs::default()
        },
        call_timing_share: 0.25,
        mended: Some("cut short after 3 s".to_owned()),
        ..About::default()
    };
    let writer = RecordingWriter::create(&place.path("folder")).expect("a new recording");
    let mut written = writer.finish(about).expect("it finishes");
    written.cost.switch_ns = 0.0;
    let recording = Recording::open(place.path("folder")).expect("it opens");
    assert_eq!(recording.about(), &written);
    assert_eq!(written.tables.len(), tables::ALL.len());
}

/// An open recording stays readable when its files are gone, and what has not been finished, is
/// somebody else's or is there already is not written over.
#[test]
fn nothing_is_written_over() {
    let place = Place::new();
    let folder = place.path("folder");
    common::write_any(&folder, 10, 7);
    let again = RecordingWriter::create(&folder)
        .err()
        .expect("it is refused");
    assert_eq!(again.kind(), ErrorKind::Exists);
    pack(&folder, place.path("packed")).expect("it packs");
    let again = pack(&folder, place.path("packed")).expect_err("it is refused");
    assert_eq!(again.kind(), ErrorKind::Exists);
    let open = Recording::open(&folder).expect("it opens");
    std::fs::remove_dir_all(&folder).expect("it can be removed");
    assert_eq!(open.rows::<Span>().map(|rows| rows.len()), Ok(10));

    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("thesis.txt"), "text").expect("a file");
    let foreign = RecordingWriter::create(&folder)
        .err()
        .expect("it is refused");
    assert_eq!(foreign.kind(), ErrorKind::Exists);
    assert!(foreign.to_string().contains("thesis.txt"), "{foreign}");
}

/// A folder with a spool and no manifest is unfinished; it can be written anew beside the spool.
#[test]
fn an_unfinished_recording_is_told_and_can_be_replaced() {
    let place = Place::new();
    let folder = place.path("folder");
    common::write_any(&folder, 10, 7);
    std::fs::remove_file(folder.join("recording.json")).expect("the manifest goes");
    let kind = |path: &Path| Recording::open(path).err().map(|error| error.kind());
    assert_eq!(kind(&folder), Some(ErrorKind::Unfinished));
    std::fs::write(folder.join("spool.bin"), "spool").expect("a spool");
    assert_eq!(kind(&folder), Some(ErrorKind::Unfinished));
    common::write_any(&folder, 20, 8);
    same_rows(&folder, 20, 8);
    assert!(folder.join("spool.bin").exists());

    std::fs::create_dir(place.path("empty")).expect("a folder");
    assert_eq!(kind(&place.path("empty")), Some(ErrorKind::NotARecording));
    std::fs::create_dir(place.path("spooled")).expect("a folder");
    std::fs::write(place.path("spooled/spool.bin"), "").expect("a spool");
    assert_eq!(kind(&place.path("spooled")), Some(ErrorKind::Unfinished));
    assert_eq!(kind(&place.path("nothing")), Some(ErrorKind::NotFound));
}

/// A link where a file should be made is refused, and its target is left alone.
#[test]
fn links_are_not_written_through() {
    let place = Place::new();
    let (folder, target) = (place.path("folder"), place.path("target"));
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(&target, "precious").expect("a file");
    // One that appears after the writer has looked.
    let mut writer = RecordingWriter::create(&folder).expect("a new recording");
    std::os::unix::fs::symlink(&target, folder.join("spans.parquet")).expect("a link");
    let refused = writer.table::<Span>().err().expect("it is refused");
    assert_eq!(refused.kind(), ErrorKind::Exists);
    // And one that is read.
    common::write_any(&place.path("other"), 3, 3);
    std::fs::remove_file(place.path("other/spans.parquet")).expect("the table goes");
    std::os::unix::fs::symlink(&target, place.path("other/spans.parquet")).expect("a link");
    let error = Recording::open(place.path("other"))
        .err()
        .expect("it is refused");
    assert!(error.to_string().contains("spans.parquet"), "{error}");
    assert_eq!(
        std::fs::read_to_string(&target).expect("the target"),
        "precious"
    );
}
