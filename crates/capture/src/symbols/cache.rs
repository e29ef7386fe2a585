//! Names that were found before, one file for each build id in a folder of the user's.
//!
//! A file also says from which files its names are, by place, size and time: when a better debug file
//! is installed, it is out of date. Nothing in the folder is trusted, and since timesink runs as root, no
//! link in it is followed: files are opened below the open folder only, and replaced by renaming.

use super::demangle::LONGEST_NAME;
use super::texts::Texts;
use super::{hex, Known, Named};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use timesink_recording::files::Folder;
use timesink_recording::words::SymbolSource;

/// What a change of the content of these files, or of how names are found, raises.
const VERSION: u32 = 3;
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

    fn read(&self, build_id: &[u8]) -> io::Result<Stored> {
        let folder = Folder::open_no_link(&self.folder).map_err(io::Error::other)?;
        let file = folder.open_file(format!("{}{SUFFIX}", hex(build_id)));
        let file = file.map_err(io::Error::other)?;
        if file.metadata()?.len() > LONGEST {
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

        let folder = Folder::ensure(&self.folder).map_err(io::Error::other)?;
        let name = format!("{}{SUFFIX}", hex(build_id));
        let new = format!("{}.{}{NEW_SUFFIX}", hex(build_id), std::process::id());
        folder
            .replace(&name, &new, &packed)
            .and_then(|()| evict(&folder, MOST_KEPT, KEPT_THEN))
            .map_err(io::Error::other)
    }
}

/// Removes the oldest files of ours once there is more than `most`, until there is no more than `then`.
pub(super) fn evict(folder: &Folder, most: u64, then: u64) -> timesink_recording::Result<()> {
    let mut files = Vec::new();
    let mut sum = 0u64;
    for name in folder.names()? {
        if !is_ours(name.as_bytes()) {
            continue;
        }
        let Ok(about) = folder.about_within(&name) else {
            continue;
        };
        sum = sum.saturating_add(about.length);
        files.push((about.changed, about.length, name));
    }
    if sum <= most {
        return Ok(());
    }
    files.sort_unstable();
    for (_, size, name) in files {
        if sum <= then {
            break;
        }
        folder.remove(name)?;
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
