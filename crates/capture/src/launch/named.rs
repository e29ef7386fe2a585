//! Finding processes that run already, by number or by name, and those that timesink itself was started from.

use super::signals::parent_of;
use super::{Attached, Error};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The processes that these words mean, each once, and that they are there. A number is that of a process; any other
/// word means all processes that have it for a name (as the kernel keeps it, of 15 bytes) or whose program's file is
/// called so. A name never means timesink, nor what it was started from: these wait for us.
pub fn named(words: &[String]) -> Result<Vec<u32>, Error> {
    let mut found = Vec::new();
    for word in words {
        if let Ok(pid) = word.parse::<u32>() {
            Attached::open(&[pid])?;
            found.push(pid);
            continue;
        }
        let before = found.len();
        let ours = lineage();
        let others = all().filter(|pid| !ours.contains(pid));
        found.extend(others.filter(|&pid| is_called(pid, word)));
        if found.len() == before {
            return Err(Error::NobodyCalled(word.clone()));
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Timesink itself, its parent, and so on up to the first process.
pub fn lineage() -> Vec<u32> {
    /// Nobody's ancestors are that many; a number that is given anew meanwhile could lead in circles.
    const MOST: usize = 1000;
    let up = std::iter::successors(Some(std::process::id()), |&pid| parent_of(pid));
    up.take_while(|&pid| pid != 0).take(MOST).collect()
}

/// The numbers of all processes.
fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Whether a process has this name. One without a program (the kernel's own, or one that has ended) has none.
fn is_called(pid: u32, name: &str) -> bool {
    let Ok(program) = std::fs::read_link(format!("/proc/{pid}/exe")) else {
        return false;
    };
    let own = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    own.strip_suffix(b"\n").unwrap_or(&own) == name.as_bytes()
        || file_name(&program) == Some(name.as_bytes())
}

/// What a program's file is called, or was before it was replaced.
fn file_name(program: &Path) -> Option<&[u8]> {
    let name = program.file_name().map(OsStr::as_bytes)?;
    Some(name.strip_suffix(b" (deleted)").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Kind;
    use std::process::{Command, Stdio};

    fn words(all: &[&str]) -> Vec<String> {
        all.iter().map(|word| word.to_string()).collect()
    }

    /// A process is found by its number, by its own name and by that of its program's file, and each is there once.
    #[test]
    fn by_number_and_by_name() {
        let folder = std::env::temp_dir().join(format!("timesink-named-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        // Longer than the kernel keeps.
        let program = folder.join("a-name-longer-than-15");
        std::fs::copy("/bin/cat", &program).expect("a copy of cat");
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        // It answers: by now it is executed.
        let input = child.stdin.as_mut().expect("its input");
        std::io::Write::write_all(input, b"x").expect("written");
        let output = child.stdout.as_mut().expect("its output");
        std::io::Read::read_exact(output, &mut [0]).expect("answered");
        let pid = child.id();
        let number = pid.to_string();
        for all in [
            vec![number.as_str()],
            vec!["a-name-longer-than-15"],
            vec!["a-name-longer-t"],
            vec!["a-name-longer-t", number.as_str(), "a-name-longer-than-15"],
        ] {
            assert_eq!(named(&words(&all)).expect("found"), [pid], "{all:?}");
        }
        std::fs::remove_dir_all(&folder).expect("removed");
        // Its file is gone.
        assert_eq!(
            named(&words(&["a-name-longer-than-15"])).expect("found"),
            [pid]
        );
        drop(child.stdin.take());
        child.wait().expect("its end");
    }

    /// A name that nobody has, and a number that no process has, are said in a sentence that has them in it.
    #[test]
    fn who_is_not_there_is_said() {
        for word in ["nobody-is-called-so", "4194305"] {
            let fault = named(&words(&["1", word])).expect_err("nobody");
            assert_eq!(fault.kind(), Kind::NoSuchProcess, "{fault}");
            assert!(fault.to_string().contains(word), "{fault}");
        }
    }

    /// A name does not mean us, nor those who started us.
    #[test]
    fn a_name_is_never_ours() {
        let lineage = lineage();
        assert!(lineage.len() > 1 && lineage[0] == std::process::id());
        let own = std::env::current_exe().expect("our file");
        let own = own.file_name().and_then(OsStr::to_str).expect("our name");
        match named(&words(&[own])) {
            Err(Error::NobodyCalled(_)) => {}
            Ok(others) => assert!(!others.iter().any(|pid| lineage.contains(pid))),
            Err(other) => panic!("{other}"),
        }
    }
}
