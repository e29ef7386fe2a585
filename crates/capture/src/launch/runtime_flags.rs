//! What a program's environment gains so that Java and Node.js tell the names of the code that they make.
//! Two variables are touched, in place, behind what is in them. Whether a runtime is there to read them is
//! not known beforehand: it may be a child's child.

use super::system;
use std::ffi::{CStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Where both write their maps.
const MAPS: &CStr = c"/tmp";

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    Java,
    Node,
}

/// What a runtime writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Of the code that it makes.
    Map,
    /// Some versions of Node.js also write this, where they run, as soon as they are asked for a map.
    Log,
}

/// Java 8 passes over the variable when it is longer.
const LONGEST_FOR_JAVA_8: usize = 1000;

impl Runtime {
    /// The variable, with its `=`.
    fn variable(self) -> &'static [u8] {
        match self {
            Runtime::Java => b"JAVA_TOOL_OPTIONS=",
            Runtime::Node => b"NODE_OPTIONS=",
        }
    }

    fn flags(self) -> &'static [u8] {
        match self {
            // The first one is for virtual machines before 17, which do not know the last and would not start.
            Runtime::Java => {
                b"-XX:+IgnoreUnrecognizedVMOptions -XX:+PreserveFramePointer \
                -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit"
            }
            // `--perf-basic-prof` itself would make versions 18 to 22 write a log, too. The second gives
            // each interpreted function a piece of code of its own, by which it has a name.
            Runtime::Node => b"--perf-basic-prof-only-functions --interpreted-frames-native-stack",
        }
    }

    /// How the words begin with which a user asks for such a file.
    fn asks(self, what: Written) -> &'static [&'static [u8]] {
        match (self, what) {
            (Runtime::Java, _) => &[b"-XX:+DumpPerfMapAtExit"],
            (Runtime::Node, Written::Map) => &[b"--perf-basic-prof"],
            (Runtime::Node, Written::Log) => &[b"--perf-", b"--log", b"--prof", b"--ll-prof"],
        }
    }

    fn asked_in(self, what: Written, text: &[u8]) -> bool {
        // To Node.js `_` is `-`. A variable's first word stands behind its `=`.
        let mut words = text.split(|byte| byte.is_ascii_whitespace() || b"\0=\"'".contains(byte));
        words.any(|word| {
            let plain = word.iter().map(|byte| match byte {
                b'_' => b'-',
                other => *other,
            });
            let plain: Vec<u8> = plain.collect();
            self.asks(what).iter().any(|ask| plain.starts_with(ask))
        })
    }

    /// Whether it writes this because of us alone: the environment and the arguments, as /proc has
    /// them, have our flags, and nobody else has asked for it.
    pub fn writes_for_us(self, what: Written, environment: &[u8], arguments: &[u8]) -> bool {
        let mut ours = false;
        let mut asked = self.asked_in(what, arguments);
        for entry in environment.split(|byte| *byte == 0) {
            let own = entry.starts_with(self.variable());
            match own.then(|| place_of(self.flags(), entry)).flatten() {
                Some(at) => {
                    ours = true;
                    asked |= self.asked_in(what, &entry[..at]);
                    asked |= self.asked_in(what, &entry[at + self.flags().len()..]);
                }
                None => asked |= self.asked_in(what, entry),
            }
        }
        ours && !asked
    }
}

fn place_of(part: &[u8], whole: &[u8]) -> Option<usize> {
    whole.windows(part.len()).position(|here| here == part)
}

/// Whom to ask, with the rights to files that this thread has, which are this user's. Who cannot write there is
/// not asked. Nor is Node.js, whose functions have their names from its memory: it would write through whatever others have
/// laid there, and end itself where it could not.
pub(super) fn to_ask() -> Vec<Runtime> {
    asked_with(MAPS)
}

fn asked_with(maps: &CStr) -> Vec<Runtime> {
    match system::may_write_in(maps) {
        Ok(()) => vec![Runtime::Java],
        Err(_) => Vec::new(),
    }
}

/// An environment, with the flags for these.
pub(super) fn with_flags(mut entries: Vec<OsString>, asked: &[Runtime]) -> Vec<OsString> {
    for runtime in asked {
        let (variable, flags) = (runtime.variable(), runtime.flags());
        let mut there = false;
        for entry in &mut entries {
            if let Some(value) = entry.as_bytes().strip_prefix(variable) {
                there = true;
                let fits = value.len() + 1 + flags.len() <= LONGEST_FOR_JAVA_8;
                if fits || *runtime != Runtime::Java {
                    let space: &[u8] = if value.is_empty() { b"" } else { b" " };
                    *entry = OsString::from_vec([variable, value, space, flags].concat());
                }
            }
        }
        if !there {
            entries.push(OsString::from_vec([variable, flags].concat()));
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    fn flagged(entries: &[&str]) -> Vec<String> {
        let entries = entries.iter().map(OsString::from).collect();
        let text = |entry: OsString| entry.into_string().expect("plain text");
        let flagged = with_flags(entries, &[Runtime::Java, Runtime::Node]);
        flagged.into_iter().map(text).collect()
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
        assert_eq!((&*after[0], &*after[2]), ("A=1", "odd"));
        assert!(after[1].starts_with("NODE_OPTIONS=--inspect --perf-basic-prof-only-functions "));
        assert!(after[3].starts_with("JAVA_TOOL_OPTIONS=-Da -XX:+IgnoreUnrecognizedVMOptions "));
        let after = flagged(&["A=1"]);
        assert!(after[1].starts_with("JAVA_TOOL_OPTIONS=-XX:"));
        assert!(after[2].starts_with("NODE_OPTIONS=--perf-"));
        assert_eq!(after.len(), 3);
    }

    /// Who could not write a map is not asked for one: it would fail because it is recorded.
    #[test]
    fn nobody_is_asked_for_what_cannot_be_written() {
        let folder = std::env::temp_dir().join(format!("asked-{}", std::process::id()));
        let asked = || {
            let maps = CString::new(folder.as_os_str().as_bytes()).expect("a path");
            asked_with(&maps)
        };
        assert_eq!(asked(), []);
        std::fs::write(&folder, "").expect("a file");
        assert_eq!(asked(), []);
        std::fs::remove_file(&folder).expect("removed");
        std::fs::create_dir(&folder).expect("a folder");
        assert_eq!(asked(), [Runtime::Java]);
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    /// Only who is asked has a variable.
    #[test]
    fn only_who_is_asked() {
        let after = with_flags(vec!["NODE_OPTIONS=--inspect".into()], &[Runtime::Java]);
        assert_eq!(after.len(), 2);
        assert_eq!(after[0], "NODE_OPTIONS=--inspect");
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
        let (java, node) = (Runtime::Java, Runtime::Node);
        assert!(java.writes_for_us(Written::Map, &ours, b"java\0T\0"));
        let asks = b"java\0-XX:+DumpPerfMapAtExit\0T\0";
        assert!(!java.writes_for_us(Written::Map, &ours, asks));
        assert!(!java.writes_for_us(Written::Map, b"A=1\0", b"java\0"));
        let other = as_proc_has(&flagged(&["_JAVA_OPTIONS=-XX:+DumpPerfMapAtExit"]));
        assert!(!java.writes_for_us(Written::Map, &other, b"java\0"));
        assert!(node.writes_for_us(Written::Map, &ours, b"node\0x.js\0"));
        for asks in ["--perf-basic-prof", "--perf_basic_prof_only_functions"] {
            let arguments = format!("node\0{asks}\0x.js\0");
            assert!(!node.writes_for_us(Written::Map, &ours, arguments.as_bytes()));
            let other = as_proc_has(&flagged(&[&format!("NODE_OPTIONS={asks} --inspect")]));
            assert!(!node.writes_for_us(Written::Map, &other, b"node\0x.js\0"));
        }
    }

    /// Flags that the program itself adds for its children do not make the map theirs.
    #[test]
    fn flags_behind_ours() {
        let mut entries = flagged(&["A=1"]);
        entries[2] += " --max-old-space-size=512";
        let ours = as_proc_has(&entries);
        assert!(Runtime::Node.writes_for_us(Written::Map, &ours, b"node\0"));
        entries[2] += " --perf-basic-prof";
        let asked = as_proc_has(&entries);
        assert!(!Runtime::Node.writes_for_us(Written::Map, &asked, b"node\0"));
    }

    /// A log that somebody asked for is theirs, even where the map is ours.
    #[test]
    fn whose_log_it_is() {
        let ours = as_proc_has(&flagged(&["A=1"]));
        let node = Runtime::Node;
        assert!(node.writes_for_us(Written::Log, &ours, b"node\0x.js\0"));
        for asks in ["--prof", "--logfile=x", "--log_all", "--perf-basic-prof"] {
            let arguments = format!("node\0{asks}\0x.js\0");
            assert!(!node.writes_for_us(Written::Log, &ours, arguments.as_bytes()));
        }
    }
}
