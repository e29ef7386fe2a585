//! Names as linkers write them -> names as people write them, of a bounded length.

use super::quiet::quietly;
use std::fmt::{self, Write};

/// Longer names are cut. Those of templates reach 28 KiB, and nobody reads them.
pub(super) const LONGEST_NAME: usize = 512;
/// Longer ones are not taken apart: what they cost could grow faster than they do.
const LONGEST_MANGLED: usize = 8 << 10;
/// What stands at the end of a name that was cut.
const CUT: &str = "... [cut]";

/// Takes text up to a limit and refuses the rest, which makes a demangler stop.
struct Limited {
    text: String,
    full: bool,
}

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = LONGEST_NAME - self.text.len();
        let fits = floor(text, room);
        self.text.push_str(&text[..fits]);
        self.full = fits < text.len();
        if self.full {
            return Err(fmt::Error);
        }
        Ok(())
    }
}

/// The most bytes of `text`, at most `most`, that are whole characters.
fn floor(text: &str, most: usize) -> usize {
    if text.len() <= most {
        return text.len();
    }
    (0..=most)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Text of any length -> at most `LONGEST_NAME` bytes, which say so where something was cut.
pub(super) fn cut(text: &str) -> String {
    if text.len() <= LONGEST_NAME {
        return text.to_owned();
    }
    let mut short = text[..floor(text, LONGEST_NAME - CUT.len())].to_owned();
    short.push_str(CUT);
    short
}

fn limited(write: impl FnOnce(&mut Limited) -> fmt::Result) -> Option<String> {
    let mut out = Limited {
        text: String::new(),
        full: false,
    };
    match write(&mut out) {
        Ok(()) if !out.text.is_empty() => Some(out.text),
        _ if out.full => {
            out.text
                .truncate(floor(&out.text, LONGEST_NAME - CUT.len()));
            out.text.push_str(CUT);
            Some(out.text)
        }
        _ => None,
    }
}

/// Whether a name says more once it is taken apart.
pub(super) fn is_mangled(name: &[u8]) -> bool {
    name.starts_with(b"_Z") || name.starts_with(b"_R") || name.starts_with(b"__ZN")
}

/// A name as people write it: C++ without its hash-like dress, Rust without its hash.
pub(super) fn demangled(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    if !is_mangled(name) || name.len() > LONGEST_MANGLED {
        return cut(&text);
    }
    let found = quietly(|| Ok(rust(&text).or_else(|| cpp(name))));
    found.ok().flatten().unwrap_or_else(|| cut(&text))
}

fn rust(name: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(name).ok()?;
    limited(|out| write!(out, "{name:#}"))
}

fn cpp(name: &[u8]) -> Option<String> {
    let symbol = cpp_demangle::BorrowedSymbol::new(name).ok()?;
    let options = cpp_demangle::DemangleOptions::new();
    limited(|out| symbol.structured_demangle(out, &options))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rust's and C++'s names are as in their sources, and what is no such name stays as it is.
    #[test]
    fn names_are_as_in_the_sources() {
        for (mangled, name) in [
            ("_ZN4core3ptr4read17h0123456789abcdefE", "core::ptr::read"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_ZN5space3fooEibc", "space::foo(int, bool, char)"),
            ("_ZN3BoxC1Ev", "Box::Box()"),
            ("_ZN3BoxC4Ev", "Box::Box()"),
            ("main", "main"),
            ("_Z", "_Z"),
            ("_ZZZZ\u{1b}[31m", "_ZZZZ\u{1b}[31m"),
        ] {
            assert_eq!(demangled(mangled.as_bytes()), name, "{mangled}");
        }
        assert_eq!(demangled(b"caf\xe9"), "caf\u{fffd}");
    }

    /// A name that is long, or that grows when taken apart, is cut at a whole character and says so.
    #[test]
    fn long_names_are_cut() {
        let long = "é".repeat(LONGEST_NAME);
        let short = demangled(long.as_bytes());
        assert!(
            short.len() <= LONGEST_NAME && short.ends_with("é... [cut]"),
            "{short}"
        );
        // Each argument is a pair of the one before it: 2 to the 20th times the first one.
        let mut bomb = "_Z1fSt4pairIiiE".to_owned();
        for argument in 0..20 {
            let last = match argument {
                0 => "S_".to_owned(),
                n => format!("S{}_", n - 1),
            };
            bomb.push_str(&format!("St4pairI{last}{last}E"));
        }
        let short = demangled(bomb.as_bytes());
        assert!(short.len() <= LONGEST_NAME, "{} bytes", short.len());
    }

    /// Names of no sense at all, made of what real ones are made of, are short and cost little time.
    #[test]
    fn names_without_sense_do_no_harm() {
        const PARTS: [&str; 24] = [
            "N", "E", "S_", "S0_", "S1_", "S2_", "I", "J", "St4pair", "T_", "T0_", "DpT_", "L",
            "X", "sr", "cv", "3foo", "i", "P", "K", "F", "B", "NtC1a1b", "Dp",
        ];
        let mut random = fastrand::Rng::with_seed(3);
        let mut next = |most: usize| random.usize(..most);
        let begun = std::time::Instant::now();
        for round in 0..20_000 {
            let mut name = if round % 4 == 0 { "_R" } else { "_Z" }.to_owned();
            for _ in 0..next(120) {
                name.push_str(PARTS[next(PARTS.len())]);
            }
            assert!(demangled(name.as_bytes()).len() <= LONGEST_NAME, "{name}");
        }
        let took = begun.elapsed();
        assert!(took.as_secs() < 30, "20000 short names took {took:?}");
    }
}
