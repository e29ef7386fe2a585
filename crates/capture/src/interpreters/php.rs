//! PHP: where each version keeps what, from its headers. Debian builds it without threads; with them (ZTS) it keeps its
//! calls elsewhere, and is not read.

use timesink_recording::words::Language;

use super::{named, not_known, version, Kind, Layout};
use crate::address_space::Image;
use crate::probes::events::{self, ts_interpreter};
use crate::symbols::{self, FoundSymbol};

pub const KIND: Kind = Kind {
    language: Language::Php,
    number: events::TS_PHP,
    files: &["php", "libphp"],
    symbols: &[GLOBALS, ENGINE],
    eval: &[ENGINE],
    entry: &["zend_execute", "zend_execute_scripts", "zend_call_function"],
    layout,
};

const GLOBALS: &str = "executor_globals";
const ENGINE: &str = "execute_ex";
/// Of the globals: the current call. It has been the same since 7.4.
const CURRENT_CALL: u64 = 488;

/// Nothing else that is easy to find says which version it is.
const BEFORE_VERSION: &[u8] = b"X-Powered-By: PHP/";

fn layout(image: &Image, places: &[FoundSymbol]) -> Option<Layout> {
    named(places, ENGINE)?;
    let said = symbols::text_behind(image.open().ok()?, BEFORE_VERSION);
    let said = said.ok().flatten()?;
    Some(by_version(&said, named(places, GLOBALS)))
}

fn by_version(said: &str, globals: Option<&FoundSymbol>) -> Layout {
    let Some(globals) = globals else {
        let why = "it was built with threads, whose calls are not read";
        return Err(format!("no functions and lines of PHP: {why}"));
    };
    let known = version(said).and_then(of_version);
    let functions = known.ok_or_else(|| not_known("PHP", said))?;
    Ok(ts_interpreter {
        state: globals.start.wrapping_add(CURRENT_CALL),
        php_operations: functions.operations,
        php_operation_count: functions.operation_count,
        php_file: functions.file,
        ..ts_interpreter::default()
    })
}

/// Of a function: where it has its operations, their number, and its file.
struct Functions {
    operations: u32,
    operation_count: u32,
    file: u32,
}

fn of_version(version: (u32, u32)) -> Option<Functions> {
    let (operation_count, operations, file) = match version {
        (7, 4) => (60, 64, 136),
        (8, 0 | 1) => (68, 72, 144),
        (8, 2) => (80, 88, 152),
        (8, 3) => (76, 80, 144),
        (8, 4) => (96, 104, 168),
        _ => return None,
    };
    Some(Functions {
        operations,
        operation_count,
        file,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each version has its own layout; one that nobody has looked at is told as such, and so is one with threads.
    #[test]
    fn versions() {
        let globals = FoundSymbol {
            name: GLOBALS.into(),
            start: 0x1000,
            size: 1800,
            bytes: Vec::new(),
        };
        let file = |said: &str| by_version(said, Some(&globals)).map(|found| found.php_file);
        let known = ["7.4.33", "8.0.30", "8.1.2", "8.2.36", "8.3.1", "8.4.27"].map(file);
        let expected = [136, 144, 144, 152, 144, 168].map(Ok::<u32, String>);
        assert_eq!(known, expected);
        let found = by_version("8.2.36", Some(&globals)).expect("8.2");
        assert_eq!(found.state, 0x1000 + 488);
        let why = "no functions and lines of PHP: version 8.9.1 is not known";
        assert_eq!(file("8.9.1"), Err(why.into()));
        assert!(file("7.3.1").is_err());
        assert!(by_version("8.2.36", None).is_err_and(|why| why.contains("threads")));
    }
}
