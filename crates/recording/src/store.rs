//! A recording at rest: a folder, or that folder packed into one file. All files are opened once,
//! at the start; what happens to their paths afterwards does not matter.

use crate::about::{file_name, About, TableEntry, MANIFEST, MANIFEST_LIMIT, MANIFEST_ON_THE_WAY};
use crate::error::{Error, ErrorKind, Result};
use crate::fault::Fault;
use crate::files::{open_regular, Folder, NewFile, Slice};
use crate::limits;
use crate::reader;
use crate::retold::Retold;
use crate::table::TableRow;
use crate::tables;
use bytes::Bytes;
use rustix::fs::{OFlags, CWD};
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// An open recording.
pub struct Recording {
    path: PathBuf,
    about: About,
    manifest: Slice,
    /// How long the file is, if it is packed.
    packed_bytes: Option<u64>,
    tables: Vec<(TableEntry, Slice)>,
    /// What the rows of each table took when they were read.
    unpacked: Mutex<BTreeMap<&'static str, u64>>,
    retold: OnceLock<Retold>,
}

impl Recording {
    /// Opens a folder or a packed file. Existence and length of each table are checked here, its
    /// checksum when it is read.
    pub fn open(path: impl AsRef<Path>) -> Result<Recording> {
        let path = path.as_ref();
        let opened = open_regular(CWD, path, OFlags::empty());
        match opened.map_err(|error| Error::io(path, &error))? {
            Some(file) => Recording::packed(file, path),
            None => match Folder::open(path) {
                Ok(folder) => Recording::of(&folder),
                Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
                Err(_) => Err(Error::not_plain(path)),
            },
        }
    }

    /// Opens the recording of this name in a folder. It must not be a link.
    pub fn within(folder: &Folder, name: impl AsRef<OsStr>) -> Result<Recording> {
        let name = name.as_ref();
        match folder.about_within(name)?.is_folder() {
            true => Recording::of(&folder.folder_within(name)?),
            false => Recording::packed(folder.open_file(name)?, &folder.path_of(name)),
        }
    }

    /// Opens the recording that a folder is.
    pub fn of(folder: &Folder) -> Result<Recording> {
        Recording::load(folder.path(), Some(folder), |name| folder.slice(name))
    }

    fn packed(file: File, path: &Path) -> Result<Recording> {
        let packed = Slice::whole(file, path)?;
        let files = crate::tar_index::index(&packed)?;
        let find = |name: &str| {
            files.get(name).cloned().ok_or_else(|| {
                let fault = format!("{name} is missing");
                Error::new(ErrorKind::NotFound, path, fault)
            })
        };
        Ok(Recording {
            packed_bytes: Some(packed.length()),
            ..Recording::load(path, None, find)?
        })
    }

    /// Reads the manifest and finds the tables it names.
    fn load(
        path: &Path,
        folder: Option<&Folder>,
        find: impl Fn(&str) -> Result<Slice>,
    ) -> Result<Recording> {
        let manifest = find(MANIFEST).map_err(|error| match error.kind() {
            ErrorKind::NotFound => without_manifest(path, folder),
            _ => error,
        })?;
        if manifest.length() > MANIFEST_LIMIT {
            return Err(Error::damaged(manifest.name(), "too large for a manifest"));
        }
        let about = About::from_json(manifest.name(), &manifest.read()?)?;
        let mut opened: Vec<(TableEntry, Slice)> = Vec::new();
        for entry in &about.tables {
            // A name that is no table's is not even looked for: it could be any path.
            if !tables::ALL.iter().any(|table| table.name == entry.name) {
                continue;
            }
            let name = &entry.name;
            if opened.iter().any(|(other, _)| other.name == *name) {
                return Err(Error::damaged(
                    manifest.name(),
                    format!("{name} occurs twice"),
                ));
            }
            let slice = find(&file_name(name)).map_err(|error| match error.kind() {
                ErrorKind::NotFound => Error::damaged(
                    &path.join(file_name(name)),
                    "this table is in the manifest, but its file is missing",
                ),
                _ => error,
            })?;
            if slice.length() != entry.bytes {
                let (found, wanted) = (slice.length(), entry.bytes);
                let fault = format!("{found} bytes long, but the manifest says {wanted}");
                return Err(Error::damaged(slice.name(), fault));
            }
            opened.push((entry.clone(), slice));
        }
        Ok(Recording {
            path: path.to_owned(),
            about,
            manifest,
            packed_bytes: None,
            tables: opened,
            unpacked: Mutex::default(),
            retold: OnceLock::new(),
        })
    }

    /// The manifest.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// From now on rows are read as what they turn out to be, which is looked for once.
    pub fn retell(&self, find: impl FnOnce(&Recording) -> Result<Retold>) -> Result<()> {
        if self.retold.get().is_none() {
            let found = find(self)?;
            self.retold.get_or_init(|| found);
        }
        Ok(())
    }

    /// How many rows a table has, by the manifest.
    pub fn row_count<R: TableRow>(&self) -> Result<u64> {
        match self.find(R::NAME) {
            Err(_) if self.about.format_version < R::SINCE => Ok(0),
            found => found.map(|(entry, _)| entry.rows),
        }
    }

    /// Shows all rows of a table in order, a batch of some thousands at a time. A fault that is
    /// found late comes after rows have been shown.
    pub fn scan<R: TableRow>(&self, mut visit: impl FnMut(&[R])) -> Result<()> {
        self.decode(|batch: &mut Vec<R>| visit(batch))
    }

    /// All rows of a table in order.
    pub fn rows<R: TableRow>(&self) -> Result<Vec<R>> {
        let mut rows = Vec::new();
        // As soon as there is a row, the table is known to have as many as the manifest says, and to be allowed to: a
        // vector that grows would take twice the memory while it does.
        let count = self.row_count::<R>().unwrap_or(0);
        self.decode(|batch| {
            if rows.is_empty() {
                rows.reserve_exact(usize::try_from(count).unwrap_or(0));
            }
            rows.append(batch);
        })?;
        Ok(rows)
    }

    /// All rows of a table of which each has a number of its own, in order.
    pub fn numbered_rows<R: TableRow>(&self, number: impl Fn(&R) -> u32) -> Result<Vec<R>> {
        let rows: Vec<R> = self.rows()?;
        let mut seen = HashSet::with_capacity(rows.len());
        match rows.iter().find(|row| !seen.insert(number(row))) {
            None => Ok(rows),
            Some(again) => {
                let name = self
                    .find(R::NAME)
                    .map_or(R::NAME, |(_, slice)| slice.name());
                let fault = format!("number {} occurs twice", number(again));
                Err(Error::damaged(name, fault))
            }
        }
    }

    /// Counts what rows took, of all tables of which any were read.
    fn account(&self, table: &'static str, bytes: u64) -> std::result::Result<(), Fault> {
        let length = self.tables.iter().map(|(entry, _)| entry.bytes);
        let most = limits::whole(length.fold(0, u64::saturating_add));
        // Nothing can go wrong while it is held.
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        let of_table = unpacked.entry(table).or_default();
        *of_table = bytes.max(*of_table);
        match unpacked.values().fold(0u64, |sum, bytes| sum.saturating_add(*bytes)) <= most {
            true => Ok(()),
            false => Err(Fault(format!(
                "with this table the recording exceeds {most} bytes uncompressed, the limit for its size"
            ))),
        }
    }

    fn decode<R: TableRow>(&self, mut visit: impl FnMut(&mut Vec<R>)) -> Result<()> {
        let (entry, slice) = match self.find(R::NAME) {
            // A table that came with a later version of the format: nothing of it was recorded.
            Err(_) if self.about.format_version < R::SINCE => return Ok(()),
            found => found?,
        };
        let bytes = checked(entry, slice)?;
        let told = |batch: &mut Vec<R>, unpacked| {
            self.account(R::NAME, unpacked)?;
            if let Some(retold) = self.retold.get() {
                retold.tell(batch);
            }
            visit(batch);
            Ok(())
        };
        reader::scan(bytes, entry.rows, self.about.format_version, told)
            .map_err(|fault| Error::damaged(slice.name(), fault.0))?;
        if let Some(retold) = self.retold.get() {
            let mut more: Vec<R> = Vec::new();
            retold.append(&mut more);
            if !more.is_empty() {
                visit(&mut more);
            }
        }
        Ok(())
    }

    fn find(&self, table: &str) -> Result<&(TableEntry, Slice)> {
        self.tables
            .iter()
            .find(|(entry, _)| entry.name == table)
            .ok_or_else(|| {
                let fault = format!("this recording has no table {table}");
                Error::new(ErrorKind::NoSuchTable, &self.path, fault)
            })
    }

    /// How many bytes it takes on the disk.
    pub fn size_bytes(&self) -> u64 {
        let tables = self.tables.iter().map(|(_, slice)| slice.length());
        self.packed_bytes
            .unwrap_or_else(|| self.manifest.length() + tables.sum::<u64>())
    }

    /// Packs it into one new file: a plain tar file of the folder. All checksums are checked on the
    /// way, so that no damage is packed in.
    pub fn pack(&self, file: impl AsRef<Path>) -> Result<()> {
        self.pack_into(NewFile::at(file.as_ref())?, file.as_ref())
    }

    /// The same in a folder.
    pub fn pack_within(&self, folder: &Folder, name: impl AsRef<OsStr>) -> Result<()> {
        self.pack_into(
            NewFile::within(folder, name.as_ref())?,
            &folder.path_of(&name),
        )
    }

    fn pack_into(&self, mut out: NewFile, path: &Path) -> Result<()> {
        self.write_tar(path, &mut out)?;
        out.keep()
    }

    fn write_tar(&self, path: &Path, out: &mut NewFile) -> Result<()> {
        let folder = folder_name(path);
        let fault = |error: std::io::Error| Error::io(path, &error);
        let mut tar = tar::Builder::new(std::io::BufWriter::new(out));
        let mut append = |name: &str, bytes: &Bytes| {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o600);
            header.set_mtime(self.about.started_unix_ns / 1_000_000_000);
            tar.append_data(&mut header, format!("{folder}/{name}"), &bytes[..])
                .map_err(fault)
        };
        append(MANIFEST, &self.manifest.read()?)?;
        for (entry, slice) in &self.tables {
            append(&file_name(&entry.name), &checked(entry, slice)?)?;
        }
        let out = tar.into_inner().map_err(fault)?;
        out.into_inner()
            .map_err(|error| fault(error.into_error()))?;
        Ok(())
    }
}

/// Packs the recording in `folder` into the new file `file`.
pub fn pack(folder: impl AsRef<Path>, file: impl AsRef<Path>) -> Result<()> {
    Recording::open(folder)?.pack(file)
}

/// The bytes of a table, if they are those the manifest speaks of.
fn checked(entry: &TableEntry, slice: &Slice) -> Result<Bytes> {
    let bytes = slice.read()?;
    if crc32fast::hash(&bytes) != entry.crc32 {
        let fault = "the checksum is not the one in the manifest: the file is damaged";
        return Err(Error::damaged(slice.name(), fault));
    }
    Ok(bytes)
}

/// The folder that `tar xf` makes: named after the file, and short enough for any tar.
fn folder_name(path: &Path) -> String {
    let stem = path
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or("");
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = stem.chars().filter(|&c| plain(c)).take(60).collect();
    match name.trim_start_matches('.') {
        "" => "recording".to_owned(),
        name => name.to_owned(),
    }
}

/// Why there is no manifest: it is a recording that was never finished, or none at all.
fn without_manifest(path: &Path, folder: Option<&Folder>) -> Error {
    let names = folder.and_then(|folder| folder.names().ok());
    let unfinished = names.unwrap_or_default().iter().any(|name| {
        let name = name.to_string_lossy();
        name.starts_with("spool")
            || name == MANIFEST_ON_THE_WAY
            || tables::ALL
                .iter()
                .any(|table| file_name(table.name) == *name)
    });
    if unfinished {
        let fault = format!("the recording was never finished ({MANIFEST} is missing)");
        Error::new(ErrorKind::Unfinished, path, fault)
    } else {
        let fault = format!("not a recording ({MANIFEST} is missing)");
        Error::new(ErrorKind::NotARecording, path, fault)
    }
}
