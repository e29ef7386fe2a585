//! Lines of a source file around a place that a recording names. A recording may be a stranger's, and what is shown of a file may be
//! passed on: only files below the folder that somebody works in are read, and no link is followed on the way.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};
use std::time::SystemTime;

use anyhow::{bail, Context};
use timesink_recording::files::Folder;

use crate::present::names;

/// Longer than source that a person writes, in bytes.
const LONGEST: u64 = 8 << 20;
/// Lines before a place and after it.
const AROUND: usize = 15;
/// Of a line so much is shown.
const WIDE: usize = 240;

/// A line with its number, from 1, as it may be shown: with spaces for tabs, and nothing that acts on a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub number: usize,
    pub text: String,
}

/// Some lines of a file.
#[derive(Debug)]
pub struct Excerpt {
    pub lines: Vec<Line>,
    /// When the file was changed last, if its file system tells.
    pub changed: Option<SystemTime>,
}

/// The lines around one of a file, with their numbers and a mark at that one.
pub fn around(folder: &Path, file: &str, line: usize) -> anyhow::Result<String> {
    let from = line.saturating_sub(AROUND).max(1);
    let lines = excerpt(folder, file, from, line.saturating_add(AROUND))?.lines;
    if lines.is_empty() {
        bail!("{file:?} has no line {line}");
    }
    let shown = lines.into_iter().map(|Line { number, text }| {
        let mark = if number == line { ">" } else { " " };
        format!("{mark}{number:5}  {text}\n")
    });
    Ok(shown.collect())
}

/// Lines of a file, from one to another. `file` is a path in this folder, or how a compiler on another machine called it: then it
/// is what the end of that path names here.
pub fn excerpt(folder: &Path, file: &str, from: usize, to: usize) -> anyhow::Result<Excerpt> {
    let mut text = String::new();
    let found = find(folder, file)?;
    let changed = found.metadata().and_then(|about| about.modified()).ok();
    let read = found.take(LONGEST + 1).read_to_string(&mut text);
    read.with_context(|| format!("{file:?} is not text"))?;
    if text.len() as u64 > LONGEST {
        bail!("{file:?} is no source file");
    }
    let wanted = text.lines().enumerate().skip(from.saturating_sub(1));
    let lines = wanted
        .take_while(|(at, _)| *at < to)
        .map(|(at, text)| Line {
            number: at + 1,
            text: shown(text),
        });
    Ok(Excerpt {
        lines: lines.collect(),
        changed,
    })
}

fn shown(text: &str) -> String {
    let text: String = text.chars().take(WIDE).collect();
    names::harmless(&text.replace('\t', "    ")).into_owned()
}

fn find(folder: &Path, file: &str) -> anyhow::Result<File> {
    let held = Folder::open(folder)?;
    let within = folder.canonicalize().ok();
    // All of the machine is no project.
    if within.as_deref() == Some(Path::new("/")) {
        bail!("in / no source is shown: start timesink in the project's folder");
    }
    let path = Path::new(file);
    let below = within.and_then(|folder| path.strip_prefix(folder).ok().map(Path::to_owned));
    let path = below.unwrap_or_else(|| path.to_owned());
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            // What is hidden is no source, and may be a secret.
            Component::Normal(name) if !name.as_encoded_bytes().starts_with(b".") => {
                names.push(name)
            }
            Component::CurDir | Component::RootDir => (),
            _ => bail!("{file:?} is outside of this folder or hidden, and is not shown"),
        }
    }
    let mut tails = (0..names.len()).map(|from| &names[from..]);
    let found = tails.find_map(|names| open(&held, names).ok().flatten());
    found.with_context(|| format!("there is no file {file:?} in this folder"))
}

fn open(folder: &Folder, names: &[&OsStr]) -> timesink_recording::Result<Option<File>> {
    let [folders @ .., name] = names else {
        return Ok(None);
    };
    let mut at = folder.another()?;
    for name in folders {
        at = at.folder_within(name)?;
    }
    at.open_file(name).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// What is in the folder is shown, with the line marked; nothing else is, by whatever way it is named.
    #[test]
    fn only_files_of_the_project_are_shown() {
        let name = format!("timesink-lines-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let project = folder.join("project");
        std::fs::create_dir_all(project.join("src")).expect("a folder");
        std::fs::write(project.join("a.c"), "one\ntwo\nthree\n").expect("a file");
        std::fs::write(project.join("src/b.c"), "b\n").expect("a file");
        std::fs::write(project.join(".env"), "KEY=secret\n").expect("a file");
        std::fs::write(folder.join("secret"), "secret\n").expect("a file");
        symlink("../secret", project.join("link")).expect("a link");
        symlink("/etc", project.join("etc")).expect("a link");
        let shown = around(&project, "a.c", 2).expect("it is there");
        assert_eq!(shown, "     1  one\n>    2  two\n     3  three\n");
        let whole = project.join("a.c");
        let named = [
            ("src/b.c", "b"),
            ("./src/b.c", "b"),
            ("/build/of/others/src/b.c", "b"),
            (whole.to_str().expect("UTF-8"), "one"),
        ];
        for (file, first) in named {
            let found = excerpt(&project, file, 1, 1).expect("it is there");
            assert_eq!(found.lines[0].text, first, "{file}");
            assert!(found.changed.is_some());
        }
        let refused = [
            "link",
            ".env",
            "../secret",
            "/etc/passwd",
            "etc/passwd",
            "/srv/etc/passwd",
            "src/../../secret",
            ".",
            "",
            "/",
            "b.c",
            "nowhere.c",
        ];
        for file in refused {
            assert!(around(&project, file, 1).is_err(), "{file}");
        }
        // A tab indents, and is no sign of its own; what acts on a terminal is one.
        std::fs::write(project.join("tabs.go"), "\tif x {\u{1b}[2J\n").expect("a file");
        let shown = around(&project, "tabs.go", 1).expect("it is there");
        assert_eq!(shown, ">    1      if x {\\x1b[2J\n");
        assert!(around(&project, "a.c", 99).is_err());
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}
