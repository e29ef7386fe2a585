//! What a program's environment gains so that Java's stacks can be followed, and, where the user asks for it, Node.js
//! tells the names of the code that it makes. Two variables are touched, in place, behind what is in them. Whether
//! a runtime is there to read them is not known beforehand: it may be a child's child.
//!
//! Node.js writes its names to `/tmp/perf-PID.map`, whatever lies there: it follows links, waits for who reads a
//! pipe, and ends itself where it may not write. Where others may write to `/tmp`, they can use that, so it is only
//! asked when the user says so. Nothing can be known of the `/tmp` of its children, which may be in other containers.

use super::system;
use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Where Node.js writes its maps.
const MAPS: &CStr = c"/tmp";

/// Who is to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asked {
    pub java: bool,
    pub node: bool,
}

/// What Node.js writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Of the code that it makes.
    Map,
    /// Some versions also write this, where they run, as soon as they are asked for a map.
    Log,
}

/// Java 8 passes over the variable when it is longer.
const LONGEST_FOR_JAVA_8: usize = 1000;

/// A variable, with its `=`, and what is appended to it.
type Flags = (&'static [u8], &'static [u8]);

/// The first one is for virtual machines that do not know the other, and would not start. Neither makes them write
/// anything.
const JAVA: Flags = (
    b"JAVA_TOOL_OPTIONS=",
    b"-XX:+IgnoreUnrecognizedVMOptions -XX:+PreserveFramePointer",
);

/// `--perf-basic-prof` itself would make versions 18 to 22 write a log, too. The second gives each interpreted
/// function a piece of code of its own, by which it has a name.
const NODE: Flags = (
    b"NODE_OPTIONS=",
    b"--perf-basic-prof-only-functions --interpreted-frames-native-stack",
);

impl Written {
    /// How the words begin with which a user asks for it.
    fn asks(self) -> &'static [&'static [u8]] {
        match self {
            Written::Map => &[b"--perf-basic-prof"],
            Written::Log => &[b"--perf-", b"--log", b"--prof", b"--ll-prof"],
        }
    }

    fn asked_in(self, text: &[u8]) -> bool {
        // To Node.js `_` is `-`. A variable's first word stands behind its `=`.
        let mut words = text.split(|byte| byte.is_ascii_whitespace() || b"\0=\"'".contains(byte));
        words.any(|word| {
            let plain = word.iter().map(|byte| match byte {
                b'_' => b'-',
                other => *other,
            });
            let plain: Vec<u8> = plain.collect();
            self.asks().iter().any(|ask| plain.starts_with(ask))
        })
    }

    /// Whether Node.js writes this because of us alone: the environment and the arguments, as /proc has
    /// them, have our flags, and nobody else has asked for it.
    pub fn for_us(self, environment: &[u8], arguments: &[u8]) -> bool {
        let (variable, flags) = NODE;
        let mut ours = false;
        let mut asked = self.asked_in(arguments);
        for entry in environment.split(|byte| *byte == 0) {
            let own = entry.starts_with(variable);
            match own.then(|| place_of(flags, entry)).flatten() {
                Some(at) => {
                    ours = true;
                    asked |= self.asked_in(&entry[..at]);
                    asked |= self.asked_in(&entry[at + flags.len()..]);
                }
                None => asked |= self.asked_in(entry),
            }
        }
        ours && !asked
    }
}

/// Whether Node.js is asked in this environment, as /proc has it.
pub fn asks_node(environment: &[u8]) -> bool {
    let (variable, flags) = NODE;
    let mut entries = environment.split(|byte| *byte == 0);
    entries.any(|entry| entry.starts_with(variable) && place_of(flags, entry).is_some())
}

fn place_of(part: &[u8], whole: &[u8]) -> Option<usize> {
    whole.windows(part.len()).position(|here| here == part)
}

/// Whether Node.js can be asked, with the rights to files that this thread has, which are this user's. Where it
/// cannot write, it would end itself.
pub(super) fn may_ask_node(user: u32) -> bool {
    may_ask_with(MAPS, user)
}

fn may_ask_with(maps: &CStr, user: u32) -> bool {
    system::may_write_in(maps).is_ok()
        && is_safe_for_node(Path::new(OsStr::from_bytes(maps.to_bytes())), user)
}

/// Whether no Node.js would end itself because it cannot write its map: also those have to be able to that become
/// other users, and none may get the number that is in the name of somebody else's map.
fn is_safe_for_node(maps: &Path, user: u32) -> bool {
    const ALL_MAY_WRITE: u32 = 0o003;
    let mode = std::fs::metadata(maps).map_or(0, |about| about.mode());
    mode & ALL_MAY_WRITE == ALL_MAY_WRITE && !has_maps_of_others(maps, user)
}

fn has_maps_of_others(folder: &Path, user: u32) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        // They may be there.
        return true;
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.as_bytes();
        let map = name.starts_with(b"perf-") && name.ends_with(b".map");
        map && entry.metadata().is_ok_and(|about| about.uid() != user)
    })
}

/// An environment, with the flags for these.
pub(super) fn with_flags(mut entries: Vec<OsString>, asked: Asked) -> Vec<OsString> {
    let java = asked.java.then_some((JAVA, LONGEST_FOR_JAVA_8));
    let node = asked.node.then_some((NODE, usize::MAX));
    for ((variable, flags), longest) in java.into_iter().chain(node) {
        let mut there = false;
        for entry in &mut entries {
            if let Some(value) = entry.as_bytes().strip_prefix(variable) {
                there = true;
                if value.len() + 1 + flags.len() <= longest {
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
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    fn flagged(entries: &[&str]) -> Vec<String> {
        let entries = entries.iter().map(OsString::from).collect();
        let text = |entry: OsString| entry.into_string().expect("plain text");
        let both = Asked {
            java: true,
            node: true,
        };
        let flagged = with_flags(entries, both);
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

    /// Maps of others are seen, and those of the user itself do no harm.
    #[test]
    fn maps_of_others() {
        let folder = std::env::temp_dir().join(format!("flags-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("perf-7.map"), "").expect("a map");
        let user = folder.metadata().expect("a folder").uid();
        assert!(!has_maps_of_others(&folder, user));
        assert!(has_maps_of_others(&folder, user + 1));
        std::fs::rename(folder.join("perf-7.map"), folder.join("perf-7.txt")).expect("moved");
        assert!(!has_maps_of_others(&folder, user + 1));
        std::fs::remove_dir_all(&folder).expect("removed");
        assert!(has_maps_of_others(&folder, user));
    }

    /// Who could not write a map is not asked for one: it would fail because it is recorded.
    #[test]
    fn nobody_is_asked_for_what_cannot_be_written() {
        let folder = std::env::temp_dir().join(format!("asked-{}", std::process::id()));
        let asked = |user| {
            let maps = CString::new(folder.as_os_str().as_bytes()).expect("a path");
            may_ask_with(&maps, user)
        };
        let allow = |mode| std::fs::set_permissions(&folder, Permissions::from_mode(mode));
        assert!(!asked(0));
        std::fs::write(&folder, "").expect("a file");
        assert!(!asked(0));
        std::fs::remove_file(&folder).expect("removed");
        std::fs::create_dir(&folder).expect("a folder");
        let user = folder.metadata().expect("a folder").uid();
        allow(0o1777).expect("for all");
        assert!(asked(user));
        allow(0o755).expect("for one");
        assert!(!asked(user));
        allow(0o1777).expect("for all");
        std::fs::write(folder.join("perf-7.map"), "").expect("a map");
        assert!(asked(user));
        assert!(!asked(user + 1));
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    /// Only who is asked has a variable.
    #[test]
    fn only_who_is_asked() {
        let java = Asked {
            java: true,
            node: false,
        };
        let after = with_flags(vec!["NODE_OPTIONS=--inspect".into()], java);
        assert_eq!(after.len(), 2);
        assert_eq!(after[0], "NODE_OPTIONS=--inspect");
    }

    /// A variable that an old Java would drop for its length is left alone.
    #[test]
    fn long_options_are_left_alone() {
        let long = format!("JAVA_TOOL_OPTIONS=-Dx={}", "y".repeat(940));
        assert_eq!(flagged(&[&long])[0], long);
    }

    /// A map is there because of us only where our flags are and nobody else asked for it.
    #[test]
    fn whose_map_it_is() {
        let ours = as_proc_has(&flagged(&["A=1"]));
        assert!(asks_node(&ours) && !asks_node(b"A=1\0NODE_OPTIONS=--inspect\0"));
        assert!(Written::Map.for_us(&ours, b"node\0x.js\0"));
        assert!(!Written::Map.for_us(b"A=1\0", b"node\0"));
        for asks in ["--perf-basic-prof", "--perf_basic_prof_only_functions"] {
            let arguments = format!("node\0{asks}\0x.js\0");
            assert!(!Written::Map.for_us(&ours, arguments.as_bytes()));
            let other = as_proc_has(&flagged(&[&format!("NODE_OPTIONS={asks} --inspect")]));
            assert!(!Written::Map.for_us(&other, b"node\0x.js\0"));
        }
    }

    /// No flag of ours makes Java write a file.
    #[test]
    fn java_writes_nothing() {
        let flags = String::from_utf8_lossy(JAVA.1);
        assert!(!flags.contains("Dump") && !flags.contains("Log"), "{flags}");
    }

    /// Flags that the program itself adds for its children do not make the map theirs.
    #[test]
    fn flags_behind_ours() {
        let mut entries = flagged(&["A=1"]);
        entries[2] += " --max-old-space-size=512";
        let ours = as_proc_has(&entries);
        assert!(Written::Map.for_us(&ours, b"node\0"));
        entries[2] += " --perf-basic-prof";
        let asked = as_proc_has(&entries);
        assert!(!Written::Map.for_us(&asked, b"node\0"));
    }

    /// A log that somebody asked for is theirs, even where the map is ours.
    #[test]
    fn whose_log_it_is() {
        let ours = as_proc_has(&flagged(&["A=1"]));
        assert!(Written::Log.for_us(&ours, b"node\0x.js\0"));
        for asks in ["--prof", "--logfile=x", "--log_all", "--perf-basic-prof"] {
            let arguments = format!("node\0{asks}\0x.js\0");
            assert!(!Written::Log.for_us(&ours, arguments.as_bytes()));
        }
    }
}
