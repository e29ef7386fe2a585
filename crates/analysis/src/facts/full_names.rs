//! Names of processes as people know them. The kernel keeps 15 characters of one.

use timesink_recording::tables::Process;

/// What the kernel keeps of a name.
const KEPT: usize = 15;

/// The whole of a name that the kernel has cut: that of the executable, of a script among the first arguments, or of such a
/// script with what it was told to do, by which some name themselves (`npm install express`).
pub(super) fn full_name(process: &Process) -> Option<String> {
    /// The script that an interpreter runs comes after its options.
    const FIRST: usize = 4;
    if process.name.len() != KEPT {
        return None;
    }
    let arguments: Vec<&str> = process.arguments.split('\0').collect();
    let paths = std::iter::once(process.executable.as_str());
    let paths = paths.chain(arguments.iter().copied().take(FIRST));
    let mut names = paths.map(last_part);
    names
        .find(|name| name.len() > KEPT && name.starts_with(&process.name))
        .map(str::to_owned)
        .or_else(|| told_to(&process.name, &arguments))
}

/// The name of a process that names itself by what it was told to do: the cut word is the beginning of just one of the arguments
/// that come after the others.
fn told_to(name: &str, arguments: &[&str]) -> Option<String> {
    /// A name is to be read, not an argument.
    const LONGEST: usize = 40;
    let (whole, cut) = name.rsplit_once(' ')?;
    let mut rest = arguments.iter();
    for word in whole.split(' ') {
        rest.find(|argument| last_part(argument) == word)?;
    }
    let mut words: Vec<&str> = rest.copied().filter(|word| word.starts_with(cut)).collect();
    words.dedup();
    match words.as_slice() {
        [word] if word.len() <= LONGEST => Some(format!("{whole} {word}")),
        _ => None,
    }
}

/// What a path is called without its folders.
pub fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_recording::notation::draft;

    fn full(line: &str) -> Option<String> {
        full_name(&draft(line).processes[0])
    }

    /// A name that was cut is that of the program or of the script; a shorter one, and one that a program gave itself, stays.
    #[test]
    fn cut_names_become_whole() {
        let script = "process 1 git-filter-bran executable /usr/bin/dash arguments \"/bin/sh\0/usr/lib/git-core/git-filter-branch\0HEAD\"";
        assert_eq!(full(script).as_deref(), Some("git-filter-branch"));
        let program = "process 1 nightly-import- executable /opt/etl/nightly-import-of-rows";
        assert_eq!(full(program).as_deref(), Some("nightly-import-of-rows"));
        let told_to = "process 1 \"npm install exp\" executable /usr/bin/node arguments \"node\0/usr/bin/npm\0install\0express\0--silent\"";
        assert_eq!(full(told_to).as_deref(), Some("npm install express"));
        let options = told_to.replace("\0express", "\0--prefix\0/tmp\0express");
        assert_eq!(full(&options).as_deref(), Some("npm install express"));
        assert_eq!(full(&told_to.replace("express", "lodash")), None);
        assert_eq!(
            full("process 1 sh executable /usr/bin/sh-that-is-long"),
            None
        );
        assert_eq!(
            full("process 1 worker-number-1 executable /usr/bin/server"),
            None
        );
    }
}
