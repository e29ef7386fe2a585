//! The child's side: input after input, until one of them ends it.

use std::io::Write;
use std::ops::Range;
use std::process::ExitCode;

use crate::formats::FORMATS;
use crate::mutate::Random;

/// Tries these inputs of a format in the current folder, which is the child's own. A fault ends it with a panic, if not
/// with less.
pub fn run(format: &str, seed: u64, range: Range<u64>) -> ExitCode {
    let Some((_, try_one)) = FORMATS.iter().find(|(name, _)| *name == format) else {
        eprintln!("there is no format {format}");
        return ExitCode::from(2);
    };
    let name = format
        .bytes()
        .fold(0u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    let mut out = std::io::stdout().lock();
    for at in range {
        // Who reads this knows which input it was if nothing else comes.
        writeln!(out, "{at}")
            .and_then(|()| out.flush())
            .expect("the parent listens");
        try_one(&mut Random::of(seed ^ name, at));
    }
    eprintln!("through");
    ExitCode::SUCCESS
}
