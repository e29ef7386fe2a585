//! Names of processes as people know them. The kernel keeps 15 characters of one.

use timesink_recording::tables::Process;

/// What the kernel keeps of a name.
const KEPT: usize = 15;

/// The whole of a name that the kernel has cut: that of the executable, or of a script among the first arguments.
pub(super) fn full_name(process: &Process) -> Option<String> {
    /// The script that an interpreter runs comes after its options.
    const FIRST: usize = 4;
    if process.name.len() != KEPT {
        return None;
    }
    let arguments = process.arguments.split('\0').take(FIRST);
    let paths = std::iter::once(process.executable.as_str()).chain(arguments);
    let mut names = paths.map(|path| path.rsplit('/').next().unwrap_or(path));
    names
        .find(|name| name.len() > KEPT && name.starts_with(&process.name))
        .map(str::to_owned)
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
