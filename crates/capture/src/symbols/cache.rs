//! Names that were found before, one file for each build id in a folder of the user's.
//!
//! A file also says from which files its names are, by place, size and time: when a better debug file
//! is installed, it is out of date. Nothing in the folder is trusted, and since timesink runs as root, no
//! link in it is followed: files are opened below the open folder only, and replaced by renaming.

use super::demangle::LONGEST_NAME;
use super::texts::Texts;
use super::{hex, Known, Named};
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use timesink_recording::words::SymbolSource;

/// What a change of the content of these files, or of how names are found, raises.
const VERSION: u32 = 2;
/// The longest file, unpacked. It holds the names of some hundred thousand places.
const LONGEST: u64 = 32 << 20;
/// How large the folder may grow, and how much is left when it has grown beyond that.
const MOST_KEPT: u64 = 256 << 20;
const KEPT_THEN: u64 = 192 << 20;
const SUFFIX: &str = ".names";
const NEW_SUFFIX: &str = ".names.new";

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    sources: Vec<String>,
    texts: Vec<String>,
    places: Vec<(u64, u8, Vec<StoredFrame>)>,
}

/// Function and file as places in `texts`, the line, and whether it was inlined.
type StoredFrame = (u32, u32, Option<u32>, bool);

pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(super) fn new(folder: PathBuf) -> Cache {
        Cache { folder }
    }

    /// What is known of a build id; nothing if its names are from other files than those of now.
    /// Without files to compare with (the program is gone by now), what is known is as good as ever.
    pub(super) fn load(
        &self,
        build_id: &[u8],
        sources: Option<&[String]>,
        texts: &mut Texts,
    ) -> HashMap<u64, Known> {
        let stored = (!build_id.is_empty())
            .then(|| self.read(build_id).ok())
            .flatten();
        stored
            .filter(|stored| sources.is_none_or(|sources| sources == stored.sources))
            .and_then(|stored| unfold(stored, texts))
            .unwrap_or_default()
    }

    /// Keeps what is known of a build id. A folder that cannot be written to costs time, not names.
    pub(super) fn store(&self, build_id: &[u8], sources: &[String], known: &HashMap<u64, Known>) {
        if build_id.is_empty() {
            return;
        }
        // Where it cannot be kept there is nobody who would have to know.
        let _ = self.write(build_id, sources, known);
    }

    fn open_folder(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::open(
            &self.folder,
            flags,
            Mode::empty(),
        )?))
    }

    fn read(&self, build_id: &[u8]) -> io::Result<Stored> {
        let folder = self.open_folder()?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let name = format!("{}{SUFFIX}", hex(build_id));
        let file = File::from(rustix::fs::openat(&folder, name, flags, Mode::empty())?);
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.size() > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut text = Vec::new();
        zstd::stream::read::Decoder::new(file)?
            .take(LONGEST + 1)
            .read_to_end(&mut text)?;
        if text.len() as u64 > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(serde_json::from_slice(&text)?)
    }

    fn write(
        &self,
        build_id: &[u8],
        sources: &[String],
        known: &HashMap<u64, Known>,
    ) -> io::Result<()> {
        let text = serde_json::to_vec(&fold(sources, known))?;
        if text.len() as u64 > LONGEST {
            return Ok(());
        }
        let mut packer = zstd::stream::write::Encoder::new(Vec::new(), 1)?;
        packer.include_checksum(true)?;
        packer.write_all(&text)?;
        let packed = packer.finish()?;

        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.folder)?;
        let folder = self.open_folder()?;
        let name = format!("{}{SUFFIX}", hex(build_id));
        let new = format!("{}.{}{NEW_SUFFIX}", hex(build_id), std::process::id());
        match rustix::fs::unlinkat(&folder, &new, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(fault) => return Err(fault.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&folder, &new, flags | OFlags::CLOEXEC, mode)?;
        let written = File::from(file)
            .write_all(&packed)
            .and_then(|()| Ok(rustix::fs::renameat(&folder, &new, &folder, &name)?));
        if written.is_err() {
            // The disk is full: what was begun would only make it fuller.
            let _ = rustix::fs::unlinkat(&folder, &new, AtFlags::empty());
        }
        written?;
        evict(&folder, MOST_KEPT, KEPT_THEN)
    }
}

/// Removes the oldest files of ours once there is more than `most`, until there is no more than `then`.
pub(super) fn evict(folder: &File, most: u64, then: u64) -> io::Result<()> {
    let mut files = Vec::new();
    let mut sum = 0u64;
    for entry in Dir::read_from(folder)?.take(100_000) {
        let entry = entry?;
        let name = entry.file_name();
        if !is_ours(name.to_bytes()) {
            continue;
        }
        let Ok(state) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let size = u64::try_from(state.st_size).unwrap_or(0);
        sum = sum.saturating_add(size);
        files.push((state.st_mtime, state.st_mtime_nsec, size, name.to_owned()));
    }
    if sum <= most {
        return Ok(());
    }
    files.sort_unstable();
    for (_, _, size, name) in files {
        if sum <= then {
            break;
        }
        rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
        sum = sum.saturating_sub(size);
    }
    Ok(())
}

/// Whether a file was made here: the folder is the user's, who may have put anything into it.
fn is_ours(name: &[u8]) -> bool {
    let ends = [SUFFIX, NEW_SUFFIX];
    let end = ends.iter().find(|end| name.ends_with(end.as_bytes()));
    let stem = end.map_or(&name[..0], |end| &name[..name.len() - end.len()]);
    let plain = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'.';
    stem.len() >= 16 && stem.iter().all(plain)
}

const SOURCES: [SymbolSource; 4] = [
    SymbolSource::None,
    SymbolSource::Exports,
    SymbolSource::Table,
    SymbolSource::Debug,
];

fn fold(sources: &[String], known: &HashMap<u64, Known>) -> Stored {
    let mut texts: Vec<String> = Vec::new();
    let mut numbers: HashMap<Arc<str>, u32> = HashMap::new();
    let mut number = |text: &Arc<str>| {
        if let Some(number) = numbers.get(text) {
            return *number;
        }
        let number = texts.len() as u32;
        texts.push(text.to_string());
        numbers.insert(text.clone(), number);
        number
    };
    let mut places = Vec::new();
    for (offset, known) in known {
        let frames = known.frames.iter().map(|frame| {
            let (function, file) = (number(&frame.function), number(&frame.file));
            (function, file, frame.line, frame.inlined)
        });
        let source = SOURCES.iter().position(|source| *source == known.source);
        places.push((*offset, source.unwrap_or(0) as u8, frames.collect()));
    }
    places.sort_unstable_by_key(|place| place.0);
    Stored {
        version: VERSION,
        sources: sources.to_vec(),
        texts,
        places,
    }
}

/// `None` where it is not what was stored.
fn unfold(stored: Stored, texts: &mut Texts) -> Option<HashMap<u64, Known>> {
    let long = |text: &String| text.len() > LONGEST_NAME;
    if stored.version != VERSION || stored.texts.iter().any(long) {
        return None;
    }
    let kept: Vec<Arc<str>> = stored.texts.iter().map(|text| texts.keep(text)).collect();
    let text = |number: u32| kept.get(number as usize).cloned();
    let mut known = HashMap::new();
    for (offset, source, stored_frames) in stored.places {
        let mut frames = Vec::new();
        for (function, file, line, inlined) in stored_frames {
            frames.push(Named {
                function: text(function)?,
                file: text(file)?,
                line,
                inlined,
            });
        }
        let source = *SOURCES.get(usize::from(source))?;
        known.insert(offset, Known { frames, source });
    }
    Some(known)
}
