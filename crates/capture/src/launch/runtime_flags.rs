//! What a program's environment gains so that Java's stacks can be followed. One variable is touched, in place, behind what is in
//! it. Whether a virtual machine is there to read it is not known beforehand: it may be a child's child.
//!
//! Node.js gains nothing: its functions' names are read from its memory.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Java 8 passes over the variable when it is longer.
const LONGEST_FOR_JAVA_8: usize = 1000;

/// The variable, with its `=`, and what is appended to it. The first flag is for virtual machines that do not know the others, and
/// would not start. The last ones have compiled code describe every place, so that inlined methods are known wherever it is at work. None makes
/// them write anything.
const VARIABLE: &[u8] = b"JAVA_TOOL_OPTIONS=";
const FLAGS: &[u8] = b"-XX:+IgnoreUnrecognizedVMOptions -XX:+PreserveFramePointer \
-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints";

/// An environment, with the flags.
pub(super) fn with_flags(mut entries: Vec<OsString>) -> Vec<OsString> {
    let mut there = false;
    for entry in &mut entries {
        if let Some(value) = entry.as_bytes().strip_prefix(VARIABLE) {
            there = true;
            if value.len() + 1 + FLAGS.len() <= LONGEST_FOR_JAVA_8 {
                let space: &[u8] = if value.is_empty() { b"" } else { b" " };
                *entry = OsString::from_vec([VARIABLE, value, space, FLAGS].concat());
            }
        }
    }
    if !there {
        entries.push(OsString::from_vec([VARIABLE, FLAGS].concat()));
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
        let long = format!("JAVA_TOOL_OPTIONS=-Dx={}", "y".repeat(890));
        assert_eq!(flagged(&[&long])[0], long);
    }

    /// No flag of ours makes Java write a file.
    #[test]
    fn java_writes_nothing() {
        let flags = String::from_utf8_lossy(FLAGS);
        assert!(!flags.contains("Dump") && !flags.contains("Log"), "{flags}");
    }
}
