//! The environment of a run: what could make the same program faster or slower elsewhere. Gathered before the program runs and
//! after it, so that none of it is the program's time. What it says of files is in `files`.

pub mod files;
pub mod groups;
mod included;
mod kernel;
mod machine;
mod process;
mod storage;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use timesink_recording::words::{FactKind, Moment};

use crate::launch::Identity;
use crate::reader::Reader;
use crate::spool::Note;
pub use groups::Groups;

/// No value is kept beyond this many bytes, and not more of all of them together.
const MOST_OF_ONE: usize = 4096;
const MOST_IN_ALL: usize = 150_000;

/// Facts, as they are found.
#[derive(Debug, Default)]
pub struct Facts {
    found: Vec<(FactKind, String, String)>,
    bytes: usize,
}

impl Facts {
    /// Whether it is kept: what is empty is no fact, and there may be no room for it.
    pub fn add(&mut self, kind: FactKind, key: impl Into<String>, value: impl AsRef<str>) -> bool {
        self.add_text(kind, key, value.as_ref().trim(), MOST_OF_ONE)
    }

    /// One that there is always room for.
    fn add_always(&mut self, kind: FactKind, key: impl Into<String>, value: String) {
        self.found.push((kind, key.into(), value));
    }

    /// The text of a file that is to be kept, whatever there is of others.
    fn add_kept(&mut self, key: String, text: String) {
        self.add_always(FactKind::File, key, text);
    }

    fn add_text(
        &mut self,
        kind: FactKind,
        key: impl Into<String>,
        value: &str,
        most: usize,
    ) -> bool {
        let key = key.into();
        let mut end = value.len().min(most);
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        let bytes = key.len() + end;
        if end == 0 || self.bytes + bytes > MOST_IN_ALL {
            return false;
        }
        self.bytes += bytes;
        self.found.push((kind, key, value[..end].to_owned()));
        true
    }

    /// What a file of the kernel's says, if it is there.
    fn add_file(&mut self, kind: FactKind, key: &str, path: impl AsRef<Path>) {
        self.add(kind, key, read(path).replace('\t', " "));
    }

    /// The same for files of one folder, each by its name.
    fn add_files(&mut self, kind: FactKind, folder: &str, names: &[&str]) {
        for name in names {
            self.add_file(kind, name, Path::new(folder).join(name));
        }
    }

    /// As the spool keeps them.
    pub fn notes(self, moment: Moment) -> impl Iterator<Item = Note> {
        let note = move |(kind, key, value): (FactKind, String, String)| Note::Fact {
            kind: kind.as_str().to_owned(),
            key,
            value,
            moment: moment.as_str().to_owned(),
        };
        self.found.into_iter().map(note)
    }
}

/// How many BPF programs there are, ours included. To be asked as long as we may.
pub fn count_bpf_programs() -> usize {
    libbpf_rs::query::ProgInfoIter::default().count()
}

/// What there is before the program runs: of the machine, and of the process that will be it.
pub fn at_begin(
    pid: Option<u32>,
    group: Option<&Groups>,
    bpf_programs: usize,
    reader: &Reader,
) -> Facts {
    let mut facts = Facts::default();
    facts.add(FactKind::Tracers, "BPF programs", bpf_programs.to_string());
    machine::add(&mut facts);
    kernel::add(&mut facts);
    if let Some(pid) = pid {
        process::add(&mut facts, pid, reader);
    }
    if let Some(group) = group {
        group.add(&mut facts);
    }
    moving(&mut facts, group);
    facts
}

/// One fact about where a program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub kind: FactKind,
    pub key: String,
    pub value: String,
}

/// What holds for a program that we start in the current folder as this user, where nothing is recorded: of the machine, of
/// ourselves, which it inherits, and of the file system.
pub fn of_what_we_start(user: Option<&Identity>) -> Vec<Fact> {
    let mut facts = Facts::default();
    machine::add(&mut facts);
    kernel::add(&mut facts);
    let own = |name: &str| read(Path::new("/proc/self").join(name));
    process::add_texts(&mut facts, &own("limits"), &own("status"), &own("stat"));
    process::add_variables(&mut facts, &environ(user));
    Groups::of(std::process::id()).add(&mut facts);
    if let Ok(here) = fs::metadata(".") {
        let (major, minor) = (libc::major(here.dev()), libc::minor(here.dev()));
        storage::add(&mut facts, &BTreeSet::from([(major << 20) | minor]));
    }
    let found = facts.found.into_iter();
    let fact = |(kind, key, value)| Fact { kind, key, value };
    found.map(fact).collect()
}

/// Our environment as `/proc` would have it, as it is given to what we start as this user.
fn environ(user: Option<&Identity>) -> String {
    let entries = std::env::vars_os().map(|(mut name, value)| {
        name.push("=");
        name.push(value);
        name
    });
    let entries: Vec<OsString> = entries.collect();
    let entries = match user {
        Some(user) => user.environment(entries),
        None => entries,
    };
    let texts = entries.iter().map(|entry| entry.to_string_lossy() + "\0");
    texts.collect()
}

/// What moves by itself, once more, and the file systems that were used.
pub fn at_end(group: Option<&Groups>, devices: &BTreeSet<u32>) -> Facts {
    let mut facts = Facts::default();
    moving(&mut facts, group);
    storage::add(&mut facts, devices);
    facts
}

fn moving(facts: &mut Facts, group: Option<&Groups>) {
    machine::add_moving(facts);
    if let Some(group) = group {
        group.add_moving(facts);
    }
}

/// A file of the kernel's; empty if it cannot be read.
fn read(path: impl AsRef<Path>) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.trim().to_owned()
}

/// What stands behind a name in a text of lines such as `name: value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let longer = rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        let rest = rest.trim_start();
        (!longer).then(|| rest.strip_prefix(':').unwrap_or(rest).trim())
    })
}

/// The one that is chosen: `always [madvise] never`.
fn chosen(text: &str) -> &str {
    let found = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    found.map_or(text, |(chosen, _)| chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields of the kernel's texts, and the choice among several.
    #[test]
    fn texts_of_the_kernel() {
        let text = "MemTotal:       24010 kB\nMemFree:  7 kB\n";
        assert_eq!(field(text, "MemFree"), Some("7 kB"));
        assert_eq!(field(text, "Mem"), None);
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("none"), "none");
    }

    /// Neither one long value nor many short ones grow a recording without bounds, and letters stay whole.
    #[test]
    fn facts_are_bounded() {
        let mut facts = Facts::default();
        facts.add(FactKind::Variable, "LONG", "ä".repeat(10_000));
        assert_eq!(facts.found[0].2.len(), MOST_OF_ONE);
        for number in 0..1000 {
            facts.add(FactKind::Variable, format!("V{number}"), "x".repeat(1000));
        }
        assert!(facts.bytes <= MOST_IN_ALL && facts.found.len() < 200);
        facts.add(FactKind::Variable, "EMPTY", "  ");
        assert!(facts.found.iter().all(|(_, key, _)| key != "EMPTY"));
    }

    /// Variables that there is no room for are counted.
    #[test]
    fn variables_that_are_not_kept_are_counted() {
        let mut facts = Facts::default();
        let variable = |number: u32| format!("V{number:04}={}", "x".repeat(1000));
        let environ: Vec<String> = (0..1000).map(variable).collect();
        process::add_variables(&mut facts, &environ.join("\0"));
        let kept = facts
            .found
            .iter()
            .filter(|(_, key, _)| key.starts_with('V'));
        let kept = kept.count();
        let told = facts
            .found
            .iter()
            .find(|(_, key, _)| key.starts_with("(too many"));
        assert_eq!(
            told.map(|(_, _, value)| value.clone()),
            Some((1000 - kept).to_string())
        );
    }
}
