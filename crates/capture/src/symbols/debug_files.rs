//! Where a program's debug information may lie when it is not in the program: which files are looked
//! at, and whether one of them belongs to it. Asks no server.

use super::elf::{text_at, Elf, Record};
use super::fault::Fault;
use super::quiet::quietly;
use super::{hex, Module};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The longest path that a section may name.
const LONGEST_PATH: usize = 4096;
/// The most that a small symbol table inside of a program is, unpacked.
const MOST_MINI: u64 = 256 << 20;
/// Of more files in one folder not all are looked at.
const MOST_FILES: usize = 10_000;

/// A file that may be the one, and how it can prove that.
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// The checksum that its whole content must have.
    checksum: Option<u32>,
}

/// Where debug files are looked for.
pub(super) struct Places {
    /// The user's own folders first, then that of the distribution; all may be laid out as that is.
    roots: Vec<PathBuf>,
    /// Files of whatever name in the user's own folders, by build id.
    named: Vec<(Vec<u8>, PathBuf)>,
}

impl Places {
    pub(super) fn new(root: &Path) -> Places {
        Places {
            roots: vec![root.to_owned()],
            named: Vec::new(),
        }
    }

    pub(super) fn look_in(&mut self, folder: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)?.take(MOST_FILES) {
            let path = entry?.path();
            // What is no program, or cannot be read, is nobody's debug file.
            let elf = quietly(|| Elf::open(&path)).ok();
            let build_id = elf.map(|elf| elf.build_id).filter(|id| !id.is_empty());
            self.named.extend(build_id.map(|id| (id, path)));
        }
        let last = self.roots.len() - 1;
        self.roots.insert(last, folder.to_owned());
        Ok(())
    }
}

/// All places where a program's debug file may lie, the best first. Without the program itself, its build id says.
pub(super) fn candidates(places: &Places, module: &Module, elf: Option<&Elf>) -> Vec<Candidate> {
    let build_id = elf.map_or(&module.build_id, |elf| &elf.build_id);
    let by_id = places.roots.iter();
    let by_id = by_id.filter_map(|root| by_build_id(root, build_id));
    let named = places.named.iter().filter(|(id, _)| id == build_id);
    let certain = by_id.chain(named.map(|(_, path)| path.clone()));
    let mut found: Vec<Candidate> = certain
        .map(|path| Candidate {
            path,
            checksum: None,
        })
        .collect();
    let Some((name, checksum)) = elf.and_then(link) else {
        return found;
    };
    let mut folders = Vec::new();
    for path in [module.path.as_path(), Path::new(&module.shown)] {
        if let Some(folder) = path.parent() {
            folders.push(folder.join(&name));
            folders.push(folder.join(".debug").join(&name));
            if is_plain(folder) {
                let below = folder.strip_prefix("/").unwrap_or(folder);
                let roots = places.roots.iter();
                folders.extend(roots.map(|root| root.join(below).join(&name)));
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

/// The candidate that belongs to the program and says most; of equals the first.
pub(super) fn open(
    candidates: &[Candidate],
    build_id: &[u8],
    elf: Option<&Elf>,
) -> Option<(Elf, PathBuf)> {
    let mut best = None;
    for candidate in candidates {
        let Some(debug) = belonging(candidate, build_id, elf) else {
            continue;
        };
        let has = |name| debug.named(name).is_some();
        let worth = if has(b".debug_info") || has(b".zdebug_info") {
            2
        } else {
            u8::from(debug.symbol_table(false).is_some())
        };
        if best.as_ref().is_none_or(|(most, _, _)| worth > *most) {
            best = Some((worth, debug, candidate.path.clone()));
        }
    }
    best.map(|(_, debug, path)| (debug, path))
}

fn belonging(candidate: &Candidate, build_id: &[u8], elf: Option<&Elf>) -> Option<Elf> {
    let debug = quietly(|| Elf::open(&candidate.path)).ok()?;
    if debug.build_id != build_id || elf.is_some_and(|elf| debug.machine != elf.machine) {
        return None;
    }
    match candidate.checksum {
        Some(checksum) if debug.checksum().ok()? != checksum => None,
        _ => Some(debug),
    }
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
pub(super) fn shared_part(places: &Places, debug: &Elf, path: &Path) -> Option<Elf> {
    let section = debug.named(b".gnu_debugaltlink")?;
    if section.size > LONGEST_PATH as u64 {
        return None;
    }
    let bytes = debug.data(section).ok()?;
    let name = text_at(&bytes, 0);
    let build_id = bytes.get(name.len() + 1..).filter(|id| !id.is_empty())?;
    let name = Path::new(OsStr::from_bytes(name));
    let beside = path.parent().map(|folder| folder.join(name));
    let by_id = places.roots.iter();
    let by_id = by_id.filter_map(|root| by_build_id(root, build_id));
    by_id.chain(beside).find_map(|place| {
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
