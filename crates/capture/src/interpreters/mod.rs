//! PHP, Ruby and Perl: which programs are one, how each version is laid out in memory, and what its frames mean.
//!
//! `recognise` looks at a file; one module a language says where the probes find what, version by version; `merge` puts
//! the frames of any interpreter, CPython's too, where they belong among the native ones. Reads no memory of processes: the
//! probes do that (`interpreters.bpf.h`).

mod merge;
mod perl;
mod php;
mod ruby;

use std::ops::Range;
use std::path::Path;

use timesink_recording::words::Language;

use crate::address_space::{Image, ImageKind};
use crate::probes::events::ts_interpreter;
use crate::probes::ToldName;
use crate::symbols::{self, FoundSymbol};

pub use merge::{merge, FrameRole, MergedFrame};

/// What the file of an interpreter says.
#[derive(Debug, Clone)]
pub struct Interpreter {
    /// What the probes must know; addresses are as the file counts.
    layout: ts_interpreter,
    /// Where the engine is that executes functions of the language, with the parts that compilers put elsewhere.
    eval: Vec<Range<u64>>,
    /// Where the functions are that do nothing but lead into it.
    entry: Vec<Range<u64>>,
}

impl Interpreter {
    /// What the probes must know where the file was moved so far.
    pub fn placed(&self, moved: u64) -> ts_interpreter {
        let layout = self.layout;
        // In a thread's own memory the file has no place.
        let state = match layout.module {
            0 => layout.state.wrapping_add(moved),
            _ => layout.state,
        };
        let module = match layout.module {
            0 | ruby::PROGRAM => layout.module,
            slot => slot.wrapping_add(moved),
        };
        ts_interpreter {
            state,
            module,
            ..layout
        }
    }

    /// What the function at this address, as the file counts, is to the interpreter.
    pub fn role(&self, address: u64) -> FrameRole {
        let has = |ranges: &[Range<u64>]| ranges.iter().any(|range| range.contains(&address));
        match () {
            () if has(&self.eval) => FrameRole::Eval,
            () if has(&self.entry) => FrameRole::Entry,
            () => FrameRole::Other,
        }
    }
}

/// A file that is an interpreter: what is known of it, or why its functions and lines will not be seen.
pub type Known = Result<Interpreter, String>;

/// Where an interpreter of a known version keeps what, or why it is not known.
type Layout = Result<ts_interpreter, String>;

/// How an interpreter is known.
struct Kind {
    language: Language,
    number: u32,
    /// How the names of its files begin.
    files: &'static [&'static str],
    symbols: &'static [&'static str],
    /// The engine, by the first of these names that the file has: it may be a part of the next.
    eval: &'static [&'static str],
    entry: &'static [&'static str],
    /// Its layout, if the symbols are those of such an interpreter.
    layout: fn(&Image, &[FoundSymbol]) -> Option<Layout>,
}

const KINDS: [&Kind; 3] = [&php::KIND, &ruby::KIND, &perl::KIND];

fn kind_of(path: &Path) -> Option<&'static Kind> {
    let name = path.file_name()?.to_str()?;
    let begins = |kind: &&&Kind| kind.files.iter().any(|start| name.starts_with(start));
    KINDS.iter().find(begins).copied()
}

/// Whether a file may be an interpreter, by its name: others are not opened.
pub fn may_be(path: &Path) -> bool {
    kind_of(path).is_some()
}

/// The interpreter in this file, if there is one.
pub fn recognise(image: &Image) -> Option<Known> {
    if image.kind() != ImageKind::File {
        return None;
    }
    let kind = kind_of(image.path())?;
    let places = symbols::places(image.open().ok()?, is_wanted).ok()?;
    let layout = (kind.layout)(image, &places)?;
    Some(layout.map(|layout| interpreter(kind, layout, &places)))
}

fn is_wanted(name: &str) -> bool {
    let all = |kind: &&'static Kind| [kind.symbols, kind.eval, kind.entry].concat();
    KINDS
        .iter()
        .flat_map(all)
        .any(|wanted| is_part(name, wanted))
}

/// A function, or a part of it that the compiler put elsewhere.
fn is_part(name: &str, function: &str) -> bool {
    let rest = name.strip_prefix(function);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn interpreter(kind: &Kind, layout: ts_interpreter, places: &[FoundSymbol]) -> Interpreter {
    let ranges = |wanted: &[&str]| -> Vec<Range<u64>> {
        let is_one = |place: &&FoundSymbol| wanted.iter().any(|name| is_part(&place.name, name));
        let range = |place: &FoundSymbol| place.start..place.start.saturating_add(place.size);
        places.iter().filter(is_one).map(range).collect()
    };
    Interpreter {
        layout: ts_interpreter {
            language: kind.number,
            ..layout
        },
        eval: kind
            .eval
            .iter()
            .map(|name| ranges(&[name]))
            .find(|found| !found.is_empty())
            .unwrap_or_default(),
        entry: ranges(kind.entry),
    }
}

fn named<'a>(places: &'a [FoundSymbol], name: &str) -> Option<&'a FoundSymbol> {
    places.iter().find(|place| place.name == name)
}

/// What is said where a version is not in the table.
fn not_known(language: &str, version: &str) -> String {
    format!("no functions and lines of {language}: version {version} is not known")
}

/// The two numbers that a version begins with.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|number| {
        let digits = number.find(|c: char| !c.is_ascii_digit());
        number[..digits.unwrap_or(number.len())].parse().ok()
    });
    Some((numbers.next()??, numbers.next()??))
}

/// A function as it is shown, and what it is written in; `None` for one of no language that is known.
pub fn shown(told: &ToldName) -> Option<(String, Language)> {
    let kind = KINDS.iter().find(|kind| kind.number == told.language)?;
    let name = match (told.owner.as_str(), told.name.as_str()) {
        (_, "") if told.language == ruby::KIND.number => ruby::named_by_kind(told.kind)?.to_owned(),
        (_, "") if told.kind == perl::EVALUATED => "(eval)".to_owned(),
        (_, "") => "{main}".to_owned(),
        ("", name) => name.to_owned(),
        (owner, name) => format!("{owner}::{name}"),
    };
    Some((name, kind.language))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::events;

    /// Functions are shown as their language writes them.
    #[test]
    fn names() {
        let told = |owner: &str, name: &str| ToldName {
            language: events::TS_PHP,
            owner: owner.into(),
            name: name.into(),
            ..ToldName::default()
        };
        let name = |owner, name| shown(&told(owner, name)).expect("PHP").0;
        assert_eq!(name("PDO", "query"), "PDO::query");
        assert_eq!(name("", "curl_exec"), "curl_exec");
        assert_eq!(name("", ""), "{main}");
        let evaluated = ToldName {
            language: events::TS_PERL,
            kind: perl::EVALUATED,
            ..told("", "")
        };
        let expected = ("(eval)".to_owned(), Language::Perl);
        assert_eq!(shown(&evaluated), Some(expected));
        let of_nobody = ToldName {
            language: 99,
            ..told("", "x")
        };
        assert_eq!(shown(&of_nobody), None);
    }

    /// In a child of Ruby the names that it gives itself may be in memory that is not there yet: the program was called `{main}`, as in
    /// PHP.
    #[test]
    fn the_program_of_a_forked_ruby_has_its_name() {
        let told = |kind| ToldName {
            language: events::TS_RUBY,
            kind,
            ..ToldName::default()
        };
        let name = |kind| shown(&told(kind)).map(|(name, _)| name);
        assert_eq!(name(7).as_deref(), Some("<main>"));
        assert_eq!(name(0).as_deref(), Some("<top (required)>"));
        assert_eq!(name(1), None);
    }

    /// A file is opened only if its name is one that interpreters have.
    #[test]
    fn files() {
        let is_one = |path: &str| may_be(Path::new(path));
        assert!(is_one("/usr/bin/php8.2"));
        assert!(is_one("/usr/sbin/php-fpm8.2"));
        assert!(is_one("/usr/lib/apache2/modules/libphp8.2.so"));
        assert!(is_one("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1"));
        assert!(is_one("/usr/bin/perl"));
        assert!(is_one("/usr/lib/x86_64-linux-gnu/libperl.so.5.36"));
        assert!(!is_one("/usr/bin/python3"));
        assert!(!is_one("/usr/lib/php/20220829/opcache.so"));
    }

    /// A version is the two numbers that it begins with.
    #[test]
    fn versions() {
        assert_eq!(version("8.2.36"), Some((8, 2)));
        assert_eq!(version("8.4.0-dev"), Some((8, 4)));
        assert_eq!(version("8.5rc1"), Some((8, 5)));
        assert_eq!(version("8"), None);
        assert_eq!(version("x.y"), None);
        assert_eq!(version("99999999999.1"), None);
    }
}
