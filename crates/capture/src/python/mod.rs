//! CPython: which programs are one, how it is laid out in memory, and what its frames mean.
//!
//! `recognise` looks at a file; `layouts` says where the probes find what, version by version; `lines`
//! turns a place in a code object into a line; `interpreters` puts the frames where they belong among
//! the native ones. Reads no memory of processes: the probes do that (`python.bpf.h`).

mod layouts;
mod lines;

use std::ops::Range;
use std::path::Path;

use crate::address_space::{Image, ImageKind};
use crate::interpreters::FrameRole;
use crate::probes::events::ts_python;
use crate::symbols;

pub use lines::line;

/// Types that objects are known by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Types {
    pub long: u64,
    pub generator: u64,
    pub coroutine: u64,
}

/// What the file of an interpreter says.
#[derive(Debug, Clone)]
pub struct Interpreter {
    /// Where `_PyRuntime` is, as the file's symbol table counts.
    pub runtime: u64,
    /// What the probes must know, without what differs from process to process.
    pub layout: ts_python,
    /// Addresses of types, as the file's symbol table counts; 0: not known.
    pub types: Types,
    /// asyncio is part of it.
    pub has_asyncio: bool,
    /// Where the interpreter's loop is, with the parts that compilers put elsewhere.
    eval: Vec<Range<u64>>,
    /// Where the functions are that do nothing but lead into it.
    entry: Vec<Range<u64>>,
}

impl Interpreter {
    /// What the function at this address, as the file counts, is to Python.
    pub fn part(&self, address: u64) -> FrameRole {
        let has = |ranges: &[Range<u64>]| ranges.iter().any(|range| range.contains(&address));
        match () {
            () if has(&self.eval) => FrameRole::Eval,
            () if has(&self.entry) => FrameRole::Entry,
            () => FrameRole::Other,
        }
    }
}

/// Whether a file may be an interpreter, by its name: others are not opened.
pub fn may_be(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("python") || name.starts_with("libpython")
}

/// Whether a file is asyncio's part that is not written in Python.
pub fn is_asyncio(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("_asyncio.")
}

/// The interpreter in this file; `None` if there is none, or of a version whose layout is not known.
pub fn recognise(image: &Image) -> Option<Interpreter> {
    if image.kind() != ImageKind::File || !may_be(image.path()) {
        return None;
    }
    let places = symbols::places(image.open().ok()?, is_wanted).ok()?;
    interpreter(&places, image.path())
}

const EVAL: &str = "_PyEval_EvalFrameDefault";
/// Calling a function of Python from another goes through these, or through some of them.
const ENTRIES: [&str; 9] = [
    "_PyEval_EvalFrame",
    "_PyEval_Vector",
    "_PyEval_EvalCode",
    "_PyEval_EvalCodeWithName",
    "_PyFunction_Vectorcall",
    "function_code_fastcall",
    "call_function",
    "_PyObject_Vectorcall",
    "PyObject_Vectorcall",
];

const ASYNCIO: &str = "PyInit__asyncio";
const TYPES: [&str; 3] = ["PyLong_Type", "PyGen_Type", "PyCoro_Type"];

fn is_wanted(name: &str) -> bool {
    let is_known = matches!(name, "_PyRuntime" | "Py_Version" | ASYNCIO) || TYPES.contains(&name);
    is_known || is_part(name, EVAL) || is_entry(name)
}

/// A function, or a part of it that the compiler put elsewhere.
fn is_part(name: &str, function: &str) -> bool {
    let rest = name.strip_prefix(function);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn is_entry(name: &str) -> bool {
    ENTRIES.iter().any(|entry| is_part(name, entry))
}

fn interpreter(places: &[symbols::FoundSymbol], path: &Path) -> Option<Interpreter> {
    let named = |name: &str| places.iter().find(|place| place.name == name);
    let runtime = named("_PyRuntime")?;
    let version = named("Py_Version")
        .and_then(|place| place.bytes.first_chunk::<4>())
        .map(|bytes| u32::from_le_bytes(*bytes) >> 16)
        .or_else(|| version_in(path))?;
    let ranges = |wanted: fn(&str) -> bool| {
        let places = places.iter().filter(|place| wanted(&place.name));
        let range =
            |place: &symbols::FoundSymbol| place.start..place.start.saturating_add(place.size);
        places.map(range).collect()
    };
    let [long, generator, coroutine] = TYPES.map(|name| named(name).map_or(0, |place| place.start));
    Some(Interpreter {
        types: Types {
            long,
            generator,
            coroutine,
        },
        has_asyncio: named(ASYNCIO).is_some(),
        runtime: runtime.start,
        layout: layouts::of(version, &runtime.bytes)?,
        eval: ranges(|name| is_part(name, EVAL)),
        entry: ranges(is_entry),
    })
}

/// The version that a file is named after; older ones have it nowhere else that is easy to find.
fn version_in(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let rest = name.strip_prefix("lib").unwrap_or(name);
    let rest = rest.strip_prefix("python3.")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit());
    let minor: u32 = rest[..digits.unwrap_or(rest.len())].parse().ok()?;
    (minor < 256).then_some(0x300 | minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str, start: u64, size: u64, bytes: &[u8]) -> symbols::FoundSymbol {
        symbols::FoundSymbol {
            name: name.into(),
            start,
            size,
            bytes: bytes.into(),
        }
    }

    /// The version is what the program says, or else its name; without either nothing is guessed.
    #[test]
    fn versions() {
        let runtime = place("_PyRuntime", 0x1000, 64, &[]);
        let says = place("Py_Version", 0x2000, 4, &[0xf0, 7, 0xb, 3]);
        let eval = place("_PyEval_EvalFrameDefault", 0x100, 16, &[]);
        let cold = place("_PyEval_EvalFrameDefault.cold", 0x80, 4, &[]);
        let entry = place("_PyEval_Vector", 0x200, 16, &[]);
        let all = [runtime.clone(), says, eval, cold, entry];
        let found = interpreter(&all, Path::new("/x/python"));
        let found = found.expect("3.11");
        assert_eq!((found.runtime, found.layout.version), (0x1000, 0x30b));
        let parts = [0x10f, 0x83, 0x110, 0x84, 0x200].map(|address| found.part(address));
        let expected = [
            FrameRole::Eval,
            FrameRole::Eval,
            FrameRole::Other,
            FrameRole::Other,
            FrameRole::Entry,
        ];
        assert_eq!(parts, expected);
        let named = |name: &str| {
            let found = interpreter(std::slice::from_ref(&runtime), Path::new(name));
            found.map(|found| found.layout.version)
        };
        assert_eq!(named("/usr/lib/libpython3.9.so.1.0"), Some(0x309));
        assert_eq!(named("/usr/bin/python3.10"), Some(0x30a));
        assert_eq!(named("/usr/bin/python3"), None);
        assert_eq!(named("/usr/bin/python3.99999999999"), None);
        assert!(interpreter(&[], Path::new("/usr/bin/python3.10")).is_none());
    }
}
