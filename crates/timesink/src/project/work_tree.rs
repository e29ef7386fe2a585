//! A commit, checked out into a folder of its own that is gone when we are done with it.

use std::path::{Path, PathBuf};

use anyhow::{bail, Context};
use timesink_capture::launch::Identity;

use super::source::{is_commit, Git};
use super::Project;
use crate::out;

/// A work tree that is removed when this is dropped.
pub struct WorkTree<'a> {
    pub folder: PathBuf,
    /// What in it is the project's folder, which may be a part of a repository.
    pub project: PathBuf,
    git: Git<'a>,
}

impl<'a> WorkTree<'a> {
    /// `purpose` and the commit are in the folder's name. What a killed timesink left for the same purpose goes.
    pub fn make(
        project: &'a Project,
        purpose: &str,
        commit: &str,
        identity: Option<&'a Identity>,
    ) -> anyhow::Result<WorkTree<'a>> {
        let git = Git {
            folder: &project.root,
            identity,
        };
        // What is kept of rounds and results, anybody may have written.
        if !is_commit(commit) {
            bail!("{commit:?} is no commit");
        }
        git.look_up(commit).with_context(|| {
            format!("git does not give commit {commit}; a shallow clone lacks old ones: git fetch --unshallow")
        })?;
        let held = Identity::acting(identity, || project.held_or_made())??;
        let kept = held.path();
        for left in git
            .work_trees()
            .iter()
            .filter(|tree| is_left(tree, kept, purpose))
        {
            git.remove(left)?;
        }
        // Of the same length for all commits: a path is part of what a program sees.
        let short = commit.get(..10).unwrap_or(commit);
        let folder = kept.join(format!("{purpose}-{}-{short}", std::process::id()));
        git.check_out(commit, &folder)
            .with_context(|| format!("cannot check out {commit}"))?;
        Ok(WorkTree {
            project: folder.join(git.place()),
            folder,
            git,
        })
    }
}

/// Whether a work tree is one of ours, of a process that is no more: `history-1234-5f2a9c01e7`.
fn is_left(tree: &Path, kept: &Path, purpose: &str) -> bool {
    let name = tree.strip_prefix(kept).ok().and_then(Path::to_str);
    let rest = name.and_then(|name| name.strip_prefix(purpose)?.strip_prefix('-'));
    let process = rest.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
    process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists())
}

impl Drop for WorkTree<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.git.remove(&self.folder) {
            out::tell(format_args!("{error:#}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_uses_is_left_over() {
        let kept = Path::new("/p/.timesink");
        let own = format!("/p/.timesink/again-{}", std::process::id());
        for (tree, want) in [
            ("/p/.timesink/again-4294967295", true),
            ("/p/.timesink/again-4294967295-5f2a9c01e7", true),
            (own.as_str(), false),
            ("/p/.timesink/history-4294967295", false),
            ("/p/.timesink/again-mine", false),
            ("/p/again-4294967295", false),
        ] {
            assert_eq!(is_left(Path::new(tree), kept, "again"), want, "{tree}");
        }
    }
}
