//! The state of the source that something was measured on, as git has it. Git is run as the caller: what a repository has set
//! may start programs.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{bail, Context};
use serde::{Deserialize, Serialize};
use timesink_capture::launch::Identity;

/// What was checked out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub commit: String,
    /// Something in the files that git knows was not committed.
    pub is_changed: bool,
}

/// Changes that take more are not kept.
const MOST_CHANGES: usize = 1 << 20;

/// What timesink keeps is no part of what is measured, also where it is committed.
const ALL_BUT_OURS: [&str; 3] = ["--", ":/", ":(exclude).timesink"];

/// Whether this is the full name of a commit, and not an option or something else that git would take.
pub fn is_commit(name: &str) -> bool {
    const LENGTHS: [usize; 2] = [40, 64];
    LENGTHS.contains(&name.len()) && name.chars().all(|c| c.is_ascii_hexdigit())
}

/// Git in a folder.
pub struct Git<'a> {
    pub folder: &'a Path,
    pub identity: Option<&'a Identity>,
}

impl Git<'_> {
    /// `None`: there is no git, or no commit.
    pub fn source(&self) -> Option<Source> {
        let commit = self.said(&["rev-parse", "HEAD"])?;
        let commit = commit.trim().to_owned();
        let mut asked = vec!["status", "--porcelain", "--untracked-files=no"];
        asked.extend(ALL_BUT_OURS);
        let changed = self.said(&asked)?;
        is_commit(&commit).then(|| Source {
            commit,
            is_changed: !changed.trim().is_empty(),
        })
    }

    /// What was not committed, as a patch; `None` if there is nothing, or too much of it.
    pub fn changes(&self) -> Option<Vec<u8>> {
        let mut asked = vec!["diff", "HEAD", "--binary"];
        asked.extend(ALL_BUT_OURS);
        let patch = self.run(&asked).ok()?;
        let fits = patch.status.success() && patch.stdout.len() <= MOST_CHANGES;
        Some(patch.stdout).filter(|patch| fits && !patch.is_empty())
    }

    /// Checks a commit out into a new folder.
    pub(super) fn check_out(&self, commit: &str, into: &Path) -> anyhow::Result<()> {
        let into = into.to_str().context("the folder's name is not text")?;
        self.must(&["worktree", "add", "--quiet", "--detach", into, commit])
    }

    /// Removes such a folder.
    pub(super) fn remove(&self, folder: &Path) -> anyhow::Result<()> {
        let folder = folder.to_str().context("the folder's name is not text")?;
        self.must(&["worktree", "remove", "--force", folder])
    }

    pub fn apply(&self, patch: &Path) -> anyhow::Result<()> {
        let patch = patch.to_str().context("the patch's name is not text")?;
        self.must(&["apply", "--binary", patch])
    }

    /// When a commit was made, in seconds since 1970.
    pub fn time_of(&self, commit: &str) -> Option<u64> {
        let said = self.said(&["show", "--no-patch", "--format=%ct", commit, "--"])?;
        said.trim().parse().ok()
    }

    /// How many commits lead from one to another; `None` if none do.
    pub fn between(&self, old: &str, new: &str) -> Option<u64> {
        self.said(&["merge-base", "--is-ancestor", old, new])?;
        let range = format!("{old}..{new}");
        self.said(&["rev-list", "--count", &range, "--"])?
            .trim()
            .parse()
            .ok()
    }

    /// An error if there is no such commit.
    pub(super) fn look_up(&self, commit: &str) -> anyhow::Result<()> {
        let name = format!("{commit}^{{commit}}");
        self.must(&["cat-file", "-e", &name])
    }

    /// This folder, from that of the repository.
    pub(super) fn place(&self) -> PathBuf {
        let said = self.said(&["rev-parse", "--show-prefix"]);
        PathBuf::from(said.unwrap_or_default().trim_end_matches('\n'))
    }

    /// The folders of all work trees.
    pub(super) fn work_trees(&self) -> Vec<PathBuf> {
        let said = self.said(&["worktree", "list", "--porcelain"]);
        let said = said.unwrap_or_default();
        let folders = said
            .lines()
            .filter_map(|line| line.strip_prefix("worktree "));
        folders.map(PathBuf::from).collect()
    }

    fn said(&self, words: &[&str]) -> Option<String> {
        let output = self.run(words).ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    fn must(&self, words: &[&str]) -> anyhow::Result<()> {
        let output = self.run(words)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("git {} failed: {}", words.join(" "), said.trim());
        }
        Ok(())
    }

    fn run(&self, words: &[&str]) -> anyhow::Result<Output> {
        let mut git = Command::new("git");
        if let Some(user) = self.identity {
            user.runs(&mut git);
        }
        git.arg("-C").arg(self.folder).args(words);
        // In a group of its own: Ctrl-C is ours to heed, not to leave a work tree half made.
        git.stdin(Stdio::null())
            .process_group(0)
            .output()
            .context("git cannot be started")
    }
}
