//! Offsets in modules -> functions, files, lines and inlined calls.
//!
//! From the best that there is: debug information in the module or in a debug file that belongs to it,
//! its symbol table (or the small one that some distributions pack into it), the names it exports. What
//! was found is kept in a cache. Every file is taken for hostile: parsing costs bounded memory and time,
//! and a damaged file has fewer names, or none, and a fault that says why.
//!
//! Looks at no process, asks no server, and does not know where a module was loaded: the caller turns
//! addresses into offsets. Of the kernel it knows only the library that is in all processes, in our own too.

mod cache;
mod debug_files;
mod demangle;
mod dwarf;
mod elf;
mod fault;
mod go;
mod in_time;
pub mod perf_map;
mod places;
mod plt;
mod quiet;
mod runtimes;
mod table;
#[cfg(test)]
mod tests;
mod texts;
mod unpack;
mod variables;

pub use fault::Fault;
pub use in_time::{resolve_all, variables_of_all};
pub use perf_map::{Names, PerfMap, Tail, Wanted};
pub use places::FoundSymbol;
pub(crate) use places::{module_slot, places, text_behind};
pub use runtimes::understood;

use cache::Cache;
use debug_files::Candidate;
use elf::Elf;
use quiet::quietly;
use std::collections::HashMap;
use std::fmt::Write;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table::{Sought, Table};
use texts::Texts;
use timesink_recording::words::{ModuleKind, SymbolSource};

use crate::address_space::vdso;

/// Where distributions install debug files.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// A file with code, or what is like one.
pub struct Module {
    /// Where it can be opened now, for example below `/proc/PID/root`.
    pub path: PathBuf,
    /// Its content, where it is in no file.
    pub memory: Option<&'static [u8]>,
    /// Its path as the program saw it.
    pub shown: String,
    /// The build id of what ran; empty if it has none. A file with another one is not used.
    pub build_id: Vec<u8>,
    /// Inode, size and time of change of what ran, where they are known. Without a build id, a file with others is not used.
    pub stamp: Option<(u64, u64, i64)>,
}

impl Module {
    /// A module of a recording, which has its build id in hexadecimal: what is not that ends it. None if there is nothing to
    /// find its names in.
    pub fn recorded(kind: ModuleKind, path: &str, build_id: &str) -> Option<Module> {
        let digits = build_id.as_bytes().chunks_exact(2);
        let byte = |two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok();
        let build_id: Vec<u8> = digits.map_while(byte).collect();
        let memory = match kind {
            ModuleKind::File => None,
            // Without a build id it is not known whether that was our kernel's.
            ModuleKind::Vdso if !build_id.is_empty() => Some(vdso::own()?),
            _ => return None,
        };
        Some(Module {
            path: PathBuf::from(path),
            memory,
            shown: path.to_owned(),
            build_id,
            stamp: None,
        })
    }
}

/// A function at an offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Demangled, and cut if it is very long; empty if it is not known.
    pub function: Arc<str>,
    /// Empty if it is not known.
    pub file: Arc<str>,
    pub line: Option<u32>,
    pub inlined: bool,
}

#[derive(Debug)]
pub struct Resolved {
    /// For each offset that was asked for: the innermost inlined call first, the function which has
    /// them all, not inlined, last. Empty where nothing is known.
    pub frames: Vec<Vec<Named>>,
    /// The best that any of the names is from.
    pub source: SymbolSource,
    /// Why there are none, or fewer than there could be.
    pub fault: Option<Fault>,
}

/// What is known of one offset.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    frames: Vec<Named>,
    source: SymbolSource,
}

pub struct Symbols {
    cache: Option<Cache>,
    places: debug_files::Places,
}

impl Symbols {
    /// Names are kept in the folder `cache`, which is made if it is missing.
    pub fn new(cache: Option<PathBuf>) -> Symbols {
        Symbols::with_debug_root(cache, Path::new(DEBUG_ROOT))
    }

    fn with_debug_root(cache: Option<PathBuf>, debug_root: &Path) -> Symbols {
        Symbols {
            cache: cache.map(Cache::new),
            places: debug_files::Places::new(debug_root),
        }
    }

    /// Look for debug files in this folder, too, before others.
    pub fn look_in(&mut self, folder: &Path) -> io::Result<()> {
        self.places.look_in(folder)
    }

    /// The names at some offsets, which count as the symbol table of the module does, in any order. For
    /// an address to return to, ask for the byte before it: that is in the call.
    pub fn resolve(&self, module: &Module, offsets: &[u64]) -> Resolved {
        let mut texts = Texts::default();
        let opened = quietly(|| open(module));
        let (elf, fault) = match opened {
            Ok(elf) => (Some(elf), None),
            Err(fault) => (None, Some(fault)),
        };
        let build_id = elf.as_ref().map_or(&module.build_id, |elf| &elf.build_id);
        let build_id = build_id.clone();
        let candidates = debug_files::candidates(&self.places, module, elf.as_ref());
        let sources = sources(module, elf.is_some(), &candidates);
        let mut known = self.load(&build_id, Some(&sources), &mut texts);
        let mut wanted: Vec<u64> = offsets.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        wanted.retain(|offset| !known.contains_key(offset));
        if wanted.is_empty() {
            return collect(offsets, &known, None);
        }
        let debug = debug_files::open(&candidates, &build_id, elf.as_ref());
        let (elf, path, debug) = match (elf, debug) {
            (Some(elf), debug) => (elf, module.path.clone(), debug),
            // The program is gone, and its debug file says as much.
            (None, Some((debug, path))) => (debug, path, None),
            (None, None) => {
                // What was found when it could still be opened is as good as ever.
                let known = self.load(&build_id, None, &mut texts);
                return collect(offsets, &known, fault);
            }
        };
        let search = Search {
            elf: &elf,
            path: &path,
            places: &self.places,
            debug,
            wanted: &wanted,
        };
        let (found, fault) = search.run(&mut texts);
        known.extend(wanted.into_iter().zip(found));
        if let (Some(cache), None) = (&self.cache, &fault) {
            cache.store(&build_id, &sources, &known);
        }
        collect(offsets, &known, fault)
    }

    fn load(
        &self,
        build_id: &[u8],
        sources: Option<&[String]>,
        texts: &mut Texts,
    ) -> HashMap<u64, Known> {
        let cache = self.cache.as_ref();
        cache.map_or_else(HashMap::new, |cache| cache.load(build_id, sources, texts))
    }
}

/// Opens a module, if it is still the one that ran.
fn open(module: &Module) -> Result<Elf, Fault> {
    let elf = match module.memory {
        Some(bytes) => Elf::from_bytes(bytes.to_vec())?,
        None if is_another(module) => return Err(Fault::Replaced),
        None => Elf::open(&module.path)?,
    };
    if !module.build_id.is_empty() && elf.build_id != module.build_id {
        return Err(Fault::Replaced);
    }
    Ok(elf)
}

/// Whether the file at the module's place is known to be another one, without a build id to tell it by.
fn is_another(module: &Module) -> bool {
    let Some(stamp) = module.stamp.filter(|_| module.build_id.is_empty()) else {
        return false;
    };
    let now = std::fs::metadata(&module.path).ok();
    now.map(|about| (about.ino(), about.size(), about.mtime())) != Some(stamp)
}

/// What the names are from: the module, and all debug files that might be its own. Stripping a file
/// leaves its build id as it is, so its size and time count too; its place does not.
fn sources(module: &Module, is_there: bool, candidates: &[Candidate]) -> Vec<String> {
    let in_file = is_there && module.memory.is_none();
    let own = in_file.then_some(module.path.as_path());
    let own = debug_files::fingerprint(own.into_iter());
    let own = own.iter().filter_map(|text| {
        let mut parts = text.rsplitn(3, ' ');
        let (time, size) = (parts.next()?, parts.next()?);
        Some(format!("{size} {time}"))
    });
    let others = candidates.iter().map(|candidate| candidate.path.as_path());
    own.chain(debug_files::fingerprint(others)).collect()
}

fn collect(offsets: &[u64], known: &HashMap<u64, Known>, fault: Option<Fault>) -> Resolved {
    let mut source = SymbolSource::None;
    let mut frames = Vec::with_capacity(offsets.len());
    for offset in offsets {
        let known = known.get(offset);
        if let Some(known) = known.filter(|known| worth(known.source) > worth(source)) {
            source = known.source;
        }
        frames.push(known.map_or_else(Vec::new, |known| known.frames.clone()));
    }
    Resolved {
        frames,
        source,
        fault,
    }
}

/// How much a source says, compared with others.
pub fn worth(source: SymbolSource) -> u8 {
    match source {
        SymbolSource::None => 0,
        SymbolSource::Exports => 1,
        SymbolSource::Table => 2,
        _ => 3,
    }
}

/// A name out of a symbol table.
#[derive(Clone)]
struct TableName {
    text: Arc<str>,
    /// Taken apart, it says all that it is part of.
    mangled: bool,
    source: SymbolSource,
}

/// One look into a module and its debug file.
struct Search<'a> {
    elf: &'a Elf,
    path: &'a Path,
    places: &'a debug_files::Places,
    debug: Option<(Elf, PathBuf)>,
    /// Sorted, each once.
    wanted: &'a [u64],
}

impl Search<'_> {
    fn run(&self, texts: &mut Texts) -> (Vec<Known>, Option<Fault>) {
        let mut fault = None;
        let mut names = vec![None; self.wanted.len()];
        if let Err(why) = quietly(|| self.ask_tables(texts, &mut names)) {
            fault = Some(why);
        }
        let mut answers = Vec::new();
        answers.resize_with(self.wanted.len(), dwarf::Answer::default);
        if let Err(why) = quietly(|| self.ask_debug_information(texts, &mut answers)) {
            fault = Some(why);
        }
        let both = answers.into_iter().zip(names);
        let known = both.map(|(answer, name)| join(answer, name)).collect();
        (known, fault)
    }

    /// Names from symbol tables: the best table, then what is exported, then stubs.
    fn ask_tables(&self, texts: &mut Texts, names: &mut [Option<TableName>]) -> Result<(), Fault> {
        let stubs = plt::Stubs::read(self.elf, self.wanted)?;
        let full = self.full_table()?;
        let exports = if full.is_empty() {
            Table::read(self.elf, true, Sought::Functions)?
        } else {
            Table::default()
        };
        let go = if full.is_empty() {
            go::Names::read(self.elf)?
        } else {
            None
        };
        let clock = dwarf::Clock::start();
        let mut last: Option<(Vec<u8>, TableName)> = None;
        for (address, name) in self.wanted.iter().zip(names) {
            clock.look()?;
            let by_go = go.as_ref().and_then(|go| go.name(*address));
            let (raw, source, end) = if let Some(raw) = stubs.target(*address) {
                (raw, SymbolSource::Exports, "@plt")
            } else if let Some(raw) = full.name(*address) {
                (raw, SymbolSource::Table, "")
            } else if let Some(raw) = by_go.as_deref() {
                (raw, SymbolSource::Table, "")
            } else if let Some(raw) = exports.name(*address) {
                (raw, SymbolSource::Exports, "")
            } else {
                continue;
            };
            // Addresses are sorted, so that those in one function come one after the other.
            let again = last.as_ref().filter(|last| last.0 == raw && end.is_empty());
            if let Some((_, known)) = again {
                *name = Some(known.clone());
                continue;
            }
            let known = TableName {
                text: texts.keep(&(demangle::demangled(raw) + end)),
                mangled: demangle::is_mangled(raw),
                source,
            };
            last = end.is_empty().then(|| (raw.to_vec(), known.clone()));
            *name = Some(known);
        }
        Ok(())
    }

    /// The debug file's symbol table, or the module's own, or the small one packed into it.
    fn full_table(&self) -> Result<Table, Fault> {
        let debug = self.debug.as_ref().map(|(debug, _)| debug);
        full_table(debug, self.elf, Sought::Functions)
    }

    fn ask_debug_information(
        &self,
        texts: &mut Texts,
        answers: &mut [dwarf::Answer],
    ) -> Result<(), Fault> {
        let beside = self.debug.as_ref().map(|(elf, path)| (elf, path.as_path()));
        for (elf, path) in beside.into_iter().chain([(self.elf, self.path)]) {
            let Some(sections) = dwarf::Sections::read(elf)? else {
                continue;
            };
            let shared = debug_files::shared_part(self.places, elf, path);
            let shared = shared.as_ref().map(dwarf::Sections::read).transpose()?;
            let task = dwarf::Task {
                addresses: self.wanted,
                code_start: self.elf.code_start(),
            };
            let shared = shared.flatten();
            return dwarf::answer(&sections, shared.as_ref(), &task, texts, answers);
        }
        Ok(())
    }
}

/// The symbol table of the debug file, if there is one, or of the module, or the small one packed into that.
fn full_table(debug: Option<&Elf>, own: &Elf, sought: Sought) -> Result<Table, Fault> {
    for elf in debug.into_iter().chain([own]) {
        let table = Table::read(elf, false, sought)?;
        if !table.is_empty() {
            return Ok(table);
        }
    }
    match debug_files::mini(own)? {
        Some(mini) => Table::read(&mini, false, sought),
        None => Ok(Table::default()),
    }
}

/// What debug information and symbol table say together: the latter knows the whole name where the
/// former has only its last part, and the name of assembler code.
fn join(answer: dwarf::Answer, name: Option<TableName>) -> Known {
    let mut frames = answer.frames;
    if let Some(outermost) = frames.last_mut() {
        if let Some(name) = name {
            let better = name.mangled || outermost.function.is_empty();
            if answer.plain && better && name.source == SymbolSource::Table {
                outermost.function = name.text;
            }
        }
        return Known {
            frames,
            source: SymbolSource::Debug,
        };
    }
    let Some(name) = name else {
        return Known {
            frames,
            source: SymbolSource::None,
        };
    };
    frames.push(Named {
        function: name.text,
        file: Arc::from(""),
        line: None,
        inlined: false,
    });
    Known {
        frames,
        source: name.source,
    }
}

/// Bytes in hexadecimal, as build ids are written.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
