//! Where a program's debug information may lie when it is not in the program: which files are looked
//! at, and whether one of them belongs to it. Asks no server.

use super::elf::{text_at, Elf, Record};
use super::fault::Fault;
use super::quiet::quietly;
use super::{hex, Module};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The longest path that a section may name.
const LONGEST_PATH: usize = 4096;
/// The most that a small symbol table inside of a program is, unpacked.
const MOST_MINI: u64 = 256 << 20;

/// A file that may be the one, and how it can prove that.
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// The checksum that its whole content must have.
    checksum: Option<u32>,
}

/// All places where a program's debug file may lie, the best first.
pub(super) fn candidates(root: &Path, module: &Module, elf: &Elf) -> Vec<Candidate> {
    let mut found = Vec::new();
    if let Some(path) = by_build_id(root, &elf.build_id) {
        found.push(Candidate {
            path,
            checksum: None,
        });
    }
    let Some((name, checksum)) = link(elf) else {
        return found;
    };
    let mut folders = Vec::new();
    for path in [module.path.as_path(), Path::new(&module.shown)] {
        if let Some(folder) = path.parent() {
            folders.push(folder.join(&name));
            folders.push(folder.join(".debug").join(&name));
            if is_plain(folder) {
                let below = folder.strip_prefix("/").unwrap_or(folder);
                folders.push(root.join(below).join(&name));
            }
        }
    }
    for path in folders {
        if path.is_absolute() && !found.iter().any(|other: &Candidate| other.path == path) {
            let checksum = Some(checksum);
            found.push(Candidate { path, checksum });
        }
    }
    found
}

/// What tells one state of some files from another: their places, sizes and times.
pub(super) fn fingerprint<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<String> {
    let state = |path: &Path| {
        let state = std::fs::metadata(path).ok()?;
        let (size, s, ns) = (state.size(), state.mtime(), state.mtime_nsec());
        Some(format!("{} {size} {s}.{ns:09}", path.display()))
    };
    paths.filter_map(state).collect()
}

/// The first candidate that is there and belongs to the program.
pub(super) fn open(candidates: &[Candidate], elf: &Elf) -> Option<(Elf, PathBuf)> {
    candidates.iter().find_map(|candidate| {
        let debug = quietly(|| Elf::open(&candidate.path)).ok()?;
        if debug.build_id != elf.build_id || debug.machine != elf.machine {
            return None;
        }
        if let Some(checksum) = candidate.checksum {
            if debug.checksum().ok()? != checksum {
                return None;
            }
        }
        Some((debug, candidate.path.clone()))
    })
}

/// `.build-id/ab/cdef.debug`
fn by_build_id(root: &Path, build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let folder = root.join(".build-id").join(hex(&[*first]));
    Some(folder.join(format!("{}.debug", hex(rest))))
}

/// `.gnu_debuglink`: a name, zeros up to a multiple of four, and the checksum of the file.
fn link(elf: &Elf) -> Option<(PathBuf, u32)> {
    let section = elf.named(b".gnu_debuglink")?;
    if section.size > LONGEST_PATH as u64 {
        return None;
    }
    let bytes = elf.data(section).ok()?;
    let name = text_at(&bytes, 0);
    let checksum = Record(&bytes).u32((name.len() + 1).checked_next_multiple_of(4)?)?;
    let path = PathBuf::from(OsStr::from_bytes(name));
    // A name, and not a way out of the folders that are looked at.
    let plain = matches!(
        path.components().collect::<Vec<_>>()[..],
        [Component::Normal(_)]
    );
    plain.then_some((path, checksum))
}

fn is_plain(folder: &Path) -> bool {
    folder
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

/// The file that `dwz` moved what several programs share into, if this debug file has such a part.
pub(super) fn shared_part(root: &Path, debug: &Elf, path: &Path) -> Option<Elf> {
    let section = debug.named(b".gnu_debugaltlink")?;
    if section.size > LONGEST_PATH as u64 {
        return None;
    }
    let bytes = debug.data(section).ok()?;
    let name = text_at(&bytes, 0);
    let build_id = bytes.get(name.len() + 1..).filter(|id| !id.is_empty())?;
    let name = Path::new(OsStr::from_bytes(name));
    let beside = path.parent().map(|folder| folder.join(name));
    let places = [by_build_id(root, build_id), beside];
    places.into_iter().flatten().find_map(|place| {
        let shared = quietly(|| Elf::open(&place)).ok()?;
        (shared.build_id == build_id).then_some(shared)
    })
}

/// The small symbol table that some distributions keep, packed, inside of stripped programs.
pub(super) fn mini(elf: &Elf) -> Result<Option<Elf>, Fault> {
    let packed = elf.data_named(b".gnu_debugdata")?;
    if packed.is_empty() {
        return Ok(None);
    }
    let bytes = super::unpack::xz(&packed, MOST_MINI)?;
    Elf::from_bytes(bytes).map(Some)
}
