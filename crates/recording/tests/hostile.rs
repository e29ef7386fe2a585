//! Recordings that are cut, flipped, forged or made to hurt: each is read as it was written or
//! refused with an error that names the file and the fault. None panics, and none makes us allocate
//! much more than it is long.

mod common;

use common::{each_row_type, Place};
use fastrand::Rng;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use timesink_recording::tables::*;
use timesink_recording::{pack, About, Error, ErrorKind, Recording, TableRow, FORMAT_VERSION};

/// Notes the largest request, so that a forged length is seen to be caught before it is believed.
struct Watch;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Watch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        System.dealloc(pointer, layout)
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        System.realloc(pointer, layout, size)
    }
}

#[global_allocator]
static WATCH: Watch = Watch;

/// Far more than the tables here need, and far less than a forged length asks for.
const ENOUGH: usize = 64 << 20;

fn assert_modest() {
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(largest < ENOUGH, "{largest} bytes were asked for at once");
}

/// All rows of all tables, as text.
fn read_all(path: &Path) -> Result<Vec<String>, Error> {
    let recording = Recording::open(path)?;
    let mut all = vec![format!("{:?}", recording.about())];
    macro_rules! read {
        ($row:ident) => {
            all.push(format!("{:?}", recording.rows::<$row>()?));
        };
    }
    each_row_type!(read);
    Ok(all)
}

/// The files of a recording in a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

/// Puts a file in place of another. A file that is emptied and filled again is flushed by ext4 when it
/// is closed, which takes a hundred times longer than all the rest; a new file is not.
fn put(path: &Path, bytes: &[u8]) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).expect("a file");
}

/// Puts a table into the folder with a manifest that vouches for it.
fn forge(folder: &Path, about: &About, table: &str, bytes: &[u8]) {
    let mut about = about.clone();
    for entry in about.tables.iter_mut().filter(|entry| entry.name == table) {
        entry.bytes = bytes.len() as u64;
        entry.crc32 = crc32fast::hash(bytes);
    }
    put(&folder.join(format!("{table}.parquet")), bytes);
    write_manifest(folder, &about);
}

fn write_manifest(folder: &Path, about: &About) {
    let json = serde_json::to_vec(about).expect("a manifest");
    put(&folder.join("recording.json"), &json);
}

/// A folder whose files are cut at any byte is refused, naming the file; only the line's end after
/// the manifest may go.
#[test]
fn a_cut_folder_is_refused() {
    let place = Place::new();
    let folder = place.path("folder");
    common::write_any(&folder, 3, 11);
    let whole = read_all(&folder).expect("it reads");
    for file in files(&folder) {
        let bytes = std::fs::read(&file).expect("a file");
        let name = file
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        for length in 0..bytes.len() {
            put(&file, &bytes[..length]);
            match read_all(&folder) {
                Ok(read) => assert!(
                    read == whole && name == "recording.json",
                    "{name} at {length}"
                ),
                Err(error) => {
                    assert!(
                        error.to_string().contains(&name),
                        "{name} at {length}: {error}"
                    );
                    assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
                }
            }
        }
        put(&file, &bytes);
    }
    assert_modest();
}

/// A packed recording cut at any byte is refused, naming the file; only padding may go.
#[test]
fn a_cut_packed_recording_is_refused() {
    let place = Place::new();
    common::write_any(&place.path("folder"), 3, 12);
    let file = place.path("packed");
    pack(place.path("folder"), &file).expect("it packs");
    let whole = read_all(&file).expect("it reads");
    let bytes = std::fs::read(&file).expect("a file");
    let mut read_whole = 0;
    for length in 0..bytes.len() {
        put(&file, &bytes[..length]);
        match read_all(&file) {
            Ok(read) => {
                assert!(read == whole, "at {length}");
                read_whole += 1;
            }
            Err(error) => assert!(error.to_string().contains("packed"), "at {length}: {error}"),
        }
    }
    assert!(read_whole <= 2048, "{read_whole} cuts were not noticed");
    assert_modest();
}

/// Tables cut or changed anywhere, with a manifest that vouches for them, reach the Parquet decoder
/// and are refused there, or read as something; neither panics nor asks for much.
#[test]
fn forged_tables_do_no_harm() {
    let place = Place::new();
    let folder = place.path("folder");
    let about = common::write_any(&folder, 12, 13);
    let mut random = Rng::with_seed(14);
    let mut refused = 0;
    macro_rules! forge_table {
        ($row:ident) => {
            let file = folder.join(format!("{}.parquet", $row::NAME));
            let bytes = std::fs::read(&file).expect("a table");
            let mut check = |forged: &[u8], what: String| {
                forge(&folder, &about, $row::NAME, forged);
                let read = Recording::open(&folder).and_then(|open| open.rows::<$row>());
                assert_modest();
                if let Err(error) = &read {
                    refused += 1;
                    assert!(error.to_string().contains($row::NAME), "{what}: {error}");
                }
                read.is_ok()
            };
            for length in (0..bytes.len()).step_by(3) {
                assert!(
                    !check(&bytes[..length], format!("cut at {length}")),
                    "cut at {length}"
                );
            }
            for at in 0..bytes.len() {
                let mut forged = bytes.clone();
                forged[at] = match random.u8(..4) {
                    0 => 0xff,
                    1 => 0x7f,
                    2 => forged[at] ^ (1 << (random.u8(..8))),
                    _ => random.u8(..),
                };
                check(&forged, format!("changed at {at}"));
            }
            put(&file, &bytes);
        };
    }
    forge_table!(Span);
    forge_table!(Object);
    forge_table!(Probe);
    forge_table!(Loss);
    assert!(refused > 1000, "only {refused} were refused");
}

/// Random bytes are no recording, whatever name they have.
#[test]
fn random_bytes_are_refused() {
    let place = Place::new();
    let folder = place.path("folder");
    let about = common::write_any(&folder, 3, 15);
    let mut random = Rng::with_seed(16);
    for length in (0..300).chain([511, 512, 513, 1024, 5000]) {
        let bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
        put(&place.path("packed"), &bytes);
        assert!(Recording::open(place.path("packed")).is_err());
        for magic in [&b""[..], b"PAR1"] {
            let forged = [magic, &bytes, magic].concat();
            forge(&folder, &about, "spans", &forged);
            let read = Recording::open(&folder).and_then(|open| open.rows::<Span>());
            assert_eq!(
                read.err().map(|error| error.kind()),
                Some(ErrorKind::Damaged)
            );
        }
        put(&folder.join("recording.json"), &bytes);
        assert!(Recording::open(&folder).is_err());
    }
    assert_modest();
}

/// A manifest of a newer format is refused in words that say what to do, whatever else is in it.
#[test]
fn a_newer_format_is_refused() {
    let place = Place::new();
    std::fs::create_dir(place.path("folder")).expect("a folder");
    let newer = FORMAT_VERSION + 1;
    let manifest = format!(r#"{{"format_version": {newer}, "tables": "elsewhere"}}"#);
    std::fs::write(place.path("folder/recording.json"), manifest).expect("a manifest");
    let error = Recording::open(place.path("folder"))
        .err()
        .expect("it is refused");
    assert_eq!(error.kind(), ErrorKind::Newer);
    let text = error.to_string();
    assert!(
        text.contains(&format!(
            "made by a newer timesink (format {newer}, this one reads up to {FORMAT_VERSION})"
        )),
        "{text}"
    );
    assert!(text.contains("recording.json"), "{text}");
}

/// Manifests that lie about tables are refused: lengths, row counts, names twice; names that are
/// paths are never opened, and a table that is not named is missing.
#[test]
fn a_lying_manifest_is_refused() {
    let place = Place::new();
    let folder = place.path("folder");
    let about = common::write_any(&folder, 3, 17);
    let spans = about
        .tables
        .iter()
        .position(|entry| entry.name == "spans")
        .expect("spans");
    let read = |change: &dyn Fn(&mut About)| {
        let mut about = about.clone();
        change(&mut about);
        write_manifest(&folder, &about);
        Recording::open(&folder)
            .and_then(|open| open.rows::<Span>())
            .map_err(|error| error.kind())
    };
    assert_eq!(read(&|_| ()).map(|rows| rows.len()), Ok(3));
    let damaged = Err(ErrorKind::Damaged);
    assert_eq!(read(&|about| about.tables[spans].bytes = u64::MAX), damaged);
    assert_eq!(read(&|about| about.tables[spans].rows = 4), damaged);
    assert_eq!(read(&|about| about.tables[spans].rows = u64::MAX), damaged);
    assert_eq!(read(&|about| about.tables[spans].crc32 ^= 1), damaged);
    assert_eq!(
        read(&|about| about.tables.push(about.tables[spans].clone())),
        damaged
    );
    let path = |about: &mut About| about.tables[spans].name = "../folder/spans".to_owned();
    assert_eq!(read(&path), Err(ErrorKind::NoSuchTable));
    assert_modest();
}

/// One table's file under another's name is refused for its columns.
#[test]
fn a_table_under_the_wrong_name_is_refused() {
    let place = Place::new();
    let folder = place.path("folder");
    let about = common::write_any(&folder, 3, 18);
    for other in ["waits", "losses", "threads"] {
        let bytes = std::fs::read(folder.join(format!("{other}.parquet"))).expect("a table");
        forge(&folder, &about, "spans", &bytes);
        let read = Recording::open(&folder).and_then(|open| open.rows::<Span>());
        assert_eq!(
            read.err().map(|error| error.kind()),
            Some(ErrorKind::Damaged)
        );
    }
}

/// Tar files with paths that leave the folder, links, devices, doubles, unknown names or sizes
/// beyond their end are refused, and nothing is ever extracted.
#[test]
fn a_hostile_tar_file_is_refused() {
    let place = Place::new();
    let file = place.path("packed");
    let forged = |kind: tar::EntryType, path: &[u8], size: u64, twice: bool| {
        let mut bytes = Vec::new();
        for _ in 0..if twice { 2 } else { 1 } {
            let mut header = tar::Header::new_gnu();
            header.as_gnu_mut().expect("a GNU header").name[..path.len()].copy_from_slice(path);
            header.set_entry_type(kind);
            header.set_size(size);
            header.set_mode(0o644);
            header.set_link_name("/etc/passwd").expect("a link");
            header.set_cksum();
            bytes.extend_from_slice(header.as_bytes());
            bytes.extend_from_slice(&[b' '; 512]);
        }
        bytes.extend_from_slice(&[0; 1024]);
        put(&file, &bytes);
        let error = Recording::open(&file).err().expect("it is refused");
        assert!(error.to_string().contains("packed"), "{error}");
        error.to_string()
    };
    use tar::EntryType;
    let plain = EntryType::Regular;
    let unknown = "is not part of a recording";
    assert!(forged(plain, b"../recording.json", 512, false).contains(unknown));
    assert!(forged(plain, b"a/../../recording.json", 512, false).contains(unknown));
    assert!(forged(plain, b"/recording.json", 512, false).contains(unknown));
    assert!(forged(plain, b"/etc/passwd", 512, false).contains(unknown));
    assert!(forged(plain, b"a/evil.so", 512, false).contains(unknown));
    assert!(forged(plain, b"a/recording.json", 512, true).contains("twice"));
    for size in [600, 1 << 40, u64::MAX, u64::MAX - 511, 1 << 63] {
        forged(plain, b"a/recording.json", size, false);
    }
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Fifo,
    ] {
        assert!(forged(kind, b"a/recording.json", 0, false).contains("not a regular file"));
    }
    for kind in [
        EntryType::GNUSparse,
        EntryType::GNULongName,
        EntryType::XHeader,
    ] {
        forged(kind, b"a/recording.json", 512, false);
    }
    forged(EntryType::Directory, b"../", 0, false);
    assert_modest();
}

/// A pipe in place of a table or a recording is refused rather than waited for.
#[test]
fn a_pipe_is_not_waited_for() {
    let place = Place::new();
    let pipe = |path: &Path| {
        let status = std::process::Command::new("mkfifo")
            .arg(path)
            .status()
            .expect("mkfifo");
        assert!(status.success());
    };
    let folder = place.path("folder");
    common::write_any(&folder, 3, 19);
    std::fs::remove_file(folder.join("spans.parquet")).expect("the table goes");
    pipe(&folder.join("spans.parquet"));
    let error = Recording::open(&folder).err().expect("it is refused");
    assert!(
        error
            .to_string()
            .contains("spans.parquet: not a regular file"),
        "{error}"
    );
    pipe(&place.path("packed"));
    let error = Recording::open(place.path("packed"))
        .err()
        .expect("it is refused");
    assert_eq!(error.kind(), ErrorKind::NotARecording);
}
