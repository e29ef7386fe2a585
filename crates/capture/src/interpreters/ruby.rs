//! Ruby: where each version keeps what, from its headers. Since 3.0 each thread has what it executes in memory of its own;
//! where that is, the file must say, by the name of a symbol: Debian's 3.3 and later do not.

use timesink_recording::words::Language;

use super::{named, not_known, version, Kind, Layout};
use crate::address_space::Image;
use crate::probes::events::{self, ts_interpreter};
use crate::symbols::{self, FoundSymbol};

pub const KIND: Kind = Kind {
    language: Language::Ruby,
    number: events::TS_RUBY,
    files: &["ruby", "libruby"],
    symbols: &[VERSION, OF_THREAD, OF_ALL],
    eval: &["vm_exec_core", "rb_vm_exec", "vm_exec"],
    entry: &["rb_vm_exec", "vm_exec"],
    layout,
};

/// The kinds of instructions that Ruby names itself, as the probes tell them.
const OF_FILE: u32 = 0;
const OF_PROGRAM: u32 = 7;

/// What a function is called whose name could not be read.
pub fn named_by_kind(kind: u32) -> Option<&'static str> {
    match kind {
        OF_FILE => Some("<top (required)>"),
        OF_PROGRAM => Some("<main>"),
        _ => None,
    }
}

const VERSION: &str = "ruby_version";
/// What a thread executes, and before 3.0 the one that may.
const OF_THREAD: &str = "ruby_current_ec";
const OF_ALL: &str = "ruby_current_execution_context_ptr";
/// The number of the program's own module, in each thread's list of memory.
pub const PROGRAM: u64 = 1;

fn layout(image: &Image, places: &[FoundSymbol]) -> Option<Layout> {
    let said = named(places, VERSION)?;
    let said = said.bytes.split(|byte| *byte == 0).next()?;
    let said = String::from_utf8_lossy(said);
    let slot = || symbols::module_slot(image.open().ok()?, OF_THREAD).ok()?;
    let name = image.path().file_name()?.to_str()?;
    let module = match name.starts_with("lib") {
        true => slot(),
        false => Some(PROGRAM),
    };
    Some(by_version(&said, places, module))
}

fn by_version(said: &str, places: &[FoundSymbol], module: Option<u64>) -> Layout {
    let known = version(said).filter(|known| (2, 7) <= *known && *known <= (3, 4));
    let known = known.ok_or_else(|| not_known("Ruby", said))?;
    let place = |name: &str| named(places, name).map(|place| place.start);
    let executed = match known {
        (2, _) => place(OF_ALL).map(|state| (state, 0)),
        _ => place(OF_THREAD).zip(module),
    };
    let why = "its file does not say where threads keep what they execute";
    let (state, module) =
        executed.ok_or_else(|| format!("no functions and lines of Ruby: {why}"))?;
    let of_one = known < (3, 0);
    Ok(ts_interpreter {
        state,
        module,
        ruby_frame: match known {
            (3, 1 | 2) => 64,
            _ => 56,
        },
        ruby_lines: if known < (3, 2) { 120 } else { 112 },
        ruby_line: if known < (3, 1) { 8 } else { 12 },
        ruby_thread: if of_one { 56 } else { 0 },
        ruby_thread_id: if of_one { 72 } else { 0 },
        ruby_text: if known < (3, 2) { 16 } else { 24 },
        ..ts_interpreter::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str, start: u64) -> FoundSymbol {
        FoundSymbol {
            name: name.into(),
            start,
            size: 8,
            bytes: Vec::new(),
        }
    }

    /// Each version has its own layout; one that nobody has looked at, or that hides its threads, is told as such.
    #[test]
    fn versions() {
        let places = [place(OF_THREAD, 8), place(OF_ALL, 0x1000)];
        let sizes = |said: &str| {
            let found = by_version(said, &places, Some(0x2000)).expect("a layout");
            (found.ruby_frame, found.ruby_lines, found.ruby_line)
        };
        assert_eq!(sizes("2.7.4"), (56, 120, 8));
        assert_eq!(sizes("3.0.2"), (56, 120, 8));
        assert_eq!(sizes("3.1.2"), (64, 120, 12));
        assert_eq!(sizes("3.2.1"), (64, 112, 12));
        assert_eq!(sizes("3.3.8"), (56, 112, 12));
        assert_eq!(sizes("3.4.1"), (56, 112, 12));
        let old = by_version("2.7.4", &places, None).expect("2.7");
        assert_eq!((old.state, old.module), (0x1000, 0));
        assert_eq!((old.ruby_thread, old.ruby_thread_id), (56, 72));
        let new = by_version("3.1.2", &places, Some(0x2000)).expect("3.1");
        assert_eq!((new.state, new.module, new.ruby_thread), (8, 0x2000, 0));
        let why = |said: &str, places: &[FoundSymbol], module| {
            by_version(said, places, module)
                .map(|_| ())
                .expect_err("no layout")
        };
        for unknown in ["2.6.1", "3.5.0", "4.0.0"] {
            let expected =
                format!("no functions and lines of Ruby: version {unknown} is not known");
            assert_eq!(why(unknown, &places, Some(1)), expected);
        }
        assert!(why("3.3.8", &[], Some(1)).contains("does not say"));
        assert!(why("3.1.2", &places, None).contains("does not say"));
    }
}
