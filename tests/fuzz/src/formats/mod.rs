//! The formats that others may have written, each with what makes an input of it and has it read.

mod program;
mod recording;
mod spool;
mod texts;

use std::process::{Command, Stdio};

use crate::corpus::timesink;
use crate::coverage;
use crate::draws::Random;

/// Makes one input in the current folder and has it read. A fault is a panic.
type Try = fn(&mut Random);

/// They are begun from the last to the first: what takes longest comes last.
pub const FORMATS: [(&str, Try); 10] = [
    ("perf-map", program::perf_map),
    ("notation", texts::notation),
    ("unwind", program::unwind),
    ("dwarf", program::dwarf),
    ("elf", program::elf),
    ("packed", recording::packed),
    ("recording", recording::folder),
    ("settings", texts::settings),
    ("case", texts::case),
    ("spool", spool::spool),
];

/// Has the binary read something. It may refuse, but not fail, and what it prints acts on no terminal.
fn ask(words: &[&str]) {
    let mut command = Command::new(timesink());
    command.args(words).stdin(Stdio::null());
    command.env(coverage::VARIABLE, coverage::ASKED);
    let ran = command.output().expect("timesink can be run");
    let said = String::from_utf8_lossy(&ran.stderr);
    let is_usual = matches!(ran.status.code(), Some(0..=2)) && !said.contains("panicked");
    assert!(is_usual, "{words:?}: {}: {said}", ran.status);
    for stream in [&ran.stdout, &ran.stderr] {
        let acts = |c: char| c.is_control() && c != '\n';
        let text = String::from_utf8_lossy(stream);
        assert!(!text.chars().any(acts), "{words:?} prints {text:?}");
    }
    // Until now only what makes inputs was at work here.
    coverage::reading_begins();
}
