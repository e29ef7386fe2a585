//! What a program's environment gains so that Java tells the names of the code that it makes. Only one
//! variable is touched, in place, behind what is in it. Whether a runtime is there to read it is not known
//! beforehand: it may be a child's child.
//!
//! Node.js is not asked: `--perf-basic-prof` makes it leave a log in the folder it runs in, and where that
//! log goes cannot be said in NODE_OPTIONS.

use std::ffi::{CStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Where Java writes its maps.
pub(super) const MAPS: &CStr = c"/tmp";

/// The variable, with its `=`.
const NAME: &[u8] = b"JAVA_TOOL_OPTIONS=";
/// The first one is for virtual machines before 17, which do not know the last and would not start.
const FLAGS: &[u8] = b"-XX:+IgnoreUnrecognizedVMOptions -XX:+PreserveFramePointer \
    -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit";
/// How a user asks for a map.
const ASKS: &[u8] = b"DumpPerfMapAtExit";
/// Java 8 passes over the variable when it is longer.
const LONGEST_FOR_JAVA_8: usize = 1000;

fn asked_in(text: &[u8]) -> bool {
    text.windows(ASKS.len()).any(|part| part == ASKS)
}

/// Whether a Java writes its map because of us alone: the environment and the arguments, as /proc has
/// them, have our flags, and nobody else has asked for a map.
pub fn writes_for_us(environment: &[u8], arguments: &[u8]) -> bool {
    let mut ours = false;
    let mut asked = asked_in(arguments);
    for entry in environment.split(|byte| *byte == 0) {
        let own = entry.starts_with(NAME).then_some(entry);
        let before = own.and_then(|entry| entry.strip_suffix(FLAGS));
        ours |= before.is_some();
        asked |= asked_in(before.unwrap_or(entry));
    }
    ours && !asked
}

/// An environment, with the flags.
pub(super) fn with_flags(mut entries: Vec<OsString>) -> Vec<OsString> {
    let mut there = false;
    for entry in &mut entries {
        if let Some(value) = entry.as_bytes().strip_prefix(NAME) {
            there = true;
            if value.len() + 1 + FLAGS.len() <= LONGEST_FOR_JAVA_8 {
                let space: &[u8] = if value.is_empty() { b"" } else { b" " };
                *entry = OsString::from_vec([NAME, value, space, FLAGS].concat());
            }
        }
    }
    if !there {
        entries.push(OsString::from_vec([NAME, FLAGS].concat()));
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flagged(entries: &[&str]) -> Vec<String> {
        let entries = entries.iter().map(OsString::from).collect();
        let text = |entry: OsString| entry.into_string().expect("plain text");
        with_flags(entries).into_iter().map(text).collect()
    }

    fn as_proc_has(entries: &[String]) -> Vec<u8> {
        entries.join("\0").into_bytes()
    }

    /// What is there stays, in its place and in front; all other entries are as they were.
    #[test]
    fn flags_are_appended() {
        let after = flagged(&[
            "A=1",
            "NODE_OPTIONS=--inspect",
            "odd",
            "JAVA_TOOL_OPTIONS=-Da",
        ]);
        assert_eq!(after.len(), 4);
        assert_eq!(after[..3], ["A=1", "NODE_OPTIONS=--inspect", "odd"]);
        assert!(after[3].starts_with("JAVA_TOOL_OPTIONS=-Da -XX:+IgnoreUnrecognizedVMOptions "));
        let after = flagged(&["A=1"]);
        assert!(after[1].starts_with("JAVA_TOOL_OPTIONS=-XX:"));
        assert_eq!(after.len(), 2);
    }

    /// A variable that an old Java would drop for its length is left alone.
    #[test]
    fn long_options_are_left_alone() {
        let long = format!("JAVA_TOOL_OPTIONS=-Dx={}", "y".repeat(900));
        assert_eq!(flagged(&[&long])[0], long);
    }

    /// A map is there because of us only where our flags are and nobody else asked for it.
    #[test]
    fn whose_map_it_is() {
        let ours = as_proc_has(&flagged(&["A=1"]));
        assert!(writes_for_us(&ours, b"java\0T\0"));
        assert!(!writes_for_us(&ours, b"java\0-XX:+DumpPerfMapAtExit\0T\0"));
        assert!(!writes_for_us(b"A=1\0", b"java\0"));
        let other = as_proc_has(&flagged(&["_JAVA_OPTIONS=-XX:+DumpPerfMapAtExit"]));
        assert!(!writes_for_us(&other, b"java\0"));
    }
}
