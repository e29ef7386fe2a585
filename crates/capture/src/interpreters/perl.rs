//! Perl: where each version keeps what, from its headers. Distributions build it with threads (ithreads); without them it keeps
//! its statements elsewhere, and is not read.

use timesink_recording::words::Language;

use super::{named, not_known, Kind, Layout};
use crate::address_space::Image;
use crate::probes::events::{self, ts_interpreter};
use crate::symbols::FoundSymbol;

pub const KIND: Kind = Kind {
    language: Language::Perl,
    number: events::TS_PERL,
    files: &["perl", "libperl"],
    symbols: &[KEY, REVISION, VERSION],
    eval: &["Perl_runops_standard"],
    entry: &["perl_run", "Perl_call_sv"],
    layout,
};

/// By this each thread keeps its interpreter as a value of its own.
const KEY: &str = "PL_thr_key";
const REVISION: &str = "PL_revision";
const VERSION: &str = "PL_version";

/// The kind of a function that is a text or a file which is evaluated, as the probes tell it.
pub const EVALUATED: u32 = 2;

fn layout(_: &Image, places: &[FoundSymbol]) -> Option<Layout> {
    let number = |name: &str| named(places, name)?.bytes.first().copied();
    let version = (number(REVISION)?, number(VERSION)?);
    Some(by_version(version, named(places, KEY)))
}

fn by_version(version: (u8, u8), key: Option<&FoundSymbol>) -> Layout {
    let (statement, stack, package) = match version {
        (5, 32) => (224, 240, 0),
        (5, 34) => (208, 224, 0),
        (5, 36 | 38 | 40) => (208, 224, 32),
        (revision, version) => return Err(not_known("Perl", &format!("{revision}.{version}"))),
    };
    let key = key.ok_or("no functions and lines of Perl: it was built without threads")?;
    Ok(ts_interpreter {
        state: key.start,
        perl_statement: statement,
        perl_stack: stack,
        perl_package: package,
        ..ts_interpreter::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each version has its own layout; one that nobody has looked at is told as such, and so is one without threads.
    #[test]
    fn versions() {
        let key = FoundSymbol {
            name: KEY.into(),
            start: 0x1000,
            size: 4,
            bytes: Vec::new(),
        };
        let found = |version| by_version((5, version), Some(&key));
        let places = |version| {
            let found = found(version).expect("a layout");
            (found.perl_statement, found.perl_stack, found.perl_package)
        };
        assert_eq!(places(32), (224, 240, 0));
        assert_eq!(places(34), (208, 224, 0));
        for version in [36, 38, 40] {
            assert_eq!(places(version), (208, 224, 32));
        }
        let why = "no functions and lines of Perl: version 5.42 is not known";
        assert_eq!(found(42).map(|_| ()), Err(why.into()));
        assert!([30, 35, 39, 41]
            .iter()
            .all(|version| found(*version).is_err()));
        assert!(by_version((5, 36), None).is_err_and(|why| why.contains("without threads")));
    }
}
